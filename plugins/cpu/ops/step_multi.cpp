// The norm of a whole list of tensors, and their scaling: what clipping of gradients needs.
#include <cmath>

#include "kernels.hpp"
#include "ops/step_lists.hpp"
#include "tenon/schemas.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/step_multi.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

// Sums run in f64 over pieces of fixed length, so the number of threads doesn't change them.
constexpr int64_t kPiece = 4096;
constexpr int64_t kLanes = 16;

struct Squares {
  static HWY_INLINE double term(double x, double) { return x * x; }
  static HWY_INLINE double join(double a, double b) { return a + b; }
};
struct Magnitudes {
  static HWY_INLINE double term(double x, double) { return std::abs(x); }
  static HWY_INLINE double join(double a, double b) { return a + b; }
};
struct Largest {
  static HWY_INLINE double term(double x, double) { return std::abs(x); }
  static HWY_INLINE double join(double a, double b) { return a > b || a != a ? a : b; }  // NaN wins
};
struct Powers {
  static HWY_INLINE double term(double x, double p) { return std::pow(std::abs(x), p); }
  static HWY_INLINE double join(double a, double b) { return a + b; }
};

template <class F, class T>
double piece(const T* x, int64_t n, double p) {
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int64_t j = 0; j < kLanes; ++j)
      lanes[j] =
          F::join(lanes[j], F::term(static_cast<double>(static_cast<Compute<T>>(x[i + j])), p));
  for (; i < n; ++i)
    lanes[0] = F::join(lanes[0], F::term(static_cast<double>(static_cast<Compute<T>>(x[i])), p));
  for (int64_t j = 1; j < kLanes; ++j) lanes[0] = F::join(lanes[0], lanes[j]);
  return lanes[0];
}

template <class F>
double total(const StepLists& lists, double p) {
  struct Item {
    const Parameter* parameter;
    int64_t begin;
  };
  std::vector<Item> items;
  for (const Parameter& parameter : lists.parameters())
    for (int64_t begin = 0; begin < parameter.n; begin += kPiece)
      items.push_back({&parameter, begin});
  std::vector<double> sums(items.size());
  parallel_for(static_cast<int64_t>(items.size()), kGrainMath / kPiece,
               [&](int64_t first, int64_t last) HWY_ATTR {
                 for (int64_t k = first; k < last; ++k) {
                   const Item item = items[static_cast<size_t>(k)];
                   const int64_t n = std::min(kPiece, item.parameter->n - item.begin);
                   visit_dtype<TN_MASK_FLOAT>(item.parameter->dtype, [&]<class T>(Tag<T>) HWY_ATTR {
                     sums[static_cast<size_t>(k)] = piece<F>(
                         reinterpret_cast<const T*>(item.parameter->data[0]) + item.begin, n, p);
                   });
                 }
               });
  double sum = 0;
  for (double part : sums) sum = F::join(sum, part);
  return sum;
}

void multi_norm(const tn_call& call) {
  const StepLists lists(call, {arg::multi_norm::xs});
  const double p = real_arg(call, arg::multi_norm::p);
  double norm;
  if (p == 2)
    norm = std::sqrt(total<Squares>(lists, p));
  else if (p == 1)
    norm = total<Magnitudes>(lists, p);
  else if (std::isinf(p))
    norm = total<Largest>(lists, p);
  else
    norm = std::pow(total<Powers>(lists, p), 1 / p);
  const tn_view& out = output(call);
  if (out.dtype == TN_DTYPE_F64)
    *data_of<double>(out) = norm;
  else
    *data_of<float>(out) = static_cast<float>(norm);
}

template <class T>
void scale(T* x, int64_t begin, int64_t end, Compute<T> factor) {
  for (int64_t i = begin; i < end; ++i)
    x[i] = static_cast<T>(static_cast<Compute<T>>(x[i]) * factor);
}

void multi_scale(const tn_call& call) {
  const tn_view& by = input(call, arg::multi_scale::factor);
  const double factor = visit_dtype<TN_MASK_FLOAT>(by.dtype, [&]<class T>(Tag<T>) {
    return static_cast<double>(static_cast<Compute<T>>(*data_of<const T>(by)));
  });
  if (factor == 1) return;
  StepLists lists(call, {arg::multi_scale::xs});
  each_part(lists, [&](const Parameter& parameter, int64_t begin, int64_t end) HWY_ATTR {
    visit_dtype<TN_MASK_FLOAT>(parameter.dtype, [&]<class T>(Tag<T>) HWY_ATTR {
      scale(reinterpret_cast<T*>(parameter.data[0]), begin, end, static_cast<Compute<T>>(factor));
    });
  });
  lists.finish();
}

void add_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_MULTI_NORM,
            .dtypes = TN_MASK_FLOAT,
            .run = run_of<multi_norm>,
            .flags = TN_KERNEL_STRIDED});
  list.add({.schema = TN_SCHEMA_MULTI_SCALE,
            .dtypes = TN_MASK_FLOAT,
            .run = run_of<multi_scale>,
            .flags = TN_KERNEL_STRIDED | TN_KERNEL_HOST_SCALARS});
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_step_multi_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
