// index and index_put. Of equal places the last value wins; accumulation adds in row-major order.
#include <cstring>

#include "block_offsets.hpp"
#include "loops.hpp"
#include "tenon/schemas.h"

namespace tenon::cpu {
namespace {

// body(offset in x, position in the result) for the blocks [begin, end).
template <class Body>
void walk_blocks(const BlockOffsets& index, int64_t begin, int64_t end, Body&& body) {
  const int64_t mids = static_cast<int64_t>(index.mid.size()),
                ats = static_cast<int64_t>(index.at.size());
  for (int64_t i = begin; i < end; ++i) {
    const int64_t rest = i / mids;
    body(index.before[static_cast<size_t>(rest / ats)] + index.at[static_cast<size_t>(rest % ats)] +
             index.mid[static_cast<size_t>(i % mids)],
         i * index.inner);
  }
}

void index(const tn_call& call) {
  using arg = tenon::arg::index;
  const tn_view& x = input(call, arg::x);
  const BlockOffsets index = block_offsets("index", x, call.args[arg::indices]);
  const tn_view* out = call.outs[0];
  if (index.has_mask) out = &sdk::make_output(sdk::Call(call), 0, index.shape);
  if (index.blocks() == 0 || index.inner == 0) return;
  visit_size(size_of(x.dtype), [&]<class T>(Tag<T>) {
    const T* const from = data_of<const T>(x);
    T* const to = data_of<T>(*out);
    parallel_for(index.blocks(), std::max<int64_t>(1, kGrainMath / index.inner),
                 [&](int64_t begin, int64_t end) {
                   walk_blocks(index, begin, end, [&](int64_t at, int64_t position) {
                     if (index.inner == 1) {
                       to[position] = from[at];
                     } else {
                       std::memcpy(to + position, from + at,
                                   static_cast<size_t>(index.inner) * sizeof(T));
                     }
                   });
                 });
  });
}

// The values in the result's shape; repeated ones are written out, a single one stays single.
std::vector<char> expand_values(const tn_view& values, const std::vector<int64_t>& shape) {
  const int64_t size = size_of(values.dtype);
  if (values.ndim > shape.size())
    fail(TN_INVALID_ARGUMENT, "[index_put] values of rank ", values.ndim,
         " do not broadcast to rank ", shape.size());
  std::vector<int64_t> strides(shape.size(), 0);
  int64_t step = 1, total = 1;
  for (size_t d = shape.size(), v = values.ndim; d-- > 0; total *= shape[d]) {
    if (v == 0) continue;
    const int64_t mine = values.shape[--v];
    if (mine != shape[d] && mine != 1)
      fail(TN_INVALID_ARGUMENT, "[index_put] values of size ", mine, " do not broadcast to size ",
           shape[d]);
    strides[d] = mine == 1 ? 0 : step;
    step *= mine;
  }
  std::vector<char> out(static_cast<size_t>(total * size));
  for (int64_t i = 0; i < total; ++i) {
    int64_t rest = i, at = 0;
    for (size_t d = shape.size(); d-- > 0; rest /= shape[d]) at += rest % shape[d] * strides[d];
    std::memcpy(out.data() + i * size, data_of<char>(values) + at * size,
                static_cast<size_t>(size));
  }
  return out;
}

void index_put(const tn_call& call) {
  using arg = tenon::arg::index_put;
  const tn_view& x = input(call, arg::x);
  const tn_view& values = input(call, arg::values);
  const tn_view& out = output(call);
  const BlockOffsets index = block_offsets("index_put", x, call.args[arg::indices]);
  const bool accumulate = call.args[arg::accumulate].as.i != 0, single = numel(values) == 1;
  const bool dense = std::ranges::equal(sdk::shape(values), index.shape);
  std::vector<char> expanded;
  if (!dense && !single) expanded = expand_values(values, index.shape);
  const char* const from = expanded.empty() ? data_of<const char>(values) : expanded.data();
  start_as(x, out);
  if (index.blocks() == 0 || index.inner == 0) return;
  visit_dtype(out.dtype, [&]<class T>(Tag<T>) {
    const T* const source = reinterpret_cast<const T*>(from);
    T* const to = data_of<T>(out);
    // Threads share the inside of blocks, never blocks, which may coincide.
    const int64_t grain = std::max<int64_t>(64, kGrainMath / index.blocks());
    parallel_for(index.inner, grain, [&](int64_t begin, int64_t end) {
      walk_blocks(index, 0, index.blocks(), [&](int64_t at, int64_t position) {
        for (int64_t i = begin; i < end; ++i) {
          const T value = source[single ? 0 : position + i];
          to[at + i] = accumulate ? combined<Combine::kAdd>(to[at + i], value) : value;
        }
      });
    });
  });
}

}  // namespace

void add_index_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_INDEX, .dtypes = kMovable, .run = run_of<index>});
  list.add({.schema = TN_SCHEMA_INDEX_PUT, .dtypes = TN_MASK_ALL, .run = run_of<index_put>});
}

}  // namespace tenon::cpu
