// One launch over lists of tensors: parameters with gradients and states, or gradients to clip. The kernel's parameters hold the addresses
// of one chunk of a list; longer lists take more launches.
#pragma once

#include <vector>

#include "kernels.hpp"
#include "launch.hpp"

namespace tenon::gpu {

inline constexpr uint32_t kTensorsAtOnce = 64;  // five lists of them stay below 4 KiB of parameters
inline constexpr int64_t kElementsOfBlock = 4096;

template <class T, uint32_t kLists>
struct TensorTable {
  Ptr<T> at[kLists][kTensorsAtOnce];
  int64_t count[kTensorsAtOnce];
  uint32_t first_block[kTensorsAtOnce + 1];
  uint32_t tensors = 0;
  uint32_t blocks_before = 0;  // in earlier chunks
  uint64_t aligned = 0;        // bit k: tensor k can be accessed in vectors of 16 bytes

  // The tensor that a block works on, and its first element there.
  GPU_FN uint32_t find(uint32_t block, int64_t& begin) const {
    uint32_t low = 0, high = tensors;
    while (high - low > 1) {
      const uint32_t middle = (low + high) / 2;
      // Not by reference: both would then live in memory.
      const bool before = first_block[middle] <= block;
      low = before ? middle : low;
      high = before ? high : middle;
    }
    begin = static_cast<int64_t>(block - first_block[low]) * kElementsOfBlock;
    return low;
  }
};

template <class... T, class Fn>
void with_each_type(Types<T...>, Fn&& fn) {
  (fn(TypeTag<T>{}), ...);
}

// Number of blocks for a tensor.
inline int64_t blocks_of(const tn_view& view) {
  return (numel(view) + kElementsOfBlock - 1) / kElementsOfBlock;
}

// Calls fn(table, blocks) for each chunk of the tensors of dtype T in `lists`. Block numbers start at `blocks_before`, which is advanced.
template <class T, uint32_t kLists, class Fn>
void for_tables(const tn_call& call, const uint32_t (&lists)[kLists], uint32_t& blocks_before,
                const Fn& fn) {
  TensorTable<T, kLists> table;
  uint32_t blocks = 0;
  const auto flush = [&] {
    table.first_block[table.tensors] = blocks;
    table.blocks_before = blocks_before;
    if (table.tensors > 0) fn(table, blocks);
    blocks_before += blocks;
    table.tensors = blocks = 0;
    table.aligned = 0;
  };
  const tn_value& first = call.args[lists[0]];
  for (uint32_t k = 0; k < first.count; ++k) {
    const tn_view& view = *first.as.views[k];
    if (view.dtype != kDtype<T> || numel(view) == 0) continue;
    const uint32_t place = table.tensors++;
    uintptr_t low_bits = 0;
    for (uint32_t l = 0; l < kLists; ++l) {
      const tn_view& other = *call.args[lists[l]].as.views[k];
      table.at[l][place] = pointer<T>(other);
      low_bits |= reinterpret_cast<uintptr_t>(other.data);
    }
    if (low_bits % 16 == 0) table.aligned |= uint64_t{1} << place;
    table.count[place] = numel(view);
    table.first_block[place] = blocks;
    blocks += static_cast<uint32_t>(blocks_of(view));
    if (table.tensors == kTensorsAtOnce) flush();
  }
  flush();
}

// Calls fn(values, n) for elements in this block's part of a tensor, of all lists together: values[l] holds kN elements, of which n count.
// Stores those of the first kWritten lists again.
template <uint32_t kWritten, class T, uint32_t kLists, class Fn>
GPU_DEVICE void each_elements(const TensorTable<T, kLists>& table, const Fn& fn) {
  constexpr uint32_t kN = 16 / sizeof(T);
  int64_t begin;
  const uint32_t tensor = table.find(block_index().x, begin);
  const bool aligned = (table.aligned >> tensor & 1) != 0;
  const int64_t left = table.count[tensor] - begin,
                end = begin + (left < kElementsOfBlock ? left : kElementsOfBlock);
  for (int64_t i = begin + int64_t{kN} * thread_index().x; i < end;
       i += int64_t{kN} * block_size().x) {
    Vec<T, kN> values[kLists];
    const bool whole = aligned && i + kN <= end;
    const auto n = static_cast<uint32_t>(end - i < kN ? end - i : kN);
    GPU_UNROLL
    for (uint32_t l = 0; l < kLists; ++l) {
      const Ptr<T> from = table.at[l][tensor];
      if (whole)
        values[l] = load_vec<kN>(from + i);
      else {
        GPU_UNROLL
        for (uint32_t j = 0; j < kN; ++j)
          values[l].at[j] = j < n ? static_cast<T>(from[i + j]) : T{};
      }
    }
    fn(values, n);
    GPU_UNROLL
    for (uint32_t l = 0; l < kWritten; ++l) {
      const Ptr<T> to = table.at[l][tensor];
      if (whole)
        store_vec<kN>(to + i, values[l]);
      else {
        GPU_UNROLL
        for (uint32_t j = 0; j < kN; ++j)
          if (j < n) to[i + j] = values[l].at[j];
      }
    }
  }
}

}  // namespace tenon::gpu
