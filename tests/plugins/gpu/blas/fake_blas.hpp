// What the stand-ins for vendors' matrix libraries share: elements, products as plain loops in double precision, and a record that they
// were called.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "../../../../core/include/tenon/float_formats.h"

namespace fake_blas {

enum class Element { kHalf, kBFloat, kFloat, kDouble, kE4M3, kE5M2 };

inline double load(const void* from, Element type, int64_t i) {
  switch (type) {
    case Element::kDouble:
      return static_cast<const double*>(from)[i];
    case Element::kFloat:
      return static_cast<const float*>(from)[i];
    case Element::kHalf:
      return tn_f16_to_f32(static_cast<const uint16_t*>(from)[i]);
    case Element::kE4M3:
      return tn_f8_e4m3_to_f32(static_cast<const uint8_t*>(from)[i]);
    case Element::kE5M2:
      return tn_f8_e5m2_to_f32(static_cast<const uint8_t*>(from)[i]);
    default:
      return tn_bf16_to_f32(static_cast<const uint16_t*>(from)[i]);
  }
}
inline void store(void* to, Element type, int64_t i, double value) {
  switch (type) {
    case Element::kDouble:
      static_cast<double*>(to)[i] = value;
      return;
    case Element::kFloat:
      static_cast<float*>(to)[i] = static_cast<float>(value);
      return;
    case Element::kHalf:
      static_cast<uint16_t*>(to)[i] = tn_f32_to_f16(static_cast<float>(value));
      return;
    default:
      static_cast<uint16_t*>(to)[i] = tn_f32_to_bf16(static_cast<float>(value));
  }
}

// Matrices of a batch, stored by columns, with `step` elements from one to the next; op(matrix) is the transpose if it says so.
struct Matrix {
  const void* at;
  Element type;
  bool transposed;
  int64_t pitch, step;

  double operator()(int64_t copy, int64_t row, int64_t column) const {
    const int64_t place = transposed ? row * pitch + column : column * pitch + row;
    return load(at, type, copy * step + place);
  }
};

// Calls put(copy, row, column, the sum over k of a·b) for each element of `copies` results of m × n.
template <class Put>
void multiply(const Matrix& a, const Matrix& b, int64_t m, int64_t n, int64_t k, int64_t copies,
              const Put& put) {
  for (int64_t copy = 0; copy < copies; ++copy)
    for (int64_t column = 0; column < n; ++column)
      for (int64_t row = 0; row < m; ++row) {
        double sum = 0;
        for (int64_t p = 0; p < k; ++p) sum += a(copy, row, p) * b(copy, p, column);
        put(copy, row, column, sum);
      }
}

// Appends a line to the file TENON_FAKE_BLAS.
inline bool note(const char* line) {
  const char* const path = std::getenv("TENON_FAKE_BLAS");
  std::FILE* const file = path != nullptr ? std::fopen(path, "a") : nullptr;
  if (file == nullptr) return false;
  std::fprintf(file, "%s\n", line);
  std::fclose(file);
  return true;
}
inline std::atomic<int> products = 0;
// Writes the library's name once for each process that it computes for, to show that it was called at all.
inline void note_use(const char* library) {
  ++products;
  static const bool once = note(library);
  static_cast<void>(once);
}

}  // namespace fake_blas
