// grid_sample_backward. Halves compute in f32.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/resample_grid_backward.cpp"
#include <hwy/foreach_target.h>

#include "ops/grid-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

// Adds to channels [begin, end) of x's gradient what comes through a block.
template <class Spot, class C>
HWY_INLINE void input_part(const Operands<C>& operands, const Taps<Spot, C>& taps,
                           const Block& block, const C* gradient, int64_t begin, int64_t end,
                           C* out) {
  const GridGeometry& g = operands.of;
  for (int64_t c = block.sample * g.channels + begin; c < block.sample * g.channels + end; ++c) {
    C* const plane = out + c * g.in_plane;
    const C* const from = gradient + c * g.out_plane + block.first;
    for (uint32_t k = 0; k < Spot::kCount; ++k) {
      const auto* const at = taps.at[k];
      const C* const weight = taps.weight[k];
      if (taps.whole)
        for (int64_t i = 0; i < block.count; ++i) plane[at[i]] += weight[i] * from[i];
      else
        for (int64_t i = 0; i < block.count; ++i)
          if (at[i] >= 0) plane[at[i]] += weight[i] * from[i];
    }
  }
}

// What grid_part sums, of taps in pairs.
template <class Spot>
void sum_pairs_along([[maybe_unused]] const Operands<float>& operands,
                     [[maybe_unused]] const Taps<Spot, float>& taps,
                     [[maybe_unused]] const Block& block, [[maybe_unused]] const float* gradient,
                     [[maybe_unused]] float (*along)[kBlock]) {
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<float> d;
  const hn::Repartition<uint64_t, decltype(d)> two;
  const hn::Rebind<uint32_t, decltype(two)> half;
  const GridGeometry& g = operands.of;
  const auto step = static_cast<int64_t>(hn::Lanes(half));
  const Pairs<Spot> pairs(taps);
  HWY_ALIGN float sums[Pairs<Spot>::kRows][2 * kBlock] = {}, copy[kBlock] = {};
  for (int64_t c = block.sample * g.channels; c < (block.sample + 1) * g.channels; ++c) {
    const float* const plane = operands.x + c * g.in_plane;
    const float* from = gradient + c * g.out_plane + block.first;
    if (block.count < kBlock) from = std::copy_n(from, block.count, copy) - block.count;
    for (int64_t at = 0; at < block.count; at += step) {
      const auto bits = hn::LoadU(half, reinterpret_cast<const uint32_t*>(from) + at);
      const auto once = hn::PromoteTo(two, bits);
      const auto arrives = hn::BitCast(d, hn::Or(once, hn::ShiftLeft<32>(once)));
      for (uint32_t r = 0; r < Pairs<Spot>::kRows; ++r) {
        float* const sum = sums[r] + 2 * at;
        hn::Store(hn::MulAdd(arrives, pairs.values(d, plane, r, at), hn::Load(d, sum)), d, sum);
      }
    }
  }
  for (uint32_t r = 0; r < Pairs<Spot>::kRows; ++r)
    for (int64_t i = 0; i < block.count; ++i) {
      const uint32_t first = pairs.swapped[r][i] ? 1 : 0;
      along[2 * r][i] = sums[r][2 * i + first];
      along[2 * r + 1][i] = sums[r][2 * i + 1 - first];
    }
#endif
}

// The grid's gradient of a block: g times what each tap reads, summed over the channels, is what the tap's weight adds.
template <class Spot, class C>
HWY_INLINE void grid_part(const Operands<C>& operands, const Taps<Spot, C>& taps,
                          const Slopes<Spot, C>& slopes, const Block& block, const C* gradient,
                          C* out) {
  const hn::ScalableTag<C> d;
  const GridGeometry& g = operands.of;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  HWY_ALIGN C along[Spot::kCount][kBlock] = {};
  bool summed = false;
  if constexpr (kInPairs<Spot, C>)
    if ((summed = Pairs<Spot>::fit(g))) sum_pairs_along(operands, taps, block, gradient, along);
  for (int64_t c = block.sample * g.channels; !summed && c < (block.sample + 1) * g.channels; ++c) {
    const C* plane = operands.x + c * g.in_plane;
    const C* from = gradient + c * g.out_plane + block.first;
    for (int64_t at = 0; at < block.count; at += lanes) {
      const auto arrives =
          at + lanes <= block.count
              ? hn::LoadU(d, from + at)
              : load_first(d, from + at, static_cast<size_t>(block.count - at), C(0));
      for (uint32_t k = 0; k < Spot::kCount; ++k) {
        C* sum = along[k] + at;
        hn::Store(hn::MulAdd(arrives, taps.values(d, plane, k, at), hn::Load(d, sum)), d, sum);
      }
    }
  }
  C* to = out + (block.sample * g.out_plane + block.first) * g.spatial;
  for (int64_t at = 0; at < block.count; ++at)
    for (uint32_t coordinate = 0; coordinate < g.spatial; ++coordinate) {
      C sum = 0;
      for (uint32_t k = 0; k < Spot::kCount; ++k)
        sum += along[k][at] * slopes.of[coordinate][k][at];
      *to++ = sum;
    }
}

// Both gradients of a sample, or x's of some channels alone, where `to_grid` is NULL.
template <class Spot, class C>
void sample_gradients(const Operands<C>& operands, const C* gradient, int64_t sample, int64_t begin,
                      int64_t end, C* to_x, C* to_grid) {
  const GridGeometry& g = operands.of;
  const int64_t first = sample * g.channels;
  std::fill(to_x + (first + begin) * g.in_plane, to_x + (first + end) * g.in_plane, C(0));
  Taps<Spot, C> taps;
  Slopes<Spot, C> slopes;
  for (int64_t i = 0; i < operands.blocks(); ++i) {
    const Block block(operands, sample * operands.blocks() + i);
    taps.read(operands, block, to_grid != nullptr ? &slopes : nullptr);
    input_part(operands, taps, block, gradient, begin, end, to_x);
    if (to_grid != nullptr) grid_part(operands, taps, slopes, block, gradient, to_grid);
  }
}

// Threads share the samples and read taps once; of few samples they share x's channels, and the blocks of the grid.
template <class Spot, class C>
void gradients(const Operands<C>& operands, const C* gradient, C* to_x, C* to_grid) {
  const GridGeometry& g = operands.of;
  const int64_t threads = max_threads();
  const bool samples = g.batch % threads == 0 || g.batch >= 4 * threads;
  const int64_t pieces = samples ? 1 : (4 * threads + g.batch - 1) / g.batch,
                together = std::max<int64_t>(1, g.channels / pieces),
                groups = samples ? 1 : (g.channels + together - 1) / together;
  parallel_for(
      g.batch * groups, operands.grain(g.out_plane * g.channels / std::max<int64_t>(1, groups)),
      [&](int64_t from, int64_t to) {
        for (int64_t i = from; i < to; ++i) {
          const int64_t begin = samples ? 0 : i % groups * together,
                        end = samples ? g.channels : std::min(begin + together, g.channels);
          sample_gradients<Spot>(operands, gradient, i / groups, begin, end, to_x,
                                 samples ? to_grid : nullptr);
        }
      });
  if (samples) return;
  parallel_for(g.batch * operands.blocks(), operands.grain(kBlock * g.channels),
               [&](int64_t begin, int64_t end) {
                 Taps<Spot, C> taps;
                 Slopes<Spot, C> slopes;
                 for (int64_t i = begin; i < end; ++i) {
                   const Block block(operands, i);
                   taps.read(operands, block, &slopes);
                   grid_part(operands, taps, slopes, block, gradient, to_grid);
                 }
               });
}

void grid_sample_backward(const tn_call& call) {
  using arg = tenon::arg::grid_sample_backward;
  const tn_view &gx = output(call, arg::result::gx), &ggrid = output(call, arg::result::ggrid);
  if (numel(gx) == 0 && numel(ggrid) == 0) return;
  visit_dtype<TN_MASK_FLOAT>(gx.dtype, [&]<class T>(Tag<T>) {
    Result<T> to_x(gx), to_grid(ggrid);
    std::vector<Compute<T>> copy;
    const Compute<T>* gradient = widened<T>(input(call, arg::g), copy);
    with_operands<arg, T>(call, [&]<class Spot>(Tag<Spot>, const auto& operands) {
      gradients<Spot>(operands, gradient, to_x.data(), to_grid.data());
    });
    to_x.finish();
    to_grid.finish();
  });
}

void add_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_GRID_SAMPLE_BACKWARD,
            .dtypes = TN_MASK_FLOAT,
            .run = run_of<grid_sample_backward>,
            .supports = supports_of<fits<arg::grid_sample_backward>>});
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_resample_grid_backward_kernels(KernelList& list) {
  HWY_DYNAMIC_DISPATCH(add_kernels)(list);
}
}  // namespace tenon::cpu
#endif
