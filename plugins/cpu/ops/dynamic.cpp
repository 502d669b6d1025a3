// nonzero, masked_select: results whose sizes their elements tell.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "dispatch.hpp"
#include "kernels.hpp"
#include "loops.hpp"
#include "tenon/schemas.h"
#include "threads.hpp"

namespace tenon::cpu {
namespace {

constexpr int64_t kStretch = 16384;

// count(begin, end) per stretch, then write(begin, end, from, to), the range of what it found;
// alloc(total) comes between. Memory shared with others may change between the passes, so `write`
// stops at `to` whatever it reads.
template <class Count, class Alloc, class Write>
void two_passes(int64_t n, Count&& count, Alloc&& alloc, Write&& write) {
  const int64_t stretches = (n + kStretch - 1) / kStretch;
  std::vector<int64_t> found(static_cast<size_t>(stretches) + 1, 0);
  const auto each = [&](auto&& body) {
    parallel_for(stretches, 4, [&](int64_t first, int64_t last) {
      for (int64_t s = first; s < last; ++s) body(s, s * kStretch, std::min(n, (s + 1) * kStretch));
    });
  };
  each([&](int64_t s, int64_t begin, int64_t end) {
    found[static_cast<size_t>(s)] = count(begin, end);
  });
  int64_t total = 0;
  for (int64_t& f : found)
    total += std::exchange(f, total);  // the last entry, 0 so far, becomes the total
  alloc(total);
  each([&](int64_t s, int64_t begin, int64_t end) {
    write(begin, end, found[static_cast<size_t>(s)], found[static_cast<size_t>(s) + 1]);
  });
}

// one(i, taken) for i in [0, n), which counts where the mask is set, until `most` are taken. Without a branch an element: what is not taken is
// overwritten by the next. Eight bytes of a mask that are all 0 are passed over, and eight(i) takes those that are all 1.
template <class T, class One, class Eight>
int64_t take(const T* mask, int64_t step, int64_t n, int64_t most, One&& one, Eight&& eight) {
  constexpr uint64_t kAll = 0x0101010101010101;
  int64_t taken = 0, i = 0;
  for (; sizeof(T) == 1 && step == 1 && i + 8 <= n && taken + 8 <= most; i += 8) {
    uint64_t bytes;
    std::memcpy(&bytes, mask + i, sizeof bytes);
    if (bytes == 0) continue;
    if (bytes == kAll) {
      eight(i, taken);
      taken += 8;
      continue;
    }
    for (int64_t k = i; k < i + 8; ++k) {
      one(k, taken);
      taken += mask[k] != T(0);
    }
  }
  for (; i < n && taken < most; ++i) {
    one(i, taken);
    taken += mask[i * step] != T(0);
  }
  return taken;
}

// Positions (n, rank), row-major, of those set in [begin, end), at most `most`.
template <class T>
void write_positions(const tn_view& x, int64_t begin, int64_t end, int64_t most, int64_t* out) {
  constexpr int64_t kBlock = 256;
  const T* const data = data_of<const T>(x);
  const uint32_t last = x.ndim == 0 ? 0 : x.ndim - 1;
  const int64_t width = x.ndim == 0 ? 1 : x.shape[last];
  int64_t found[kBlock], index[TN_MAX_DIMS];
  while (begin < end && most > 0) {
    const int64_t row = begin / width, column = begin % width;
    const int64_t n = std::min({kBlock, width - column, end - begin});
    int64_t rest = row;
    for (uint32_t d = last; d-- > 0; rest /= x.shape[d]) index[d] = rest % x.shape[d];
    const int64_t some = take(
        data + begin, 1, n, most, [&](int64_t i, int64_t at) { found[at] = i; },
        [&](int64_t i, int64_t at) { std::iota(found + at, found + at + 8, i); });
    for (int64_t k = 0; k < some; ++k, out += x.ndim) {
      for (uint32_t d = 0; d < last; ++d) out[d] = index[d];
      if (x.ndim > 0) out[last] = column + found[k];
    }
    most -= some;
    begin += n;
  }
}

// Any byte but 0 is true: as `bool` the compiler would add the byte.
void nonzero(const tn_call& call) {
  const tn_view& x = input(call, arg::nonzero::x);
  const tn_dtype dtype = x.dtype == TN_DTYPE_BOOL ? TN_DTYPE_U8 : x.dtype;
  visit_dtype(dtype, [&]<class T>(Tag<T>) {
    const T* const data = data_of<const T>(x);
    int64_t* out = nullptr;
    two_passes(
        numel(x),
        [&](int64_t begin, int64_t end) {
          int64_t n = 0;
          for (int64_t i = begin; i < end; ++i) n += data[i] != T(0);
          return n;
        },
        [&](int64_t total) {
          const int64_t shape[] = {total, x.ndim};
          out = data_of<int64_t>(sdk::make_output(sdk::Call(call), 0, shape));
        },
        [&](int64_t begin, int64_t end, int64_t at, int64_t stop) {
          write_positions<T>(x, begin, end, stop - at, out + at * x.ndim);
        });
  });
}

// What a row's mask selects, at most `most`.
template <class T>
int64_t select_row(const uint8_t* mask, int64_t mask_step, const T* x, int64_t x_step, int64_t n,
                   int64_t most, T* out) {
  const auto select = [&](int64_t step, int64_t each) {
    return take(
        mask, step, n, most, [&](int64_t i, int64_t at) { out[at] = x[i * each]; },
        [&](int64_t i, int64_t at) {
          for (int64_t k = 0; k < 8; ++k) out[at + k] = x[(i + k) * each];
        });
  };
  return mask_step == 1 && x_step == 1 ? select(1, 1) : select(mask_step, x_step);
}

// x and mask broadcast; strides of `view` over `shape`.
void broadcast_strides(const tn_view& view, uint32_t ndim, int64_t* strides) {
  for (uint32_t d = 0; d < ndim; ++d) {
    const int64_t own = static_cast<int64_t>(d) - (ndim - view.ndim);
    strides[d] = own < 0 || view.shape[own] == 1 ? 0 : view.strides[own];
  }
}

void masked_select(const tn_call& call) {
  const tn_view& x = input(call, arg::masked_select::x);
  const tn_view& mask = input(call, arg::masked_select::mask);
  const uint32_t ndim = std::max(x.ndim, mask.ndim);
  int64_t shape[TN_MAX_DIMS + 1] = {1}, strides[2][TN_MAX_DIMS + 1] = {};
  broadcast_strides(mask, ndim, strides[0]);
  broadcast_strides(x, ndim, strides[1]);
  for (uint32_t d = 0; d < ndim; ++d) {
    const uint32_t from_x = ndim - x.ndim, from_mask = ndim - mask.ndim;
    const int64_t a = d < from_x ? 1 : x.shape[d - from_x],
                  b = d < from_mask ? 1 : mask.shape[d - from_mask];
    shape[d] = a == 1 ? b : a;
  }
  const int64_t* const both[] = {strides[0], strides[1]};
  tn_loop loop{};
  loop.struct_size = sizeof loop;
  loop.ndim = std::max(ndim, 1u);
  loop.noperands = 2;
  loop.shape = shape;
  loop.strides = both;
  visit_size(size_of(x.dtype), [&]<class T>(Tag<T>) {
    const Operands<2> operands{{data_of<char>(mask), data_of<char>(x)}, {1, sizeof(T)}};
    T* out = nullptr;
    two_passes(
        loop_count(loop),
        [&](int64_t begin, int64_t end) {
          int64_t found = 0;
          walk_rows<2>(loop, operands, begin, end,
                       [&](int64_t n, const auto& data, const auto& step) {
                         if (step[0] == 1) {
                           for (int64_t i = 0; i < n; ++i) found += data[0][i] != 0;
                         } else {
                           for (int64_t i = 0; i < n; ++i) found += data[0][i * step[0]] != 0;
                         }
                       });
          return found;
        },
        [&](int64_t total) {
          out =
              data_of<T>(sdk::make_output(sdk::Call(call), 0, std::span<const int64_t>(&total, 1)));
        },
        [&](int64_t begin, int64_t end, int64_t at, int64_t stop) {
          walk_rows<2>(
              loop, operands, begin, end, [&](int64_t n, const auto& data, const auto& step) {
                at += select_row(reinterpret_cast<const uint8_t*>(data[0]), step[0],
                                 reinterpret_cast<const T*>(data[1]),
                                 step[1] / static_cast<int64_t>(sizeof(T)), n, stop - at, out + at);
              });
        });
  });
}

}  // namespace

void add_dynamic_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_NONZERO, .dtypes = TN_MASK_ALL, .run = run_of<nonzero>});
  list.add({.schema = TN_SCHEMA_MASKED_SELECT,
            .dtypes = kMovable,
            .run = run_of<masked_select>,
            .flags = TN_KERNEL_STRIDED});
}

}  // namespace tenon::cpu
