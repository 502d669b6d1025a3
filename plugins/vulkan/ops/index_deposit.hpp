// Scatters: source rows put into, or added to, places of the output; the result never depends on the order of invocations.
#pragma once

#include "kernels.hpp"

namespace tenon::vulkan {

// out[o, place, c] starts as x, or 0, and gets source[o, row, c] for each row with that key.
struct Deposit {
  int64_t places = 1, rows = 0, inner = 1;
  bool add = false;  // else the last row of a place replaces what is there
  const tn_view* x = nullptr;
  const tn_view* source = nullptr;
  // How (row, c) lies in a source that is not dense: sizes and steps.
  std::vector<int64_t> shape, steps;

  // Of the call's scratch memory, from its begin.
  uint64_t bytes() const {
    return static_cast<uint64_t>(add ? 2 * places + 1 + 3 * rows : places) * 4;
  }
  // Whether 32 bits count its scratch memory.
  bool fits() const { return bytes() / 4 <= INT32_MAX; }
  int64_t keys() const { return 2 * places + 1; }  // word of the scratch at which keys begin
};

enum Keys : uint32_t { kByLayout, kByIndex, kByList, kByBlocks };  // as shaders/keys.comp

// A launch of keys.comp with its constants, slot 0 and first words; the scratch is made ready before it.
Launch keys_launch(const tn_call& call, const Deposit& deposit, Keys keys,
                   uint32_t index_dtype = TN_DTYPE_I64);

// A list of indices as keys; each `plane` of them points into a stretch of `size` places of its own.
struct IndexList {
  int64_t size = 0, plane = 0, dim = 0;
  bool wrap = false;            // negative ones count from the end
  uint32_t skip = 0xffffffffu;  // one that is left out
};
void keys_of_list(const tn_call& call, const Deposit& deposit, const char* op, const tn_view& index,
                  const IndexList& list);

// What follows once the keys are there.
void finish_deposit(const tn_call& call, const Deposit& deposit);

// An input, or nothing where it has no elements.
void in_or_none(Launch& launch, const tn_view& view);

}  // namespace tenon::vulkan
