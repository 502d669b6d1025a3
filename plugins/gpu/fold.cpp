#include "fold.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace tenon::gpu {
namespace {

constexpr int64_t kManyBlocks = 1024;  // enough for any device
constexpr int64_t kFull = 1 << 18;     // threads that fill any device
constexpr int64_t kAlongside = 32;     // neighbouring results that fill a stretch of memory
constexpr int64_t kBlock = kFoldBlock;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
uint32_t power_of_two(int64_t at_least, int64_t most) {
  return std::bit_ceil(static_cast<uint32_t>(std::clamp<int64_t>(at_least, 1, most)));
}

// Elements for each thread: few while the device is not full, but enough that joining the results is not most of the work.
int64_t elements_each(int64_t results, int64_t count) {
  const double all = static_cast<double>(results) * static_cast<double>(count);
  return std::clamp<int64_t>(static_cast<int64_t>(all / kFull) / kBlock * kBlock, kBlock,
                             8 * kBlock);
}

uint32_t set_spans(const Walks& walks, Span* spans) {
  uint32_t n = 0;
  for (const Walk& walk : walks) {
    const auto size = static_cast<uint32_t>(std::min<int64_t>(walk.size, int64_t{1} << 31));
    spans[n++] = {walk.size, walk.step, Divider(size)};
  }
  return n;
}

}  // namespace

uint32_t lanes_of_columns(int64_t results, int64_t shares) {
  return power_of_two(shares, kFoldThreads / power_of_two(results, kAlongside));
}

FoldShape plan_fold(Walks kept, Walks reduced, bool ordered) {
  FoldShape f{};
  f.results = product(kept);
  f.count = product(reduced);
  f.chunks = f.lanes = 1;
  if (f.results == 0 || f.count == 0) return f;
  if (!ordered)
    std::stable_sort(reduced.begin(), reduced.end(), [](const Walk& a, const Walk& b) {
      return std::abs(a.step) > std::abs(b.step);
    });
  kept = simplified(kept);
  reduced = simplified(reduced);
  f.columns = by_columns(kept, reduced);
  const int64_t shares = ceil_div(f.count, elements_each(f.results, f.count));
  f.lanes =
      f.columns != 0 ? lanes_of_columns(f.results, shares) : power_of_two(shares, kFoldThreads);
  const int64_t blocks = ceil_div(f.results, kFoldThreads / f.lanes), step = f.lanes * kBlock;
  f.chunks =
      std::clamp<int64_t>(f.count / (4 * step), 1, std::max<int64_t>(1, kManyBlocks / blocks));
  f.chunk = ceil_div(ceil_div(f.count, f.chunks), step) * step;
  f.chunks = ceil_div(f.count, f.chunk);
  f.together = f.columns == 0 && in_blocks(kept, reduced, kBlock);
  f.nkept = set_spans(kept, f.kept);
  f.nreduced = set_spans(reduced, f.reduced);
  return f;
}

FoldShape plan_loop(const tn_call& call, bool ordered) {
  auto [kept, reduced] = walks_of(call);
  return plan_fold(std::move(kept), std::move(reduced), ordered);
}

bool starts_even(const tn_view& view) {
  const uint64_t bytes = std::min<uint64_t>(kFoldBlock * size_of(view.dtype), 16);
  return reinterpret_cast<uintptr_t>(view.data) % bytes == 0;
}

}  // namespace tenon::gpu
