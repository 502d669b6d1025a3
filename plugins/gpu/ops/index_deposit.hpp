// Scatters: writes source rows to places of the output, or adds them. Rows with the same place are handled in row order, whatever the order
// of threads: the last one stays, and sums are reproducible.
#pragma once

#include "indices.hpp"
#include "kernels.hpp"
#include "layout.hpp"
#include "radix.hpp"

namespace tenon::gpu {

// out[o, place, c] starts as x, or 0, and gets source[o, row, c] for each row whose key is that place.
struct Deposit {
  int64_t outer = 1, places = 1, rows = 0, inner = 1;
  bool add = false;    // otherwise the last row of a place replaces what is there
  bool apart = false;  // no two rows have the same place
  const tn_view* x = nullptr;
  const tn_view* source = nullptr;
  // Sizes and strides of (row, c) in a source that is not dense; it has a single plane.
  uint32_t ndim = 0;
  int64_t shape[TN_MAX_DIMS], steps[TN_MAX_DIMS];
  bool dense() const { return ndim == 0; }

  // Bytes of the call's scratch memory, from its beginning.
  uint64_t bytes(tn_dtype dtype) const;
  // Whether 32 bits can count its rows, places and strided elements.
  bool fits() const {
    return rows < INT32_MAX && places < INT32_MAX && (dense() || rows * inner < INT32_MAX);
  }
  // Where a kernel writes the key of each row; the key `places` means none.
  Ptr<uint32_t> keys(const tn_call& call) const { return sorting().keys(call, 0); }
  RadixSort<uint32_t> sorting() const;
};

// The keys are a list of indices, one of which may be skipped.
void keys_of_list(const tn_call& call, const Deposit& deposit, const IndexCheck& check,
                  const tn_view& index, int64_t left_out = kNowhere);
// Everything after the keys.
void finish_deposit(const tn_call& call, const Deposit& deposit);

}  // namespace tenon::gpu
