// pad and pad_backward: along each dimension a map says which input an output place shows, or -1
// for the constant.
#include <algorithm>
#include <string_view>
#include <vector>

#include "copy_loop.hpp"
#include "dispatch.hpp"
#include "fill.hpp"
#include "kernels.hpp"
#include "tenon/schemas.h"
#include "threads.hpp"

namespace tenon::cpu {
namespace {

// The input place that place `i`, counted from the first input place on, shows beyond the input.
int64_t beyond(std::string_view mode, int64_t i, int64_t in) {
  if (mode == "reflect") return i < 0 ? -i : 2 * in - 2 - i;
  if (mode == "replicate") return i < 0 ? 0 : in - 1;
  if (mode == "circular") return i < 0 ? i + in : i - in;
  return -1;
}

// One map for each dimension, from the large side to the small one.
struct Padding {
  uint32_t ndim;
  const int64_t *small, *large;
  std::vector<int64_t> maps[TN_MAX_DIMS];
  int64_t begin = 0,
          end = 0;  // of the last dimension: places that show their own neighbours in order
};

// pad_backward has pads and mode where pad has them.
Padding read_padding(const tn_view& small, const tn_view& large, const tn_call& call) {
  Padding p{small.ndim, small.shape, large.shape, {}};
  const int64_t* pads = call.args[arg::pad::pads].as.ints;
  const uint32_t padded = call.args[arg::pad::pads].count / 2;
  const std::string_view mode = text_arg(call, arg::pad::mode);
  for (uint32_t d = 0; d < p.ndim; ++d) {
    const uint32_t from_right = p.ndim - 1 - d;
    const int64_t before = from_right < padded ? pads[2 * from_right] : 0;
    p.begin = std::clamp<int64_t>(before, 0, p.large[d]);
    p.end = std::clamp<int64_t>(before + p.small[d], p.begin, p.large[d]);
    p.maps[d].resize(static_cast<size_t>(p.large[d]));
    for (int64_t o = 0; o < p.large[d]; ++o)
      p.maps[d][static_cast<size_t>(o)] =
          o < p.begin || o >= p.end ? beyond(mode, o - before, p.small[d]) : o - before;
  }
  return p;
}

// The first line of the small side's plane that plane `at` of the large one shows; -1: none. A plane has the last two dimensions,
// a line the last one.
int64_t first_line(const Padding& p, int64_t at) {
  int64_t line = 0, step = p.ndim > 1 ? p.small[p.ndim - 2] : 1;
  for (uint32_t d = p.ndim > 1 ? p.ndim - 2 : 0; d-- > 0; at /= p.large[d], step *= p.small[d]) {
    const int64_t i = p.maps[d][static_cast<size_t>(at % p.large[d])];
    if (i < 0) return -1;
    line += i * step;
  }
  return line;
}

// visit(line of the large side, line of the small side that it shows or -1), in order.
template <class Visit>
void each_line(const Padding& p, int64_t begin, int64_t end, Visit visit) {
  const int64_t tall = p.ndim > 1 ? p.large[p.ndim - 2] : 1;
  for (int64_t row = begin; row < end;) {
    const int64_t plane = row / tall, top = plane * tall, first = first_line(p, plane);
    for (const int64_t stop = std::min(end, top + tall); row < stop; ++row) {
      const int64_t i = p.ndim > 1 ? p.maps[p.ndim - 2][static_cast<size_t>(row - top)] : 0;
      visit(row, first < 0 || i < 0 ? -1 : first + i);
    }
  }
}

template <class T>
T constant(const tn_call& call) {
  const double value = real_arg(call, arg::pad::value);
  if constexpr (is_complex_v<T>)
    return T(static_cast<typename T::value_type>(value), 0);
  else if constexpr (is_half_v<T>)
    return T(static_cast<float>(value));
  else if constexpr (is_int_v<T>)  // beyond the range: the nearest 64-bit value, then its low bits
    return static_cast<T>(value >= 0x1p63    ? INT64_MAX
                          : value <= -0x1p63 ? INT64_MIN
                                             : static_cast<int64_t>(value));
  else
    return static_cast<T>(value);
}

void pad(const tn_call& call) {
  const tn_view &x = input(call, arg::pad::x), &out = output(call);
  if (numel(out) == 0) return;
  visit_dtype<TN_MASK_ALL>(x.dtype, [&]<class T>(Tag<T>) {
    const T* from = data_of<const T>(x);
    T* to = data_of<T>(out);
    if (x.ndim == 0) return void(*to = *from);
    const Padding p = read_padding(x, out, call);
    const T fill = constant<T>(call);
    const uint32_t last = p.ndim - 1;
    const int64_t width = p.large[last], rows = numel(out) / width;
    const int64_t* map = p.maps[last].data();
    const bool filled = text_arg(call, arg::pad::mode) == "constant";
    const auto edge = [=](const T* source_line, T* line, int64_t begin, int64_t end) {
      if (filled) return fill_range(line + begin, line + end, fill);
      for (int64_t o = begin; o < end; ++o) line[o] = map[o] < 0 ? fill : source_line[map[o]];
    };
    parallel_for(rows, std::max<int64_t>(1, kGrainCopy / width), [&](int64_t begin, int64_t end) {
      each_line(p, begin, end, [&](int64_t row, int64_t at) {
        T* line = to + row * width;
        if (at < 0) return fill_range(line, line + width, fill);
        const T* source_line = from + at * p.small[last];
        edge(source_line, line, 0, p.begin);
        if (p.begin < p.end)
          std::copy_n(source_line + map[p.begin], p.end - p.begin, line + p.begin);
        edge(source_line, line, p.end, width);
      });
    });
  });
}

// Any strides, and lines too short to pay for their start: a constant everywhere, then x in its place.
bool pads_around(const tn_call& call) {
  constexpr int64_t kShort = 64;
  const tn_view& x = input(call, arg::pad::x);
  return text_arg(call, arg::pad::mode) == "constant" && x.ndim > 0 &&
         ((x.flags & TN_VIEW_CONTIGUOUS) == 0 || x.shape[x.ndim - 1] < kShort);
}

void pad_around(const tn_call& call) {
  const tn_view &x = input(call, arg::pad::x), &out = output(call);
  const int64_t* const pads = call.args[arg::pad::pads].as.ints;
  const uint32_t padded = call.args[arg::pad::pads].count / 2;
  int64_t shape[TN_MAX_DIMS], from = 0, to = 0, inner = 1;
  for (uint32_t d = 0; d < x.ndim; ++d) {
    const uint32_t from_right = x.ndim - 1 - d;
    const int64_t before = from_right < padded ? pads[2 * from_right] : 0,
                  cut = std::max<int64_t>(-before, 0);
    const int64_t begin = std::max<int64_t>(before, 0);
    shape[d] = std::max<int64_t>(0, std::min(x.shape[d] - cut, out.shape[d] - begin));
    from += cut * x.strides[d];
    to += begin * out.strides[d];
    inner *= shape[d];
  }
  visit_dtype<TN_MASK_ALL>(x.dtype, [&]<class T>(Tag<T>) {
    T* const all = data_of<T>(out);
    const T fill = constant<T>(call);
    if (inner < numel(out))
      parallel_for(numel(out), kGrainCopy,
                   [=](int64_t begin, int64_t end) { fill_range(all + begin, all + end, fill); });
    if (inner > 0)
      copy_strided({shape, x.ndim}, sizeof(T), reinterpret_cast<char*>(all + to), out.strides,
                   reinterpret_cast<const char*>(data_of<const T>(x) + from), x.strides);
  });
}

// Adds a line of g to the line that it shows.
template <class T, class C>
void add_line(const Padding& p, const T* from, C* line) {
  const std::vector<int64_t>& map = p.maps[p.ndim - 1];
  const auto add = [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o)
      if (const int64_t at = map[static_cast<size_t>(o)]; at >= 0)
        line[at] = static_cast<C>(line[at] + static_cast<C>(from[o]));
  };
  add(0, p.begin);
  C* inner = p.begin < p.end ? line + map[static_cast<size_t>(p.begin)] : line;
  for (int64_t o = p.begin; o < p.end; ++o)
    inner[o - p.begin] = static_cast<C>(inner[o - p.begin] + static_cast<C>(from[o]));
  add(p.end, static_cast<int64_t>(map.size()));
}

// Sums g over the places that show the same input. Threads share the leading dimensions that
// are not padded.
void pad_backward(const tn_call& call) {
  const tn_view &g = input(call, arg::pad_backward::g), &gx = output(call);
  const int64_t count = numel(gx);
  if (count == 0) return;
  constexpr uint64_t kMask = TN_MASK_REAL | TN_MASK_COMPLEX;
  visit_dtype<kMask>(g.dtype, [&]<class T>(Tag<T>) {
    using C = Compute<T>;
    const T* from = data_of<const T>(g);
    T* to = data_of<T>(gx);
    if (g.ndim == 0) return void(*to = *from);
    const Padding p = read_padding(gx, g, call);
    const uint32_t last = p.ndim - 1,
                   lead = p.ndim - std::min(p.ndim, call.args[arg::pad_backward::pads].count / 2);
    int64_t blocks = 1;
    for (uint32_t d = 0; d < lead && d < last; ++d) blocks *= p.small[d];
    const int64_t width = p.large[last], rows = numel(g) / std::max<int64_t>(width, 1),
                  each = rows / blocks;
    std::vector<C> wide(is_half_v<T> ? static_cast<size_t>(count) : 0);
    C* sums = nullptr;
    if constexpr (is_half_v<T>) sums = wide.data();
    if constexpr (!is_half_v<T>) sums = to;
    parallel_for(blocks, std::max<int64_t>(1, kGrainCopy / std::max<int64_t>(1, each * width)),
                 [&](int64_t begin, int64_t end) {
                   const int64_t share = count / blocks;
                   std::fill(sums + begin * share, sums + end * share, C(0));
                   each_line(p, begin * each, end * each, [&](int64_t row, int64_t at) {
                     if (at >= 0) add_line(p, from + row * width, sums + at * p.small[last]);
                   });
                 });
    if constexpr (is_half_v<T>) std::copy(wide.begin(), wide.end(), to);
  });
}

}  // namespace

void add_resample_pad_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_PAD, .dtypes = TN_MASK_ALL, .run = run_of<pad>});
  list.add({.schema = TN_SCHEMA_PAD,
            .dtypes = TN_MASK_ALL,
            .run = run_of<pad_around>,
            .flags = TN_KERNEL_STRIDED,
            .priority = 10,
            .supports = supports_of<pads_around>});
  list.add({.schema = TN_SCHEMA_PAD_BACKWARD,
            .dtypes = TN_MASK_REAL | TN_MASK_COMPLEX,
            .run = run_of<pad_backward>});
}

}  // namespace tenon::cpu
