// cumsum, cumprod. Running totals of f32 are kept in f64, of integers in 64 bits.
#include "dispatch.hpp"
#include "kernels.hpp"
#include "tenon/schemas.h"
#include "threads.hpp"

namespace tenon::cpu {
namespace {

template <class T>
using Total =
    std::conditional_t<is_complex_v<T>, std::complex<double>,
                       std::conditional_t<is_float_v<T>, double, uint64_t>>;  // integers wrap
                                                                              // around

template <class Out, class A>
Out narrow(A total) {
  if constexpr (is_half_v<Out>) {
    return static_cast<float>(total);
  } else {
    return static_cast<Out>(total);
  }
}

template <bool Product, class In, class Out>
void scan(const tn_call& call) {
  const tn_view& view = input(call, arg::cumsum::x);
  const int64_t n = view.shape[view.ndim - 1];
  if (n == 0) return;
  const In* const x = data_of<const In>(view);
  Out* const y = data_of<Out>(output(call));
  parallel_for(numel(view) / n, std::max<int64_t>(1, kGrainMath / n),
               [=](int64_t begin, int64_t end) {
                 for (int64_t r = begin; r < end; ++r) {
                   Total<In> total = Product ? 1 : 0;
                   for (int64_t i = r * n; i < (r + 1) * n; ++i) {
                     const auto value = static_cast<Total<In>>(static_cast<Compute<In>>(x[i]));
                     total = Product ? total * value : total + value;
                     y[i] = narrow<Out>(total);
                   }
                 }
               });
}

// Integers come out in any integer dtype, everything else in its own.
template <bool Product>
void scan_any(const tn_call& call) {
  visit_dtype(input(call, arg::cumsum::x).dtype, [&]<class In>(Tag<In>) {
    if constexpr (std::is_integral_v<In>) {
      visit_size(size_of(output(call).dtype), [&]<class Out>(Tag<Out>) {
        if constexpr (std::is_integral_v<Out>) scan<Product, In, Out>(call);
      });
    } else {
      scan<Product, In, In>(call);
    }
  });
}

}  // namespace

void add_scan_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_CUMSUM, .dtypes = TN_MASK_ALL, .run = run_of<scan_any<false>>});
  list.add({.schema = TN_SCHEMA_CUMPROD, .dtypes = TN_MASK_ALL, .run = run_of<scan_any<true>>});
}

}  // namespace tenon::cpu
