// index_select, embedding, index_add, embedding_backward: whole rows, by one list of indices.
#include "ops/index_deposit.hpp"
#include "shaders/select.hpp"
#include "tenon/schemas.h"

namespace tenon::vulkan {
namespace {

// A dense array as outer × size × inner around one dimension.
struct Around {
  int64_t outer = 1, size = 1, inner = 1;
  Around(const tn_view& x, int64_t dim) {
    for (uint32_t d = 0; d < x.ndim; ++d) (d < dim ? outer : d == dim ? size : inner) *= x.shape[d];
  }
};

// out[o, j, c] = x[o, index[j], c]
void select(const tn_call& call, const char* op, const tn_view& x, const tn_view& index,
            int64_t dim, bool wrap) {
  const tn_view& out = output(call);
  if (numel(out) == 0) return;
  const Around a(x, dim);
  int64_t unit = size_of(x.dtype), inner = a.inner;
  // Rows of small elements move four bytes at a time.
  if (unit < 4 && inner * unit % 4 == 0 && out.offset % 4 == 0 && x.offset % 4 == 0) {
    inner = inner * unit / 4;
    unit = 4;
  }
  const int64_t units = numel(out) / a.inner * inner;
  Launch launch(call, shaders::select, Compute::kI32);
  launch.constant(static_cast<uint32_t>(unit)).constant(index.dtype).out(out);
  in_or_none(launch, x);
  launch.in(index).check(op, dim, a.size);
  launch.word(units).word(numel(index)).word(a.size).word(inner).word(wrap ? 1u : 0u);
  launch.elements(units);
}

void run_index_select(const tn_call& call, uint32_t) {
  using arg = tenon::arg::index_select;
  select(call, "index_select", input(call, arg::x), input(call, arg::index),
         call.args[arg::dim].as.i, true);
}
void run_embedding(const tn_call& call, uint32_t) {
  select(call, "embedding", input(call, arg::embedding::weight), input(call, arg::embedding::index),
         0, false);
}

Deposit of_index_add(const tn_call& call) {
  using arg = tenon::arg::index_add;
  const Around a(output(call), call.args[arg::dim].as.i);
  Deposit d;
  d.places = a.size;
  d.rows = numel(input(call, arg::index));
  d.inner = a.inner;
  d.add = true;
  d.x = &input(call, arg::x);
  d.source = &input(call, arg::src);
  return d;
}

void run_index_add(const tn_call& call, uint32_t) {
  const Deposit d = of_index_add(call);
  keys_of_list(call, d, "index_add", input(call, arg::index_add::index),
               {.size = d.places,
                .plane = d.rows,
                .dim = call.args[arg::index_add::dim].as.i,
                .wrap = true});
  if (numel(output(call)) > 0) finish_deposit(call, d);
}

Deposit of_embedding(const tn_call& call) { return {read_embedding_backward(call)}; }

void run_embedding_backward(const tn_call& call, uint32_t) {
  using arg = tenon::arg::embedding_backward;
  const Deposit d = of_embedding(call);
  IndexList list{.size = d.places, .plane = d.rows};
  if (call.args[arg::padding_idx].tag == TN_VALUE_INT)
    list.skip = static_cast<uint32_t>(call.args[arg::padding_idx].as.i);
  keys_of_list(call, d, "embedding_backward", input(call, arg::index), list);
  if (numel(output(call)) > 0) finish_deposit(call, d);
}

template <Deposit (*read)(const tn_call&)>
uint64_t scratch_of(const tn_call& call, uint32_t) {
  return read(call).bytes();
}

template <Deposit (*read)(const tn_call&)>
bool fits(const tn_call& call, uint32_t) {
  return read(call).fits();
}

}  // namespace

void add_index_rows_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_INDEX_SELECT, .dtypes = kAll, .run = run_index_select});
  list.add({.schema = TN_SCHEMA_EMBEDDING, .dtypes = kAll, .run = run_embedding});
  list.add({.schema = TN_SCHEMA_INDEX_ADD,
            .dtypes = kAll,
            .run = run_index_add,
            .supports = fits<of_index_add>,
            .scratch = scratch_of<of_index_add>});
  list.add({.schema = TN_SCHEMA_EMBEDDING_BACKWARD,
            .dtypes = kAll,
            .run = run_embedding_backward,
            .supports = fits<of_embedding>,
            .scratch = scratch_of<of_embedding>});
}

}  // namespace tenon::vulkan
