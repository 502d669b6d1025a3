#include "elements.hpp"

#include <algorithm>
#include <cstring>

namespace tenon::validate {

uint64_t size_of(tn_dtype dtype) {
  constexpr uint64_t kOne = TN_MASK_BOOL | TN_MASK(TN_DTYPE_U8) | TN_MASK(TN_DTYPE_I8) | TN_MASK_F8;
  constexpr uint64_t kTwo = TN_MASK(TN_DTYPE_U16) | TN_MASK(TN_DTYPE_I16) | TN_MASK_HALF;
  constexpr uint64_t kEight =
      TN_MASK(TN_DTYPE_U64) | TN_MASK(TN_DTYPE_I64) | TN_MASK(TN_DTYPE_F64) | TN_MASK(TN_DTYPE_C64);
  const uint64_t mask = TN_MASK(dtype);
  if ((mask & kOne) != 0) return 1;
  if ((mask & kTwo) != 0) return 2;
  if ((mask & kEight) != 0) return 8;
  return dtype == TN_DTYPE_C128 ? 16 : 4;
}

uint64_t numel(const tn_view& view) {
  uint64_t n = 1;
  for (uint32_t d = 0; d < view.ndim; ++d) n *= static_cast<uint64_t>(view.shape[d]);
  return n;
}

Span span_of(const tn_view& view) {
  if (numel(view) == 0) return {view.offset, view.offset};
  int64_t low = 0, high = 0;
  for (uint32_t d = 0; d < view.ndim; ++d) {
    const int64_t reach = (view.shape[d] - 1) * view.strides[d];
    (reach < 0 ? low : high) += reach;
  }
  const auto size = static_cast<int64_t>(size_of(view.dtype));
  return {view.offset + low * size, view.offset + (high + 1) * size};
}

Elements::Elements(DeviceType& type, const Operand& operand)
    : type_(type),
      operand_(operand),
      size_(size_of(operand.view->dtype)),
      count_(numel(*operand.view)) {
  // The gaps of a strided view may belong to someone else, so without addresses only dense views are touched.
  const bool dense = operand.span.size() == count_ * size_;
  reachable_ = count_ != 0 && (type.addressable() || (operand.has_block && dense));
}

bool Elements::fetch() const {
  const Operand& o = operand_;
  if (type_.addressable()) {
    first_ = static_cast<const unsigned char*>(o.view->data) + (o.span.first - o.view->offset);
    return true;
  }
  copy_.resize(o.span.size());
  first_ = copy_.data();
  return type_.read(o.block.index, o.block.raw, o.block.front + static_cast<uint64_t>(o.span.first),
                    copy_.data(), copy_.size());
}

// The element's position in the span.
uint64_t Elements::byte_of(uint64_t position) const {
  const tn_view& view = *operand_.view;
  int64_t at = view.offset - operand_.span.first;
  for (uint32_t d = view.ndim; d-- > 0;) {
    const auto extent = static_cast<uint64_t>(view.shape[d]);
    at += static_cast<int64_t>(position % extent) * view.strides[d] * static_cast<int64_t>(size_);
    position /= extent;
  }
  return static_cast<uint64_t>(at);
}

template <class Visit>
void Elements::each(Visit&& visit) const {
  const bool dense = (operand_.view->flags & TN_VIEW_CONTIGUOUS) != 0;
  for (uint64_t i = 0; i < count_; ++i)
    if (!visit(i, dense ? i * size_ : byte_of(i))) return;
}

bool Elements::fill(unsigned char byte) {
  const Operand& o = operand_;
  if (!type_.addressable()) {
    const std::vector<unsigned char> bytes(o.span.size(), byte);
    return type_.write(o.block.index, o.block.raw,
                       o.block.front + static_cast<uint64_t>(o.span.first), bytes.data(),
                       bytes.size());
  }
  if (!fetch()) return false;
  each([&](uint64_t, uint64_t at) {
    std::memset(const_cast<unsigned char*>(first_) + at, byte, size_);
    return true;
  });
  return true;
}

std::vector<uint64_t> Elements::holding(unsigned char byte, size_t limit,
                                        const std::vector<uint64_t>* among) const {
  std::vector<uint64_t> positions;
  if (!fetch()) return positions;
  const auto look = [&](uint64_t position, uint64_t at) {
    const unsigned char* element = first_ + at;
    if (std::all_of(element, element + size_, [&](unsigned char b) { return b == byte; }))
      positions.push_back(position);
    return positions.size() < limit;
  };
  if (among == nullptr) {
    each(look);
  } else {
    for (const uint64_t position : *among)
      if (!look(position, byte_of(position))) break;
  }
  return positions;
}

uint64_t Elements::sum() const {
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  if (!fetch()) return hash;
  each([&](uint64_t, uint64_t at) {
    for (uint64_t k = 0; k < size_; ++k) hash = (hash ^ first_[at + k]) * 0x100000001b3u;
    return true;
  });
  return hash;
}

}  // namespace tenon::validate
