// The size of an element in bytes and the name of a dtype, for code that cannot call the core.
#ifndef TENON_PLUGINS_COMMON_DTYPE_HPP
#define TENON_PLUGINS_COMMON_DTYPE_HPP

#include <cstdint>

#include "tenon/dtype.h"

namespace tenon {

constexpr uint32_t size_of(tn_dtype dtype) {
#define DTYPE(code, name, long_name, size) size,
  constexpr uint8_t kSizes[TN_DTYPE_COUNT] = {
#include "tenon/dtypes.def"
  };
#undef DTYPE
  return dtype < TN_DTYPE_COUNT ? kSizes[dtype] : 0;
}

constexpr const char* name_of(tn_dtype dtype) {
#define DTYPE(code, name, long_name, size) name,
  constexpr const char* kNames[TN_DTYPE_COUNT] = {
#include "tenon/dtypes.def"
  };
#undef DTYPE
  return dtype < TN_DTYPE_COUNT ? kNames[dtype] : "?";
}

}  // namespace tenon
#endif
