// Chains in registers: eight vectors, or the last incomplete one, pass through all ops before the next.
#include <hwy/cache_control.h>

#include "fuse/chain.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "fuse/chain_run.cpp"
#include <hwy/foreach_target.h>

#include "simd/map-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

#define TENON_CHAIN_OP2(Name, expression)                          \
  struct Name {                                                    \
    HWY_INLINE V operator()(V x, V y) const { return expression; } \
  };
#define TENON_CHAIN_OP1(Name, expression)                     \
  struct Name {                                               \
    HWY_INLINE V operator()(V x) const { return expression; } \
  };
TENON_CHAIN_OP2(AddOp, hn::Add(x, y))
TENON_CHAIN_OP2(SubOp, hn::Sub(x, y))
TENON_CHAIN_OP2(SubFromOp, hn::Sub(y, x))
TENON_CHAIN_OP2(MulOp, hn::Mul(x, y))
TENON_CHAIN_OP2(DivOp, hn::Div(x, y))
TENON_CHAIN_OP2(DivIntoOp, hn::Div(y, x))
TENON_CHAIN_OP1(DoubleOp, hn::Add(x, x))
TENON_CHAIN_OP1(SquareOp, hn::Mul(x, x))
TENON_CHAIN_OP1(NegOp, hn::Neg(x))
TENON_CHAIN_OP1(AbsOp, hn::Abs(x))
TENON_CHAIN_OP1(SqrtOp, hn::Sqrt(x))
TENON_CHAIN_OP1(ReluOp, hn::IfThenZeroElse(hn::Lt(x, hn::Zero(D())), x))
TENON_CHAIN_OP1(RoundOp, hn::Round(x))
TENON_CHAIN_OP1(FromIntOp, hn::ConvertTo(D(), hn::BitCast(hn::RebindToSigned<D>(), x)))
#undef TENON_CHAIN_OP1
// Integers in registers for floats, which change no bits of them.
using I = hn::RebindToUnsigned<D>;
TENON_CHAIN_OP2(AddIntOp, hn::BitCast(D(), hn::Add(hn::BitCast(I(), x), hn::BitCast(I(), y))))
TENON_CHAIN_OP2(SubIntOp, hn::BitCast(D(), hn::Sub(hn::BitCast(I(), x), hn::BitCast(I(), y))))
TENON_CHAIN_OP2(SubIntFromOp, SubIntOp()(y, x))
#undef TENON_CHAIN_OP2

// NaN stays; where low is above high, high wins.
struct ClampOp {
  float low, high;
  HWY_INLINE V operator()(V x) const {
    const V lower = hn::Set(D(), low), upper = hn::Set(D(), high);
    const V raised = hn::IfThenElse(hn::Lt(x, lower), lower, x);
    return hn::IfThenElse(hn::Gt(raised, upper), upper, raised);
  }
};

bool is_aligned(const float* to) {
  return reinterpret_cast<uintptr_t>(to) % (hn::Lanes(D()) * sizeof(float)) == 0;
}

// As many values as registers hold beside operands.
class Eight {
 public:
  static int64_t size() { return 8 * static_cast<int64_t>(hn::Lanes(D())); }
  explicit Eight(int64_t) : step_(static_cast<int64_t>(hn::Lanes(D()))) {}
  HWY_INLINE void load(const float* from) {
    a_ = hn::LoadU(D(), from), b_ = hn::LoadU(D(), from + step_);
    c_ = hn::LoadU(D(), from + 2 * step_), d_ = hn::LoadU(D(), from + 3 * step_);
    e_ = hn::LoadU(D(), from + 4 * step_), f_ = hn::LoadU(D(), from + 5 * step_);
    g_ = hn::LoadU(D(), from + 6 * step_), h_ = hn::LoadU(D(), from + 7 * step_);
  }
  HWY_INLINE void set(float value) { a_ = b_ = c_ = d_ = e_ = f_ = g_ = h_ = hn::Set(D(), value); }
  HWY_INLINE void store(float* to) const {
    hn::StoreU(a_, D(), to), hn::StoreU(b_, D(), to + step_);
    hn::StoreU(c_, D(), to + 2 * step_), hn::StoreU(d_, D(), to + 3 * step_);
    hn::StoreU(e_, D(), to + 4 * step_), hn::StoreU(f_, D(), to + 5 * step_);
    hn::StoreU(g_, D(), to + 6 * step_), hn::StoreU(h_, D(), to + 7 * step_);
  }
  HWY_INLINE void stream(float* to) const {
    if (!is_aligned(to)) return store(to);
    hn::Stream(a_, D(), to), hn::Stream(b_, D(), to + step_);
    hn::Stream(c_, D(), to + 2 * step_), hn::Stream(d_, D(), to + 3 * step_);
    hn::Stream(e_, D(), to + 4 * step_), hn::Stream(f_, D(), to + 5 * step_);
    hn::Stream(g_, D(), to + 6 * step_), hn::Stream(h_, D(), to + 7 * step_);
  }
  template <class Op>
  HWY_INLINE void with(Op op, const float* y) {
    a_ = op(a_, hn::LoadU(D(), y)), b_ = op(b_, hn::LoadU(D(), y + step_));
    c_ = op(c_, hn::LoadU(D(), y + 2 * step_)), d_ = op(d_, hn::LoadU(D(), y + 3 * step_));
    e_ = op(e_, hn::LoadU(D(), y + 4 * step_)), f_ = op(f_, hn::LoadU(D(), y + 5 * step_));
    g_ = op(g_, hn::LoadU(D(), y + 6 * step_)), h_ = op(h_, hn::LoadU(D(), y + 7 * step_));
  }
  template <class Op>
  HWY_INLINE void with_one(Op op, float y) {
    const V value = hn::Set(D(), y);
    a_ = op(a_, value), b_ = op(b_, value), c_ = op(c_, value), d_ = op(d_, value);
    e_ = op(e_, value), f_ = op(f_, value), g_ = op(g_, value), h_ = op(h_, value);
  }
  template <class Op>
  HWY_INLINE void alone(Op op) {
    a_ = op(a_), b_ = op(b_), c_ = op(c_), d_ = op(d_);
    e_ = op(e_), f_ = op(f_), g_ = op(g_), h_ = op(h_);
  }

 private:
  int64_t step_;
  V a_, b_, c_, d_, e_, f_, g_, h_;
};

// Of the elements that are left, at most a vector.
class Few {
 public:
  static int64_t size() { return static_cast<int64_t>(hn::Lanes(D())); }
  explicit Few(int64_t left) : count_(std::min(left, size())) {}
  HWY_INLINE void load(const float* from) { value_ = some(from); }
  HWY_INLINE void set(float value) { value_ = hn::Set(D(), value); }
  HWY_INLINE void store(float* to) const {
    if (count_ == size())
      hn::StoreU(value_, D(), to);
    else
      store_some(value_, D(), to, count_);
  }
  HWY_INLINE void stream(float* to) const { store(to); }
  template <class Op>
  HWY_INLINE void with(Op op, const float* y) {
    value_ = op(value_, some(y));
  }
  template <class Op>
  HWY_INLINE void with_one(Op op, float y) {
    value_ = op(value_, hn::Set(D(), y));
  }
  template <class Op>
  HWY_INLINE void alone(Op op) {
    value_ = op(value_);
  }

 private:
  HWY_INLINE V some(const float* from) const {
    return count_ == size() ? hn::LoadU(D(), from) : load_some(D(), from, count_);
  }
  int64_t count_;
  V value_;
};

template <class Values, class Op>
HWY_INLINE void apply(Values& values, const ChainOp& op, const float* one, int64_t at, Op how) {
  op.one ? values.with_one(how, *one) : values.with(how, one + at);
}

template <class Values>
HWY_INLINE void run_block(Values values, const ChainOp* op, const ChainOp* end, char* const* places,
                          int64_t at) {
  for (; op != end; ++op) {
    auto* const place = reinterpret_cast<float*>(places[op->place]);
    switch (op->code) {
      case ChainCode::kLoad:
        op->one ? values.set(*place) : values.load(place + at);
        break;
      case ChainCode::kStore:
        values.store(place + at);
        break;
      case ChainCode::kStream:
        values.stream(place + at);
        break;
      case ChainCode::kAdd:
        apply(values, *op, place, at, AddOp());
        break;
      case ChainCode::kSub:
        apply(values, *op, place, at, SubOp());
        break;
      case ChainCode::kSubFrom:
        apply(values, *op, place, at, SubFromOp());
        break;
      case ChainCode::kMul:
        apply(values, *op, place, at, MulOp());
        break;
      case ChainCode::kDiv:
        apply(values, *op, place, at, DivOp());
        break;
      case ChainCode::kDivInto:
        apply(values, *op, place, at, DivIntoOp());
        break;
      case ChainCode::kDouble:
        values.alone(DoubleOp());
        break;
      case ChainCode::kSquare:
        values.alone(SquareOp());
        break;
      case ChainCode::kNeg:
        values.alone(NegOp());
        break;
      case ChainCode::kAbs:
        values.alone(AbsOp());
        break;
      case ChainCode::kSqrt:
        values.alone(SqrtOp());
        break;
      case ChainCode::kRelu:
        values.alone(ReluOp());
        break;
      case ChainCode::kRound:
        values.alone(RoundOp());
        break;
      case ChainCode::kClamp:
        values.alone(ClampOp{op->low, op->high});
        break;
      case ChainCode::kFromInt:
        values.alone(FromIntOp());
        break;
      case ChainCode::kAddInt:
        apply(values, *op, place, at, AddIntOp());
        break;
      case ChainCode::kSubInt:
        apply(values, *op, place, at, SubIntOp());
        break;
      case ChainCode::kSubIntFrom:
        apply(values, *op, place, at, SubIntFromOp());
        break;
      case ChainCode::kNone:
        break;
    }
  }
}

void run_chain(const ChainOp* ops, size_t count, char* const* places, int64_t n) {
  int64_t at = 0;
  for (; at + Eight::size() <= n; at += Eight::size())
    run_block(Eight(n), ops, ops + count, places, at);
  for (; at < n; at += Few::size()) run_block(Few(n - at), ops, ops + count, places, at);
}

RunChain runner() { return run_chain; }

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(runner);
RunChain chain_runner() {
  static const RunChain best = HWY_DYNAMIC_DISPATCH(runner)();
  return best;
}
}  // namespace tenon::cpu
#endif
