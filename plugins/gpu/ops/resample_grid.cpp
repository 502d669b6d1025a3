// grid_sample and its gradients. For the grid's gradient, one thread for each output. For the gradient of x, taps are sorted by the
// positions they read, and each position adds up its own in order, so that sums are reproducible.
#include "arithmetic.hpp"
#include "kernels.hpp"
#include "launch.hpp"
#include "radix.hpp"

#include "../../common/grid.hpp"

namespace tenon::gpu {
namespace {

// Outputs of all samples, without channels.
template <class Spot, class T>
GPU_DEVICE Spot spot_of(const GridGeometry& g, Ptr<const T> grid, uint32_t output) {
  const int64_t first = int64_t{output} * g.spatial;
  return Spot(g, load<T>(grid, first), load<T>(grid, first + 1),
              g.spatial == 3 ? load<T>(grid, first + 2) : Compute<T>(0));
}

// The sample that an output or element belongs to, and its position in the plane.
struct InSample {
  int64_t sample, rest;
  GPU_DEVICE InSample(uint32_t i, int64_t plane)
      : sample(i / static_cast<uint32_t>(plane)), rest(i % static_cast<uint32_t>(plane)) {}
};

// The launch's y dimension divides the channels.
template <class Spot, class T>
GPU_KERNEL grid_sample(GridGeometry g, Ptr<const T> x, Ptr<const T> grid, Ptr<T> out) {
  const auto outputs = static_cast<uint32_t>(g.batch * g.out_plane);
  for (uint32_t i = first_thread(); i < outputs; i += thread_count()) {
    const Spot spot = spot_of<Spot, T>(g, grid, i);
    const InSample from(i, g.out_plane);
    for (int64_t c = block_index().y; c < g.channels; c += block_count().y) {
      const int64_t plane = from.sample * g.channels + c;
      Compute<T> sum = 0;
      GPU_UNROLL
      for (uint32_t k = 0; k < Spot::kCount; ++k) {
        const int32_t at = spot.at(k);
        if (at >= 0) sum += spot.weight(k) * load<T>(x, plane * g.in_plane + at);
      }
      store(out, plane * g.out_plane + from.rest, sum);
    }
  }
}

template <class Spot, class T>
GPU_KERNEL grid_gradient(GridGeometry g, Ptr<const T> gradient, Ptr<const T> x, Ptr<const T> grid,
                         Ptr<T> ggrid) {
  const auto outputs = static_cast<uint32_t>(g.batch * g.out_plane);
  for (uint32_t i = first_thread(); i < outputs; i += thread_count()) {
    const Spot spot = spot_of<Spot, T>(g, grid, i);
    const InSample from(i, g.out_plane);
    Compute<T> sums[3] = {};
    GPU_UNROLL
    for (uint32_t k = 0; k < Spot::kCount; ++k) {
      const int32_t at = spot.at(k);
      if (at < 0) continue;
      Compute<T> along = 0;
      for (int64_t c = 0; c < g.channels; ++c) {
        const int64_t plane = from.sample * g.channels + c;
        along += load<T>(gradient, plane * g.out_plane + from.rest) *
                 load<T>(x, plane * g.in_plane + at);
      }
      GPU_UNROLL
      for (uint32_t d = 0; d < 3; ++d) sums[d] += along * spot.slope(k, d);
    }
    for (uint32_t d = 0; d < g.spatial; ++d) store(ggrid, int64_t{i} * g.spatial + d, sums[d]);
  }
}

// The position that each tap reads, over all samples; one past the end for none.
template <class Spot, class T>
GPU_KERNEL read_taps(GridGeometry g, Ptr<const T> grid, Ptr<uint32_t> keys,
                     Ptr<Compute<T>> weights) {
  const auto outputs = static_cast<uint32_t>(g.batch * g.out_plane);
  for (uint32_t i = first_thread(); i < outputs; i += thread_count()) {
    const Spot spot = spot_of<Spot, T>(g, grid, i);
    const int64_t sample = InSample(i, g.out_plane).sample;
    GPU_UNROLL
    for (uint32_t k = 0; k < Spot::kCount; ++k) {
      const int32_t at = spot.at(k);
      const uint32_t tap = i * Spot::kCount + k;
      keys[tap] = static_cast<uint32_t>(at >= 0 ? sample * g.in_plane + at : g.batch * g.in_plane);
      weights[tap] = spot.weight(k);
    }
  }
}

// The first of the sorted keys that is not below this one.
GPU_DEVICE uint32_t lower_bound(Ptr<const uint32_t> keys, uint32_t count, uint32_t key) {
  uint32_t low = 0, high = count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (keys[middle] < key)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

struct SortedTaps {
  Ptr<const uint32_t> keys, order;
  uint32_t count, of_output;
};

template <class T>
GPU_KERNEL input_gradient(GridGeometry g, SortedTaps taps, Ptr<const Compute<T>> weights,
                          Ptr<const T> gradient, Ptr<T> gx) {
  const auto places = static_cast<uint32_t>(g.batch * g.in_plane);
  for (uint32_t i = first_thread(); i < places; i += thread_count()) {
    const uint32_t begin = lower_bound(taps.keys, taps.count, i);
    const InSample from(i, g.in_plane);
    for (int64_t c = block_index().y; c < g.channels; c += block_count().y) {
      const int64_t plane = from.sample * g.channels + c;
      Compute<T> sum = 0;
      for (uint32_t s = begin; s < taps.count && taps.keys[s] == i; ++s) {
        const uint32_t tap = taps.order[s];
        const int64_t rest = InSample(tap / taps.of_output, g.out_plane).rest;
        sum += weights[tap] * load<T>(gradient, plane * g.out_plane + rest);
      }
      store(gx, plane * g.in_plane + from.rest, sum);
    }
  }
}

// One thread for a number of positions, and for a part of their channels if positions are few.
Grid grid_for(const GridGeometry& g, int64_t places) {
  Grid grid = grid_of(places);
  const int64_t shares = (int64_t{1} << 18) / std::max<int64_t>(places, 1);
  grid.blocks.y = static_cast<uint32_t>(
      std::clamp<int64_t>(shares, 1, std::clamp<int64_t>(g.channels, 1, 65535)));
  return grid;
}

RadixSort<uint32_t> sorting_of(const GridGeometry& g) {
  return {g.batch * g.out_plane * g.taps_of_output(),
          static_cast<uint32_t>(std::bit_width(static_cast<uint64_t>(g.batch * g.in_plane)))};
}

// Calls run(TypeTag<T>, TypeTag<Spot>) for the call's dtype and taps
template <class Run>
void with_spot(const GridGeometry& g, tn_dtype dtype, const Run& run) {
  with_type(Floats{}, dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    with_grid_taps(g, [&](auto taps) {
      run(tag, TypeTag<typename decltype(taps)::template spot<Compute<T>>>{});
    });
  });
}

void run_forward(const tn_call& call, uint32_t) {
  using arg = tenon::arg::grid_sample;
  const tn_view &x = input(call, arg::x), &result = output(call);
  if (numel(result) == 0) return;
  const auto g = GridGeometry::of<arg>(call);
  with_spot(g, x.dtype, [&](auto type, auto reads) {
    using T = typename decltype(type)::type;
    using Spot = typename decltype(reads)::type;
    launch(call, grid_for(g, g.batch * g.out_plane), grid_sample<Spot, T>, g, in<T>(x),
           in<T>(input(call, arg::grid)), out<T>(result));
  });
}

template <class Spot, class T>
void input_gradients(const tn_call& call, const GridGeometry& g) {
  using arg = tenon::arg::grid_sample_backward;
  const RadixSort<uint32_t> sorting = sorting_of(g);
  const int64_t outputs = g.batch * g.out_plane;
  const auto weights = scratch<Compute<T>>(call, sorting.bytes(), sorting.count);
  launch(call, grid_of(outputs), read_taps<Spot, T>, g, in<T>(input(call, arg::grid)),
         sorting.keys(call, 0), weights);
  const auto sorted = sorting.sort(call, 0);
  const SortedTaps taps{sorted.keys, sorted.order, static_cast<uint32_t>(sorting.count),
                        Spot::kCount};
  launch(call, grid_for(g, g.batch * g.in_plane), input_gradient<T>, g, taps, weights,
         in<T>(input(call, arg::g)), out<T>(output(call, arg::result::gx)));
}

void run_backward(const tn_call& call, uint32_t) {
  using arg = tenon::arg::grid_sample_backward;
  const tn_view &gx = output(call, arg::result::gx), &ggrid = output(call, arg::result::ggrid);
  const auto g = GridGeometry::of<arg>(call);
  if (g.batch * g.out_plane == 0) {
    if (const int64_t n = numel(gx); n > 0)
      rt::fill(gx.data, 0, static_cast<uint64_t>(n) * size_of(gx.dtype), stream_of(call).handle());
    return;
  }
  with_spot(g, gx.dtype, [&](auto type, auto reads) {
    using T = typename decltype(type)::type;
    using Spot = typename decltype(reads)::type;
    if (numel(gx) > 0) input_gradients<Spot, T>(call, g);
    launch(call, grid_of(g.batch * g.out_plane), grid_gradient<Spot, T>, g,
           in<T>(input(call, arg::g)), in<T>(input(call, arg::x)), in<T>(input(call, arg::grid)),
           out<T>(ggrid));
  });
}

template <class arg>
bool supports(const tn_call& call, uint32_t) {
  return GridGeometry::of<arg>(call).fits();
}

// Sorted taps and their weights.
uint64_t scratch_bytes(const tn_call& call, uint32_t) {
  const auto g = GridGeometry::of<arg::grid_sample_backward>(call);
  if (!g.fits() || g.batch * g.out_plane == 0) return 0;
  const RadixSort<uint32_t> sorting = sorting_of(g);
  const uint64_t each = output(call).dtype == TN_DTYPE_F64 ? 8 : 4;
  return sorting.bytes() + static_cast<uint64_t>(sorting.count) * each;
}

}  // namespace

void add_resample_grid_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_GRID_SAMPLE,
            .dtypes = Floats::kMask,
            .run = run_forward,
            .supports = supports<arg::grid_sample>});
  list.add({.schema = TN_SCHEMA_GRID_SAMPLE_BACKWARD,
            .dtypes = Floats::kMask,
            .run = run_backward,
            .supports = supports<arg::grid_sample_backward>,
            .scratch = scratch_bytes});
}

}  // namespace tenon::gpu
