// The size of an element in bytes, for code that cannot call the core.
#ifndef TENON_PLUGINS_COMMON_DTYPE_SIZE_HPP
#define TENON_PLUGINS_COMMON_DTYPE_SIZE_HPP

#include <cstdint>

#include "tenon/dtype.h"

namespace tenon {

constexpr uint32_t size_of(tn_dtype dtype) {
  constexpr uint8_t kSizes[TN_DTYPE_COUNT] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16, 1, 1};
  return dtype < TN_DTYPE_COUNT ? kSizes[dtype] : 0;
}

}  // namespace tenon
#endif
