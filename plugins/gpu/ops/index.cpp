// index and index_put: NumPy's advanced indexing.
#include <algorithm>

#include "ops/index_advanced.hpp"
#include "ops/index_deposit.hpp"
#include "ops/index_gather.hpp"
#include "ops/move.hpp"
#include "rows.hpp"

namespace tenon::gpu {
namespace {

template <class U>
GPU_KERNEL index_rows(Rows rows, RowFinder finder, Ptr<U> out, Ptr<const U> x) {
  for (int64_t i = rows.first(); i < rows.count; i += rows.step()) {
    const int64_t from = row_of(finder, static_cast<uint32_t>(i));
    if (from == kNowhere) continue;
    for (int64_t c = rows.column(); c < rows.inner; c += rows.across())
      out[i * rows.inner + c] = x[from * rows.inner + c];
  }
}

// A single i64 list selects slices, or adds to them, without computing positions first. NULL: another kind of call.
const IndexAxis* only_list(const RowIndex& a) {
  const bool alone = a.axes.size() == 1 && a.axes[0].index->dtype == TN_DTYPE_I64;
  return alone ? &a.axes[0] : nullptr;
}

void run_index(const tn_call& call, uint32_t) {
  const tn_view& x = input(call, arg::index::x);
  RowIndex a(x, call.args[arg::index::indices]);
  if (const IndexAxis* list = only_list(a))
    return select(call, "index", *list->index, list->dim, true);
  a.count_masks(call, "index", 0);
  const tn_view& out = a.has_mask ? sdk::make_output(sdk::Call(call), 0, a.shape) : output(call);
  if (a.places() == 0) return;
  const RowFinder finder = find_places(call, "index", a, 0);
  if (numel(out) == 0) return;
  const int64_t bytes = a.inner * size_of(x.dtype);
  const uint32_t unit =
      unit_of(reinterpret_cast<uintptr_t>(x.data) | reinterpret_cast<uintptr_t>(out.data) |
              static_cast<uint64_t>(bytes));
  const Rows rows(1, a.blocks(), bytes / unit);
  with_unit(unit, [&](auto tag) {
    using U = typename decltype(tag)::type;
    launch(call, rows.grid(), index_rows<U>, rows, finder, units<U>(out), units<const U>(x));
  });
}

bool adds_to_list(const tn_call& call, const RowIndex& a) {
  using arg = tenon::arg::index_put;
  return only_list(a) != nullptr && call.args[arg::accumulate].as.i != 0 &&
         std::ranges::equal(sdk::shape(input(call, arg::values)), a.shape);
}

Deposit deposit_of(const tn_call& call, const RowIndex& a) {
  if (!adds_to_list(call, a)) return {read_put(call, a)};
  using arg = tenon::arg::index_put;
  const Around around_list = around(input(call, arg::x), a.axes[0].dim);
  Deposit d;
  d.outer = around_list.outer;
  d.places = around_list.size;
  d.rows = numel(*a.axes[0].index);
  d.inner = around_list.inner;
  d.add = true;
  d.apart = d.rows <= 1;
  d.x = &input(call, arg::x);
  d.source = &input(call, arg::values);
  return d;
}

// Only here is it known how many elements a mask selects, and whether the values fit.
void check_values(const tn_view& values, const std::vector<int64_t>& shape) {
  if (values.ndim > shape.size())
    sdk::fail(TN_INVALID_ARGUMENT, "[index_put] values of rank ", values.ndim,
              " do not broadcast to rank ", shape.size());
  for (size_t d = 0; d < values.ndim; ++d) {
    const int64_t size = shape[shape.size() - values.ndim + d];
    if (values.shape[d] != size && values.shape[d] != 1)
      sdk::fail(TN_INVALID_ARGUMENT, "[index_put] values of size ", values.shape[d],
                " do not broadcast to size ", size);
  }
}

GPU_KERNEL row_keys(uint32_t rows, uint32_t places, RowFinder finder, Ptr<uint32_t> keys) {
  for (uint32_t i = first_thread(); i < rows; i += thread_count()) {
    const int64_t row = row_of(finder, i);
    keys[i] = row == kNowhere ? places : static_cast<uint32_t>(row);
  }
}

// The mask of a call that puts a single value there, whose positions need not be counted; NULL: another call.
const tn_view* put_mask(const tn_call& call) {
  using arg = tenon::arg::index_put;
  const bool fits = numel(input(call, arg::x)) < INT32_MAX;
  return fits && call.args[arg::accumulate].as.i == 0 ? only_mask(call) : nullptr;
}

template <class U>
GPU_KERNEL put_by_mask(uint32_t count, Divider inner, Divider masked, Ptr<const uint8_t> mask,
                       Ptr<const U> value, Ptr<const U> x, Ptr<U> out) {
  for (uint32_t i = first_thread(); i < count; i += thread_count()) {
    const uint32_t row = inner.divide(i);
    const bool set = mask[row - masked.divide(row) * masked.divisor] != 0;
    out[i] = set ? static_cast<U>(value[0]) : static_cast<U>(x[i]);
  }
}

void run_put_by_mask(const tn_call& call, const tn_view& mask) {
  using arg = tenon::arg::index_put;
  const tn_view &x = input(call, arg::x), &out = output(call);
  if (numel(out) == 0) return;
  const uint32_t inner = static_cast<uint32_t>(elements_of_mask(call, mask));
  with_unit(size_of(x.dtype), [&](auto tag) {
    using U = typename decltype(tag)::type;
    launch(call, grid_of(numel(out)), put_by_mask<U>, static_cast<uint32_t>(numel(out)),
           Divider(inner), Divider(static_cast<uint32_t>(numel(mask))), units<const uint8_t>(mask),
           units<const U>(input(call, arg::values)), units<const U>(x), units<U>(out));
  });
}

void run_index_put(const tn_call& call, uint32_t) {
  using arg = tenon::arg::index_put;
  if (const tn_view* mask = put_mask(call)) return run_put_by_mask(call, *mask);
  RowIndex a(input(call, arg::x), call.args[arg::indices]);
  // The deposit's scratch comes first, with room for the largest possible number of rows.
  const uint64_t offset = (deposit_of(call, a).bytes(output(call).dtype) + 255) / 256 * 256;
  a.count_masks(call, "index_put", offset);
  if (a.has_mask) check_values(input(call, arg::values), a.shape);
  Deposit d = deposit_of(call, a);
  if (adds_to_list(call, a)) {
    const IndexAxis& list = a.axes[0];
    if (d.rows > 0)
      keys_of_list(call, d, check_of(call, "index_put", list.dim, list.size, true), *list.index);
  } else if (a.places() > 0) {
    const RowFinder finder = find_places(call, "index_put", a, offset);
    if (d.rows > 0 && d.places > 0)
      launch(call, grid_of(d.rows), row_keys, static_cast<uint32_t>(d.rows),
             static_cast<uint32_t>(d.places), finder, d.keys(call));
  }
  finish_deposit(call, d);
}

uint64_t put_scratch(const tn_call& call, uint32_t) {
  if (put_mask(call) != nullptr) return 0;
  const RowIndex a(input(call, arg::index_put::x), call.args[arg::index_put::indices]);
  return (deposit_of(call, a).bytes(output(call).dtype) + 255) / 256 * 256 + a.bytes();
}

bool can_put(const tn_call& call, uint32_t) {
  using arg = tenon::arg::index_put;
  if (put_mask(call) != nullptr) return true;
  const bool summed = (All::kMask >> output(call).dtype & 1) != 0;
  if (call.args[arg::accumulate].as.i != 0 && !summed) return false;
  const RowIndex a(input(call, arg::x), call.args[arg::indices]);
  return a.fits() && deposit_of(call, a).fits();
}

}  // namespace

void add_index_kernels(KernelList& list) {
  list.add(
      {.schema = TN_SCHEMA_INDEX,
       .dtypes = kMovableAll,
       .run = run_index,
       .supports =
           [](const tn_call& call, uint32_t) {
             return RowIndex(input(call, arg::index::x), call.args[arg::index::indices]).fits();
           },
       .scratch =
           [](const tn_call& call, uint32_t) {
             const RowIndex a(input(call, arg::index::x), call.args[arg::index::indices]);
             return only_list(a) != nullptr ? 0 : a.bytes();
           }});
  list.add({.schema = TN_SCHEMA_INDEX_PUT,
            .dtypes = kMovableAll,
            .run = run_index_put,
            .supports = can_put,
            .scratch = put_scratch});
}

}  // namespace tenon::gpu
