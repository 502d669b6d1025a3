// The memory blocks that hold tensor headers.
//   view block   header                       shares another tensor's storage
//   own block    header + storage             bytes from the caching allocator, or wrapped
//   small block  header + storage + bytes     up to kInlineBytes on the host, one allocation for all
#pragma once

#include "tensor/tensor.hpp"

namespace tenon::core {

constexpr uint64_t kInlineBytes = 128;

// tn_tensor.block_class. A header whose storage is tracked has kTracked as well; one that shows another storage than that of its
// block, which it still holds, kMoved.
constexpr uint8_t kSmallBlock = 0, kOwnBlock = 1, kViewBlock = 2, kTracked = 4, kMoved = 8;

struct OwnBlock {
  tn_tensor header;
  Storage storage;
};
struct SmallBlock {
  tn_tensor header;
  Storage storage;
  alignas(64) unsigned char bytes[kInlineBytes];
};

// The header whose block a storage lies in.
inline tn_tensor* header_of(Storage* storage) {
  return reinterpret_cast<tn_tensor*>(reinterpret_cast<char*>(storage) -
                                      offsetof(OwnBlock, storage));
}

// Tell a tracked storage that a header starts or stops using it.
void show(tn_tensor& fresh);
void forget(tn_tensor& dying) noexcept;

}  // namespace tenon::core
