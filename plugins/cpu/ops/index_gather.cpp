// gather, scatter, scatter_add. Threads share a dimension other than the indexed one, so what meets
// in one element is written in row-major order by one thread: the last of equal indices wins, sums
// are the same for any number of threads.
#include <vector>

#include "indexing.hpp"
#include "loops.hpp"
#include "tenon/schemas.h"

namespace tenon::cpu {
namespace {

// A loop over the index's shape: the tensor at stride 0 along `dim`, index, and the dense tensor
// (out or src).
struct IndexLoop {
  uint32_t dim;
  int64_t size = 0, step = 0;  // of the indexed tensor along dim
  int64_t shape[TN_MAX_DIMS], target[TN_MAX_DIMS];
  const int64_t* strides[3];
  tn_loop loop{};

  IndexLoop(const tn_view& tensor, const tn_view& index, const tn_view& dense, int64_t d,
            const int64_t* zeros)
      : dim(static_cast<uint32_t>(d)), size(tensor.shape[d]), step(tensor.strides[d]) {
    for (uint32_t k = 0; k < index.ndim; ++k) {
      shape[k] = index.shape[k];
      target[k] = k == dim ? 0 : tensor.strides[k];
    }
    strides[0] = target;
    strides[1] = index.strides;
    strides[2] = dense.ndim == 0 ? zeros : dense.strides;
    loop.struct_size = sizeof loop;
    loop.ndim = index.ndim;
    loop.noperands = 3;
    loop.shape = shape;
    loop.strides = strides;
  }

  // body(loop, operands) on parts of the largest other dimension.
  template <class Body>
  void over_parts(const Operands<3>& operands, Body&& body) {
    const int64_t total = loop_count(loop);
    if (total == 0) return;
    uint32_t split = dim == 0 && loop.ndim > 1 ? 1 : 0;
    for (uint32_t k = 0; k < loop.ndim; ++k) {
      if (k != dim && shape[k] > shape[split]) split = k;
    }
    if (split == dim) return body(loop, operands);
    const int64_t grain = std::max<int64_t>(1, kGrainMath * shape[split] / total);
    parallel_for(shape[split], grain, [&](int64_t begin, int64_t end) {
      int64_t sizes[TN_MAX_DIMS];
      std::copy_n(shape, loop.ndim, sizes);
      sizes[split] = end - begin;
      tn_loop part = loop;
      part.shape = sizes;
      Operands<3> moved = operands;
      for (size_t k = 0; k < 3; ++k) moved.data[k] += begin * strides[k][split] * operands.size[k];
      body(part, moved);
    });
  }
};

constexpr int64_t kZeros[TN_MAX_DIMS] = {};

// f(tensor element, dense element) for every index.
template <class T, class D, class F>
void for_each_index(IndexLoop& plan, const Operands<3>& operands, F&& f) {
  plan.over_parts(operands, [&](const tn_loop& loop, const Operands<3>& part) {
    const int64_t along = plan.step;
    walk_rows<3>(loop, part, 0, loop_count(loop),
                 [=](int64_t n, const auto& data, const auto& step) {
                   // Held in locals: a write through f could change them otherwise.
                   T* const tensor = reinterpret_cast<T*>(data[0]);
                   const int64_t* const index = reinterpret_cast<const int64_t*>(data[1]);
                   D* const dense = reinterpret_cast<D*>(data[2]);
                   const int64_t across = step[0] / static_cast<int64_t>(sizeof(T)),
                                 index_step = step[1] / 8;
                   const int64_t dense_step = step[2] / static_cast<int64_t>(sizeof(D));
                   if (index_step == 1 && dense_step == 1) {
                     for (int64_t i = 0; i < n; ++i)
                       f(tensor[i * across + index[i] * along], dense[i]);
                   } else {
                     for (int64_t i = 0; i < n; ++i)
                       f(tensor[i * across + index[i * index_step] * along], dense[i * dense_step]);
                   }
                 });
  });
}

Operands<3> operands_for(const tn_view& tensor, const tn_view& index, const tn_view& dense,
                         int64_t size) {
  Operands<3> operands;
  operands.data = {data_of<char>(tensor), data_of<char>(index), data_of<char>(dense)};
  operands.size = {size, 8, size};
  return operands;
}

void gather(const tn_call& call) {
  using arg = tenon::arg::gather;
  const tn_view& x = input(call, arg::x);
  const tn_view& index = input(call, arg::index);
  const int64_t dim = call.args[arg::dim].as.i, size = size_of(x.dtype);
  check_indices("gather", index, dim, x.shape[dim], false);
  IndexLoop plan(x, index, output(call), dim, kZeros);
  visit_size(static_cast<uint64_t>(size), [&]<class T>(Tag<T>) {
    for_each_index<T, T>(plan, operands_for(x, index, output(call), size),
                         [](const T& from, T& to) { to = from; });
  });
}

void scatter(const tn_call& call) {
  using arg = tenon::arg::scatter;
  const tn_view& index = input(call, arg::index);
  const tn_view& src = input(call, arg::src);
  const tn_view& out = output(call);
  const int64_t dim = call.args[arg::dim].as.i, size = size_of(out.dtype);
  check_indices("scatter", index, dim, out.shape[dim], false);
  start_as(input(call, arg::x), out);
  IndexLoop plan(out, index, src, dim, kZeros);
  visit_size(static_cast<uint64_t>(size), [&]<class T>(Tag<T>) {
    for_each_index<T, T>(plan, operands_for(out, index, src, size),
                         [](T& to, const T& from) { to = from; });
  });
}

// Halves are summed in f32.
void scatter_add(const tn_call& call) {
  using arg = tenon::arg::scatter_add;
  const tn_view& index = input(call, arg::index);
  const tn_view& src = input(call, arg::src);
  const tn_view& out = output(call);
  const int64_t dim = call.args[arg::dim].as.i;
  check_indices("scatter_add", index, dim, out.shape[dim], false);
  start_as(input(call, arg::x), out);
  visit_dtype(out.dtype, [&]<class T>(Tag<T>) {
    IndexLoop plan(out, index, src, dim, kZeros);
    Operands<3> operands = operands_for(out, index, src, sizeof(T));
    if constexpr (is_half_v<T>) {
      T* const to = data_of<T>(out);
      std::vector<float> sums(to, to + numel(out));
      operands.data[0] = reinterpret_cast<char*>(sums.data());
      operands.size[0] = sizeof(float);
      for_each_index<float, T>(
          plan, operands, [](float& sum, const T& value) { sum += static_cast<float>(value); });
      std::copy(sums.begin(), sums.end(), to);
    } else {
      for_each_index<T, T>(plan, operands,
                           [](T& to, const T& value) { to = add_values(to, value); });
    }
  });
}

}  // namespace

void add_index_gather_kernels(KernelList& list) {
  const uint32_t strided = TN_KERNEL_STRIDED;
  list.add(
      {.schema = TN_SCHEMA_GATHER, .dtypes = kMovable, .run = run_of<gather>, .flags = strided});
  list.add({.schema = TN_SCHEMA_SCATTER, .dtypes = kMovable, .run = run_of<scatter>});
  list.add({.schema = TN_SCHEMA_SCATTER_ADD, .dtypes = TN_MASK_ALL, .run = run_of<scatter_add>});
}

}  // namespace tenon::cpu
