// Reads and checks indices in kernels. An index out of range is reported and not used; Stream::report() throws for the first one that was
// met.
//
//   const int64_t at = place_of(check, index[i], i);
//   if (at == kNowhere) continue;
#pragma once

#include "launch.hpp"

namespace tenon::gpu {

inline constexpr int64_t kNowhere = -1;

// The limits that an op's index must keep to.
struct IndexCheck {
  Ptr<IndexNote> note;
  Ptr<uint32_t> claim;
  uint64_t op;  // address of a static name
  int64_t size;
  uint32_t dim;
  bool wrap;  // negative ones count from the end
};

inline IndexCheck check_of(const tn_call& call, const char* op, int64_t dim, int64_t size,
                           bool wrap = false) {
  const Stream& stream = stream_of(call);
  return {pointer_to(stream.note(), 0, 0, 1), pointer_to(stream.claim(), 0, 0, 1),
          reinterpret_cast<uint64_t>(op),     size,
          static_cast<uint32_t>(dim),         wrap};
}

// Dense indices of any integer dtype.
struct IndexList {
  Ptr<const uint8_t> bytes1;  // the one with that width is used
  Ptr<const uint16_t> bytes2;
  Ptr<const uint32_t> bytes4;
  Ptr<const uint64_t> bytes8;
  tn_dtype dtype;
};
inline IndexList index_list(const tn_view& view) {
  IndexList list{nullptr, nullptr, nullptr, nullptr, view.dtype};
  const bool none = numel(view) == 0;
  if (view.dtype == TN_DTYPE_U8 || view.dtype == TN_DTYPE_I8)
    list.bytes1 = none ? nullptr : in<uint8_t>(view);
  else if (view.dtype == TN_DTYPE_U16 || view.dtype == TN_DTYPE_I16)
    list.bytes2 = none ? nullptr : in<uint16_t>(view);
  else if (view.dtype == TN_DTYPE_U32 || view.dtype == TN_DTYPE_I32)
    list.bytes4 = none ? nullptr : in<uint32_t>(view);
  else
    list.bytes8 = none ? nullptr : in<uint64_t>(view);
  return list;
}

// Element i; values beyond int64_t become its maximum.
GPU_DEVICE int64_t read_index(const IndexList& list, int64_t i) {
  switch (list.dtype) {
    case TN_DTYPE_U8:
      return static_cast<uint8_t>(list.bytes1[i]);
    case TN_DTYPE_I8:
      return static_cast<int8_t>(static_cast<uint8_t>(list.bytes1[i]));
    case TN_DTYPE_U16:
      return static_cast<uint16_t>(list.bytes2[i]);
    case TN_DTYPE_I16:
      return static_cast<int16_t>(static_cast<uint16_t>(list.bytes2[i]));
    case TN_DTYPE_U32:
      return static_cast<uint32_t>(list.bytes4[i]);
    case TN_DTYPE_I32:
      return static_cast<int32_t>(static_cast<uint32_t>(list.bytes4[i]));
    default: {
      const uint64_t bits = list.bytes8[i];
      const bool beyond = list.dtype == TN_DTYPE_U64 && bits >> 63 != 0;
      return beyond ? INT64_MAX : static_cast<int64_t>(bits);
    }
  }
}

// The position an index points to; or kNowhere, and a report. `position`: the index's own position among the indices.
GPU_DEVICE int64_t place_of(const IndexCheck& check, int64_t index, int64_t position) {
  if (static_cast<uint64_t>(index) < static_cast<uint64_t>(check.size)) return index;
  if (check.wrap && index < 0 && index + check.size >= 0) return index + check.size;
  if (atomic_cas(check.claim, 0u, 1u) == 0u) {
    IndexNote note;
    note.set = 1;
    note.dim = check.dim;
    note.index = index;
    note.position = position;
    note.size = check.size;
    note.op = check.op;
    check.note[0] = note;
  }
  return kNowhere;
}

}  // namespace tenon::gpu
