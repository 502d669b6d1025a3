// gather, scatter. Threads share a dimension other than the indexed one, so what meets
// in one element is written in row-major order by one thread: the last of equal indices wins.
#include <atomic>

#include "index_loop.hpp"
#include "tenon/schemas.h"

namespace tenon::cpu {
namespace {

// Indices are checked as they are used; the whole check, which tells the first wrong one, comes where one is wrong.
void gather(const tn_call& call) {
  using arg = tenon::arg::gather;
  const tn_view& x = input(call, arg::x);
  const tn_view& index = input(call, arg::index);
  const int64_t dim = call.args[arg::dim].as.i, size = size_of(x.dtype);
  std::atomic<bool> bad = false;
  IndexLoop plan(x, index, output(call), dim, kZeros);
  visit_size(static_cast<uint64_t>(size), [&]<class T>(Tag<T>) {
    for_each_index<T, T>(
        plan, operands_for(x, index, output(call), size), [](const T& from, T& to) { to = from; },
        InRange{static_cast<uint64_t>(x.shape[dim]), bad});
  });
  if (bad) check_indices("gather", index, dim, x.shape[dim], false);
}

// In place nothing may be written before all indices are known to be right.
void scatter(const tn_call& call) {
  using arg = tenon::arg::scatter;
  const tn_view& x = input(call, arg::x);
  const tn_view& index = input(call, arg::index);
  const tn_view& src = input(call, arg::src);
  const tn_view& out = output(call);
  const int64_t dim = call.args[arg::dim].as.i, size = size_of(out.dtype);
  if (x.data == out.data) check_indices("scatter", index, dim, out.shape[dim], false);
  start_as(x, out);
  std::atomic<bool> bad = false;
  IndexLoop plan(out, index, src, dim, kZeros);
  visit_size(static_cast<uint64_t>(size), [&]<class T>(Tag<T>) {
    for_each_index<T, T>(
        plan, operands_for(out, index, src, size), [](T& to, const T& from) { to = from; },
        InRange{static_cast<uint64_t>(out.shape[dim]), bad});
  });
  if (bad) check_indices("scatter", index, dim, out.shape[dim], false);
}

}  // namespace

void add_index_gather_kernels(KernelList& list) {
  const uint32_t strided = TN_KERNEL_STRIDED;
  list.add(
      {.schema = TN_SCHEMA_GATHER, .dtypes = kMovable, .run = run_of<gather>, .flags = strided});
  list.add({.schema = TN_SCHEMA_SCATTER, .dtypes = kMovable, .run = run_of<scatter>});
}

}  // namespace tenon::cpu
