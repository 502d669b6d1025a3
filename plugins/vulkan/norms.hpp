// What the normalisations share: the passes after the statistics are known.
#pragma once

#include "fold.hpp"

namespace tenon::vulkan {

enum Apply : uint32_t { kForward, kBackward, kRunning };  // as shaders/norm_apply.comp
enum Sums : uint32_t { kMeans, kParameters };             // as shaders/norm_sums.comp

// Element i uses statistics and parameters number i / step % count.
struct Sharing {
  int64_t step, count, parameter_step, parameter_count;
};

struct Normalized {
  const tn_view* x;
  const tn_view* mean;  // NULL: 0
  const tn_view* rstd;
  const tn_view* weight;  // or NULL
  const tn_view* last;    // forward: bias, or NULL; backward: the gradient
  Place means;            // backward: a, followed by b
};

// y of x, or gx.
void run_apply(const tn_call& call, Apply which, const Normalized& operands,
               const Sharing& sharing);

// The dtype of statistics: the one in which x is computed.
inline tn_dtype statistic_of(const tn_view& x) {
  return x.dtype == TN_DTYPE_F64 ? TN_DTYPE_F64 : TN_DTYPE_F32;
}

// Describes a parameter to shaders.
inline uint32_t parameter_constant(const tn_view* view) {
  return view != nullptr ? 1 + view->dtype : 0;
}

}  // namespace tenon::vulkan
