#include "ops/step_lists.hpp"

#include <algorithm>
#include <new>
#include <numeric>
#include <span>
#include <utility>

#include "copy_loop.hpp"
#include "layout.hpp"
#include "tenon/schemas.h"

namespace tenon::cpu {
namespace {

// The dimensions as a parameter without gaps lies, outermost first; of others, as they are numbered.
struct Order {
  uint32_t ndim, dims[TN_MAX_DIMS];
  int64_t shape[TN_MAX_DIMS], steps[TN_MAX_DIMS];

  explicit Order(const tn_view& param) : ndim(param.ndim) {
    std::iota(dims, dims + ndim, 0u);
    if (is_dense(param)) {
      std::stable_sort(dims, dims + ndim,
                       [&](uint32_t a, uint32_t b) { return param.strides[a] > param.strides[b]; });
    }
    int64_t step = 1;
    for (uint32_t d = ndim; d-- > 0;) {
      shape[d] = param.shape[dims[d]];
      steps[d] = std::exchange(step, step * shape[d]);
    }
  }
};

// Between a view and elements without gaps in that order.
template <bool ToView>
void move_elements(const tn_view& view, const Order& order, char* bytes) {
  if (numel(view) == 0) return;
  int64_t strides[TN_MAX_DIMS];
  for (uint32_t d = 0; d < order.ndim; ++d) strides[d] = view.strides[order.dims[d]];
  const std::span shape(order.shape, order.ndim);
  char* const data = static_cast<char*>(view.data);
  if constexpr (ToView) {
    copy_strided(shape, size_of(view.dtype), data, strides, bytes, order.steps);
  } else {
    copy_strided(shape, size_of(view.dtype), bytes, order.steps, data, strides);
  }
}

bool alike(const tn_view& a, const tn_view& b) {
  return (a.flags & b.flags & TN_VIEW_CONTIGUOUS) != 0 || same_layout(a, b);
}

}  // namespace

StepLists::StepLists(const tn_call& call, std::vector<uint32_t> lists) {
  const tn_value& first = call.args[lists[0]];
  parameters_.reserve(first.count);
  for (uint32_t k = 0; k < first.count; ++k) {
    const tn_view& param = *first.as.views[k];
    Parameter parameter{param.dtype, numel(param), {}};
    const bool dense = (param.flags & TN_VIEW_CONTIGUOUS) != 0 || is_dense(param);
    for (size_t l = 0; l < lists.size(); ++l) {
      const tn_view& view = *call.args[lists[l]].as.views[k];
      parameter.data[l] = static_cast<char*>(view.data);
      if (dense && alike(param, view)) continue;
      // Every step has its gradients there.
      const auto bytes = static_cast<size_t>(parameter.n * size_of(view.dtype));
      Copy copy{&view, &param, std::unique_ptr<char[]>(new (std::nothrow) char[bytes]),
                lists[l] != arg::sgd_step::grads};
      if (copy.bytes == nullptr) throw std::bad_alloc();
      move_elements<false>(view, Order(param), copy.bytes.get());
      parameter.data[l] = copy.bytes.get();
      copies_.push_back(std::move(copy));
    }
    total_ += parameter.n;
    parameters_.push_back(parameter);
  }
}

void StepLists::finish() {
  for (Copy& copy : copies_)
    if (copy.written) move_elements<true>(*copy.view, Order(*copy.param), copy.bytes.get());
}

}  // namespace tenon::cpu
