// max_pool_backward: each gradient goes to where its maximum came from. Outputs are put into a linked list for each position, in any order,
// and each position adds up its own in ascending order, so that sums are reproducible.
#include "arithmetic.hpp"
#include "fill.hpp"
#include "indices.hpp"
#include "kernels.hpp"

namespace tenon::gpu {
namespace {

// Outputs are numbered from 1; 0 ends a list.
GPU_KERNEL link_outputs(int64_t rows, int64_t out_plane, int64_t in_plane, IndexCheck check,
                        Ptr<const int64_t> indices, Ptr<uint32_t> heads, Ptr<uint32_t> next) {
  for (int64_t i = first_thread(); i < rows; i += thread_count()) {
    const int64_t at = place_of(check, indices[i], i);
    if (at == kNowhere) continue;
    const Ptr<uint32_t> head = heads + (i / out_plane * in_plane + at);
    const auto mine = static_cast<uint32_t>(i + 1);
    uint32_t before = 0, seen = atomic_cas(head, before, mine);
    while (seen != before) {
      before = seen;
      seen = atomic_cas(head, before, mine);
    }
    next[i] = before;
  }
}

template <class T>
GPU_KERNEL add_linked(int64_t places, Ptr<const uint32_t> heads, Ptr<const uint32_t> next,
                      Ptr<const T> g, Ptr<T> gx) {
  for (int64_t i = first_thread(); i < places; i += thread_count()) {
    Compute<T> sum = 0;
    const uint32_t head = heads[i];
    uint32_t last = 0, count = head != 0 ? 1 : 0;
    for (uint32_t taken = 0; taken < count; ++taken) {
      uint32_t first = 0xffffffff, met = 0;
      for (uint32_t n = head; n != 0; n = next[n - 1], ++met)
        if (n > last && n < first) first = n;
      count = met;
      last = first;
      sum = plus(sum, load<T>(g, first - 1));
    }
    store(gx, i, sum);
  }
}

void run(const tn_call& call, uint32_t) {
  using arg = tenon::arg::max_pool_backward;
  const tn_view &g = input(call, arg::g), &indices = input(call, arg::indices),
                &result = output(call);
  const int64_t places = numel(result), rows = numel(g), planes = result.shape[0] * result.shape[1];
  if (planes == 0) return;
  const Ptr<uint32_t> heads = scratch<uint32_t>(call, 0, places),
                      next = scratch<uint32_t>(call, static_cast<uint64_t>(places) * 4, rows);
  const uint32_t none = 0;
  fill(stream_of(call), call.scratch, static_cast<uint64_t>(places) * 4, &none, sizeof none);
  launch(call, grid_of(rows), link_outputs, rows, rows / planes, places / planes,
         check_of(call, "max_pool_backward", 2, places / planes), in<int64_t>(indices), heads,
         next);
  const bool whole = (TN_MASK(g.dtype) & Floats::kMask) == 0;
  with_type(Join<Floats, Sizes>{}, whole ? bits_of(g.dtype) : g.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    launch(call, grid_of(places), add_linked<T>, places, heads, next, in<T>(g), out<T>(result));
  });
}

uint64_t scratch_bytes(const tn_call& call, uint32_t) {
  using arg = tenon::arg::max_pool_backward;
  return static_cast<uint64_t>(numel(output(call)) + numel(input(call, arg::g))) * 4;
}

// Outputs are counted in 32 bits.
bool supports(const tn_call& call, uint32_t) {
  return numel(input(call, arg::max_pool_backward::g)) < UINT32_MAX - 1;
}

}  // namespace

void add_pool_max_backward_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_MAX_POOL_BACKWARD,
            .dtypes = Reals::kMask,
            .run = run,
            .supports = supports,
            .scratch = scratch_bytes});
}

}  // namespace tenon::gpu
