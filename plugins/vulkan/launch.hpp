// One dispatch of a kernel, put together in the order in which its shader reads it:
//
//   Launch launch(call, shaders::softmax, compute_of(x.dtype));
//   launch.constant(x.dtype).constant(log);         // specialization constants, ids from 1
//   launch.out(y).in(x);                            // slots 0, 1
//   launch.word(rows).word(columns);                // words 0, 1
//   launch.groups(rows);
//
// Nothing is recorded before groups() or elements().
#pragma once

#include <bit>
#include <span>

#include "../common/dtype_size.hpp"
#include "backend.hpp"

namespace tenon::vulkan {

// In what elements of a dtype are computed: f16 and bf16 in f32, small integers and bool in i32, u32 in i64.
Compute compute_of(tn_dtype dtype);

// The slot of tables that shaders read through table(i).
inline constexpr uint32_t kTableSlot = kSlots - 1;

class Launch {
 public:
  Launch(const tn_call& call, const Shader& shader, Compute compute);

  Launch& constant(uint32_t value);
  Launch& word(uint32_t value);
  Launch& word(int32_t value) { return word(static_cast<uint32_t>(value)); }
  Launch& word(int64_t value);  // at most 32 bits. Throws sdk::Error
  Launch& word(float value) { return word(std::bit_cast<uint32_t>(value)); }
  Launch& real(double value);  // two words: low, high

  // A view in the next slot, reaching from its lowest element to its highest. A host scalar lies in the upload ring.
  Launch& in(const tn_view& view) { return slot(view, false); }
  Launch& out(const tn_view& view) { return slot(view, true); }  // written, or read and written
  Launch& none();  // a slot that the shader does not touch
  // Bytes of the call's scratch memory in the next slot.
  Launch& scratch(uint64_t offset, uint64_t bytes);
  // The next slot notes an index that is out of range: it becomes an error when the stream is synchronised. `op` is static.
  Launch& check(const char* op, int64_t dim, int64_t size);
  // How far, in elements, the first element of the view in a slot lies from the slot's begin: not 0 with negative strides.
  int64_t bias(uint32_t slot) const { return bias_[slot]; }

  // Numbers for table(0), table(1), …; up to Dispatch::kLocal / 4 of them. Throws sdk::Error
  Launch& table(std::span<const uint32_t> values);
  // The table of a strided loop, as layout.glsl reads it: sizes, biases, strides of the slots 0 … operands - 1.
  Launch& layout(const tn_loop& loop);
  // For views that come without a loop: the same of one view in slot k.
  void append_layout(std::vector<uint32_t>& table, const tn_view& view, uint32_t slot) const;

  // So many workgroups; the shader strides over more work than that.
  void groups(int64_t x, int64_t y = 1, int64_t z = 1);
  // An invocation for each element.
  void elements(int64_t count);
  uint32_t group_size() const { return dispatch_.key.group_size; }
  Launch& group_size(uint32_t size);  // another than the device's usual one

 private:
  Launch& slot(const tn_view& view, bool write);

  const tn_call& call_;
  Stream& stream_;
  Dispatch dispatch_;
  uint32_t constants_ = 0, words_ = 0, slots_ = 0;
  int64_t bias_[kSlots] = {};
};

}  // namespace tenon::vulkan
