// Parameters of a norm of rows as its kernels read them.
#pragma once

#include <vector>

#include "kernels.hpp"

namespace tenon::cpu {

// A parameter in S, what is computed in; widened into `own` where it has the dtype of x, which is T; n times `otherwise` where there
// is none.
template <class T, class S>
const S* norm_parameter(const tn_view* view, int64_t n, S otherwise, std::vector<S>& own) {
  if (view != nullptr && view->dtype == kDtype<S>) return data_of<const S>(*view);
  own.assign(static_cast<size_t>(n), otherwise);
  if (view != nullptr)
    for (int64_t i = 0; i < n; ++i)
      own[static_cast<size_t>(i)] = static_cast<S>(data_of<const T>(*view)[i]);
  return own.data();
}

}  // namespace tenon::cpu
