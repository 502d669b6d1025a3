// Scatters: writes source rows to places of the output, or adds them. The result does not depend on the order of invocations.
#pragma once

#include "../common/deposit.hpp"
#include "kernels.hpp"

namespace tenon::vulkan {

struct Deposit : DepositCall {
  // Bytes of the call's scratch memory, from its beginning.
  uint64_t bytes() const {
    return static_cast<uint64_t>(add ? 2 * places + 1 + 3 * rows : places) * 4;
  }
  // Whether 32 bits can count its scratch memory.
  bool fits() const { return bytes() / 4 <= INT32_MAX; }
  int64_t keys() const {
    return 2 * places + 1;
  }  // the word of the scratch memory where keys begin
};

enum Keys : uint32_t { kByLayout, kByIndex, kByList, kByBlocks };  // as shaders/keys.comp

// A launch of keys.comp with its constants, slot 0 and first words; prepares the scratch memory first.
Launch keys_launch(const tn_call& call, const Deposit& deposit, Keys keys,
                   uint32_t index_dtype = TN_DTYPE_I64);

// A list of indices as keys. Each `plane` indices point into their own stretch of `size` places.
struct IndexList {
  int64_t size = 0, plane = 0, dim = 0;
  bool wrap = false;            // negative ones count from the end
  uint32_t skip = 0xffffffffu;  // an index to skip
};
void keys_of_list(const tn_call& call, const Deposit& deposit, const char* op, const tn_view& index,
                  const IndexList& list);

// Everything after the keys.
void finish_deposit(const tn_call& call, const Deposit& deposit);

// An input, or an unused slot if it has no elements.
void in_or_none(Launch& launch, const tn_view& view);

}  // namespace tenon::vulkan
