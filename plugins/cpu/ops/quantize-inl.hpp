// Weights in four and eight bits (ops/quantize.cpp), as kernels read them. Included once for each instruction set, inside no namespace.
#include <algorithm>

#include "kernels.hpp"
#include "tenon/schemas.h"

#if defined(TENON_CPU_QUANTIZE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_CPU_QUANTIZE_INL
#undef TENON_CPU_QUANTIZE_INL
#else
#define TENON_CPU_QUANTIZE_INL
#endif

#include "lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

using QD = hn::ScalableTag<float>;
using QV = hn::Vec<QD>;

// How a lane of packed memory becomes `kParts` entries, in f32.
struct Int8 {
  using Packed = int8_t;
  using Linear = arg::linear_int8;
  using Dequantize = arg::dequantize_int8;
  static constexpr int kParts = 1;
  static constexpr bool kOffsets = false;
  static HWY_INLINE void entries(QD d, const Packed* p, QV (&out)[kParts]) {
    const hn::Rebind<int32_t, QD> wide;
    out[0] = hn::ConvertTo(d, hn::PromoteTo(wide, hn::LoadU(hn::Rebind<Packed, QD>(), p)));
  }
};
struct Int4 {
  using Packed = uint8_t;
  using Linear = arg::linear_int4;
  using Dequantize = arg::dequantize_int4;
  static constexpr int kParts = 2;
  static constexpr bool kOffsets = true;
  static HWY_INLINE void entries(QD d, const Packed* p, QV (&out)[kParts]) {
    const hn::Rebind<int32_t, QD> wide;
    const auto both = hn::PromoteTo(wide, hn::LoadU(hn::Rebind<Packed, QD>(), p));
    out[0] = hn::ConvertTo(d, hn::And(both, hn::Set(wide, 15)));
    out[1] = hn::ConvertTo(d, hn::ShiftRight<4>(both));
  }
};

// A weight (outputs, groups · width packed elements) beside its scales and offsets (outputs, groups).
template <class Q, class T>
struct Weight {
  const typename Q::Packed* packed;
  const T *scale, *offset;
  int64_t outputs, groups, width;

  int64_t length() const { return groups * width; }  // of a packed row
  int64_t row() const { return length() * Q::kParts; }
};

// Arg: arguments of linear or of dequantize.
template <class Q, class T, class Arg>
Weight<Q, T> weight_of(const tn_call& call) {
  const tn_view &packed = input(call, Arg::packed), &scale = input(call, Arg::scale);
  Weight<Q, T> w = {};
  w.packed = data_of<const typename Q::Packed>(packed);
  w.scale = data_of<const T>(scale);
  if constexpr (Q::kOffsets) w.offset = data_of<const T>(input(call, Arg::offset));
  const int64_t length = packed.shape[packed.ndim - 1];
  w.outputs = length == 0 ? 0 : numel(packed) / length;
  w.groups = scale.shape[scale.ndim - 1];
  w.width = length / w.groups;
  return w;
}

// A group has to be whole vectors.
template <class Q, class T>
bool whole(const Weight<Q, T>& w) {
  return w.outputs > 0 && w.width > 0 && w.width % static_cast<int64_t>(hn::Lanes(QD())) == 0;
}
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
