// gather, index_select, embedding: reads elements or whole rows by index.
#include "ops/index_gather.hpp"

#include <algorithm>

#include "indices.hpp"
#include "layout.hpp"
#include "ops/move.hpp"
#include "rows.hpp"

namespace tenon::gpu {
namespace {

// Operands: out, x (stride 0 along the dimension), index.
template <class U>
GPU_KERNEL gather_elements(uint32_t count, int64_t first, Layout<3> layout, int64_t step,
                           IndexCheck check, Ptr<U> out, Ptr<const U> x, Ptr<const int64_t> index) {
  for (uint32_t i = first_thread(); i < count; i += thread_count()) {
    int64_t places[3];
    layout.find(i, places);
    const int64_t at = place_of(check, index[places[2]], first + places[0]);
    if (at != kNowhere) out[places[0]] = x[places[1] + at * step];
  }
}

void run_gather(const tn_call& call, uint32_t) {
  using arg = tenon::arg::gather;
  const tn_view &x = input(call, arg::x), &index = input(call, arg::index), &out = output(call);
  const int64_t dim = int_arg(call, arg::dim);
  const int64_t size = x.ndim == 0 ? 1 : x.shape[dim], step = x.ndim == 0 ? 0 : x.strides[dim];
  int64_t along[TN_MAX_DIMS];
  std::copy_n(x.strides, x.ndim, along);
  if (x.ndim > 0) along[dim] = 0;
  const int64_t* strides[] = {out.strides, along, index.strides};
  tn_loop loop{};
  loop.ndim = index.ndim;
  loop.shape = index.shape;
  loop.strides = strides;
  const IndexCheck check = check_of(call, "gather", dim, size);
  with_unit(size_of(x.dtype), [&](auto tag) {
    using U = typename decltype(tag)::type;
    for_parts(loop, 3, [&](const LoopPart& part) {
      launch(call, grid_of(part.count), gather_elements<U>, part.count, part.start[0],
             Layout<3>(part), step, check, units<U>(out) + part.start[0],
             units<const U>(x) + part.start[1], pointer<const int64_t>(index, part.start[2]));
    });
  });
}

// out[o, j, c] = x[o, index[j], c]; c counts units.
template <class U>
GPU_KERNEL select_rows(Rows rows, int64_t size, IndexCheck check, Ptr<U> out, Ptr<const U> x,
                       Ptr<const int64_t> index) {
  for (int64_t j = rows.first(); j < rows.count; j += rows.step()) {
    const int64_t at = place_of(check, index[j], j);
    if (at == kNowhere) continue;
    for (int64_t o = block_index().y; o < rows.outer; o += block_count().y) {
      const int64_t to = (o * rows.count + j) * rows.inner, from = (o * size + at) * rows.inner;
      for (int64_t c = rows.column(); c < rows.inner; c += rows.across()) out[to + c] = x[from + c];
    }
  }
}

}  // namespace

// x of index and the weight of embedding have the position of index_select's x.
void select(const tn_call& call, const char* op, const tn_view& index, int64_t dim, bool wrap) {
  const tn_view &x = input(call, arg::index_select::x), &out = output(call);
  if (numel(out) == 0) return;
  const Around a = around(x, dim);
  const int64_t bytes = a.inner * size_of(x.dtype);
  const uint32_t unit =
      unit_of(reinterpret_cast<uintptr_t>(x.data) | reinterpret_cast<uintptr_t>(out.data) |
              static_cast<uint64_t>(bytes));
  const Rows rows(a.outer, numel(index), bytes / unit);
  with_unit(unit, [&](auto tag) {
    using U = typename decltype(tag)::type;
    launch(call, rows.grid(), select_rows<U>, rows, a.size, check_of(call, op, dim, a.size, wrap),
           units<U>(out), units<const U>(x), in<int64_t>(index));
  });
}

namespace {

void run_index_select(const tn_call& call, uint32_t) {
  select(call, "index_select", input(call, arg::index_select::index),
         int_arg(call, arg::index_select::dim), true);
}
void run_embedding(const tn_call& call, uint32_t) {
  select(call, "embedding", input(call, arg::embedding::index), 0, false);
}

}  // namespace

void add_index_gather_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_GATHER,
            .dtypes = kMovableAll,
            .run = run_gather,
            .flags = TN_KERNEL_STRIDED});
  list.add({.schema = TN_SCHEMA_INDEX_SELECT, .dtypes = kMovableAll, .run = run_index_select});
  list.add({.schema = TN_SCHEMA_EMBEDDING, .dtypes = kMovableAll, .run = run_embedding});
}

}  // namespace tenon::gpu
