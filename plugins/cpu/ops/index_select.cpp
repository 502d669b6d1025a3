// index_select, index_add, embedding, embedding_backward: whole rows by one list of indices.
#include <algorithm>
#include <cstring>
#include <vector>

#include "indexing.hpp"
#include "tenon/schemas.h"
#include "threads.hpp"

namespace tenon::cpu {
namespace {

// to[o][j] = from[o][at[j]] for rows of `width` elements of T; f(to, from) copies one.
template <class T, class F>
void copy_each(T* to, const T* from, const int64_t* at, int64_t outer, int64_t count, int64_t size,
               int64_t width, F&& f) {
  parallel_for(outer * count, std::max<int64_t>(1, kGrainCopy / width),
               [=](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end;) {
                   const int64_t o = i / count, j = i % count, n = std::min(count - j, end - i);
                   const T* const rows = from + o * size * width;
                   for (int64_t k = 0; k < n; ++k) {
                     if (width > 1 && k + kRowsAhead < n)
                       prefetch_row(rows + wrapped(at[j + k + kRowsAhead], size) * width, width);
                     f(to + (i + k) * width, rows + wrapped(at[j + k], size) * width);
                   }
                   i += n;
                 }
               });
}

template <class T>
void copy_rows(T* to, const T* from, const int64_t* at, int64_t outer, int64_t count, int64_t size,
               int64_t width) {
  if (width == 1)
    return copy_each(to, from, at, outer, count, size, 1, [](T* a, const T* b) { *a = *b; });
  copy_each(to, from, at, outer, count, size, width,
            [=](T* a, const T* b) { std::memcpy(a, b, static_cast<size_t>(width) * sizeof(T)); });
}

void select_rows(const tn_view& x, const tn_view& index, const tn_view& out, int64_t dim) {
  const Around a = around(x, dim);
  if (numel(out) == 0) return;
  visit_size(size_of(x.dtype), [&]<class T>(Tag<T>) {
    copy_rows(data_of<T>(out), data_of<const T>(x), data_of<const int64_t>(index), a.outer,
              numel(index), a.size, a.inner);
  });
}

void index_select(const tn_call& call) {
  using arg = tenon::arg::index_select;
  const int64_t dim = call.args[arg::dim].as.i;
  check_indices("index_select", input(call, arg::index), dim, input(call, arg::x).shape[dim], true);
  select_rows(input(call, arg::x), input(call, arg::index), output(call), dim);
}

void embedding(const tn_call& call) {
  using arg = tenon::arg::embedding;
  check_indices("embedding", input(call, arg::index), 0, input(call, arg::weight).shape[0], false);
  select_rows(input(call, arg::weight), input(call, arg::index), output(call), 0);
}

void index_add(const tn_call& call) {
  using arg = tenon::arg::index_add;
  const tn_view& out = output(call);
  const tn_view& index = input(call, arg::index);
  const int64_t dim = call.args[arg::dim].as.i;
  const Around a = around(out, dim);
  check_indices("index_add", index, dim, a.size, true);
  start_as(input(call, arg::x), out);
  if (numel(out) == 0) return;
  const int64_t count = numel(index), size = size_of(out.dtype);
  std::vector<int64_t> at(data_of<const int64_t>(index), data_of<const int64_t>(index) + count);
  for (int64_t& i : at) i = wrapped(i, a.size);
  const char* const src = data_of<const char>(input(call, arg::src));
  const auto one = [&](int64_t o) {
    add_rows(out.dtype, data_of<char>(out) + o * a.size * a.inner * size, a.size,
             src + o * count * a.inner * size, at.data(), count, a.inner);
  };
  if (a.outer >= 2 * max_threads()) {
    parallel_for(a.outer, std::max<int64_t>(1, kGrainMath / std::max<int64_t>(1, count * a.inner)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t o = begin; o < end; ++o) one(o);
                 });
  } else {
    for (int64_t o = 0; o < a.outer; ++o) one(o);
  }
}

void embedding_backward(const tn_call& call) {
  using arg = tenon::arg::embedding_backward;
  const tn_view& out = output(call);
  const tn_view& index = input(call, arg::index);
  const int64_t rows = out.shape[0], width = out.shape[1], count = numel(index);
  check_indices("embedding_backward", index, 0, rows, false);
  std::vector<int64_t> at(data_of<const int64_t>(index), data_of<const int64_t>(index) + count);
  if (call.args[arg::padding_idx].tag == TN_VALUE_INT) {
    for (int64_t& i : at) i = i == call.args[arg::padding_idx].as.i ? -1 : i;
  }
  const int64_t bytes = rows * width * size_of(out.dtype);
  parallel_for(bytes, kGrainCopy * 4, [&](int64_t begin, int64_t end) {
    std::memset(data_of<char>(out) + begin, 0, static_cast<size_t>(end - begin));
  });
  if (bytes > 0)
    add_rows(out.dtype, out.data, rows, input(call, arg::g).data, at.data(), count, width);
}

}  // namespace

void add_index_select_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_INDEX_SELECT, .dtypes = kMovable, .run = run_of<index_select>});
  list.add({.schema = TN_SCHEMA_INDEX_ADD, .dtypes = TN_MASK_ALL, .run = run_of<index_add>});
  list.add({.schema = TN_SCHEMA_EMBEDDING, .dtypes = kMovable, .run = run_of<embedding>});
  list.add({.schema = TN_SCHEMA_EMBEDDING_BACKWARD,
            .dtypes = TN_MASK_ALL,
            .run = run_of<embedding_backward>});
}

}  // namespace tenon::cpu
