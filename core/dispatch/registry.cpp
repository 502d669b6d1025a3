// All ops: those of ops/, and those registered at run time.
#include <algorithm>
#include <deque>
#include <mutex>
#include <shared_mutex>
#include <tuple>
#include <unordered_map>

#include "boundary.hpp"
#include "dispatch/foreign.hpp"
#include "dispatch/op_record.hpp"
#include "forever.hpp"
#include "loader.hpp"

namespace tenon::core {
namespace {

// Calls with these dtypes may take the short path, which knows one result and one or two operands that are only read.
void allow_fast(tn_op& op, uint64_t dtypes) {
  const auto is_operand = [](const ArgSpec& arg) {
    return arg.type == ArgType::Tensor && !arg.list && !arg.optional && !arg.written;
  };
  const Schema& schema = op.schema;
  if (dtypes == 0 || schema.args.size() > 2 || schema.results.size() != 1 ||
      !std::ranges::all_of(schema.args, is_operand))
    return;
  op.fast_operands = static_cast<uint8_t>(schema.args.size());
  op.fast_dtypes = dtypes;
}

struct Registry {
  std::deque<tn_op> ops;  // stable addresses
  std::vector<const tn_op*> order;
  std::unordered_map<std::string_view, tn_op*> by_name;
  std::shared_mutex mutex;

  Registry() {
    by_name.reserve(2 * kRecords.size());
    for (const NamedRecord& op : kRecords) add_builtin(op);
  }

  tn_op& add(Schema schema) {
    tn_op& op = ops.emplace_back();
    op.schema = std::move(schema);
    op.id = static_cast<uint32_t>(ops.size() - 1);
    order.push_back(&op);
    by_name.emplace(op.schema.name, &op);
    return op;
  }

  void add_builtin(const NamedRecord& entry) {
    const OpRecord& record = *entry.record;
    tn_op& op =
        add(parse_schema(fmt::format("{}{} @{}", entry.name, record.schema, record.revision)));
    op.kind = record.view != nullptr   ? OpKind::View
              : record.run != nullptr  ? OpKind::Core
              : record.rule == nullptr ? OpKind::Composite
                                       : OpKind::Kernel;
    op.view = record.view;
    op.run = record.run;
    op.decompose = record.decompose;
    op.gradient = record.gradient;
    op.through = record.through;
    op.updates_first = record.updates_first;
    if (record.rule != nullptr) add_rule(op, *record.rule);
  }

  static void add_rule(tn_op& op, const Rule& rule) {
    op.rule = rule.infer;
    op.elementwise = rule.elementwise;
    op.ordered = rule.ordered;
    allow_fast(op, rule.unchanged);
  }
};

}  // namespace

const tn_op* find_op(std::string_view name) {
  auto& r = forever<Registry>();
  std::shared_lock lock(r.mutex);
  auto found = r.by_name.find(name);
  return found == r.by_name.end() ? nullptr : found->second;
}

const tn_op& require_op(std::string_view name) {
  if (const tn_op* op = find_op(name)) return *op;
  ensure_discovered();  // a plugin may bring it
  if (const tn_op* op = find_op(name)) return *op;
  std::vector<std::string_view> names;
  for (const tn_op* op : all_ops()) names.push_back(op->name());
  std::string near = nearest_name(name, names);
  fail(TN_NOT_FOUND, "no op '{}'{}", name, near.empty() ? "" : "; did you mean '" + near + "'?");
}

std::vector<const tn_op*> all_ops() {
  auto& r = forever<Registry>();
  std::shared_lock lock(r.mutex);
  return r.order;
}

const tn_op& builtin(std::string_view name) {
  const tn_op* op = find_op(name);
  if (op == nullptr) fail(TN_INTERNAL, "op '{}' is not in ops/", name);
  return *op;
}

const tn_op_def& in_service(const tn_op& op) {
  if (!op.foreign->live)
    fail(TN_FAILED_PRECONDITION, "plugin \"{}\" was quiesced", op.foreign->plugin);
  return op.foreign->def;
}

namespace {

bool same_facts(const tn_op_def& a, const tn_op_def& b) {
  const auto facts = [](const tn_op_def& def) {
    return std::tuple(def.infer != nullptr, def.decompose != nullptr, def.gradient != nullptr,
                      def.saves != nullptr, def.count != nullptr, def.saved_inputs,
                      def.saved_outputs, def.form, def.promotion);
  };
  return facts(a) == facts(b);
}

// The op of that name, whose definition must equal that of an earlier load of the plugin; NULL if new. The lock must be held.
tn_op* find_retired(Registry& r, const Schema& schema, const tn_op_def& def,
                    std::string_view plugin_id) {
  const auto found = r.by_name.find(schema.name);
  if (found == r.by_name.end()) return nullptr;
  const ForeignOp* known = found->second->foreign;
  if (known == nullptr || known->live || known->plugin != plugin_id ||
      found->second->schema.text != schema.text || !same_facts(known->def, def))
    fail(TN_ALREADY_EXISTS, "op '{}' of plugin '{}' exists already", schema.name, plugin_id);
  return found->second;
}

Schema checked_schema(const tn_op_def& def, std::string_view plugin_id) {
  Schema schema = parse_schema(text_of(def.schema));
  if (schema.args.size() > kMaxArgs || schema.results.size() > kMaxResults)
    fail(TN_INVALID_ARGUMENT, "op '{}' of plugin '{}': at most {} arguments and {} results",
         schema.name, plugin_id, kMaxArgs, kMaxResults);
  if (schema.results.empty() && std::ranges::none_of(schema.args, &ArgSpec::written))
    fail(TN_INVALID_ARGUMENT,
         "op '{}' of plugin '{}' neither gives a result nor writes an argument ('Tensor! x')",
         schema.name, plugin_id);
  check_foreign(schema, def, plugin_id);
  return schema;
}

void define(tn_op& op, const tn_op_def& def, std::string_view plugin_id) {
  op.foreign = new ForeignOp{std::string(plugin_id)};
  op.rule = &rule_foreign;
  op.decompose = def.decompose != nullptr ? &decompose_foreign : nullptr;
  op.through = def.gradient == nullptr && def.decompose != nullptr;
  op.elementwise = def.form == TN_OP_ELEMENTWISE;
  if (op.elementwise && def.infer == nullptr && def.promotion != TN_OP_AS_GIVEN)
    allow_fast(op, TN_MASK_FLOAT);
}

}  // namespace

void check_new_op(const tn_op_def& def, std::string_view plugin_id) {
  const Schema schema = checked_schema(def, plugin_id);
  auto& r = forever<Registry>();
  std::shared_lock lock(r.mutex);
  find_retired(r, schema, def, plugin_id);
}

void register_op(const tn_op_def& def, std::string_view plugin_id) {
  Schema schema = checked_schema(def, plugin_id);
  auto& r = forever<Registry>();
  std::unique_lock lock(r.mutex);
  tn_op* op = find_retired(r, schema, def, plugin_id);
  if (op == nullptr) define(*(op = &r.add(std::move(schema))), def, plugin_id);
  op->foreign->def = def;
  op->foreign->def.schema = to_str(op->schema.text);  // the plugin may free its text
  op->foreign->live = true;
}

void retire_ops(std::string_view plugin_id) noexcept {
  for (const tn_op* op : all_ops())
    if (op->foreign != nullptr && op->foreign->plugin == plugin_id) op->foreign->live = false;
}

}  // namespace tenon::core

using namespace tenon::core;

const tn_op* tn_op_find(tn_str name) { return find_op(text_of(name)); }
tn_status* tn_op_require(tn_str name, const tn_op** out) {
  TN_REQUIRE(name.data, out);
  return guarded([&] { *out = &require_op(to_view(name)); });
}
uint32_t tn_op_count(void) { return static_cast<uint32_t>(all_ops().size()); }
const tn_op* tn_op_at(uint32_t index) {
  auto ops = all_ops();
  return index < ops.size() ? ops[index] : nullptr;
}
tn_str tn_op_name(const tn_op* op) {
  return op == nullptr ? tn_str{"", 0} : to_str(op->schema.name);
}
tn_str tn_op_schema(const tn_op* op) {
  return op == nullptr ? tn_str{"", 0} : to_str(op->schema.text);
}
uint32_t tn_op_is_differentiable(const tn_op* op) {
  return op != nullptr && (op->gradient != nullptr || op->through ||
                           (op->foreign != nullptr && op->foreign->def.gradient != nullptr));
}
