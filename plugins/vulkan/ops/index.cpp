// index and index_put, NumPy's advanced indexing: adds up the positions from all index tensors in scratch memory, then moves blocks. A mask
// decides how many positions there are, so calls with masks are left to the host, except a single value put by one mask.
#include <algorithm>

#include "ops/index_advanced.hpp"
#include "ops/index_deposit.hpp"
#include "shaders/index.hpp"
#include "shaders/masked_put.hpp"
#include "tenon/schemas.h"

namespace tenon::vulkan {
namespace {

void run_index(const tn_call& call, uint32_t) {
  const tn_view &x = input(call, arg::index::x), &out = output(call);
  const AdvancedIndex a(x, call.args[arg::index::indices]);
  if (a.places() == 0) return;
  find_places(call, "index", a, 0);
  if (numel(out) == 0) return;
  Launch launch(call, shaders::index, Compute::kI32);
  launch.constant(size_of(x.dtype)).out(out);
  in_or_none(launch, x);
  launch.scratch(0, static_cast<uint64_t>(a.places()) * 4);
  launch.word(numel(out)).word(a.inner);
  give_blocks(launch, a);
  launch.elements(numel(out));
}

uint64_t index_scratch(const tn_call& call, uint32_t) {
  using arg = tenon::arg::index;
  return static_cast<uint64_t>(
             AdvancedIndex(input(call, arg::x), call.args[arg::indices]).places()) *
         4;
}

Deposit deposit_of(const tn_call& call, const AdvancedIndex& a) { return {read_put(call, a)}; }

void put_by_mask(const tn_call& call, const tn_view& mask) {
  using arg = tenon::arg::index_put;
  const tn_view &x = input(call, arg::x), &out = output(call);
  if (numel(out) == 0) return;
  Launch launch(call, shaders::masked_put, compute_of(out.dtype));
  launch.constant(out.dtype).constant(call.args[arg::accumulate].as.i != 0 ? 1 : 0);
  launch.out(out).in(x).in(input(call, arg::values)).in(mask);
  launch.word(numel(out)).word(numel(mask)).word(elements_of_mask(call, mask)).elements(numel(out));
}

void run_index_put(const tn_call& call, uint32_t) {
  using arg = tenon::arg::index_put;
  if (const tn_view* mask = only_mask(call)) return put_by_mask(call, *mask);
  const AdvancedIndex a(input(call, arg::x), call.args[arg::indices]);
  const Deposit d = deposit_of(call, a);
  if (a.places() > 0) find_places(call, "index_put", a, d.bytes());
  if (d.places == 0) return;
  Launch launch = keys_launch(call, d, kByBlocks);
  if (a.places() > 0)
    launch.scratch(d.bytes(), static_cast<uint64_t>(a.places()) * 4);
  else
    launch.none();
  launch.word(a.inner);
  give_blocks(launch, a);
  launch.elements(d.rows);
  finish_deposit(call, d);
}

uint64_t put_scratch(const tn_call& call, uint32_t) {
  using arg = tenon::arg::index_put;
  if (only_mask(call) != nullptr) return 0;
  const AdvancedIndex a(input(call, arg::x), call.args[arg::indices]);
  return deposit_of(call, a).bytes() + static_cast<uint64_t>(a.places()) * 4;
}

bool no_masks(const tn_call& call, uint32_t) {
  static_assert(arg::index_put::indices == arg::index::indices);
  const tn_value& indices = call.args[arg::index::indices];
  return std::none_of(indices.as.views, indices.as.views + indices.count, [](const tn_view* index) {
    return index != nullptr && index->dtype == TN_DTYPE_BOOL;
  });
}

bool can_put(const tn_call& call, uint32_t code) {
  if (only_mask(call) != nullptr) return true;
  using arg = tenon::arg::index_put;
  return no_masks(call, code) &&
         deposit_of(call, AdvancedIndex(input(call, arg::x), call.args[arg::indices])).fits();
}

}  // namespace

void add_index_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_INDEX,
            .dtypes = kAll,
            .run = run_index,
            .supports = no_masks,
            .scratch = index_scratch});
  list.add({.schema = TN_SCHEMA_INDEX_PUT,
            .dtypes = kAll,
            .run = run_index_put,
            .supports = can_put,
            .scratch = put_scratch});
}

}  // namespace tenon::vulkan
