// A random permutation: the stable argsort of 64-bit draws, as in sdk/include/tenon/philox.hpp.
#include "draws.hpp"
#include "kernels.hpp"
#include "launch.hpp"
#include "radix.hpp"

namespace tenon::gpu {
namespace {

// Each thread makes a block of two draws.
GPU_KERNEL draw_keys(Draws draws, int64_t count, Ptr<uint64_t> keys) {
  for (int64_t b = first_thread(); 2 * b < count; b += thread_count()) {
    const philox::Block block = draws.block(b);
    keys[2 * b] = philox::draw64(block, 0);
    if (2 * b + 1 < count) keys[2 * b + 1] = philox::draw64(block, 1);
  }
}

// Integers by their size.
template <class T>
GPU_KERNEL write_order(Ptr<const uint32_t> order, int64_t count, Ptr<T> out) {
  for (int64_t i = first_thread(); i < count; i += thread_count()) {
    const uint32_t at = order[i];
    out[i] = static_cast<T>(at);
  }
}

RadixSort<uint64_t> sort_of(const tn_call& call) { return {numel(output(call)), 64}; }

uint64_t scratch_bytes(const tn_call& call, uint32_t) { return sort_of(call).bytes(); }

void run_randperm(const tn_call& call, uint32_t) {
  const tn_view& to = output(call);
  const int64_t n = numel(to);
  if (n == 0) return;
  const RadixSort<uint64_t> sort = sort_of(call);
  launch(call, grid_of((n + 1) / 2), draw_keys, draws_of(call, arg::randperm::generator), n,
         sort.keys(call, 0));
  const Ptr<const uint32_t> order = sort.sort(call, 0).order;
  with_type(Sizes{}, bits_of(to.dtype), [&](auto tag) {
    using T = typename decltype(tag)::type;
    launch(call, grid_of(n), write_order<T>, order, n, out<T>(to));
  });
}

// The sort numbers elements with 32 bits.
bool supports_randperm(const tn_call& call, uint32_t) { return numel(output(call)) <= INT32_MAX; }

}  // namespace

void add_random_randperm_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_RANDPERM,
            .dtypes = Ints::kMask,
            .run = run_randperm,
            .supports = supports_randperm,
            .scratch = scratch_bytes});
}

}  // namespace tenon::gpu
