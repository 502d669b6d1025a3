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

Deposit of_scatter(const tn_call& call, uint32_t add) { return {read_scatter(call, add != 0)}; }

void run_scatter(const tn_call& call, uint32_t add) {
  const tn_view &index = input(call, arg::scatter::index), &out = output(call);
  const Deposit d = of_scatter(call, add);
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
  return of_scatter(call, add).bytes();
}

bool scatter_fits(const tn_call& call, uint32_t add) { return of_scatter(call, add).fits(); }

Deposit of_strided(const tn_call& call) { return {read_strided_scatter(call)}; }

void run_strided(const tn_call& call, uint32_t) {
  using arg = tenon::arg::as_strided_scatter;
  const Deposit d = of_strided(call);
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

uint64_t strided_scratch(const tn_call& call, uint32_t) { return of_strided(call).bytes(); }

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
