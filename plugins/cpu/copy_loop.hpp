// Copies elements of any layout to another (ops/copy.cpp): in tiles, by several short rows or row by row.
#pragma once

#include <cstdint>
#include <span>

namespace tenon::cpu {

// Elements of `size` bytes to where they do not overlap what is read. Strides in elements; the dimensions should be in the order in which
// the result lies.
void copy_strided(std::span<const int64_t> shape, int64_t size, char* to, const int64_t* to_strides,
                  const char* from, const int64_t* from_strides);

}  // namespace tenon::cpu
