// slice_scatter, as_strided_scatter: x with a part of it replaced.
#include "copy_loop.hpp"
#include "indexing.hpp"
#include "loops.hpp"
#include "tenon/schemas.h"

namespace tenon::cpu {
namespace {

// Bounds are filled in.
void slice_scatter(const tn_call& call) {
  using arg = tenon::arg::slice_scatter;
  const tn_view& src = input(call, arg::src);
  const tn_view& out = output(call);
  const int64_t dim = call.args[arg::dim].as.i, start = call.args[arg::start].as.i,
                step = call.args[arg::step].as.i;
  start_as(input(call, arg::x), out);
  if (numel(src) == 0) return;
  const Around a = around(out, dim);
  const int64_t count = src.shape[dim], joined = step == 1 ? count : 1;  // in one stretch
  const int64_t shape[] = {a.outer, count / joined, joined * a.inner},
                to_strides[] = {a.size * a.inner, step * a.inner, 1},
                from_strides[] = {count * a.inner, a.inner, 1};
  const int64_t size = size_of(out.dtype);
  copy_strided(shape, size, data_of<char>(out) + start * a.inner * size, to_strides,
               data_of<char>(src), from_strides);
}

// Places that coincide keep the last value, so one thread writes.
void as_strided_scatter(const tn_call& call) {
  using arg = tenon::arg::as_strided_scatter;
  const tn_view& src = input(call, arg::src);
  const tn_view& out = output(call);
  start_as(input(call, arg::x), out);
  if (numel(src) == 0) return;
  visit_size(size_of(out.dtype), [&]<class T>(Tag<T>) {
    T* const to = data_of<T>(out) + call.args[arg::offset].as.i;
    if (src.ndim == 0) {
      *to = *data_of<const T>(src);
      return;
    }
    const int64_t* const strides[] = {call.args[arg::strides].as.ints, src.strides};
    tn_loop loop{};
    loop.struct_size = sizeof loop;
    loop.ndim = src.ndim;
    loop.noperands = 2;
    loop.shape = src.shape;
    loop.strides = strides;
    const Operands<2> operands{{reinterpret_cast<char*>(to), data_of<char>(src)},
                               {sizeof(T), sizeof(T)}};
    walk_rows<2>(loop, operands, 0, numel(src), [](int64_t n, const auto& data, const auto& step) {
      for (int64_t i = 0; i < n; ++i)
        *reinterpret_cast<T*>(data[0] + i * step[0]) =
            *reinterpret_cast<const T*>(data[1] + i * step[1]);
    });
  });
}

}  // namespace

void add_index_slice_scatter_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_SLICE_SCATTER, .dtypes = kMovable, .run = run_of<slice_scatter>});
  list.add({.schema = TN_SCHEMA_AS_STRIDED_SCATTER,
            .dtypes = kMovable,
            .run = run_of<as_strided_scatter>});
}

}  // namespace tenon::cpu
