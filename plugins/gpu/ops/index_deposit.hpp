// Scatters: source rows put into, or added to, places of the output. What meets in one place is taken in the order of rows, whatever
// the order in which threads run: the last one stays, and sums are the same every time.
#pragma once

#include "indices.hpp"
#include "kernels.hpp"
#include "layout.hpp"
#include "radix.hpp"

namespace tenon::gpu {

// out[o, place, c] starts as x, or 0, and gets source[o, row, c] for each row whose key is that place.
struct Deposit {
  int64_t outer = 1, places = 1, rows = 0, inner = 1;
  bool add = false;    // else the last row of a place replaces what is there
  bool apart = false;  // no two rows share a place
  const tn_view* x = nullptr;
  const tn_view* source = nullptr;
  // How (row, c) lies in a source that is not dense: sizes and steps. One plane then.
  uint32_t ndim = 0;
  int64_t shape[TN_MAX_DIMS], steps[TN_MAX_DIMS];
  bool dense() const { return ndim == 0; }

  // Of the call's scratch memory, from its begin.
  uint64_t bytes(tn_dtype dtype) const;
  // Whether 32 bits count its rows, places and elements that are not dense.
  bool fits() const {
    return rows < INT32_MAX && places < INT32_MAX && (dense() || rows * inner < INT32_MAX);
  }
  // Where a kernel writes the key of each row; `places`: none.
  Ptr<uint32_t> keys(const tn_call& call) const { return sorting().keys(call, 0); }
  RadixSort<uint32_t> sorting() const;
};

// The keys of rows are indices of a list, one of which may be left out.
void keys_of_list(const tn_call& call, const Deposit& deposit, const IndexCheck& check,
                  const tn_view& index, int64_t left_out = kNowhere);
// What follows once the keys are there.
void finish_deposit(const tn_call& call, const Deposit& deposit);

}  // namespace tenon::gpu
