// Classes that losses are told.
#pragma once

#include <cstdint>

#include "kernels.hpp"

namespace tenon::cpu {

// Throws where one is no class.
inline void check_targets(const char* op, const int64_t* target, int64_t count, int64_t classes,
                          int64_t ignore) {
  bool bad = false;
  for (int64_t i = 0; i < count; ++i)
    bad |=
        static_cast<uint64_t>(target[i]) >= static_cast<uint64_t>(classes) && target[i] != ignore;
  for (int64_t i = 0; bad && i < count; ++i) {
    if (target[i] != ignore && (target[i] < 0 || target[i] >= classes))
      fail(TN_OUT_OF_RANGE, "[", op, "] target ", target[i], " at position ", i,
           " out of range for ", classes, " classes");
  }
}

}  // namespace tenon::cpu
