#include "launch.hpp"

#include <algorithm>
#include <cstring>

namespace tenon::vulkan {
namespace {

constexpr uint32_t kMostGroups = 65535;  // every device takes this many in one dimension

}  // namespace

Compute compute_of(tn_dtype dtype) {
  switch (dtype) {
    case TN_DTYPE_F16:
    case TN_DTYPE_BF16:
    case TN_DTYPE_F32:
      return Compute::kF32;
    case TN_DTYPE_F64:
      return Compute::kF64;
    case TN_DTYPE_U32:
    case TN_DTYPE_I64:
      return Compute::kI64;
    default:
      return Compute::kI32;
  }
}

Launch::Launch(const tn_call& call, const Shader& shader, Compute compute)
    : call_(call), stream_(stream_of(call.stream)) {
  dispatch_.key.shader = &shader;
  dispatch_.key.compute = compute;
  dispatch_.key.group_size = stream_.device().group_size();
}

Launch& Launch::group_size(uint32_t size) {
  dispatch_.key.group_size = size;
  return *this;
}

Launch& Launch::constant(uint32_t value) {
  if (constants_ == kConstants)
    sdk::fail(TN_INTERNAL, "[vulkan] too many constants for ", dispatch_.key.shader->name);
  dispatch_.key.constants[constants_++] = value;
  return *this;
}

Launch& Launch::word(uint32_t value) {
  if (words_ == kWords)
    sdk::fail(TN_INTERNAL, "[vulkan] too many words for ", dispatch_.key.shader->name);
  dispatch_.words[words_++] = value;
  return *this;
}

Launch& Launch::word(int64_t value) {
  if (value > INT32_MAX || value < INT32_MIN)
    sdk::fail(TN_UNIMPLEMENTED, "[vulkan] a size of ", value,
              " is beyond the 32 bits that shaders count with");
  return word(static_cast<uint32_t>(static_cast<int32_t>(value)));
}

Launch& Launch::real(double value) {
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  return word(static_cast<uint32_t>(bits)).word(static_cast<uint32_t>(bits >> 32));
}

Launch& Launch::slot(const tn_view& view, bool write) {
  Dispatch::Slot& slot = dispatch_.slots[slots_];
  const int64_t size = size_of(view.dtype);
  if ((view.flags & TN_VIEW_SCALAR) != 0) {
    slot = {nullptr, dispatch_.local_size, static_cast<VkDeviceSize>(size), false};
    std::memcpy(dispatch_.local + dispatch_.local_size, view.scalar, sizeof view.scalar);
    dispatch_.local_size += sizeof view.scalar;
  } else {
    int64_t low = 0, high = 0;
    for (uint32_t d = 0; d < view.ndim; ++d) {
      const int64_t reach = (view.shape[d] - 1) * view.strides[d];
      (reach < 0 ? low : high) += reach;
    }
    bias_[slots_] = -low;
    slot = {static_cast<const Buffer*>(view.buffer),
            static_cast<VkDeviceSize>(view.offset + low * size),
            static_cast<VkDeviceSize>((high - low + 1) * size), write};
  }
  dispatch_.slot_count = std::max(dispatch_.slot_count, ++slots_);
  return *this;
}

Launch& Launch::none() {
  // Something must be bound, so the first slot's buffer is.
  dispatch_.slots[slots_] = dispatch_.slots[0];
  dispatch_.slots[slots_].write = false;
  dispatch_.slot_count = std::max(dispatch_.slot_count, ++slots_);
  return *this;
}

Launch& Launch::scratch(uint64_t offset, uint64_t bytes) {
  dispatch_.slots[slots_] = {static_cast<const Buffer*>(call_.scratch_buffer), offset, bytes, true};
  dispatch_.slot_count = std::max(dispatch_.slot_count, ++slots_);
  return *this;
}

Launch& Launch::check(const char* op, int64_t dim, int64_t size) {
  dispatch_.check = {op, dim, size};
  dispatch_.check_slot = slots_;
  dispatch_.slots[slots_] = {nullptr, 0, 16, true};
  dispatch_.slot_count = std::max(dispatch_.slot_count, ++slots_);
  return *this;
}

Launch& Launch::table(std::span<const uint32_t> values) {
  if (dispatch_.local_size + values.size_bytes() > Dispatch::kLocal)
    sdk::fail(TN_INTERNAL, "[vulkan] a table of ", values.size(), " numbers is too long for ",
              dispatch_.key.shader->name);
  std::memcpy(dispatch_.local + dispatch_.local_size, values.data(), values.size_bytes());
  for (uint32_t k = slots_; k < kTableSlot; ++k) {
    dispatch_.slots[k] = dispatch_.slots[0];
    dispatch_.slots[k].write = false;
  }
  dispatch_.slots[kTableSlot] = {nullptr, dispatch_.local_size, values.size_bytes(), false};
  dispatch_.slot_count = kSlots;
  dispatch_.local_size += static_cast<uint32_t>((values.size_bytes() + 15) / 16 * 16);
  return *this;
}

Launch& Launch::layout(const tn_loop& loop) {
  std::vector<uint32_t> values;
  values.reserve((loop.noperands + 1) * (loop.ndim + 1));
  for (uint32_t d = 0; d < loop.ndim; ++d) values.push_back(static_cast<uint32_t>(loop.shape[d]));
  for (uint32_t k = 0; k < loop.noperands; ++k) values.push_back(static_cast<uint32_t>(bias_[k]));
  for (uint32_t k = 0; k < loop.noperands; ++k)
    for (uint32_t d = 0; d < loop.ndim; ++d)
      values.push_back(static_cast<uint32_t>(static_cast<int32_t>(loop.strides[k][d])));
  return table(values);
}

void Launch::append_layout(std::vector<uint32_t>& values, const tn_view& view,
                           uint32_t slot) const {
  for (uint32_t d = 0; d < view.ndim; ++d) values.push_back(static_cast<uint32_t>(view.shape[d]));
  values.push_back(static_cast<uint32_t>(bias_[slot]));
  for (uint32_t d = 0; d < view.ndim; ++d)
    values.push_back(static_cast<uint32_t>(static_cast<int32_t>(view.strides[d])));
}

void Launch::groups(int64_t x, int64_t y, int64_t z) {
  if (x <= 0 || y <= 0 || z <= 0) return;
  dispatch_.groups[0] = static_cast<uint32_t>(std::min<int64_t>(x, kMostGroups));
  dispatch_.groups[1] = static_cast<uint32_t>(std::min<int64_t>(y, kMostGroups));
  dispatch_.groups[2] = static_cast<uint32_t>(std::min<int64_t>(z, kMostGroups));
  stream_.dispatch(dispatch_);
}

void Launch::elements(int64_t count) {
  const int64_t size = dispatch_.key.group_size;
  groups((count + size - 1) / size);
}

}  // namespace tenon::vulkan
