// mse_loss, l1_loss, smooth_l1_loss and huber_loss: element by element, or the mean or sum over operands that lie alike. Then each element
// is read once and nothing is written but the result; pieces of fixed size are merged in order, in f64.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/loss_pair.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <cmath>

#include "kernels.hpp"
#include "lanes-inl.hpp"
#include "layout.hpp"
#include "reduce-inl.hpp"
#include "simd/map-inl.hpp"
#include "tenon/schemas.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

// Terms of two elements; 0 of equal ones.
struct Square {
  template <class D, class V>
  HWY_INLINE V operator()(D, V x, V target) const {
    const V gap = hn::Sub(x, target);
    return hn::Mul(gap, gap);
  }
};
struct Distance {
  template <class D, class V>
  HWY_INLINE V operator()(D, V x, V target) const {
    return hn::Abs(hn::Sub(x, target));
  }
};
// ½d² up to |d| = edge, edge·(|d| − ½edge) beyond; both times `scale`
struct Bent {
  double edge, scale;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V target) const {
    using T = hn::TFromD<D>;
    const V gap = hn::Sub(x, target), size = hn::Abs(gap), knee = hn::Set(d, static_cast<T>(edge));
    const V small = hn::Mul(hn::Mul(gap, gap), hn::Set(d, static_cast<T>(0.5 * scale)));
    const V large = hn::Mul(hn::Sub(size, hn::Set(d, static_cast<T>(0.5 * edge))),
                            hn::Set(d, static_cast<T>(edge * scale)));
    return hn::IfThenElse(hn::Lt(size, knee), small, large);
  }
};
struct SmoothL1 : Bent {
  explicit SmoothL1(const tn_call& call) {
    edge = real_arg(call, arg::smooth_l1_loss::beta), scale = 1 / edge;
  }
};
struct Huber : Bent {
  explicit Huber(const tn_call& call) { edge = real_arg(call, arg::huber_loss::delta), scale = 1; }
};

template <class Term, class T>
void total(const tn_call& call) {
  using arg = tenon::arg::mse_loss;
  const tn_view& view = input(call, arg::x);
  const T* const x = data_of<const T>(view);
  const T* const target = data_of<const T>(input(call, arg::target));
  const int64_t n = numel(view);
  const Term term = op_from<Term>(call);
  const auto sum_of = [=](int64_t begin, int64_t end) {
    const LaneTag<T> d;
    double sum = 0;
    for (int64_t i = begin; i < end; i += kChunk)
      sum += sum_pairs(d, x + i, target + i, static_cast<size_t>(std::min(kChunk, end - i)),
                       [&](auto a, auto b) HWY_ATTR { return term(d, a, b); });
    return sum;
  };
  double sum = fold_pieces<double>(n, sum_of, [](double& into, double other) { into += other; });
  if (text_arg(call, arg::reduction) == "mean") sum /= static_cast<double>(n);
  *data_of<T>(output(call)) = static_cast<T>(static_cast<Compute<T>>(sum));
}

// With reduction "none" the call has a loop. Without elements a mean is NaN.
bool fits(const tn_call& call) {
  using arg = tenon::arg::mse_loss;
  const tn_view &x = input(call, arg::x), &target = input(call, arg::target);
  return call.loop != nullptr ||
         (numel(x) != 0 && same_shape(x, target) && same_layout(x, target) && is_dense(x));
}
// A beta of 0 is left to the decomposition.
bool smooth_fits(const tn_call& call) {
  return real_arg(call, arg::smooth_l1_loss::beta) > 0 && fits(call);
}

template <class Term, class T, auto Each>
tn_status* run_pair(void* self, void* plan, const tn_call* call) {
  return call->loop != nullptr ? Each(self, plan, call)
                               : sdk::guard([&] { total<Term, T>(*call); });
}

// scale·g·(x − target), the difference held within ±delta; NaN stays.
struct Backward {
  double delta, scale;
  explicit Backward(const tn_call& call)
      : delta(call.args[arg::huber_loss_backward::delta].tag == TN_VALUE_NONE
                  ? HUGE_VAL
                  : real_arg(call, arg::huber_loss_backward::delta)),
        scale(real_arg(call, arg::huber_loss_backward::scale)) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V g, V x, V target) const {
    using T = hn::TFromD<D>;
    const V most = hn::Set(d, static_cast<T>(delta)), gap = hn::Sub(x, target);
    const V held = hn::IfThenElse(hn::Gt(hn::Abs(gap), most), hn::CopySign(most, gap), gap);
    return hn::Mul(hn::Mul(g, hn::Set(d, static_cast<T>(scale))), held);
  }
};

template <class Term, class T, auto Each>
void add_pair(KernelList& list, std::string_view schema, auto supports) {
  const auto itself = [](const void* self, const tn_call&) {
    return static_cast<const Elementwise*>(self);
  };
  list.add({.schema = schema,
            .dtypes = TN_MASK(kDtype<T>),
            .run = run_pair<Term, T, Each>,
            .flags = kElementwiseFlags,
            .supports = supports,
            .self = const_cast<Elementwise*>(&kBinary<Term, Compute<T>, kGrainCopy>),
            .stretch = {itself, through_of(Each)}});
}
template <class T, auto Each>
void add_of(KernelList& list) {
  add_pair<Square, T, Each>(list, TN_SCHEMA_MSE_LOSS, supports_of<fits>);
  add_pair<Distance, T, Each>(list, TN_SCHEMA_L1_LOSS, supports_of<fits>);
  add_pair<SmoothL1, T, Each>(list, TN_SCHEMA_SMOOTH_L1_LOSS, supports_of<smooth_fits>);
  add_pair<Huber, T, Each>(list, TN_SCHEMA_HUBER_LOSS, supports_of<fits>);
}
void add_kernels(KernelList& list) {
  add_of<float, run_elementwise>(list);
  add_of<double, run_elementwise>(list);
  add_of<F16, run_elementwise_f16>(list);
  add_of<BF16, run_elementwise_bf16>(list);
  add_ternary<Backward, kGrainCopy>(list, TN_SCHEMA_HUBER_LOSS_BACKWARD);
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_loss_pair_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
