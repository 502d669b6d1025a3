// pad and its gradient (a sum for each input): one thread for each result.
#include "arithmetic.hpp"
#include "kernels.hpp"
#include "launch.hpp"
#include "layout.hpp"

namespace tenon::gpu {
namespace {

enum Mode : uint32_t { kConstant, kReflect, kReplicate, kCircular };

// Leading dimensions without padding are merged; innermost last.
struct Padding {
  uint32_t ndim, mode;
  int64_t small[TN_MAX_DIMS], large[TN_MAX_DIMS], before[TN_MAX_DIMS];
};

// The position on the small side for a position on the large one; -1: the constant.
GPU_DEVICE int64_t source_of(const Padding& p, uint32_t d, int64_t o) {
  const int64_t n = p.small[d], i = o - p.before[d];
  if (i >= 0 && i < n) return i;
  if (p.mode == kReflect) return i < 0 ? -i : 2 * n - 2 - i;
  if (p.mode == kReplicate) return i < 0 ? 0 : n - 1;
  if (p.mode == kCircular) return i < 0 ? i + n : i - n;
  return -1;
}

// i / n and the remainder, in 32 bits if they fit.
GPU_DEVICE int64_t split_off(int64_t& i, int64_t n) {
  if ((i | n) >> 32 == 0) {
    const auto low = static_cast<uint32_t>(i), by = static_cast<uint32_t>(n), rest = low / by;
    i = rest;
    return low - rest * by;
  }
  const int64_t rest = i / n, digit = i - rest * n;
  i = rest;
  return digit;
}

template <class T>
GPU_KERNEL pad(Padding p, int64_t results, Ptr<const T> x, Ptr<T> out, T constant) {
  for (int64_t i = first_thread(); i < results; i += thread_count()) {
    int64_t rest = i, from = 0, step = 1;
    bool shown = true;
    for (uint32_t d = p.ndim; d-- > 0 && shown;) {
      const int64_t at = source_of(p, d, split_off(rest, p.large[d]));
      shown = at >= 0;
      from += at * step;
      step *= p.small[d];
    }
    out[i] = shown ? static_cast<T>(x[shown ? from : 0]) : constant;
  }
}

// The positions on the large side that show position i: itself, and a stretch on each side.
struct Shown {
  int64_t own, left, lefts, right, rights;
  GPU_FN int64_t count() const { return (own >= 0 ? 1 : 0) + lefts + rights; }
  GPU_FN int64_t place(int64_t k) const {
    if (k < lefts) return left + k;
    return own < 0 ? right + k - lefts : k == lefts ? own : right + k - lefts - 1;
  }
};
GPU_DEVICE Shown shown_of(const Padding& p, uint32_t d, int64_t i) {
  const int64_t n = p.small[d], m = p.large[d], before = p.before[d], own = i + before;
  Shown s{own >= 0 && own < m ? own : -1, 0, 0, 0, 0};
  if (p.mode == kReflect) {
    s.left = before - i;
    s.lefts = i > 0 && s.left >= 0 ? 1 : 0;
    s.right = before + 2 * n - 2 - i;
    s.rights = i < n - 1 && s.right < m ? 1 : 0;
  } else if (p.mode == kReplicate) {
    s.lefts = i == 0 && before > 0 ? before : 0;
    s.right = before + n;
    s.rights = i == n - 1 && m > s.right ? m - s.right : 0;
  } else if (p.mode == kCircular) {
    s.left = own - n;
    s.lefts = s.left >= 0 ? 1 : 0;
    s.right = own + n;
    s.rights = s.right < m ? 1 : 0;
  }
  return s;
}

template <class T>
GPU_KERNEL pad_backward(Padding p, int64_t results, Ptr<const T> g, Ptr<T> gx) {
  using C = Compute<T>;
  for (int64_t i = first_thread(); i < results; i += thread_count()) {
    Shown all[TN_MAX_DIMS];
    int64_t rest = i, count = 1;
    for (uint32_t d = p.ndim; d-- > 0;) {
      all[d] = shown_of(p, d, split_off(rest, p.small[d]));
      count *= all[d].count();
    }
    C sum = 0;
    for (int64_t e = 0; e < count; ++e) {
      int64_t left = e, from = 0, step = 1;
      for (uint32_t d = p.ndim; d-- > 0;) {
        from += all[d].place(split_off(left, all[d].count())) * step;
        step *= p.large[d];
      }
      sum = plus(sum, load<T>(g, from));
    }
    store(gx, i, sum);
  }
}

// Both ops have pads and mode in the same positions.
static_assert(arg::pad_backward::pads == arg::pad::pads &&
              arg::pad_backward::mode == arg::pad::mode);
Padding padding_of(const tn_call& call, bool backward) {
  const tn_view& small = backward ? output(call) : input(call, arg::pad::x);
  const tn_view& large = backward ? input(call, arg::pad_backward::g) : output(call);
  const auto before_of = [&](uint32_t d) {
    const uint32_t from_right = small.ndim - 1 - d;
    return from_right < call.args[arg::pad::pads].count / 2
               ? call.args[arg::pad::pads].as.ints[2 * from_right]
               : 0;
  };
  constexpr std::string_view kModes[] = {"constant", "reflect", "replicate", "circular"};
  Padding p;
  p.ndim = 0;
  p.mode = static_cast<uint32_t>(
      std::find(std::begin(kModes), std::end(kModes), text_arg(call, arg::pad::mode)) -
      std::begin(kModes));
  bool joins = false;  // the previous dimension is the same on both sides
  for (uint32_t d = 0; d < small.ndim; ++d) {
    const bool same = before_of(d) == 0 && small.shape[d] == large.shape[d];
    if (same && joins) {
      p.small[p.ndim - 1] *= small.shape[d];
      p.large[p.ndim - 1] *= large.shape[d];
    } else {
      p.small[p.ndim] = small.shape[d];
      p.large[p.ndim] = large.shape[d];
      p.before[p.ndim++] = before_of(d);
    }
    joins = same;
  }
  return p;
}

// Clamps a number beyond the integer range to 64 bits and takes the low bits. For complex numbers, takes the real part.
template <class T>
T constant_of(double value, tn_dtype dtype) {
  const auto as_bits = [](auto made) { return static_cast<T>(bits_as<T>(made)); };
  if constexpr (sizeof(T) == 2) {
    if (dtype == TN_DTYPE_F16) return as_bits(narrow<Half>(static_cast<float>(value)));
    if (dtype == TN_DTYPE_BF16) return as_bits(narrow<BFloat16>(static_cast<float>(value)));
  }
  if constexpr (sizeof(T) == 4)
    if (dtype == TN_DTYPE_F32) return as_bits(static_cast<float>(value));
  if constexpr (sizeof(T) == 8) {
    if (dtype == TN_DTYPE_F64) return as_bits(value);
    if (dtype == TN_DTYPE_C64) return bits_as<uint32_t>(static_cast<float>(value));
  }
  if (dtype == TN_DTYPE_BOOL) return value != 0 ? 1 : 0;
  return static_cast<T>(value >= 0x1p63    ? INT64_MAX
                        : value <= -0x1p63 ? INT64_MIN
                                           : static_cast<int64_t>(value));
}

void run_pad(const tn_call& call, uint32_t) {
  const tn_view &x = input(call, arg::pad::x), &result = output(call);
  const int64_t n = numel(result);
  if (n == 0) return;
  const Padding p = padding_of(call, false);
  with_type(Sizes{}, bits_of(x.dtype), [&](auto tag) {
    using T = typename decltype(tag)::type;
    launch(call, grid_of(n), pad<T>, p, n, in<T>(x), out<T>(result),
           constant_of<T>(real_arg(call, arg::pad::value), x.dtype));
  });
}

void run_pad_backward(const tn_call& call, uint32_t) {
  const tn_view &g = input(call, arg::pad_backward::g), &result = output(call);
  const int64_t n = numel(result);
  if (n == 0) return;
  const Padding p = padding_of(call, true);
  const bool whole = (TN_MASK(g.dtype) & Floats::kMask) == 0;
  with_type(Join<Floats, Sizes>{}, whole ? bits_of(g.dtype) : g.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    launch(call, grid_of(n), pad_backward<T>, p, n, in<T>(g), out<T>(result));
  });
}

}  // namespace

void add_resample_pad_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_PAD, .dtypes = All::kMask | TN_MASK(TN_DTYPE_C64), .run = run_pad});
  list.add({.schema = TN_SCHEMA_PAD_BACKWARD, .dtypes = Reals::kMask, .run = run_pad_backward});
}

}  // namespace tenon::gpu
