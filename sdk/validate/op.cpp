// The callbacks of ops that plugins define.
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "layer.hpp"
#include "references.hpp"

namespace tenon::validate {
namespace {

struct Op {
  std::string plugin, name;
  tn_op_def given{};
};

// Arguments as infer sees them, with tensors as views.
class ViewArgs {
 public:
  ViewArgs(const tn_value* args, uint32_t nargs) : values_(args, args + nargs) {
    for (tn_value& value : values_) {
      if (value.tag == TN_VALUE_TENSOR) {
        value.tag = TN_VALUE_VIEW;
        value.as.view = view_of(value.as.tensor);
      } else if (value.tag == TN_VALUE_TENSORS) {
        auto& list = lists_.emplace_back();
        for (uint32_t e = 0; e < value.count; ++e) list.push_back(view_of(value.as.tensors[e]));
        value.tag = TN_VALUE_VIEWS;
        value.as.views = list.data();
      }
    }
  }
  const tn_value* get() const { return values_.data(); }
  const tn_view* first() const {
    for (const tn_value& value : values_)
      if (value.tag == TN_VALUE_VIEW) return value.as.view;
    return nullptr;
  }

 private:
  static const tn_view* view_of(const tn_tensor* tensor) {
    return tensor == nullptr ? nullptr : g_host->tensor_view(tensor);
  }
  std::vector<tn_value> values_;
  std::deque<std::vector<const tn_view*>> lists_;
};

tn_status* infer(void* self, const tn_value* args, uint32_t nargs, tn_result* const* results,
                 uint32_t nresults) {
  const Op& op = *static_cast<const Op*>(self);
  const Crossing here(op.plugin, "op.infer", op.name);
  tn_status* status =
      cross([&] { return op.given.infer(op.given.self, args, nargs, results, nresults); });
  for (uint32_t k = 0; status == nullptr && k < nresults; ++k) {
    tn_result& result = *results[k];
    if (const uint32_t size = std::exchange(result.struct_size, sizeof(tn_result));
        size != sizeof(tn_result))
      return refused(TN_VIOLATION_RESULT,
                     fmt::format("struct_size of result {} was changed from {} to {}; the caller's "
                                 "size says how much may be filled",
                                 k, sizeof(tn_result), size));
    bool sound = result.ndim <= TN_MAX_DIMS && result.dtype < TN_DTYPE_COUNT;
    for (uint32_t d = 0; sound && d < result.ndim; ++d) sound = result.shape[d] >= 0;
    if (!sound)
      return refused(TN_VIOLATION_RESULT,
                     fmt::format("result {} has rank {} and dtype {}, or a negative size", k,
                                 result.ndim, result.dtype));
  }
  return status;
}

tn_status* count(void* self, const tn_value* args, uint32_t nargs, uint32_t* entries) {
  const Op& op = *static_cast<const Op*>(self);
  const Crossing here(op.plugin, "op.count", op.name);
  uint32_t again = 0;
  const auto ask = [&](uint32_t* answer) {
    return cross([&] { return op.given.count(op.given.self, args, nargs, answer); });
  };
  tn_status* status = ask(entries);
  if (status == nullptr) status = ask(&again);
  if (status == nullptr && *entries != again)
    return refused(TN_VIOLATION_RESULT,
                   fmt::format("{} entries, then {} for the same arguments; it must be pure",
                               *entries, again));
  return status;
}

// What an op promises about its results: by infer, or without it by the first tensor.
tn_status* promise(const Op& op, const tn_value* args, uint32_t nargs,
                   std::deque<tn_result>& results) {
  std::vector<tn_result*> pointers;
  for (tn_result& result : results) {
    result.struct_size = sizeof result;
    pointers.push_back(&result);
  }
  const auto count = static_cast<uint32_t>(results.size());
  const ViewArgs views(args, nargs);
  if (op.given.infer != nullptr)
    return cross(
        [&] { return op.given.infer(op.given.self, views.get(), nargs, pointers.data(), count); });
  const tn_view* first = views.first();
  for (tn_result& result : results) {
    result.dtype = first == nullptr ? TN_DTYPE_COUNT : first->dtype;
    result.ndim = first == nullptr ? 0 : first->ndim;
    if (first != nullptr) std::copy_n(first->shape, first->ndim, result.shape);
  }
  return nullptr;
}

std::string describe(uint32_t dtype, const int64_t* shape, uint32_t ndim) {
  return fmt::format("shape ({}) and dtype {}", fmt::join(shape, shape + ndim, ", "), dtype);
}

// A kernel's results follow infer, a decomposition's follow what it computes: the two must agree.
tn_status* check_promise(const Op& op, const tn_value* args, uint32_t nargs, tn_tensor** outs,
                         uint32_t nouts) {
  // For other forms the core knows the results, and reports where infer contradicts it.
  if (op.given.form != TN_OP_PLAIN || op.given.promotion != TN_OP_AS_GIVEN) return nullptr;
  const Crossing here(op.plugin, "op.infer", op.name);
  std::deque<tn_result> results(nouts);
  if (tn_status* status = promise(op, args, nargs, results)) return status;
  for (uint32_t k = 0; k < nouts; ++k) {
    const tn_view& made = *g_host->tensor_view(outs[k]);
    const tn_result& result = results[k];
    if (result.dtype == made.dtype && result.ndim == made.ndim &&
        std::equal(made.shape, made.shape + made.ndim, result.shape))
      continue;
    return refused(
        TN_VIOLATION_RESULT,
        fmt::format(
            "result {} has {} by {}, but op.decompose made {}", k,
            describe(result.dtype, result.shape, std::min<uint32_t>(result.ndim, TN_MAX_DIMS)),
            op.given.infer != nullptr ? "infer" : "the first tensor, as there is no infer",
            describe(made.dtype, made.shape, made.ndim)));
  }
  return nullptr;
}

tn_status* decompose(void* self, const tn_value* args, uint32_t nargs, tn_tensor** outs,
                     uint32_t nouts) {
  const Op& op = *static_cast<const Op*>(self);
  const Crossing here(op.plugin, "op.decompose", op.name);
  tn_status* status =
      cross([&] { return op.given.decompose(op.given.self, args, nargs, outs, nouts); });
  if (status == nullptr) status = handed_over(outs, nouts);
  if (status != nullptr) return status;
  status = check_promise(op, args, nargs, outs, nouts);
  for (uint32_t k = 0; status != nullptr && k < nouts; ++k) g_host->tensor_release(outs[k]);
  return status;
}

tn_status* gradient(void* self, tn_grad_call* call) {
  const Op& op = *static_cast<const Op*>(self);
  const Crossing here(op.plugin, "op.gradient", op.name, call);
  return cross([&] { return op.given.gradient(op.given.self, call); });
}

void saves(void* self, const tn_value* args, uint32_t nargs, uint64_t needed, uint64_t* inputs,
           uint64_t* outputs) {
  const Op& op = *static_cast<const Op*>(self);
  const Crossing here(op.plugin, "op.saves", op.name);
  const uint64_t all_inputs = *inputs, all_outputs = *outputs;
  cross_void([&] { op.given.saves(op.given.self, args, nargs, needed, inputs, outputs); });
  if ((*inputs & ~all_inputs) != 0 || (*outputs & ~all_outputs) != 0)
    found(TN_VIOLATION_RESULT,
          fmt::format("inputs {:#x} and outputs {:#x} are more than saved_inputs {:#x} and "
                      "saved_outputs {:#x}, which it narrows",
                      *inputs, *outputs, all_inputs, all_outputs));
}

}  // namespace

void wrap_op(std::string_view plugin, tn_op_def& def) {
  static auto& ops = *new std::deque<Op>;
  const std::string_view schema = text_of(def.schema);
  const std::lock_guard lock(state_mutex());
  Op& op = ops.emplace_back();
  op.plugin = plugin;
  op.name = schema.substr(0, schema.find('('));
  op.given = def;
  def.self = &op;
  if (def.infer != nullptr) def.infer = infer;
  if (def.decompose != nullptr) def.decompose = decompose;
  if (def.gradient != nullptr) def.gradient = gradient;
  if (def.saves != nullptr) def.saves = saves;
  if (def.count != nullptr) def.count = count;
}

}  // namespace tenon::validate
