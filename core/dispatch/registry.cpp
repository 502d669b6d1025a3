// All ops: those of ops.def, and those registered at run time.
#include <algorithm>
#include <deque>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "autograd/formula.hpp"
#include "boundary.hpp"
#include "composite/composite.hpp"
#include "dispatch/core_ops.hpp"
#include "dispatch/foreign.hpp"
#include "dispatch/op.hpp"
#include "plugin/discover.hpp"
#include "shape/rules.hpp"

namespace tenon::core {
namespace {

using namespace std::string_view_literals;

struct Entry {
  const char* schema;
  std::string_view rule_name;
  RuleFn rule;
  const GradFormula* gradient;
  std::string_view gradient_name;
};

constexpr Entry kTable[] = {
#define OP(name, schema, rule, gradient) \
  {#name schema " @1", #rule, &rule_##rule, &grad_##gradient, #gradient},
#include "ops.def"
#undef OP
};

struct NamedDecomposition {
  std::string_view name;
  DecomposeFn run;
};
constexpr NamedDecomposition kDecompositions[] = {
#define DECOMPOSITION(name) {#name, &decompose_##name},
#include "composite/decompositions.def"
#undef DECOMPOSITION
};

// Rules whose results have the broadcast shape of the operands, computed element by element.
bool is_elementwise(std::string_view rule) {
  for (std::string_view prefix :
       {"unary_"sv, "binary_"sv, "compare"sv, "where"sv, "clamp"sv, "cast"sv})
    if (rule.starts_with(prefix)) return true;
  return false;
}

// dtypes that a rule hands to the kernel as they are, so that a call with nothing to promote can
// skip it.
uint64_t unchanged_dtypes(std::string_view rule) {
  constexpr uint64_t kFloat = TN_MASK_FLOAT;
  if (rule == "unary_arith" || rule == "binary_arith" || rule == "unary_real" ||
      rule == "binary_real" || rule == "unary_float" || rule == "binary_float" ||
      rule == "unary_round")
    return kFloat;
  return 0;
}

struct Registry {
  std::deque<tn_op> ops;  // stable addresses
  std::vector<const tn_op*> order;
  std::unordered_map<std::string_view, tn_op*> by_name;
  std::shared_mutex mutex;

  Registry() {
    by_name.reserve(2 * std::size(kTable));
    for (const Entry& entry : kTable) add_builtin(entry);
    for (const auto& [name, run] : kDecompositions) by_name.at(name)->decompose = run;
  }

  tn_op& add(Schema schema) {
    tn_op& op = ops.emplace_back();
    op.schema = std::move(schema);
    op.id = static_cast<uint32_t>(ops.size() - 1);
    order.push_back(&op);
    by_name.emplace(op.schema.name, &op);
    return op;
  }

  void add_builtin(const Entry& entry) {
    tn_op& op = add(parse_schema(entry.schema));
    op.rule = entry.rule;
    op.kind = entry.rule_name == "view"sv        ? OpKind::View
              : entry.rule_name == "composite"sv ? OpKind::Composite
                                                 : OpKind::Kernel;
    for (const CoreOp& core_op : kCoreOps)
      if (op.name() == core_op.name) op.kind = OpKind::Core, op.run = core_op.run;
    op.through = entry.gradient_name == "through"sv;
    if (!op.through && entry.gradient_name != "none"sv) op.gradient = entry.gradient;
    op.elementwise = is_elementwise(entry.rule_name);
    op.ordered = entry.rule_name == "reduce_arg"sv;
    uint64_t unchanged = unchanged_dtypes(entry.rule_name);
    if (unchanged != 0 &&
        op.schema.args.size() == (entry.rule_name.starts_with("binary") ? 2 : 1)) {
      op.fast_operands = static_cast<uint8_t>(op.schema.args.size());
      op.fast_dtypes = unchanged;
    }
  }
};

Registry& registry() {
  static Registry& instance =
      *new Registry;  // never destroyed: ops outlive static objects of the host
  return instance;
}

uint32_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<uint32_t> row(b.size() + 1);
  for (uint32_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (uint32_t i = 1; i <= a.size(); ++i) {
    uint32_t diagonal = row[0];
    row[0] = i;
    for (uint32_t j = 1; j <= b.size(); ++j) {
      uint32_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view wanted, const std::vector<std::string_view>& names) {
  std::string_view best;
  size_t distance = wanted.size() / 2 + 1;
  for (std::string_view name : names) {
    // At least as far apart as their lengths: a long text is compared with no name at all.
    if (std::max(wanted.size(), name.size()) - std::min(wanted.size(), name.size()) >= distance)
      continue;
    if (uint32_t d = edit_distance(wanted, name); d < distance) distance = d, best = name;
  }
  return std::string(best);
}

const tn_op* find_op(std::string_view name) {
  Registry& r = registry();
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
  Registry& r = registry();
  std::shared_lock lock(r.mutex);
  return r.order;
}

const tn_op& builtin(std::string_view name) {
  const tn_op* op = find_op(name);
  if (op == nullptr) fail(TN_INTERNAL, "op '{}' is not in ops.def", name);
  return *op;
}

void register_op(const tn_op_def& def, std::string_view plugin_id) {
  Schema schema = parse_schema(to_view(def.schema));
  if (schema.args.size() > kMaxArgs || schema.results.empty() ||
      schema.results.size() > kMaxResults)
    fail(TN_INVALID_ARGUMENT, "op '{}' of plugin '{}': at most {} arguments and 1 to {} results",
         schema.name, plugin_id, kMaxArgs, kMaxResults);
  Registry& r = registry();
  std::unique_lock lock(r.mutex);
  if (r.by_name.contains(schema.name))
    fail(TN_ALREADY_EXISTS, "op '{}' of plugin '{}' exists already", schema.name, plugin_id);
  tn_op& op = r.add(std::move(schema));
  op.foreign = new tn_op_def(def);
  op.rule = &rule_foreign;
  op.decompose = def.decompose != nullptr ? &decompose_foreign : nullptr;
  op.through = def.gradient == nullptr && def.decompose != nullptr;
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
                           (op->foreign != nullptr && op->foreign->gradient != nullptr));
}
