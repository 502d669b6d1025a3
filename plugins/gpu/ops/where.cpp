// where and clamp.
#include <algorithm>

#include "arithmetic.hpp"
#include "elementwise.hpp"

namespace tenon::gpu {
namespace {

// Elements only move, so their size is enough.
struct Choose {
  template <class C>
  GPU_FN C operator()(int32_t condition, C x, C y) const {
    return condition != 0 ? x : y;
  }
};

// Kernels are chosen by the first tensor, the condition, so the others may have any dtype.
void run_where(const tn_call& call, uint32_t) {
  with_type(Sizes{}, bits_of(output(call).dtype), [&](auto tag) {
    using T = typename decltype(tag)::type;
    run_elementwise<T, uint8_t, T, T>(call, Choose{});
  });
}
bool chooses_known(const tn_call& call, uint32_t) { return size_of(output(call).dtype) <= 8; }

// NaN stays, also as a bound; where low is above high, high wins.
template <class C>
struct Clamp {
  C low, high;
  GPU_FN C operator()(C x) const {
    if (is_nan(low)) return low;
    const C raised = x < low ? low : x;
    return is_nan(high) || raised > high ? high : raised;
  }
};

// A bound outside the dtype's range becomes the end of the range.
template <class T>
Compute<T> bound(const tn_call& call, uint32_t arg, bool is_low) {
  const tn_value& value = call.args[arg];
  if constexpr (kIsFloat<T>) {
    const double number =
        value.tag == TN_VALUE_NONE ? (is_low ? -HUGE_VAL : HUGE_VAL) : real_arg(call, arg);
    return static_cast<Compute<T>>(number);
  } else {
    constexpr T kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
    if (value.tag == TN_VALUE_NONE) return widen(is_low ? kLow : kHigh);
    if constexpr (sizeof(T) == 8)
      return std::is_unsigned_v<T> && value.as.i < 0 ? T(0) : static_cast<T>(value.as.i);
    else
      return widen(static_cast<T>(std::clamp(value.as.i, int64_t{kLow}, int64_t{kHigh})));
  }
}

void run_clamp(const tn_call& call, uint32_t) {
  with_type(Reals{}, output(call).dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    run_elementwise<T, T>(call, Clamp<Compute<T>>{bound<T>(call, arg::clamp::min, true),
                                                  bound<T>(call, arg::clamp::max, false)});
  });
}

}  // namespace

void add_where_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_WHERE,
            .dtypes = TN_MASK_BOOL,
            .run = run_where,
            .flags = TN_KERNEL_STRIDED | TN_KERNEL_HOST_SCALARS,
            .supports = chooses_known});
  list.add_elementwise(TN_SCHEMA_CLAMP, Reals::kMask, run_clamp);
}

}  // namespace tenon::gpu
