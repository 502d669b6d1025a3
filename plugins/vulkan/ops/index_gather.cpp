// gather, scatter, scatter_add, as_strided_scatter: a position for every element, from an index or from strides.
#include "ops/index_deposit.hpp"
#include "shaders/gather.hpp"
#include "tenon/schemas.h"

namespace tenon::vulkan {
namespace {

uint32_t bits_of(int64_t value) { return static_cast<uint32_t>(static_cast<int32_t>(value)); }

void run_gather(const tn_call& call, uint32_t) {
  using arg = tenon::arg::gather;
  const tn_view &x = input(call, arg::x), &index = input(call, arg::index), &out = output(call);
  const int64_t dim = call.args[arg::dim].as.i;
  if (numel(out) == 0) return;
  Launch launch(call, shaders::gather, Compute::kI32);
  launch.constant(size_of(x.dtype)).constant(index.dtype).constant(index.ndim).out(out);
  in_or_none(launch, x);
  launch.in(index).check("gather", dim, x.ndim == 0 ? 1 : x.shape[dim]);
  launch.word(numel(out))
      .word(x.ndim == 0 ? 1 : x.shape[dim])
      .word(x.ndim == 0 ? 0 : x.strides[dim]);
  std::vector<uint32_t> table;
  for (uint32_t d = 0; d < index.ndim; ++d) table.push_back(bits_of(index.shape[d]));
  table.push_back(bits_of(launch.bias(1)));
  table.push_back(bits_of(launch.bias(2)));
  for (uint32_t d = 0; d < index.ndim; ++d) table.push_back(d == dim ? 0 : bits_of(x.strides[d]));
  for (uint32_t d = 0; d < index.ndim; ++d) table.push_back(bits_of(index.strides[d]));
  launch.table(table).elements(numel(out));
}

// For scatter and scatter_add. src may be a single number.
static_assert(arg::scatter_add::x == arg::scatter::x &&
              arg::scatter_add::dim == arg::scatter::dim &&
              arg::scatter_add::index == arg::scatter::index &&
              arg::scatter_add::src == arg::scatter::src);
Deposit read_scatter(const tn_call& call, uint32_t add) {
  using arg = tenon::arg::scatter;
  const tn_view &x = input(call, arg::x), &index = input(call, arg::index),
                &src = input(call, arg::src);
  Deposit d;
  d.places = numel(x);
  d.rows = numel(index);
  d.add = add != 0;
  d.x = &x;
  d.source = &src;
  d.shape.assign(index.shape, index.shape + index.ndim);
  for (uint32_t k = 0; k < index.ndim; ++k) d.steps.push_back(src.ndim == 0 ? 0 : src.strides[k]);
  return d;
}

void run_scatter(const tn_call& call, uint32_t add) {
  const tn_view &index = input(call, arg::scatter::index), &out = output(call);
  const Deposit d = read_scatter(call, add);
  const int64_t dim = call.args[arg::scatter::dim].as.i, size = out.ndim == 0 ? 1 : out.shape[dim];
  if (d.places == 0 && d.rows == 0) return;
  Launch launch = keys_launch(call, d, kByIndex, index.dtype);
  in_or_none(launch, index);
  launch.check(add != 0 ? "scatter_add" : "scatter", dim, size);
  launch.word(0u).word(index.ndim).word(size).word(out.ndim == 0 ? 0 : out.strides[dim]);
  std::vector<uint32_t> table;
  for (uint32_t k = 0; k < index.ndim; ++k) table.push_back(bits_of(index.shape[k]));
  for (uint32_t k = 0; k < index.ndim; ++k) table.push_back(k == dim ? 0 : bits_of(out.strides[k]));
  for (uint32_t k = 0; k < index.ndim; ++k) table.push_back(bits_of(index.strides[k]));
  if (!table.empty()) launch.table(table);
  launch.elements(d.rows);
  if (d.places > 0) finish_deposit(call, d);
}

uint64_t scatter_scratch(const tn_call& call, uint32_t add) {
  return read_scatter(call, add).bytes();
}

bool scatter_fits(const tn_call& call, uint32_t add) { return read_scatter(call, add).fits(); }

Deposit read_strided(const tn_call& call) {
  using arg = tenon::arg::as_strided_scatter;
  Deposit d;
  d.places = numel(input(call, arg::x));
  d.rows = numel(input(call, arg::src));
  d.x = &input(call, arg::x);
  d.source = &input(call, arg::src);
  return d;
}

void run_strided(const tn_call& call, uint32_t) {
  using arg = tenon::arg::as_strided_scatter;
  const Deposit d = read_strided(call);
  if (d.places == 0) return;
  const tn_value &shape = call.args[arg::shape], &strides = call.args[arg::strides];
  Launch launch = keys_launch(call, d, kByLayout);
  launch.word(call.args[arg::offset].as.i).word(shape.count);
  std::vector<uint32_t> table;
  for (uint32_t k = 0; k < shape.count; ++k) table.push_back(bits_of(shape.as.ints[k]));
  for (uint32_t k = 0; k < shape.count; ++k) table.push_back(bits_of(strides.as.ints[k]));
  if (!table.empty()) launch.table(table);
  launch.elements(d.rows);
  finish_deposit(call, d);
}

uint64_t strided_scratch(const tn_call& call, uint32_t) { return read_strided(call).bytes(); }

}  // namespace

void add_index_gather_kernels(KernelList& list) {
  list.add(
      {.schema = TN_SCHEMA_GATHER, .dtypes = kAll, .run = run_gather, .flags = TN_KERNEL_STRIDED});
  list.add({.schema = TN_SCHEMA_SCATTER,
            .dtypes = kAll,
            .run = run_scatter,
            .code = 0,
            .supports = scatter_fits,
            .scratch = scatter_scratch});
  list.add({.schema = TN_SCHEMA_SCATTER_ADD,
            .dtypes = kAll,
            .run = run_scatter,
            .code = 1,
            .supports = scatter_fits,
            .scratch = scatter_scratch});
  list.add({.schema = TN_SCHEMA_AS_STRIDED_SCATTER,
            .dtypes = kAll,
            .run = run_strided,
            .scratch = strided_scratch});
}

}  // namespace tenon::vulkan
