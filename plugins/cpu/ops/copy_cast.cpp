// Conversions between dtypes. Floats to integers are truncated and limited to the range,
// NaN gives 0: the same on every processor. Anything but 0 is true. A complex number loses
// its imaginary part.
#include <bit>
#include <cmath>
#include <limits>

#include "convert.hpp"
#include "kernels.hpp"
#include "tenon/schemas.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/copy_cast.cpp"
#include <hwy/foreach_target.h>

#include "simd/map-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

template <class To, class From>
HWY_INLINE To convert(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From{0};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // Both ends as the nearest float inside or just outside the range.
    constexpr From kEnd =
        From{2} * static_cast<From>(uint64_t{1} << (std::numeric_limits<To>::digits - 1));
    constexpr From kLow = static_cast<From>(std::numeric_limits<To>::min());
    const bool inside = x > kLow && x < kEnd;
    const To value = static_cast<To>(inside ? x : From{0});
    const To outside = x >= kEnd   ? std::numeric_limits<To>::max()
                       : x <= kLow ? std::numeric_limits<To>::min()
                                   : To{0};
    return inside ? value : outside;
  } else {
    return static_cast<To>(x);
  }
}

// To f32 on the way to a narrower type: what is lost makes the last bit odd, so that rounding twice
// is rounding once.
HWY_INLINE float round_to_odd(double x) {
  const float nearest = static_cast<float>(x);
  const double error = x - static_cast<double>(nearest);
  const uint32_t bits = std::bit_cast<uint32_t>(nearest);
  // For infinite x the error is NaN or 0.
  const bool adjust = error != 0 && x == x && (bits & 1) == 0;
  const bool outward = (error > 0) == (x > 0);
  return adjust && error == error ? std::bit_cast<float>(outward ? bits + 1 : bits - 1) : nearest;
}
void narrow_to_odd(const double* in, float* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = round_to_odd(in[i]);
}

template <class To, class From>
void cast_stretch(const void*, void* out_bytes, const void* const* in_bytes, int64_t n) {
  To* __restrict out = static_cast<To*>(out_bytes);
  const From* in = static_cast<const From*>(in_bytes[0]);
  for (int64_t i = 0; i < n; ++i) out[i] = convert<To>(in[i]);
}

// The half types and 8-bit floats pass through f32, and complex ones through their parts, in blocks
// that stay in the first cache.
constexpr int64_t kBlock = 512;

template <class T>
inline constexpr bool is_narrow_v = is_half_v<T> || is_float8_v<T>;
template <class T>
using Carrier = std::conditional_t<is_narrow_v<T>, float, T>;

template <class From>
void widen_stretch(const From* in, float* out, int64_t n) {
  const HalfConversions& half = half_conversions();
  if constexpr (is_half_v<From>)
    (std::is_same_v<From, F16> ? half.from_f16 : half.from_bf16)(
        reinterpret_cast<const uint16_t*>(in), out, n);
  else
    for (int64_t i = 0; i < n; ++i) out[i] = in[i];
}
template <class To>
void narrow_stretch(const float* in, To* out, int64_t n) {
  const HalfConversions& half = half_conversions();
  if constexpr (is_half_v<To>)
    (std::is_same_v<To, F16> ? half.to_f16 : half.to_bf16)(in, reinterpret_cast<uint16_t*>(out), n);
  else
    for (int64_t i = 0; i < n; ++i) out[i] = To(in[i]);
}

template <class To, class From>
void cast_through_f32(const void* params, void* out_bytes, const void* const* in_bytes, int64_t n) {
  alignas(64) Carrier<From> wide_in[kBlock];
  alignas(64) Carrier<To> wide_out[kBlock];
  for (int64_t done = 0; done < n; done += kBlock) {
    const int64_t m = std::min(kBlock, n - done);
    const From* from = static_cast<const From*>(in_bytes[0]) + done;
    To* to = static_cast<To*>(out_bytes) + done;
    const void* source = from;
    if constexpr (is_narrow_v<From>) {
      widen_stretch(from, wide_in, m);
      source = wide_in;
    }
    if constexpr (is_narrow_v<To>) {
      const float* result = static_cast<const float*>(source);
      if constexpr (std::is_same_v<From, double>) {
        narrow_to_odd(from, wide_out, m);
        result = wide_out;
      } else if constexpr (!std::is_same_v<Carrier<From>, float>) {
        cast_stretch<float, From>(params, wide_out, &source, m);
        result = wide_out;
      }
      narrow_stretch(result, to, m);
    } else if constexpr (std::is_same_v<To, float>) {
      std::memcpy(to, source, static_cast<size_t>(m) * sizeof(float));
    } else {
      cast_stretch<To, float>(params, to, &source, m);
    }
  }
}

// Complex on either side: parts are f32 or f64, what lies beyond them is done by
// the other conversions.
template <class To, class From>
void cast_complex(const void*, void* out_bytes, const void* const* in_bytes, int64_t n) {
  const From* in = static_cast<const From*>(in_bytes[0]);
  To* out = static_cast<To*>(out_bytes);
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (is_complex_v<From> && is_complex_v<To>) {
      out[i] = To(static_cast<typename To::value_type>(in[i].real()),
                  static_cast<typename To::value_type>(in[i].imag()));
    } else if constexpr (is_complex_v<From>) {
      if constexpr (std::is_same_v<To, bool>)
        out[i] = in[i] != From(0);
      else if constexpr (is_narrow_v<To>)
        out[i] = To(static_cast<float>(in[i].real()));
      else
        out[i] = convert<To>(in[i].real());
    } else {
      out[i] = To(static_cast<typename To::value_type>(static_cast<Compute<From>>(in[i])));
    }
  }
}

template <class T>
void copy_stretch(const void*, void* out, const void* const* in, int64_t n) {
  std::memcpy(out, in[0], static_cast<size_t>(n) * sizeof(T));
}

template <class To, class From>
constexpr StretchFn stretch_for() {
  if constexpr (std::is_same_v<To, From>)
    return copy_stretch<To>;
  else if constexpr (is_complex_v<To> || is_complex_v<From>)
    return cast_complex<To, From>;
  else if constexpr (is_narrow_v<To> || is_narrow_v<From>)
    return cast_through_f32<To, From>;
  // A change of sign is no change of bits, and a bool is a byte.
  else if constexpr (std::is_integral_v<To> && is_int_v<From> && sizeof(To) == sizeof(From) &&
                     !std::is_same_v<To, bool>)
    return copy_stretch<To>;
  else
    return cast_stretch<To, From>;
}
template <class To, class From>
inline constexpr Elementwise kCast = {{stretch_for<To, From>(), nullptr, nullptr, nullptr},
                                      1,
                                      sizeof(To),
                                      {sizeof(From)},
                                      kGrainMath};

template <class From>
const Elementwise* cast_of(const void*, const tn_call& call) {
#define TENON_CPU_TO(code, T) &kCast<T, From>,
  constexpr const Elementwise* kTo[TN_DTYPE_COUNT] = {TENON_CPU_DTYPES(TENON_CPU_TO)};  // by code
#undef TENON_CPU_TO
  return kTo[call.outs[0]->dtype];
}
template <class From>
tn_status* run_cast(void* self, void* plan, const tn_call* call) {
  return run_elementwise(const_cast<Elementwise*>(cast_of<From>(self, *call)), plan, call);
}

void add_kernels(KernelList& list) {
#define TENON_CPU_CAST(code, T)         \
  list.add({.schema = TN_SCHEMA_CAST,   \
            .dtypes = TN_MASK(code),    \
            .run = run_cast<T>,         \
            .flags = kElementwiseFlags, \
            .stretch = {cast_of<T>}});
  TENON_CPU_DTYPES(TENON_CPU_CAST)
#undef TENON_CPU_CAST
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_copy_cast_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
