// concat, slice_scatter, roll: moves stretches of elements.
#include "ops/move.hpp"
#include "shaders/roll.hpp"
#include "tenon/schemas.h"

namespace tenon::vulkan {
namespace {

std::vector<int64_t> strides_of(const tn_view& view) {
  return {view.strides, view.strides + view.ndim};
}
std::vector<int64_t> shape_of(const tn_view& view) { return {view.shape, view.shape + view.ndim}; }

void run_concat(const tn_call& call, uint32_t) {
  const tn_view& out = output(call);
  const int64_t dim = call.args[arg::concat::dim].as.i;
  int64_t first = 0;
  for (uint32_t k = 0; k < call.args[arg::concat::xs].count; ++k) {
    const tn_view& x = *call.args[arg::concat::xs].as.views[k];
    move_elements(call, shape_of(x), {&out, first * out.strides[dim], strides_of(out)},
                  {&x, 0, strides_of(x)});
    first += x.shape[dim];
  }
}

// The core has already filled in the bounds.
void run_slice_scatter(const tn_call& call, uint32_t) {
  using arg = tenon::arg::slice_scatter;
  const tn_view &x = input(call, arg::x), &src = input(call, arg::src), &out = output(call);
  const int64_t dim = call.args[arg::dim].as.i, start = call.args[arg::start].as.i,
                step = call.args[arg::step].as.i;
  move_all(call, out, x);
  std::vector<int64_t> strides = strides_of(out);
  const int64_t first = start * strides[static_cast<size_t>(dim)];
  strides[static_cast<size_t>(dim)] *= step;
  move_elements(call, shape_of(src), {&out, first, std::move(strides)}, {&src, 0, strides_of(src)});
}

// Without dims, rolls x as if it were flat.
void run_roll(const tn_call& call, uint32_t) {
  using arg = tenon::arg::roll;
  const tn_view &x = input(call, arg::x), &out = output(call);
  const int64_t count = numel(x);
  if (count == 0) return;
  const auto wrapped = [](int64_t shift, int64_t size) { return (shift % size + size) % size; };
  std::vector<int64_t> sizes, shifts;
  if (call.args[arg::dims].tag == TN_VALUE_NONE || x.ndim == 0) {
    sizes = {count};
    shifts = {wrapped(call.args[arg::shifts].as.ints[0], count)};
  } else {
    sizes = shape_of(x);
    shifts.assign(x.ndim, 0);
    for (uint32_t k = 0; k < call.args[arg::dims].count; ++k) {
      const auto d = static_cast<size_t>(call.args[arg::dims].as.ints[k]);
      shifts[d] =
          wrapped(shifts[d] + wrapped(call.args[arg::shifts].as.ints[k], sizes[d]), sizes[d]);
    }
  }
  Launch launch(call, shaders::roll, Compute::kI32);
  launch.constant(size_of(x.dtype))
      .constant(static_cast<uint32_t>(sizes.size()))
      .out(out)
      .in(x)
      .word(count);
  std::vector<uint32_t> table(sizes.begin(), sizes.end());
  table.insert(table.end(), shifts.begin(), shifts.end());
  launch.table(table).elements(count);
}

}  // namespace

void add_join_kernels(KernelList& list) {
  list.add(
      {.schema = TN_SCHEMA_CONCAT, .dtypes = kAll, .run = run_concat, .flags = TN_KERNEL_STRIDED});
  list.add({.schema = TN_SCHEMA_SLICE_SCATTER, .dtypes = kAll, .run = run_slice_scatter});
  list.add({.schema = TN_SCHEMA_ROLL, .dtypes = kAll, .run = run_roll});
}

}  // namespace tenon::vulkan
