#include "ops/step_lists.hpp"

#include <cstring>
#include <new>

#include "layout.hpp"
#include "tenon/schemas.h"

namespace tenon::cpu {
namespace {

// Between a view and row-major bytes.
template <bool ToView>
void move_elements(const tn_view& view, char* bytes) {
  const int64_t size = size_of(view.dtype), n = numel(view);
  int64_t index[TN_MAX_DIMS] = {};
  char* at = static_cast<char*>(view.data);
  for (int64_t i = 0; i < n; ++i) {
    std::memcpy(ToView ? at : bytes + i * size, ToView ? bytes + i * size : at,
                static_cast<size_t>(size));
    for (uint32_t d = view.ndim; d-- > 0;) {
      at += view.strides[d] * size;
      if (++index[d] < view.shape[d]) break;
      at -= view.shape[d] * view.strides[d] * size;
      index[d] = 0;
    }
  }
}

}  // namespace

StepLists::StepLists(const tn_call& call, std::vector<uint32_t> lists) {
  const tn_value& first = call.args[lists[0]];
  parameters_.reserve(first.count);
  for (uint32_t k = 0; k < first.count; ++k) {
    const tn_view& param = *first.as.views[k];
    Parameter parameter{param.dtype, numel(param), {}};
    bool flat = (param.flags & TN_VIEW_CONTIGUOUS) != 0 || is_dense(param);
    for (uint32_t l : lists) {
      const tn_view& view = *call.args[l].as.views[k];
      flat = flat &&
             (((view.flags & param.flags) & TN_VIEW_CONTIGUOUS) != 0 || same_layout(param, view));
    }
    for (size_t l = 0; l < lists.size(); ++l) {
      const tn_view& view = *call.args[lists[l]].as.views[k];
      parameter.data[l] = static_cast<char*>(view.data);
      if (flat) continue;
      // Every step has its gradients there.
      const auto bytes = static_cast<size_t>(parameter.n * size_of(view.dtype));
      Copy copy{&view, std::unique_ptr<char[]>(new (std::nothrow) char[bytes]),
                lists[l] != arg::sgd_step::grads};
      if (copy.bytes == nullptr) throw std::bad_alloc();
      move_elements<false>(view, copy.bytes.get());
      parameter.data[l] = copy.bytes.get();
      copies_.push_back(std::move(copy));
    }
    total_ += parameter.n;
    parameters_.push_back(parameter);
  }
}

void StepLists::finish() {
  for (Copy& copy : copies_)
    if (copy.written) move_elements<true>(*copy.view, copy.bytes.get());
}

}  // namespace tenon::cpu
