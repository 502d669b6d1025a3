// Ops of plugins: applies what their form, promotion and shape rule say to a call, as the rules of built-in ops do.
#include "dispatch/foreign.hpp"

#include <algorithm>

#include "dispatch/loop.hpp"
#include "modes.hpp"
#include "on_exit.hpp"
#include "ops/number.hpp"

namespace tenon::core {
namespace {

// The argument that a reduction reduces.
constexpr uint32_t kReduced = 0;

// The position of the argument of that name, or the number of arguments if there is none.
uint32_t arg_named(const Schema& schema, std::string_view name) {
  const auto found = std::ranges::find(schema.args, name, &ArgSpec::name);
  return static_cast<uint32_t>(found - schema.args.begin());
}
const ArgSpec* find_arg(const Schema& schema, std::string_view name) {
  const uint32_t i = arg_named(schema, name);
  return i < schema.args.size() ? &schema.args[i] : nullptr;
}

bool is_operand(const Frame& frame, uint32_t i) {
  return frame.op().schema.args[i].type == ArgType::Tensor;
}

// NULL if there is none.
const tn_tensor* first_tensor(const Frame& frame) {
  for (uint32_t i = 0; i < frame.nargs(); ++i)
    if (frame.is_tensor(i)) return &frame.tensor(i);
  return nullptr;
}

tn_dtype first_dtype(const Frame& frame) {
  if (const tn_tensor* first = first_tensor(frame)) return first->dtype();
  frame.fail(TN_INVALID_ARGUMENT, "no tensor among the arguments, and the op has no shape rule");
}

// What is written to takes part as it is: the kernel's writes to a copy would be lost.
void check_unconverted(const Frame& frame, tn_dtype dtype) {
  for (uint32_t i = 0; i < frame.nargs(); ++i) {
    const ArgSpec& spec = frame.op().schema.args[i];
    if (!spec.written || spec.type != ArgType::Tensor) continue;
    frame.require(!is_number(frame.arg(i)), "argument '{}' is written to and must be a tensor",
                  spec.name);
    for (const tn_tensor* tensor : tensors_in(frame.arg(i)))
      frame.require(tensor == nullptr || tensor->dtype() == dtype,
                    "argument '{}' is written to and must be {}, but is {}", spec.name,
                    dtype_name(dtype), dtype_name(tensor == nullptr ? dtype : tensor->dtype()));
  }
}

// The results' dtype unless `infer` gives another; promoted operands are converted to it.
tn_dtype promoted(Frame& frame) {
  const uint32_t promotion = frame.op().foreign->def.promotion;
  if (promotion == TN_OP_AS_GIVEN) {
    for (uint32_t i = 0; i < frame.nargs(); ++i)
      if (is_operand(frame, i) && is_number(frame.arg(i)))
        frame.fail(TN_INVALID_ARGUMENT, "argument '{}' must be a tensor: the op promotes nothing",
                   frame.op().schema.args[i].name);
    return first_dtype(frame);
  }
  uint32_t operands[kMaxArgs], n = 0;
  for (uint32_t i = 0; i < frame.nargs(); ++i)
    if (is_operand(frame, i)) operands[n++] = i;
  const tn_dtype common = common_dtype(frame, {operands, n});
  if (common == kNoCast) return first_dtype(frame);
  const tn_dtype dtype = promotion == TN_OP_FRACTION ? fractional(common) : common;
  check_unconverted(frame, dtype);
  frame.cast_all(dtype);
  return dtype;
}

void reduce_foreign(Frame& frame, tn_dtype dtype) {
  const Schema& schema = frame.op().schema;
  const uint32_t dims = arg_named(schema, "dims"), keepdim = arg_named(schema, "keepdim");
  const tn_tensor& x = frame.tensor(kReduced);
  reduce(frame, x, dtype, dim_mask(frame, dims, x.ndim()),
         keepdim < frame.nargs() && frame.flag(keepdim));
}

// Forms results and operands as far as `infer` does not.
void form_foreign(Frame& frame) {
  const tn_op_def& def = frame.op().foreign->def;
  if (frame.nresults() == 0 && def.promotion == TN_OP_AS_GIVEN) return;
  const tn_dtype dtype = promoted(frame);
  if (def.form == TN_OP_REDUCE) return reduce_foreign(frame, dtype);
  const tn_tensor* first = first_tensor(frame);
  if (def.form == TN_OP_ELEMENTWISE)
    elementwise(frame, dtype);
  else if (frame.nresults() != 0)
    frame.result(0, dtype, first == nullptr ? std::span<const int64_t>() : first->sizes());
  for (uint32_t k = 1; k < frame.nresults(); ++k) frame.result(k, dtype, frame.result(0).shape);
}

// The arguments with tensors as views, which is how a shape rule sees them across the ABI.
struct ViewArgs {
  tn_value values[kMaxArgs];
  std::vector<std::vector<const tn_view*>> lists;

  explicit ViewArgs(const Frame& frame) {
    lists.reserve(kMaxArgs);
    for (uint32_t i = 0; i < frame.nargs(); ++i) {
      values[i] = frame.arg(i);
      if (values[i].tag == TN_VALUE_TENSOR) {
        values[i].tag = TN_VALUE_VIEW;
        values[i].as.view = &frame.tensor(i).view;
      } else if (values[i].tag == TN_VALUE_TENSORS) {
        auto& list = lists.emplace_back();
        for (const tn_tensor* tensor : frame.tensors(i))
          list.push_back(tensor == nullptr ? nullptr : &tensor->view);
        values[i].tag = TN_VALUE_VIEWS;
        values[i].as.views = list.data();
      }
    }
  }
};

// On the tape a result is a tensor of its own, not an argument or another result.
void part_results(const Frame& frame, tn_tensor** outs) {
  std::vector<const tn_tensor*> taken;
  for (uint32_t i = 0; i < frame.nargs(); ++i)
    for (const tn_tensor* tensor : tensors_in(frame.arg(i))) taken.push_back(tensor);
  for (uint32_t k = 0; k < frame.nresults(); ++k) {
    if (std::ranges::find(taken, outs[k]) != taken.end()) {
      tn_tensor* const alias = make_alias(*outs[k]);
      alias->flags |= outs[k]->flags & kInference;
      release(std::exchange(outs[k], alias));
    }
    taken.push_back(outs[k]);
  }
}

// Decompositions of plugins that run inside one another: one that calls itself would end at the end of the stack.
constexpr uint32_t kDeepest = 100;
thread_local uint32_t t_depth = 0;

}  // namespace

void rule_foreign(Frame& frame) {
  const tn_op_def& def = in_service(frame.op());
  const bool formed = def.form != TN_OP_PLAIN;
  if (formed || def.promotion != TN_OP_AS_GIVEN || def.infer == nullptr) form_foreign(frame);
  if (def.infer == nullptr) return;
  Few<Roomy<tn_result>, kFewResults> results(frame.nresults());
  Few<tn_result*, kFewResults> pointers(frame.nresults());
  for (uint32_t k = 0; k < frame.nresults(); ++k) {
    const ResultSpec& spec = frame.result(k);
    pointers[k] = &results[k].value;
    results[k].value.dtype = spec.dtype;
    results[k].value.ndim = static_cast<uint32_t>(spec.shape.size());
    std::ranges::copy(spec.shape, results[k].value.shape);
  }
  ViewArgs args(frame);
  check(def.infer(def.self, args.values, frame.nargs(), pointers.data(), frame.nresults()));
  for (uint32_t k = 0; k < frame.nresults(); ++k) {
    const tn_result& result = results[k].value;
    frame.require(result.ndim <= TN_MAX_DIMS && result.dtype < TN_DTYPE_COUNT,
                  "the shape rule gave rank {} and dtype code {}", result.ndim, result.dtype);
    const std::span<const int64_t> shape(result.shape, result.ndim);
    frame.require(!formed || std::ranges::equal(shape, frame.result(k).shape),
                  "the shape rule gave {} where the op's form says {}", format_shape(shape),
                  format_shape(frame.result(k).shape));
    frame.result(k, result.dtype, shape);
  }
}

uint32_t count_results(const Frame& frame) {
  const tn_op_def& def = in_service(frame.op());
  uint32_t entries = 0;
  const ViewArgs args(frame);
  check(def.count(def.self, args.values, frame.nargs(), &entries));
  const auto single = static_cast<uint32_t>(frame.op().schema.results.size()) - 1;
  frame.require(entries <= kMostOutputs, "a list of {} results; at most {} are possible", entries,
                kMostOutputs);
  return single + entries;
}

void decompose_foreign(Frame& frame, tn_tensor** outs) {
  const tn_op_def& def = in_service(frame.op());
  frame.require(t_depth < kDeepest, "its decomposition comes back to itself: {} run already",
                t_depth);
  ++t_depth;
  const OnExit over([] { --t_depth; });
  tn_status* status = def.decompose(def.self, frame.args(), frame.nargs(), outs, frame.nresults());
  if (status != nullptr) std::fill_n(outs, frame.nresults(), nullptr);  // no results on error
  check(status);
  for (uint32_t k = 0; k < frame.nresults(); ++k)
    if (outs[k] == nullptr) frame.fail(TN_INTERNAL, "its decomposition gave no result {}", k);
  if (!recording()) part_results(frame, outs);
}

void check_foreign(const Schema& schema, const tn_op_def& def, std::string_view plugin) {
  const auto refuse = [&](std::string_view why) {
    fail(TN_INVALID_ARGUMENT, "op '{}' of plugin '{}': {}", schema.name, plugin, why);
  };
  if (def.form > TN_OP_REDUCE || def.promotion > TN_OP_FRACTION)
    refuse("this version does not know its form or promotion");
  for (uint32_t i = 0; i < schema.args.size(); ++i)
    if (arg_named(schema, schema.args[i].name) != i)
      refuse(fmt::format("two arguments are called '{}'", schema.args[i].name));
  if (schema.list_result != (def.count != nullptr))
    refuse(schema.list_result ? "a list of results needs `count`"
                              : "`count` is for a list of results");
  if (def.form == TN_OP_PLAIN) return;
  if (schema.list_result) refuse("a loop has no list of results");
  if (schema.results.empty()) refuse("without a result there is nothing to loop over");
  const auto is_list = [](const ArgSpec& arg) { return arg.type == ArgType::Tensor && arg.list; };
  if (std::ranges::any_of(schema.args, is_list)) refuse("a loop takes no lists of tensors");
  const auto operands =
      schema.results.size() + std::ranges::count(schema.args, ArgType::Tensor, &ArgSpec::type);
  if (operands > kMaxOperands)
    refuse(fmt::format("a loop has at most {} operands, results included", kMaxOperands));
  if (def.form != TN_OP_REDUCE) return;
  const ArgSpec* dims = find_arg(schema, "dims");
  const ArgSpec* keepdim = find_arg(schema, "keepdim");
  if (dims == nullptr || dims->type != ArgType::Int || !dims->list || !dims->optional)
    refuse("a reduction must name its dimensions 'int[]? dims'");
  if (keepdim != nullptr && keepdim->type != ArgType::Bool) refuse("'keepdim' must be a bool");
  if (schema.args[kReduced].type != ArgType::Tensor)
    refuse("a reduction must reduce argument 0, a tensor");
}

}  // namespace tenon::core
