// concat and roll: stretches of bytes copied to other places.
#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <vector>

#include "copy_loop.hpp"
#include "indexing.hpp"
#include "loops.hpp"
#include "tenon/schemas.h"

namespace tenon::cpu {
namespace {

// A contiguous tensor: so many bytes of each stretch of the result.
struct Part {
  const char* from;
  char* to;  // in the first stretch
  int64_t bytes;
};

constexpr int64_t kNarrow = 16, kShortRow = 64;  // bytes

// A few bytes of each stretch, as one value: a call of memcpy would take longer than the copy.
void scatter_narrow(const Part& part, int64_t outer, int64_t stretch) {
  visit_size(static_cast<uint64_t>(part.bytes), [&]<class T>(Tag<T>) {
    parallel_for(outer, kGrainCopy, [=](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o)
        std::memcpy(part.to + o * stretch, part.from + o * part.bytes, sizeof(T));
    });
  });
}

// Values of two parts in turn, which the compiler does in vectors.
template <class T>
void weave_two(const char* __restrict a, const char* __restrict b, char* __restrict to, int64_t n) {
  constexpr int64_t kSize = sizeof(T);
  for (int64_t i = 0; i < n; ++i) {
    std::memcpy(to + 2 * i * kSize, a + i * kSize, kSize);
    std::memcpy(to + (2 * i + 1) * kSize, b + i * kSize, kSize);
  }
}

// Parts of one value each that make up the stretches: in blocks, so that lines of the result are written while they are in the cache.
void weave(std::span<const Part> parts, int64_t outer, int64_t stretch) {
  constexpr int64_t kBlock = 256;
  visit_size(static_cast<uint64_t>(parts[0].bytes), [&]<class T>(Tag<T>) {
    constexpr int64_t kSize = sizeof(T);
    parallel_for(
        outer, std::max<int64_t>(1, 4 * kGrainCopy / stretch), [=](int64_t begin, int64_t end) {
          if (parts.size() == 2)
            return weave_two<T>(parts[0].from + begin * kSize, parts[1].from + begin * kSize,
                                parts[0].to + begin * stretch, end - begin);
          for (int64_t o = begin; o < end; o += kBlock)
            for (const Part& part : parts)
              for (int64_t i = o; i < std::min(end, o + kBlock); ++i)
                std::memcpy(part.to + i * stretch, part.from + i * kSize, kSize);
        });
  });
}

// Stretch by stretch, so that the result is written in order.
void interleave(std::span<const Part> parts, int64_t outer, int64_t stretch) {
  parallel_for(outer, std::max<int64_t>(1, 4 * kGrainCopy / stretch),
               [=](int64_t begin, int64_t end) {
                 for (int64_t o = begin; o < end; ++o)
                   for (const Part& part : parts)
                     copy_bytes(part.to + o * stretch, part.from + o * part.bytes, part.bytes);
               });
}

void concat(const tn_call& call) {
  using arg = tenon::arg::concat;
  const tn_view& out = output(call);
  if (numel(out) == 0) return;
  const int64_t dim = call.args[arg::dim].as.i, size = size_of(out.dtype);
  const Around a = around(out, dim);
  const int64_t stretch = a.size * a.inner * size;
  char* to = data_of<char>(out);
  std::vector<Part> parts, narrow;
  for (uint32_t k = 0; k < call.args[arg::xs].count; ++k) {
    const tn_view& x = *call.args[arg::xs].as.views[k];
    const int64_t bytes = x.shape[dim] * a.inner * size;
    if (bytes == 0) continue;
    const Part part{data_of<const char>(x), to, bytes};
    if ((x.flags & TN_VIEW_CONTIGUOUS) == 0)
      copy_strided({x.shape, x.ndim}, size, to, out.strides, data_of<char>(x), x.strides);
    else if (bytes <= kNarrow && std::has_single_bit(static_cast<uint64_t>(bytes)))
      narrow.push_back(part);
    else
      parts.push_back(part);
    to += bytes;
  }
  const auto like_first = [&](const Part& part) { return part.bytes == narrow[0].bytes; };
  if (!narrow.empty() && std::ranges::all_of(narrow, like_first) &&
      static_cast<int64_t>(narrow.size()) * narrow[0].bytes == stretch)
    return weave(narrow, a.outer, stretch);
  for (const Part& part : narrow) scatter_narrow(part, a.outer, stretch);
  interleave(parts, a.outer, stretch);
}

// Rows of a few elements: both stretches as columns of a matrix.
void roll_narrow(const char* from, char* to, int64_t rows, int64_t row, int64_t head,
                 int64_t size) {
  const int64_t steps[] = {row / size, 1};
  const auto move = [&](int64_t bytes, int64_t source, int64_t target) {
    const int64_t shape[] = {rows, bytes / size};
    copy_strided(shape, size, to + target, steps, from + source, steps);
  };
  move(row - head, 0, head);
  move(head, row - head, 0);
}

// Rows of the last rolled dimension are two stretches each; the dimensions before it are looked up.
void roll_dims(const tn_view& x, char* to, const int64_t* shifts, const int64_t* shape,
               uint32_t ndim) {
  const int64_t size = size_of(x.dtype);
  uint32_t last = 0, rolled = 0;
  for (uint32_t d = 0; d < ndim; ++d) {
    if (shifts[d] != 0) last = d, ++rolled;
  }
  int64_t inner = size, outer = 1;
  for (uint32_t d = last + 1; d < ndim; ++d) inner *= shape[d];
  for (uint32_t d = 0; d < last; ++d) outer *= shape[d];
  const int64_t n = shape[last], head = shifts[last] * inner, row = n * inner;
  const char* const from = data_of<const char>(x);
  if (rolled == 1 && row < kShortRow) return roll_narrow(from, to, outer, row, head, size);
  parallel_for(outer, std::max<int64_t>(1, kGrainCopy / row), [=](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      int64_t rest = o, source = 0, step = 1;
      for (uint32_t d = last; d-- > 0; rest /= shape[d], step *= shape[d])
        source += (rest % shape[d] + shape[d] - shifts[d]) % shape[d] * step;
      copy_bytes(to + o * row + head, from + source * row, row - head);
      copy_bytes(to + o * row, from + source * row + (row - head), head);
    }
  });
}

void roll(const tn_call& call) {
  using arg = tenon::arg::roll;
  const tn_view& x = input(call, arg::x);
  const int64_t total = numel(x);
  if (total == 0) return;
  int64_t shifts[TN_MAX_DIMS] = {};
  const auto wrap = [](int64_t shift, int64_t size) { return (shift % size + size) % size; };
  if (call.args[arg::dims].tag == TN_VALUE_NONE || x.ndim == 0) {
    shifts[0] = wrap(call.args[arg::shifts].as.ints[0], total);
    return roll_dims(x, data_of<char>(output(call)), shifts, &total, 1);
  }
  for (uint32_t k = 0; k < call.args[arg::dims].count; ++k) {
    const int64_t d = call.args[arg::dims].as.ints[k];
    shifts[d] = wrap(shifts[d] + wrap(call.args[arg::shifts].as.ints[k], x.shape[d]), x.shape[d]);
  }
  roll_dims(x, data_of<char>(output(call)), shifts, x.shape, x.ndim);
}

}  // namespace

void add_join_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_CONCAT,
            .dtypes = kMovable,
            .run = run_of<concat>,
            .flags = TN_KERNEL_STRIDED});
  list.add({.schema = TN_SCHEMA_ROLL, .dtypes = kMovable, .run = run_of<roll>});
}

}  // namespace tenon::cpu
