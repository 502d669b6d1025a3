// grid_sample and its gradient. What a block of outputs reads is worked out once for all channels. Halves compute in f32.
#include "../../common/grid.hpp"
#include "ops/halves.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/resample_grid.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <vector>

#include "kernels.hpp"
#include "lanes-inl.hpp"
#include "tenon/schemas.h"
#include "threads.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t kBlock = 128;  // outputs

// A call's operands, in what it computes in.
template <class C>
struct Operands {
  GridGeometry of;
  const C *x, *grid;
  int64_t blocks() const { return (of.out_plane + kBlock - 1) / kBlock; }
  int64_t grain(int64_t elements) const {
    return std::max<int64_t>(1, kGrainMath / std::max<int64_t>(1, elements * of.taps_of_output()));
  }
};

// The outputs of one sample from `first` on.
struct Block {
  int64_t sample, first, count;
  template <class C>
  Block(const Operands<C>& operands, int64_t i)
      : sample(i / operands.blocks()),
        first(i % operands.blocks() * kBlock),
        count(std::min(kBlock, operands.of.out_plane - first)) {}
};

template <class Spot, class C>
HWY_INLINE Spot spot_of(const Operands<C>& operands, const Block& block, int64_t i) {
  const GridGeometry& g = operands.of;
  const C* at = operands.grid + (block.sample * g.out_plane + block.first + i) * g.spatial;
  return Spot(g, at[0], at[1], g.spatial == 3 ? at[2] : C(0));
}

// Taps of a block's outputs; behind the last of them they read the first element, for nothing.
template <class Spot, class C>
struct Taps {
  static constexpr uint32_t kCount = Spot::kCount;
  using Index = hwy::MakeSigned<C>;
  HWY_ALIGN Index at[kCount][kBlock];  // in a plane of x; −1: nothing is read
  HWY_ALIGN C weight[kCount][kBlock];
  bool whole;  // every tap reads something

  HWY_INLINE void read(const Operands<C>& operands, const Block& block) {
    Index least = 0;
    for (int64_t i = 0; i < block.count; ++i) {
      const Spot spot = spot_of<Spot>(operands, block, i);
      for (uint32_t k = 0; k < kCount; ++k) {
        at[k][i] = spot.at(k);
        weight[k][i] = spot.weight(k);
        least = std::min(least, at[k][i]);
      }
    }
    for (uint32_t k = 0; k < kCount; ++k) {
      std::fill(at[k] + block.count, at[k] + kBlock, Index(0));
      std::fill(weight[k] + block.count, weight[k] + kBlock, C(0));
    }
    whole = least == 0;
  }
  // What tap k of the outputs from i on reads of a plane; 0 outside.
  template <class D>
  HWY_INLINE hn::Vec<D> values(D d, const C* plane, uint32_t k, int64_t i) const {
    const hn::RebindToSigned<D> signs;
    const auto index = hn::Load(signs, at[k] + i);
    if (whole) return hn::GatherIndex(d, plane, index);
    const auto none = hn::Zero(signs);
    return hn::IfThenElseZero(hn::RebindMask(d, hn::Gt(index, hn::Set(signs, -1))),
                              hn::GatherIndex(d, plane, hn::Max(index, none)));
  }
};

template <class Spot, class C>
void sample_block(const Operands<C>& operands, int64_t i, C* out) {
  const hn::ScalableTag<C> d;
  const GridGeometry& g = operands.of;
  const Block block(operands, i);
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  Taps<Spot, C> taps;
  taps.read(operands, block);
  for (int64_t c = block.sample * g.channels; c < (block.sample + 1) * g.channels; ++c) {
    const C* plane = operands.x + c * g.in_plane;
    C* to = out + c * g.out_plane + block.first;
    for (int64_t at = 0; at < block.count; at += lanes) {
      auto sum = hn::Mul(hn::Load(d, taps.weight[0] + at), taps.values(d, plane, 0, at));
      for (uint32_t k = 1; k < Spot::kCount; ++k)
        sum = hn::MulAdd(hn::Load(d, taps.weight[k] + at), taps.values(d, plane, k, at), sum);
      if (at + lanes <= block.count)
        hn::StoreU(sum, d, to + at);
      else
        store_first(sum, d, to + at, static_cast<size_t>(block.count - at));
    }
  }
}

// g times what each tap reads, summed over the channels, is what the tap's weight adds.
template <class Spot, class C>
void grid_gradient(const Operands<C>& operands, const C* gradient, int64_t i, C* out) {
  const hn::ScalableTag<C> d;
  const GridGeometry& g = operands.of;
  const Block block(operands, i);
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  Taps<Spot, C> taps;
  taps.read(operands, block);
  HWY_ALIGN C along[Spot::kCount][kBlock] = {};
  for (int64_t c = block.sample * g.channels; c < (block.sample + 1) * g.channels; ++c) {
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
  for (int64_t at = 0; at < block.count; ++at) {
    const Spot spot = spot_of<Spot>(operands, block, at);
    for (uint32_t coordinate = 0; coordinate < g.spatial; ++coordinate) {
      C sum = 0;
      for (uint32_t k = 0; k < Spot::kCount; ++k) sum += along[k][at] * spot.slope(k, coordinate);
      *to++ = sum;
    }
  }
}

// Channels [begin, end) of one sample.
template <class Spot, class C>
void input_gradient(const Operands<C>& operands, const C* gradient, int64_t sample, int64_t begin,
                    int64_t end, C* out) {
  const GridGeometry& g = operands.of;
  begin += sample * g.channels;
  end += sample * g.channels;
  std::fill(out + begin * g.in_plane, out + end * g.in_plane, C(0));
  Taps<Spot, C> taps;
  for (int64_t i = 0; i < operands.blocks(); ++i) {
    const Block block(operands, sample * operands.blocks() + i);
    taps.read(operands, block);
    for (int64_t c = begin; c < end; ++c) {
      C* plane = out + c * g.in_plane;
      const C* from = gradient + c * g.out_plane + block.first;
      for (uint32_t k = 0; k < Spot::kCount; ++k)
        for (int64_t at = 0; at < block.count; ++at)
          if (taps.at[k][at] >= 0) plane[taps.at[k][at]] += taps.weight[k][at] * from[at];
    }
  }
}

template <class Spot, class C>
void input_gradients(const Operands<C>& operands, const C* gradient, C* out) {
  const GridGeometry& g = operands.of;
  // So many channels share the taps that there are a few pieces of work for each thread.
  const int64_t pieces = (4 * max_threads() + g.batch - 1) / g.batch,
                together = std::max<int64_t>(1, g.channels / pieces),
                groups = (g.channels + together - 1) / together;
  parallel_for(g.batch * groups, operands.grain(g.out_plane * together),
               [&](int64_t first, int64_t last) {
                 for (int64_t i = first; i < last; ++i) {
                   const int64_t begin = i % groups * together;
                   input_gradient<Spot>(operands, gradient, i / groups, begin,
                                        std::min(begin + together, g.channels), out);
                 }
               });
}

// An operand or result in what is computed in: halves by way of a copy.
template <class T>
const Compute<T>* widened(const tn_view& view, std::vector<Compute<T>>& copy) {
  if constexpr (is_half_v<T>) {
    copy.resize(static_cast<size_t>(numel(view)));
    widen_all(data_of<const T>(view), copy.data(), numel(view));
    return copy.data();
  } else {
    return data_of<const T>(view);
  }
}
template <class T>
struct Result {
  const tn_view& view;
  std::vector<Compute<T>> copy;
  explicit Result(const tn_view& to) : view(to), copy(is_half_v<T> ? size_t(numel(to)) : 0) {}
  Compute<T>* data() {
    if constexpr (is_half_v<T>) return copy.data();
    if constexpr (!is_half_v<T>) return data_of<T>(view);
  }
  void finish() {
    if constexpr (is_half_v<T>) round_all(copy.data(), data_of<T>(view), numel(view));
  }
};

// run(Tag<Spot>, operands) for the call's dtype and taps; T is the dtype's type.
template <class arg, class T, class Run>
void with_operands(const tn_call& call, const Run& run) {
  using C = Compute<T>;
  std::vector<C> x, grid;
  const Operands<C> operands{GridGeometry::of<arg>(call), widened<T>(input(call, arg::x), x),
                             widened<T>(input(call, arg::grid), grid)};
  with_grid_taps(operands.of,
                 [&]<class Taps>(Taps) { run(Tag<typename Taps::template spot<C>>(), operands); });
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

void grid_sample_backward(const tn_call& call) {
  using arg = tenon::arg::grid_sample_backward;
  const tn_view &gx = output(call, arg::result::gx), &ggrid = output(call, arg::result::ggrid);
  if (numel(gx) == 0 && numel(ggrid) == 0) return;
  visit_dtype<TN_MASK_FLOAT>(gx.dtype, [&]<class T>(Tag<T>) {
    Result<T> to_x(gx), to_grid(ggrid);
    std::vector<Compute<T>> copy;
    const Compute<T>* gradient = widened<T>(input(call, arg::g), copy);
    with_operands<arg, T>(call, [&]<class Spot>(Tag<Spot>, const auto& operands) {
      const GridGeometry& g = operands.of;
      input_gradients<Spot>(operands, gradient, to_x.data());
      parallel_for(g.batch * operands.blocks(), operands.grain(kBlock * g.channels),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t i = begin; i < end; ++i)
                       grid_gradient<Spot>(operands, gradient, i, to_grid.data());
                   });
    });
    to_x.finish();
    to_grid.finish();
  });
}

template <class arg>
bool fits(const tn_call& call) {
  return GridGeometry::of<arg>(call).fits();
}

void add_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_GRID_SAMPLE,
            .dtypes = TN_MASK_FLOAT,
            .run = run_of<grid_sample>,
            .supports = supports_of<fits<arg::grid_sample>>});
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
void add_resample_grid_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
