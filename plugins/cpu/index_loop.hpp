// A loop over indices along a dimension. Threads share a dimension other than the indexed one, unless the indexed tensor is only read:
// what meets in one element is combined in row-major order by one thread, so the number of threads changes nothing.
#pragma once

#include <atomic>

#include "indexing.hpp"
#include "loops.hpp"

namespace tenon::cpu {

// A loop over the index's shape: the tensor at stride 0 along `dim`, index, and the dense tensor
// (out or src).
struct IndexLoop {
  static constexpr int64_t kLeastOfRow = 32;  // elements of a row that are worth a thread

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

  // The largest dimension, other than the indexed one if elements of the tensor are written; the outermost of like ones.
  uint32_t widest(bool writes) const {
    uint32_t split = writes && dim == 0 && loop.ndim > 1 ? 1 : 0;
    for (uint32_t k = 0; k < loop.ndim; ++k)
      if ((k != dim || !writes) && shape[k] > shape[split]) split = k;
    return split;
  }

  // body(loop, operands) on parts of the widest dimension.
  template <class Body>
  void over_parts(const Operands<3>& operands, bool writes, Body&& body) {
    const int64_t total = loop_count(loop);
    if (total == 0) return;
    const uint32_t split = widest(writes);
    if (writes && split == dim) return body(loop, operands);
    const int64_t least = split + 1 == loop.ndim && loop.ndim > 1 ? kLeastOfRow : 1,
                  grain = std::max(least, kGrainMath * shape[split] / total);
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

inline constexpr int64_t kZeros[TN_MAX_DIMS] = {};

// Whether an index is in range; one that is not is reported to `bad`.
struct InRange {
  uint64_t size;
  std::atomic<bool>& bad;
  bool operator()(int64_t index) const {
    if (static_cast<uint64_t>(index) < size) [[likely]]
      return true;
    bad.store(true, std::memory_order_relaxed);
    return false;
  }
};
struct AllGood {
  bool operator()(int64_t) const { return true; }
};

// f(tensor element, dense element) for every index; a stretch ends where one is not `good`.
template <class T, class D, class F, class Good = AllGood>
void for_each_index(IndexLoop& plan, const Operands<3>& operands, F&& f, const Good& good = {}) {
  // A function of a const element only reads the tensor.
  constexpr bool kWrites = !std::is_invocable_v<F, const T&, D&>;
  plan.over_parts(operands, kWrites, [&](const tn_loop& loop, const Operands<3>& part) {
    const int64_t along = plan.step;
    walk_rows<3>(
        loop, part, 0, loop_count(loop), [=](int64_t n, const auto& data, const auto& step) {
          // Held in locals: a write through f could change them otherwise.
          T* const tensor = reinterpret_cast<T*>(data[0]);
          const int64_t* const index = reinterpret_cast<const int64_t*>(data[1]);
          D* const dense = reinterpret_cast<D*>(data[2]);
          const int64_t across = step[0] / static_cast<int64_t>(sizeof(T)),
                        index_step = step[1] / 8;
          const int64_t dense_step = step[2] / static_cast<int64_t>(sizeof(D));
          const auto each = [&](auto place, auto at, auto lies) {
            for (int64_t i = 0; i < n; ++i) {
              const int64_t to = index[at(i)];
              if (!good(to)) return;
              f(tensor[place(i, to)], dense[lies(i)]);
            }
          };
          const auto itself = [](int64_t i) { return i; };
          if (index_step == 0) {  // one row into another
            if (n == 0 || !good(*index)) return;
            T* const row = tensor + *index * along;
            if (across == 1 && dense_step == 1)
              for (int64_t i = 0; i < n; ++i) f(row[i], dense[i]);
            else if (across == 0 && dense_step == 1)  // of one value
              for (int64_t i = 0; i < n; ++i) f(*row, dense[i]);
            else
              for (int64_t i = 0; i < n; ++i) f(row[i * across], dense[i * dense_step]);
          } else if (index_step == 1 && dense_step == 1 && across == 0 && along == 1) {
            each([](int64_t, int64_t to) { return to; }, itself, itself);
          } else if (index_step == 1 && dense_step == 1) {
            each([=](int64_t i, int64_t to) { return i * across + to * along; }, itself, itself);
          } else {
            each([=](int64_t i, int64_t to) { return i * across + to * along; },
                 [=](int64_t i) { return i * index_step; },
                 [=](int64_t i) { return i * dense_step; });
          }
        });
  });
}

inline Operands<3> operands_for(const tn_view& tensor, const tn_view& index, const tn_view& dense,
                                int64_t size) {
  Operands<3> operands;
  operands.data = {data_of<char>(tensor), data_of<char>(index), data_of<char>(dense)};
  operands.size = {size, 8, size};
  return operands;
}

}  // namespace tenon::cpu
