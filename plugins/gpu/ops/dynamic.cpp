// nonzero and masked_select.
#include "ops/dynamic.hpp"

#include <algorithm>

#include "layout.hpp"
#include "ops/move.hpp"
#include "timeline.hpp"

namespace tenon::gpu {
namespace {

// Elements with any of these bits set count.
template <class U>
struct Bits {
  Ptr<const U> at;
  U mask;
  GPU_DEVICE bool operator()(uint32_t i) const { return (at[i] & mask) != 0; }
};
// For a mask broadcast against x: positions 0 and 1 of the layout, unless both have the same layout.
struct Masked {
  Ptr<const uint8_t> at;
  bool is_dense;
  Layout<2> layout;
  GPU_DEVICE bool operator()(uint32_t i) const {
    if (is_dense) return at[i] != 0;
    int64_t places[2];
    layout.find(i, places);
    return at[places[0]] != 0;
  }
  GPU_DEVICE int64_t place(uint32_t i) const {
    if (is_dense) return i;
    int64_t places[2];
    layout.find(i, places);
    return places[1];
  }
};

// A single block replaces each count by the sum of those before it, and appends the total.
GPU_SIZED_KERNEL(kMostThreads, sum_tiles, Ptr<uint32_t> counts, uint32_t tiles) {
  uint32_t before = 0;
  for (uint32_t first = 0; first < tiles; first += block_size().x) {
    const uint32_t i = first + thread_index().x;
    uint32_t total = 0;
    const uint32_t sum = block_sum_before(i < tiles ? static_cast<uint32_t>(counts[i]) : 0, total);
    if (i < tiles) counts[i] = before + sum;
    before += total;
  }
  if (thread_index().x == 0) counts[tiles] = before;
}

// A layout without dimensions: flat positions.
template <class U>
GPU_KERNEL write_positions(Bits<U> set, uint32_t count, Ptr<const uint32_t> before,
                           Layout<1> layout, Ptr<int64_t> out) {
  for_set(set, count, before, [&](uint32_t i, uint32_t to) {
    if (layout.ndim == 0) {
      out[to] = i;
      return;
    }
    for (uint32_t d = layout.ndim; d-- > 0;) {
      const uint32_t rest = layout.sizes[d].divide(i);
      out[int64_t{to} * layout.ndim + d] = i - rest * layout.sizes[d].divisor;
      i = rest;
    }
  });
}

template <class U>
GPU_KERNEL write_masked(Masked mask, uint32_t count, Ptr<const uint32_t> before, Ptr<const U> x,
                        Ptr<U> out) {
  for_set(mask, count, before, [&](uint32_t i, uint32_t to) { out[to] = x[mask.place(i)]; });
}

// -0 is 0.
uint64_t mask_of(tn_dtype dtype) {
  switch (dtype) {
    case TN_DTYPE_F16:
    case TN_DTYPE_BF16:
      return 0x7fff;
    case TN_DTYPE_F32:
      return 0x7fffffff;
    case TN_DTYPE_F64:
      return INT64_MAX;
    case TN_DTYPE_C64:
      return 0x7fffffff7fffffff;
    default:
      return ~uint64_t{0};
  }
}

template <class Fn>
void with_bits(const tn_view& x, Fn&& fn) {
  with_type(Sizes{}, bits_of(x.dtype), [&](auto tag) {
    using U = typename decltype(tag)::type;
    fn(Bits<U>{units<const U>(x), static_cast<U>(mask_of(x.dtype))});
  });
}

void run_nonzero(const tn_call& call, uint32_t) {
  const tn_view& x = input(call, arg::nonzero::x);
  const int64_t total = count_set(call, 0, x);
  const int64_t shape[] = {total, x.ndim};
  const tn_view& made = sdk::make_output(sdk::Call(call), 0, shape);
  if (numel(made) > 0) write_set(call, 0, x, false, out<int64_t>(made));
}

// x and mask of masked_select: their broadcast shape.
struct Broadcast {
  LoopPart part;
  int64_t count = 1;
  bool is_dense = false;  // both have that shape and are dense
  explicit Broadcast(const tn_call& call) {
    const tn_view* views[] = {&input(call, arg::masked_select::mask),
                              &input(call, arg::masked_select::x)};
    part.ndim = std::max(views[0]->ndim, views[1]->ndim);
    int64_t step = 1;
    is_dense = true;
    for (uint32_t d = part.ndim; d-- > 0;) {
      int64_t size = 1;
      for (uint32_t k = 0; k < 2; ++k) {
        const int64_t own = int64_t{d} - (part.ndim - views[k]->ndim);
        const bool repeated = own < 0 || views[k]->shape[own] == 1;
        part.strides[k][d] = repeated ? 0 : views[k]->strides[own];
        if (!repeated) size = views[k]->shape[own];
      }
      count *= size;
      part.shape[d] = static_cast<uint32_t>(std::min<int64_t>(size, INT32_MAX));
      for (uint32_t k = 0; k < 2; ++k)
        is_dense = is_dense && (size == 1 || part.strides[k][d] == step);
      step *= size;
    }
  }
};

void run_masked_select(const tn_call& call, uint32_t) {
  const Broadcast both(call);
  const Compaction compaction{both.count};
  int64_t total = 0;
  const Ptr<uint32_t> counts = compaction.counts(call, 0);
  Masked mask{units<const uint8_t>(input(call, arg::masked_select::mask)), both.is_dense, {}};
  if (both.count > 0) {
    mask.layout = Layout<2>(both.part);
    launch(call, compaction.grid(), count_tiles<Masked>, mask, static_cast<uint32_t>(both.count),
           counts);
    total = compaction.total(call, 0);
  }
  const tn_view& made = sdk::make_output(sdk::Call(call), 0, std::span<const int64_t>(&total, 1));
  if (total == 0) return;
  with_unit(size_of(made.dtype), [&](auto tag) {
    using U = typename decltype(tag)::type;
    launch(call, compaction.grid(), write_masked<U>, mask, static_cast<uint32_t>(both.count),
           counts, units<const U>(input(call, arg::masked_select::x)), units<U>(made));
  });
}

}  // namespace

int64_t Compaction::total(const tn_call& call, uint64_t offset) const {
  const uint32_t threads = tiles() > kThreads ? kMostThreads : kThreads;
  launch(call, {{1, 1, 1}, {threads, 1, 1}}, sum_tiles, counts(call, offset),
         static_cast<uint32_t>(tiles()));
  uint32_t found = 0;
  backend().copy_out(call.device_index, call.stream, call.scratch, offset + tiles() * 4, &found,
                     sizeof found);
  wait_for(call.device_index, stream_of(call).handle());
  return found;
}

int64_t count_set(const tn_call& call, uint64_t offset, const tn_view& x) {
  const Compaction compaction{numel(x)};
  if (compaction.count == 0) return 0;
  with_bits(x, [&](const auto& set) {
    launch(call, compaction.grid(), count_tiles<std::remove_cvref_t<decltype(set)>>, set,
           static_cast<uint32_t>(compaction.count), compaction.counts(call, offset));
  });
  return compaction.total(call, offset);
}

void write_set(const tn_call& call, uint64_t offset, const tn_view& x, bool flat,
               Ptr<int64_t> positions) {
  const Compaction compaction{numel(x)};
  LoopPart part;
  part.ndim = flat ? 0 : x.ndim;
  for (uint32_t d = 0; d < part.ndim; ++d) {
    part.shape[d] = static_cast<uint32_t>(x.shape[d]);
    part.strides[0][d] = 0;
  }
  with_bits(x, [&](const auto& set) {
    using Set = std::remove_cvref_t<decltype(set)>;
    using U = std::remove_cv_t<decltype(Set::mask)>;
    launch(call, compaction.grid(), write_positions<U>, set,
           static_cast<uint32_t>(compaction.count), compaction.counts(call, offset),
           Layout<1>(part), positions);
  });
}

void add_dynamic_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_NONZERO,
            .dtypes = All::kMask | TN_MASK(TN_DTYPE_C64),
            .run = run_nonzero,
            .supports = [](const tn_call& call,
                           uint32_t) { return numel(input(call, arg::nonzero::x)) < INT32_MAX; },
            .scratch =
                [](const tn_call& call, uint32_t) {
                  return Compaction{numel(input(call, arg::nonzero::x))}.bytes();
                }});
  list.add(
      {.schema = TN_SCHEMA_MASKED_SELECT,
       .dtypes = kMovableAll,
       .run = run_masked_select,
       .flags = TN_KERNEL_STRIDED,
       .supports = [](const tn_call& call, uint32_t) { return Broadcast(call).count < INT32_MAX; },
       .scratch = [](const tn_call& call,
                     uint32_t) { return Compaction{Broadcast(call).count}.bytes(); }});
}

}  // namespace tenon::gpu
