// nll_loss and its backward over log_probs (N, C, S); sums are kept in f64. total_weight is the sum
// of the weights of the targets that count, whatever the reduction.
#include <string>
#include <vector>

#include "dispatch.hpp"
#include "float_kernels.hpp"
#include "kernels.hpp"
#include "ops/targets.hpp"
#include "tenon/schemas.h"
#include "threads.hpp"

namespace tenon::cpu {
namespace {

struct Extent {
  int64_t n = 1, c = 1, s = 1;
};
Extent extent_of(const tn_view& x) {
  Extent e;
  const uint32_t channel = x.ndim == 1 ? 0 : 1;
  e.c = x.shape[channel];
  if (channel == 1) e.n = x.shape[0];
  for (uint32_t d = channel + 1; d < x.ndim; ++d) e.s *= x.shape[d];
  return e;
}

template <class T>
void forward(const tn_call& call) {
  using arg = tenon::arg::nll_loss;
  using C = Compute<T>;
  const Extent e = extent_of(input(call, arg::log_probs));
  const T* const x = data_of<const T>(input(call, arg::log_probs));
  const int64_t* const target = data_of<const int64_t>(input(call, arg::target));
  const tn_view* weights = input_or_null(call, arg::weight);
  const T* const weight = weights != nullptr ? data_of<const T>(*weights) : nullptr;
  const std::string_view reduction = text_arg(call, arg::reduction);
  const int64_t ignore = call.args[arg::ignore_index].as.i, count = e.n * e.s;
  check_targets("nll_loss", target, count, e.c, ignore);
  T* const out = data_of<T>(output(call));
  const bool each = reduction == "none";
  double loss = 0, total = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t t = target[i];
    if (t == ignore) {
      if (each) out[i] = static_cast<C>(0);
      continue;
    }
    const C w = weight != nullptr ? static_cast<C>(weight[t]) : C{1};
    const C term = -w * static_cast<C>(x[(i / e.s * e.c + t) * e.s + i % e.s]);
    if (each) out[i] = term;
    loss += term;
    total += w;
  }
  if (!each) *out = static_cast<C>(reduction == "mean" ? loss / total : loss);
  *data_of<T>(output(call, arg::result::total_weight)) = static_cast<C>(total);
}

template <class T>
void backward(const tn_call& call) {
  using arg = tenon::arg::nll_loss_backward;
  using C = Compute<T>;
  const Extent e = extent_of(input(call, arg::log_probs));
  const T* const g = data_of<const T>(input(call, arg::g));
  const int64_t* const target = data_of<const int64_t>(input(call, arg::target));
  const tn_view* weights = input_or_null(call, arg::weight);
  const T* const weight = weights != nullptr ? data_of<const T>(*weights) : nullptr;
  const std::string_view reduction = text_arg(call, arg::reduction);
  const int64_t ignore = call.args[arg::ignore_index].as.i;
  check_targets("nll_loss_backward", target, e.n * e.s, e.c, ignore);
  const bool each = reduction == "none";
  const C scale = reduction == "mean"
                      ? 1 / static_cast<C>(*data_of<const T>(input(call, arg::total_weight)))
                      : C{1};
  T* const out = data_of<T>(output(call));
  parallel_for(e.n, std::max<int64_t>(1, kGrainCopy / std::max<int64_t>(1, e.c * e.s)),
               [&](int64_t begin, int64_t end) {
                 std::fill(out + begin * e.c * e.s, out + end * e.c * e.s, T(C{0}));
                 for (int64_t i = begin * e.s; i < end * e.s; ++i) {
                   const int64_t t = target[i];
                   if (t == ignore) continue;
                   const C w = weight != nullptr ? static_cast<C>(weight[t]) : C{1};
                   out[(i / e.s * e.c + t) * e.s + i % e.s] =
                       -w * scale * static_cast<C>(g[each ? i : 0]);
                 }
               });
}

}  // namespace

void add_loss_nll_kernels(KernelList& list) {
  for_each_float([&]<class T>(Tag<T>) {
    list.add(
        {.schema = TN_SCHEMA_NLL_LOSS, .dtypes = TN_MASK(kDtype<T>), .run = run_of<forward<T>>});
    list.add({.schema = TN_SCHEMA_NLL_LOSS_BACKWARD,
              .dtypes = TN_MASK(kDtype<T>),
              .run = run_of<backward<T>>});
  });
}

}  // namespace tenon::cpu
