// cumsum and cumprod along the last dimension, in double or wrapping around in 64 bits. A long row is cut into chunks: the first pass
// computes each chunk's total, and in the second each chunk starts from the totals before it.
#include <bit>

#include "fold.hpp"

namespace tenon::gpu {
namespace {

constexpr uint32_t kThreads = kBlockThreads;

template <class A>
struct Join {
  bool product;
  GPU_FN A none() const { return product ? A(1) : A(0); }
  GPU_FN A operator()(A x, A y) const { return product ? times(x, y) : plus(x, y); }
};

// The combined value of the earlier threads among its `lanes`, and of all of them.
template <class A>
GPU_DEVICE A scan_lanes(A mine, uint32_t lanes, const Join<A>& join, A& all) {
  const uint32_t width = lanes < warp_width() ? lanes : warp_width();
  const uint32_t in_warp = lane() % width;
  A sum = mine;
  for (uint32_t reach = 1; reach < width; reach *= 2) {
    const A other = shuffle_up(sum, reach);
    if (in_warp >= reach) sum = join(other, sum);
  }
  A before = shuffle_up(sum, 1);
  if (in_warp == 0) before = join.none();
  all = shuffle(sum, lane() - in_warp + width - 1);
  if (lanes <= warp_width()) return before;
  GPU_SHARED(A, parts, kMostWarps);
  if (lane() == 0) parts[warp()] = all;
  sync_threads();
  const uint32_t first = thread_index().x / lanes * lanes / warp_width();
  A of_warps = join.none();
  all = of_warps;
  for (uint32_t w = first; w < first + lanes / warp_width(); ++w) {
    if (w == warp()) of_warps = all;
    const A part = parts[w];
    all = join(all, part);
  }
  sync_threads();
  return join(of_warps, before);
}

struct Shape {
  int64_t rows, n;
  int64_t chunk, chunks;
  uint32_t lanes;
  uint32_t even;  // blocks of elements are aligned to vectors
};

enum Stage : uint32_t { kWhole, kTotals, kChunks };

// Elements are read as C and combined as A.
template <class C, class A>
GPU_KERNEL scan_rows(Shape s, Stage stage, bool product, Source x, Target y, Ptr<A> totals) {
  const Join<A> join{product};
  const uint32_t t = thread_index().x, lane = t % s.lanes, each = kThreads / s.lanes;
  const int64_t blocks = (s.rows + each - 1) / each;
  for (int64_t work = block_index().x; work < blocks * s.chunks; work += block_count().x) {
    const int64_t row = work / s.chunks * each + t / s.lanes, chunk = work % s.chunks;
    const bool any = row < s.rows;
    const int64_t begin = chunk * s.chunk, end = begin + s.chunk < s.n ? begin + s.chunk : s.n;
    A carry = join.none(), all;
    if (stage == kChunks) {
      A before = join.none();
      for (int64_t k = lane; any && k < chunk; k += s.lanes)
        before = join(before, totals[row * s.chunks + k]);
      scan_lanes(before, s.lanes, join, carry);
    }
    for (int64_t first = begin; first < end; first += int64_t{s.lanes} * kFoldBlock) {
      const int64_t i = first + int64_t{lane} * kFoldBlock, rest = any ? end - i : 0;
      Places p;
      p.n = rest >= kFoldBlock ? kFoldBlock : rest > 0 ? static_cast<uint32_t>(rest) : 0;
      p.together = s.even != 0 && p.n == kFoldBlock;
      GPU_UNROLL
      for (uint32_t k = 0; k < kFoldBlock; ++k) p.at[k] = row * s.n + i + k;
      C v[kFoldBlock];
      load_block(x, p, static_cast<C>(join.none()), v);
      A sum = join.none();
      GPU_UNROLL
      for (uint32_t k = 0; k < kFoldBlock; ++k) sum = join(sum, static_cast<A>(v[k]));
      sum = join(carry, scan_lanes(sum, s.lanes, join, all));
      carry = join(carry, all);
      if (stage == kTotals) continue;
      GPU_UNROLL
      for (uint32_t k = 0; k < kFoldBlock; ++k) {
        sum = join(sum, static_cast<A>(v[k]));
        v[k] = static_cast<C>(sum);
      }
      store_block(y, p, v);
    }
    if (stage == kTotals && lane == 0 && any) totals[row * s.chunks + chunk] = carry;
  }
}

enum Op : uint32_t { kCumsum, kCumprod };

Shape shape_of(const tn_call& call) {
  const tn_view& x = input(call, arg::cumsum::x);
  Shape s{};
  s.n = x.ndim == 0 ? 1 : x.shape[x.ndim - 1];
  s.rows = s.n == 0 ? 0 : numel(x) / s.n;
  s.chunk = s.n;
  s.chunks = 1;
  const auto shares = std::clamp<int64_t>((s.n + kFoldBlock - 1) / kFoldBlock, 1, kThreads);
  s.lanes = std::bit_ceil(static_cast<uint32_t>(shares));
  s.even = (s.rows == 1 || s.n % kFoldBlock == 0) && starts_even(x) && starts_even(output(call));
  const int64_t turn = int64_t{kThreads} * kFoldBlock;
  if (s.rows == 0 || s.rows >= 64 || s.n < 4 * turn) return s;
  const int64_t wanted = std::min(1024 / s.rows, s.n / (2 * turn));
  s.chunk = ((s.n + wanted - 1) / wanted + turn - 1) / turn * turn;
  s.chunks = (s.n + s.chunk - 1) / s.chunk;
  return s;
}

void run_scan(const tn_call& call, uint32_t op) {
  const Shape s = shape_of(call);
  if (s.rows == 0) return;
  const tn_view &x = input(call, arg::cumsum::x), &y = output(call);
  const int64_t each = kThreads / s.lanes;
  const Grid grid = fold_grid((s.rows + each - 1) / each * s.chunks);
  with_compute(x.dtype, [&](auto tag) {
    using C = typename decltype(tag)::type;
    using A = std::conditional_t<std::is_same_v<C, int64_t>, int64_t, double>;
    const auto stage = [&](Stage which) {
      launch(call, grid, scan_rows<C, A>, s, which, op == kCumprod, source(x), target(y),
             scratch<A>(call, 0, s.chunks == 1 ? 0 : s.rows * s.chunks));
    };
    if (s.chunks == 1) return stage(kWhole);
    stage(kTotals);
    stage(kChunks);
  });
}

uint64_t scratch_of(const tn_call& call, uint32_t) {
  const Shape s = shape_of(call);
  return s.chunks == 1 ? 0 : static_cast<uint64_t>(s.rows * s.chunks) * 8;
}

}  // namespace

void add_scan_kernels(KernelList& list) {
  for (const Op op : {kCumsum, kCumprod})
    list.add({.schema = op == kCumsum ? TN_SCHEMA_CUMSUM : TN_SCHEMA_CUMPROD,
              .dtypes = All::kMask,
              .run = run_scan,
              .code = op,
              .scratch = scratch_of});
}

}  // namespace tenon::gpu
