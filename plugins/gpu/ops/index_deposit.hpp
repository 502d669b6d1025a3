// Scatters: writes source rows to places of the output, or adds them. Rows with the same place are handled in row order, whatever the order
// of threads: the last one stays, and sums are reproducible.
#pragma once

#include "../common/deposit.hpp"
#include "indices.hpp"
#include "kernels.hpp"
#include "layout.hpp"
#include "radix.hpp"

namespace tenon::gpu {

struct Deposit : DepositCall {
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
