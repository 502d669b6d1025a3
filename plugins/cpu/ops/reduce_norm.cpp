// norm: any p; squares and powers are summed in f64, so f32 neither overflows nor vanishes.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/reduce_norm.cpp"
#include <hwy/foreach_target.h>

#include <cmath>

#include "reduce-inl.hpp"
#include "tenon/schemas.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

template <class T>
struct Norm {
  using Elem = T;
  using State = double;
  static constexpr bool ordered = false;
  double p;
  bool top() const { return std::isinf(p); }

  double start() const { return top() && p < 0 ? std::numeric_limits<double>::infinity() : 0; }
  double power(double x) const {
    if (p == 0) return x != 0 ? 1 : 0;
    if (p == 3) return x * x * std::abs(x);
    return std::pow(std::abs(x), p);
  }
  void merge(double& into, double other) const {
    if (!top()) {
      into += other;
    } else if ((p > 0 ? other > into : other < into) || other != other) {
      into = other;
    }
  }
  double run(const T* x, int64_t count, int64_t) const {
    const size_t n = static_cast<size_t>(count);
    const LaneTag<T> d;
    const hn::ScalableTag<double> d64;
    const auto add = [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); };
    if (p == 2) {
      const auto step = [](auto acc, auto v) HWY_ATTR { return hn::MulAdd(v, v, acc); };
      return hn::GetLane(hn::SumOfLanes(d64, fold(d64, x, n, hn::Zero(d64), 0, step, add)));
    }
    if (p == 1) {
      const auto step = [](auto acc, auto v) HWY_ATTR { return hn::Add(acc, hn::Abs(v)); };
      return hn::GetLane(hn::SumOfLanes(d, fold(d, x, n, hn::Zero(d), 0, step, add)));
    }
    if (p == 3) {
      const auto step = [](auto acc, auto v)
                            HWY_ATTR { return hn::MulAdd(hn::Mul(v, v), hn::Abs(v), acc); };
      return hn::GetLane(hn::SumOfLanes(d64, fold(d64, x, n, hn::Zero(d64), 0, step, add)));
    }
    if (top() && p > 0) {
      const auto step = [d](auto acc, auto v) HWY_ATTR { return max_nan(d, acc, hn::Abs(v)); };
      return max_of_lanes(d, fold(d, x, n, hn::Zero(d), 0, step, step));
    }
    if (top()) {
      const T most = std::numeric_limits<T>::infinity();
      const auto step = [d](auto acc, auto v) HWY_ATTR { return min_nan(d, acc, hn::Abs(v)); };
      return min_of_lanes(d, fold(d, x, n, hn::Set(d, most), most, step, step));
    }
    double sum = 0;
    for (size_t i = 0; i < n; ++i) sum += power(x[i]);
    return sum;
  }
  void columns(const T* x, int64_t step, int64_t rows, int64_t cols, int64_t, double* s) const {
    for (int64_t r = 0; r < rows; ++r) {
      const T* row = x + r * step;
      if (p == 2) {
        for (int64_t c = 0; c < cols; ++c) s[c] += static_cast<double>(row[c]) * row[c];
      } else if (p == 1) {
        for (int64_t c = 0; c < cols; ++c) s[c] += std::abs(static_cast<double>(row[c]));
      } else {
        for (int64_t c = 0; c < cols; ++c)
          merge(s[c], top() ? std::abs(static_cast<double>(row[c])) : power(row[c]));
      }
    }
  }
};

template <class Out, class T>
void put(const Norm<T>& r, char* out, int64_t at, const double& state, int64_t) {
  double value = state;
  if (r.p == 2) {
    value = std::sqrt(state);
  } else if (!r.top() && r.p != 0 && r.p != 1) {
    value = std::pow(state, 1 / r.p);
  }
  reinterpret_cast<Out*>(out)[at] = static_cast<T>(value);
}

// In is the tensor's dtype; complex numbers count by their modulus.
template <class In, class T, class Out>
HWY_INLINE void norm_of(const tn_call& call) {
  reduce_call(call, Norm<T>{real_arg(call, arg::norm::p)},
              source_of<T, TN_MASK(kDtype<In>)>(kDtype<In>), put_each<Norm<T>, put<Out, T>>);
}

void norm(const tn_call& call) {
  visit_dtype<TN_MASK_FLOAT | TN_MASK_COMPLEX>(
      input(call, arg::norm::x).dtype, [&]<class In>(Tag<In>) {
        if constexpr (is_complex_v<In>) {
          norm_of<In, typename In::value_type, typename In::value_type>(call);
        } else {
          norm_of<In, Compute<In>, In>(call);
        }
      });
}

void add_kernels(KernelList& list) {
  list.add(
      {.schema = TN_SCHEMA_NORM, .dtypes = TN_MASK_FLOAT | TN_MASK_COMPLEX, .run = run_of<norm>});
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_reduce_norm_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
