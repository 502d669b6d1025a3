// grid_sample. Halves compute in f32.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/resample_grid.cpp"
#include <hwy/foreach_target.h>

#include "ops/grid-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

template <class D, class C>
HWY_INLINE void put(D d, hn::Vec<D> v, C* to, int64_t at, const Block& block) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if (at + lanes <= block.count)
    hn::StoreU(v, d, to + at);
  else
    store_first(v, d, to + at, static_cast<size_t>(block.count - at));
}

// Pairs are made once for all channels; fewer do not make up for it.
constexpr int64_t kLeastInPairs = 4;

// The same of taps in pairs.
template <class Spot>
void sample_pairs([[maybe_unused]] const Operands<float>& operands,
                  [[maybe_unused]] const Taps<Spot, float>& taps,
                  [[maybe_unused]] const Block& block, [[maybe_unused]] float* out) {
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<float> d;
  const GridGeometry& g = operands.of;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const Pairs<Spot> pairs(taps);
  for (int64_t c = block.sample * g.channels; c < (block.sample + 1) * g.channels; ++c) {
    const float* const plane = operands.x + c * g.in_plane;
    float* const to = out + c * g.out_plane + block.first;
    for (int64_t at = 0; at < block.count; at += lanes) {
      auto low = hn::Zero(d), high = low;
      for (uint32_t r = 0; r < Pairs<Spot>::kRows; ++r) {
        const float* const weight = pairs.weight[r] + 2 * at;
        low = hn::MulAdd(hn::Load(d, weight), pairs.values(d, plane, r, at), low);
        high = hn::MulAdd(hn::Load(d, weight + lanes), pairs.values(d, plane, r, at + lanes / 2),
                          high);
      }
      put(d, hn::Add(hn::ConcatEven(d, high, low), hn::ConcatOdd(d, high, low)), to, at, block);
    }
  }
#endif
}

template <class Spot, class C>
void sample_block(const Operands<C>& operands, int64_t i, C* out) {
  const hn::ScalableTag<C> d;
  const GridGeometry& g = operands.of;
  const Block block(operands, i);
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  Taps<Spot, C> taps;
  taps.read(operands, block);
  if constexpr (kInPairs<Spot, C>)
    if (g.channels >= kLeastInPairs && Pairs<Spot>::fit(g))
      return sample_pairs(operands, taps, block, out);
  for (int64_t c = block.sample * g.channels; c < (block.sample + 1) * g.channels; ++c) {
    const C* plane = operands.x + c * g.in_plane;
    C* to = out + c * g.out_plane + block.first;
    for (int64_t at = 0; at < block.count; at += lanes) {
      auto sum = hn::Mul(hn::Load(d, taps.weight[0] + at), taps.values(d, plane, 0, at));
      for (uint32_t k = 1; k < Spot::kCount; ++k)
        sum = hn::MulAdd(hn::Load(d, taps.weight[k] + at), taps.values(d, plane, k, at), sum);
      put(d, sum, to, at, block);
    }
  }
}

void grid_sample(const tn_call& call) {
  using arg = tenon::arg::grid_sample;
  if (numel(output(call)) == 0) return;
  visit_dtype<TN_MASK_FLOAT>(output(call).dtype, [&]<class T>(Tag<T>) {
    Result<T> out(output(call));
    with_operands<arg, T>(call, [&]<class Spot>(Tag<Spot>, const auto& operands) {
      const GridGeometry& g = operands.of;
      parallel_for(g.batch * operands.blocks(), operands.grain(kBlock * g.channels),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t i = begin; i < end; ++i)
                       sample_block<Spot>(operands, i, out.data());
                   });
    });
    out.finish();
  });
}

void add_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_GRID_SAMPLE,
            .dtypes = TN_MASK_FLOAT,
            .run = run_of<grid_sample>,
            .supports = supports_of<fits<arg::grid_sample>>});
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_resample_grid_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
