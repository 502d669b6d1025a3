// Conversions between dtypes. Floats are truncated to integers and clamped to the range, NaN gives 0, and anything but 0 is true. One
// kernel for each pair of sizes decides the kind of element at run time; f32 and the half types have kernels of their own.
#include "elementwise.hpp"
#include "tenon/float_formats.h"

namespace tenon::gpu {
namespace {

enum class Kind : uint32_t {
  kBool,
  kUnsigned,
  kSigned,
  kHalf,
  kBrain,
  kFloat,
  kDouble,
  kE4M3,
  kE5M2
};

Kind kind_of(tn_dtype dtype) {
  switch (dtype) {
    case TN_DTYPE_BOOL:
      return Kind::kBool;
    case TN_DTYPE_F16:
      return Kind::kHalf;
    case TN_DTYPE_BF16:
      return Kind::kBrain;
    case TN_DTYPE_F32:
      return Kind::kFloat;
    case TN_DTYPE_F64:
      return Kind::kDouble;
    case TN_DTYPE_F8_E4M3:
      return Kind::kE4M3;
    case TN_DTYPE_F8_E5M2:
      return Kind::kE5M2;
    default:
      return dtype >= TN_DTYPE_I8 ? Kind::kSigned : Kind::kUnsigned;
  }
}

// Converts to f32 on the way to a narrower type. Lost bits make the last bit odd, so that rounding twice equals rounding once.
GPU_FN float to_float_odd(double x) {
  const auto nearest = static_cast<float>(x);
  const double error = x - static_cast<double>(nearest);
  const auto bits = bits_as<uint32_t>(nearest);
  // For infinities and NaN the error is NaN, or infinite beyond f32's range.
  if (!(error > 0 || error < 0) || (bits & 1) != 0) return nearest;
  return bits_as<float>((error > 0) == (x > 0) ? bits + 1 : bits - 1);
}
GPU_FN float to_float_odd(float x) { return x; }

// The bits of an element of some size, from a number.
template <class To>
struct Target {
  Kind kind;

  template <class R>
  GPU_FN To from_real(R x) const {
    if (kind == Kind::kBool) return x != R(0);
    if constexpr (sizeof(To) == 8)
      if (kind == Kind::kDouble) return bits_as<uint64_t>(static_cast<double>(x));
    if constexpr (sizeof(To) == 4)
      if (kind == Kind::kFloat) return bits_as<uint32_t>(static_cast<float>(x));
    if constexpr (sizeof(To) == 2) {
      if (kind == Kind::kHalf) return narrow<Half>(to_float_odd(x)).bits;
      if (kind == Kind::kBrain) return narrow<BFloat16>(to_float_odd(x)).bits;
    }
    if constexpr (sizeof(To) == 1) {
      if (kind == Kind::kE4M3) return tn_f32_to_f8_e4m3(to_float_odd(x));
      if (kind == Kind::kE5M2) return tn_f32_to_f8_e5m2(to_float_odd(x));
    }
    using Signed = std::make_signed_t<To>;
    if (kind == Kind::kSigned) {
      constexpr R kEnd = R(uint64_t{1} << (8 * sizeof(To) - 1));
      if (x >= kEnd) return static_cast<To>(std::numeric_limits<Signed>::max());
      if (x <= -kEnd) return static_cast<To>(std::numeric_limits<Signed>::min());
      return is_number(x) ? static_cast<To>(static_cast<int64_t>(x)) : To(0);
    }
    constexpr R kEnd = R(2) * R(uint64_t{1} << (8 * sizeof(To) - 1));
    if (x >= kEnd) return std::numeric_limits<To>::max();
    return x > R(0) ? static_cast<To>(static_cast<uint64_t>(x)) : To(0);
  }
  template <class I>  // int64_t or uint64_t
  GPU_FN To from_whole(I x) const {
    if (kind == Kind::kBool) return x != I(0);
    if constexpr (sizeof(To) == 8)
      if (kind == Kind::kDouble) return bits_as<uint64_t>(static_cast<double>(x));
    if constexpr (sizeof(To) == 4)
      if (kind == Kind::kFloat) return bits_as<uint32_t>(static_cast<float>(x));
    if constexpr (sizeof(To) == 2) {
      if (kind == Kind::kHalf) return narrow<Half>(static_cast<float>(x)).bits;
      if (kind == Kind::kBrain) return narrow<BFloat16>(static_cast<float>(x)).bits;
    }
    if constexpr (sizeof(To) == 1) {
      if (kind == Kind::kE4M3) return tn_f32_to_f8_e4m3(static_cast<float>(x));
      if (kind == Kind::kE5M2) return tn_f32_to_f8_e5m2(static_cast<float>(x));
    }
    return static_cast<To>(x);
  }
  template <class R>
  static GPU_FN bool is_number(R x) {
    return x == x;
  }
};

template <class From, class To>
struct Convert {
  Kind from;
  Target<To> to;
  GPU_FN Compute<To> operator()(Compute<From> value) const {
    const auto bits = static_cast<From>(value);
    if constexpr (sizeof(From) == 8)
      if (from == Kind::kDouble) return to.from_real(bits_as<double>(bits));
    if constexpr (sizeof(From) == 4)
      if (from == Kind::kFloat) return to.from_real(bits_as<float>(bits));
    if constexpr (sizeof(From) == 2) {
      if (from == Kind::kHalf) return to.from_real(widen(Half{bits}));
      if (from == Kind::kBrain) return to.from_real(widen(BFloat16{bits}));
    }
    if constexpr (sizeof(From) == 1) {
      if (from == Kind::kE4M3) return to.from_real(tn_f8_e4m3_to_f32(bits));
      if (from == Kind::kE5M2) return to.from_real(tn_f8_e5m2_to_f32(bits));
    }
    if (from == Kind::kSigned)
      return to.from_whole(static_cast<int64_t>(static_cast<std::make_signed_t<From>>(bits)));
    return to.from_whole(static_cast<uint64_t>(bits));
  }
};

struct Same {
  GPU_FN float operator()(float x) const { return x; }
};

// Casts that training in mixed precision does all the time. False for other pairs.
using Singles = Types<Half, BFloat16, float>;
bool run_singles(const tn_call& call) {
  const tn_dtype from_dtype = input(call, arg::cast::x).dtype, to_dtype = output(call).dtype;
  const uint64_t both = TN_MASK(from_dtype) | TN_MASK(to_dtype);
  if ((both & ~Singles::kMask) != 0 || from_dtype == to_dtype) return false;
  return with_type(Singles{}, from_dtype, [&](auto from_tag) {
    with_type(Singles{}, to_dtype, [&](auto to_tag) {
      using From = typename decltype(from_tag)::type;
      using To = typename decltype(to_tag)::type;
      if constexpr (!std::is_same_v<From, To>) run_elementwise<To, From>(call, Same{});
    });
  });
}

void run_cast(const tn_call& call, uint32_t) {
  if (run_singles(call)) return;
  with_type(Sizes{}, bits_of(input(call, arg::cast::x).dtype), [&](auto from_tag) {
    with_type(Sizes{}, bits_of(output(call).dtype), [&](auto to_tag) {
      using From = typename decltype(from_tag)::type;
      using To = typename decltype(to_tag)::type;
      run_elementwise<To, From>(call, Convert<From, To>{kind_of(input(call, arg::cast::x).dtype),
                                                        {kind_of(output(call).dtype)}});
    });
  });
}

bool knows_target(const tn_call& call, uint32_t) {
  return ((All::kMask | TN_MASK_F8) & TN_MASK(output(call).dtype)) != 0;
}

}  // namespace

void add_copy_cast_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_CAST,
            .dtypes = All::kMask | TN_MASK_F8,
            .run = run_cast,
            .flags = TN_KERNEL_STRIDED | TN_KERNEL_HOST_SCALARS,
            .supports = knows_target});
}

}  // namespace tenon::gpu
