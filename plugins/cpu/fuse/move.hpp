// Elements of a tile from one layout to another.
#pragma once

#include <cstdint>

namespace tenon::cpu {

// Steps in bytes; 0 repeats.
struct Layout2 {
  int64_t row, column;
};
void move_tile(const char* from, Layout2 by, char* to, Layout2 into, int64_t rows, int64_t columns,
               int64_t size);

}  // namespace tenon::cpu
