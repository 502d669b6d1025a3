// One dispatch of a kernel, assembled in the order in which its shader reads it:
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

#include "../common/dtype.hpp"
#include "backend.hpp"

namespace tenon::vulkan {

// The type that a dtype is computed in: f32 for f16 and bf16, i32 for small integers and bool, i64 for u32.
Compute compute_of(tn_dtype dtype);

// The slot of the tables that shaders read through table(i).
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

  // Binds a view to the next slot, from its lowest element to its highest. A host scalar goes into the upload ring.
  Launch& in(const tn_view& view) { return slot(view, false); }
  Launch& out(const tn_view& view) { return slot(view, true); }  // written, or read and written
  Launch& none();  // a slot that the shader does not use
  // Binds bytes of the call's scratch memory to the next slot.
  Launch& scratch(uint64_t offset, uint64_t bytes);
  // Indices out of range are reported in the next slot, and throw an error when the stream is synchronised. `op` is static.
  Launch& check(const char* op, int64_t dim, int64_t size);
  // The distance in elements from the beginning of a slot to the first element of its view: not 0 with negative strides.
  int64_t bias(uint32_t slot) const { return bias_[slot]; }

  // Numbers for table(0), table(1), …, up to Dispatch::kLocal / 4. Throws sdk::Error
  Launch& table(std::span<const uint32_t> values);
  // The table of a strided loop as layout.glsl reads it: sizes, biases, and the strides of slots 0 … operands - 1.
  Launch& layout(const tn_loop& loop);
  // The same for a single view in slot k, without a loop.
  void append_layout(std::vector<uint32_t>& table, const tn_view& view, uint32_t slot) const;

  // Records the dispatch with this many workgroups; the shader loops if there is more work.
  void groups(int64_t x, int64_t y = 1, int64_t z = 1);
  // Records the dispatch with an invocation for each element.
  void elements(int64_t count);
  uint32_t group_size() const { return dispatch_.key.group_size; }
  Launch& group_size(uint32_t size);  // instead of the device's usual one

 private:
  Launch& slot(const tn_view& view, bool write);

  const tn_call& call_;
  Stream& stream_;
  Dispatch dispatch_;
  uint32_t constants_ = 0, words_ = 0, slots_ = 0;
  int64_t bias_[kSlots] = {};
};

}  // namespace tenon::vulkan
