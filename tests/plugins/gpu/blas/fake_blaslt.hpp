// What the stand-ins for cuBLASLt and hipBLASLt share: their interfaces are one under two prefixes. Before it a stand-in says
//   BLASLT(name), BLASLT_VALUE(name), BLAS_VALUE(name)  as a plugin's blaslt_api.hpp does
//   STATUS(name)                                        how the library spells a status
// and, in the namespace fake_blaslt, its types, element_of, scale_of, compute_of, the Preference and Extra: attributes of a product that
// the other does not have. It refuses what the real ones would refuse.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <thread>

#include "fake_blas.hpp"

namespace fake_blaslt {

struct Description {
  ComputeType compute;
  DataType scale;
  decltype(BLAS_VALUE(OP_N)) a, b;
  BLASLT(Epilogue_t) epilogue;
  const void* bias;
  int32_t bias_type;
  Extra extra;
};

struct Layout {
  DataType type;
  uint64_t rows, columns;
  int64_t pitch, step;
  int32_t copies;
};

template <class T, class Handle>
T& as(Handle* handle) {
  return *reinterpret_cast<T*>(handle);
}
template <class T, class Handle>
Status make(Handle** made, const T& value) {
  *made = reinterpret_cast<Handle*>(new T(value));
  return STATUS(SUCCESS);
}
template <class T, class Handle>
Status drop(Handle* handle) {
  delete reinterpret_cast<T*>(handle);
  return STATUS(SUCCESS);
}

template <class T>
Status take(T& field, const void* value, size_t bytes) {
  if (bytes != sizeof field) return STATUS(INVALID_VALUE);
  std::memcpy(&field, value, bytes);
  return STATUS(SUCCESS);
}

inline double load(const void* from, DataType type, int64_t i) {
  return fake_blas::load(from, element_of(type), i);
}

// The problem that an algorithm was chosen for; it must not be used with less memory or alignment.
struct Algorithm {
  uint64_t workspace;
  uint32_t alignment;
  uint32_t is_slow;  // the first of several
};
static_assert(sizeof(Algorithm) <= sizeof(BLASLT(MatmulAlgo_t)));
constexpr uint64_t kWorkspace = 4096;
constexpr uint64_t kNone = 33;         // terms of a sum
constexpr uint64_t kVectorsOnly = 35;  // likewise, if operands may begin at any address

inline bool has_epilogue(const Description& d, int bit) {
  return (static_cast<int>(d.epilogue) & bit) != 0;
}

// Besides the product, writes Σ of op(B) over k for each column of C to where a bias would be read.
inline bool sums_b(const Description& d) { return has_epilogue(d, BLASLT_VALUE(EPILOGUE_BGRADB)); }

// op(A) is m × k, op(B) k × n, C m × n; pitches are distances between columns.
inline bool fits(const Description& d, const Layout& a, const Layout& b, const Layout& c) {
  const bool at = d.a == BLAS_VALUE(OP_T), bt = d.b == BLAS_VALUE(OP_T);
  const uint64_t m = at ? a.columns : a.rows, k = at ? a.rows : a.columns;
  const uint64_t n = bt ? b.rows : b.columns, other = bt ? b.columns : b.rows;
  if (m != c.rows || n != c.columns || k != other) return false;
  if (a.copies != c.copies || b.copies != c.copies) return false;
  for (const Layout* layout : {&a, &b, &c})
    if (layout->rows == 0 || layout->columns == 0 ||
        layout->pitch < static_cast<int64_t>(layout->rows))
      return false;
  if ((has_epilogue(d, BLASLT_VALUE(EPILOGUE_BIAS)) || sums_b(d)) &&
      (d.bias == nullptr || d.bias_type != static_cast<int32_t>(c.type)))
    return false;
  return d.scale == scale_of(a.type) && d.compute == compute_of(a.type) && d.extra.fits(d, a, b, c);
}

inline double finish(const Description& d, double sum) {
  if (has_epilogue(d, BLASLT_VALUE(EPILOGUE_RELU))) return sum < 0 ? 0 : sum;
  if (has_epilogue(d, BLASLT_VALUE(EPILOGUE_GELU))) {
    static const bool once = fake_blas::note("gelu");
    static_cast<void>(once);
    return 0.5 * sum * (1 + std::tanh(0.7978845608028654 * (sum + 0.044715 * sum * sum * sum)));
  }
  return sum;
}

}  // namespace fake_blaslt

extern "C" {

using namespace fake_blaslt;

Status BLASLT(MatmulDescCreate)(BLASLT(MatmulDesc_t) * made, ComputeType compute, DataType scale) {
  return make(made, Description{compute,
                                scale,
                                BLAS_VALUE(OP_N),
                                BLAS_VALUE(OP_N),
                                BLASLT_VALUE(EPILOGUE_DEFAULT),
                                nullptr,
                                -1,
                                {}});
}
Status BLASLT(MatmulDescDestroy)(BLASLT(MatmulDesc_t) description) {
  return drop<Description>(description);
}
Status BLASLT(MatmulDescSetAttribute)(BLASLT(MatmulDesc_t) description,
                                      BLASLT(MatmulDescAttributes_t) which, const void* value,
                                      size_t bytes) {
  Description& d = as<Description>(description);
  switch (which) {
    case BLASLT_VALUE(MATMUL_DESC_TRANSA):
      return take(d.a, value, bytes);
    case BLASLT_VALUE(MATMUL_DESC_TRANSB):
      return take(d.b, value, bytes);
    case BLASLT_VALUE(MATMUL_DESC_EPILOGUE):
      return take(d.epilogue, value, bytes);
    case BLASLT_VALUE(MATMUL_DESC_BIAS_POINTER):
      return take(d.bias, value, bytes);
    case BLASLT_VALUE(MATMUL_DESC_BIAS_DATA_TYPE):
      return take(d.bias_type, value, bytes);
    default:
      return d.extra.set(which, value, bytes);
  }
}

Status BLASLT(MatrixLayoutCreate)(BLASLT(MatrixLayout_t) * made, DataType type, uint64_t rows,
                                  uint64_t columns, int64_t pitch) {
  return make(made, Layout{type, rows, columns, pitch, 0, 1});
}
Status BLASLT(MatrixLayoutDestroy)(BLASLT(MatrixLayout_t) layout) { return drop<Layout>(layout); }
Status BLASLT(MatrixLayoutSetAttribute)(BLASLT(MatrixLayout_t) handle,
                                        BLASLT(MatrixLayoutAttribute_t) which, const void* value,
                                        size_t bytes) {
  Layout& layout = as<Layout>(handle);
  switch (which) {
    case BLASLT_VALUE(MATRIX_LAYOUT_BATCH_COUNT):
      return take(layout.copies, value, bytes);
    case BLASLT_VALUE(MATRIX_LAYOUT_STRIDED_BATCH_OFFSET):
      return take(layout.step, value, bytes);
    default:
      return STATUS(NOT_SUPPORTED);
  }
}

Status BLASLT(MatmulPreferenceCreate)(BLASLT(MatmulPreference_t) * made) {
  return make(made, Preference{});
}
Status BLASLT(MatmulPreferenceDestroy)(BLASLT(MatmulPreference_t) preference) {
  return drop<Preference>(preference);
}
Status BLASLT(MatmulPreferenceSetAttribute)(BLASLT(MatmulPreference_t) handle,
                                            BLASLT(MatmulPreferenceAttributes_t) which,
                                            const void* value, size_t bytes) {
  return as<Preference>(handle).set(which, value, bytes);
}

Status BLASLT(MatmulAlgoGetHeuristic)(BLASLT(Handle_t) handle, BLASLT(MatmulDesc_t) description,
                                      BLASLT(MatrixLayout_t) a_layout,
                                      BLASLT(MatrixLayout_t) b_layout,
                                      BLASLT(MatrixLayout_t) c_layout, BLASLT(MatrixLayout_t),
                                      BLASLT(MatmulPreference_t) opaque, int wanted,
                                      BLASLT(MatmulHeuristicResult_t) * found, int* count) {
  const Preference& preference = as<Preference>(opaque);
  const Description& how = as<Description>(description);
  const Layout& a = as<Layout>(a_layout);
  if (handle == nullptr || wanted < 1 || !fits(how, a, as<Layout>(b_layout), as<Layout>(c_layout)))
    return STATUS(INVALID_VALUE);
  if (!preference.keeps_precision()) return STATUS(INVALID_VALUE);
  *count = 0;
  // Not every type has every epilogue.
  if (element_of(a.type) == fake_blas::Element::kDouble &&
      (has_epilogue(how, BLASLT_VALUE(EPILOGUE_GELU)) || sums_b(how)))
    return STATUS(NOT_SUPPORTED);
  // Finds no algorithm for some sums, as the real library may: then another kernel computes them.
  const uint64_t terms = how.a == BLAS_VALUE(OP_T) ? a.rows : a.columns;
  if (terms == kNone || how.extra.has_nothing(terms)) return STATUS(SUCCESS);
  if (terms == kVectorsOnly && preference.alignment() < 16) return STATUS(SUCCESS);
  found->workspaceSize = preference.workspace < kWorkspace ? 0 : kWorkspace;
  const uint32_t several = wanted > 1 ? 1 : 0;
  *count = several != 0 ? 2 : 1;
  for (int i = 0; i < *count; ++i) {
    found[i] = found[0];
    as<Algorithm>(&found[i].algo) = {found[0].workspaceSize, preference.alignment(),
                                     i == 0 ? several : 0};
    found[i].state = STATUS(SUCCESS);
  }
  return STATUS(SUCCESS);
}

Status BLASLT(Matmul)(BLASLT(Handle_t) handle, BLASLT(MatmulDesc_t) description, const void* alpha,
                      const void* a, BLASLT(MatrixLayout_t) a_layout, const void* b,
                      BLASLT(MatrixLayout_t) b_layout, const void* beta, const void* c,
                      BLASLT(MatrixLayout_t) c_layout, void* d, BLASLT(MatrixLayout_t),
                      const BLASLT(MatmulAlgo_t) * algorithm, void* workspace,
                      size_t workspace_bytes, StreamHandle) {
  const Description& how = as<Description>(description);
  const Layout &la = as<Layout>(a_layout), &lb = as<Layout>(b_layout), &lc = as<Layout>(c_layout);
  if (handle == nullptr || !fits(how, la, lb, lc) || c != d) return STATUS(INVALID_VALUE);
  const Algorithm& chosen = as<const Algorithm>(algorithm);
  if (workspace_bytes < chosen.workspace || (chosen.workspace > 0 && workspace == nullptr))
    return STATUS(INVALID_VALUE);
  const bool biased = has_epilogue(how, BLASLT_VALUE(EPILOGUE_BIAS));
  for (const void* address :
       {a, b, static_cast<const void*>(d), biased || sums_b(how) ? how.bias : a})
    if (reinterpret_cast<uintptr_t>(address) % chosen.alignment != 0) return STATUS(INVALID_VALUE);
  if (load(alpha, how.scale, 0) != 1 || load(beta, how.scale, 0) != 0) return STATUS(NOT_SUPPORTED);
  if (chosen.is_slow != 0) {
    static const bool once = fake_blas::note("slow");
    static_cast<void>(once);
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
  }
  std::memset(workspace, 0x5a, chosen.workspace);
  const auto matrix = [](const void* at, const Layout& layout, auto op) {
    return fake_blas::Matrix{at, element_of(layout.type), op == BLAS_VALUE(OP_T), layout.pitch,
                             layout.step};
  };
  const auto size = [](uint64_t value) { return static_cast<int64_t>(value); };
  const double factor = how.extra.factor();
  fake_blas::note_use(kLibrary);
  fake_blas::multiply(matrix(a, la, how.a), matrix(b, lb, how.b), size(lc.rows), size(lc.columns),
                      size(how.a == BLAS_VALUE(OP_T) ? la.rows : la.columns), lc.copies,
                      [&](int64_t copy, int64_t row, int64_t column, double sum) {
                        sum *= factor;
                        if (biased) sum += load(how.bias, lc.type, row);
                        fake_blas::store(d, element_of(lc.type),
                                         copy * lc.step + column * lc.pitch + row,
                                         finish(how, sum));
                      });
  if (sums_b(how)) {
    static const bool once = fake_blas::note("sums");
    static_cast<void>(once);
    const bool transposed = how.b == BLAS_VALUE(OP_T);
    const int64_t terms = size(transposed ? lb.columns : lb.rows);
    for (int64_t column = 0; column < size(lc.columns); ++column) {
      double sum = 0;
      for (int64_t k = 0; k < terms; ++k)
        sum += load(b, lb.type, transposed ? k * lb.pitch + column : column * lb.pitch + k);
      fake_blas::store(const_cast<void*>(how.bias), element_of(lc.type), column, sum);
    }
  }
  return STATUS(SUCCESS);
}

}  // extern "C"
