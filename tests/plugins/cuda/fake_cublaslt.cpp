// A stand-in for libcublasLt on the host: the functions of cublaslt_functions.def, after NVIDIA's cuBLAS documentation ("Using the
// cuBLASLt API"), by plain loops in double precision. It shows what the plugin asks the library for, without a GPU; it refuses what
// the real one would refuse.
#include <cublasLt.h>

#include <cstdint>
#include <cstring>

#include "../gpu/blas/fake_blas.hpp"

namespace {

struct Description {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  cublasOperation_t a, b;
  cublasLtEpilogue_t epilogue;
  const void* bias;
};
static_assert(sizeof(Description) <= sizeof(cublasLtMatmulDescOpaque_t));

struct Layout {
  cudaDataType_t type;
  uint64_t rows, columns;
  int64_t pitch, step;
  int32_t copies;
};
static_assert(sizeof(Layout) <= sizeof(cublasLtMatrixLayoutOpaque_t));

struct Preference {
  uint64_t workspace;
  uint32_t alignments[4];
};

template <class T, class Opaque>
T& as(Opaque* opaque) {
  return *reinterpret_cast<T*>(opaque);
}

template <class T>
cublasStatus_t take(T& field, const void* value, size_t bytes) {
  if (bytes != sizeof field) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&field, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

fake_blas::Element element_of(cudaDataType_t type) {
  switch (type) {
    case CUDA_R_64F:
      return fake_blas::Element::kDouble;
    case CUDA_R_32F:
      return fake_blas::Element::kFloat;
    case CUDA_R_16F:
      return fake_blas::Element::kHalf;
    default:
      return fake_blas::Element::kBFloat;
  }
}
double load(const void* from, cudaDataType_t type, int64_t i) {
  return fake_blas::load(from, element_of(type), i);
}

// What an algorithm was chosen for: it may not be used with less.
struct Algorithm {
  uint64_t workspace;
  uint32_t alignment;
};
constexpr uint64_t kWorkspace = 4096;
constexpr uint64_t kNone = 33;  // terms of a sum

bool has_epilogue(cublasLtEpilogue_t epilogue, int bit) {
  return (static_cast<int>(epilogue) & bit) != 0;
}

// op(A) is m × k, op(B) k × n, C m × n; pitches reach over columns.
bool fits(const Description& d, const Layout& a, const Layout& b, const Layout& c) {
  const bool at = d.a == CUBLAS_OP_T, bt = d.b == CUBLAS_OP_T;
  const uint64_t m = at ? a.columns : a.rows, k = at ? a.rows : a.columns;
  const uint64_t n = bt ? b.rows : b.columns, other = bt ? b.columns : b.rows;
  if (m != c.rows || n != c.columns || k != other) return false;
  if (a.copies != c.copies || b.copies != c.copies) return false;
  for (const Layout* layout : {&a, &b, &c})
    if (layout->rows == 0 || layout->columns == 0 ||
        layout->pitch < static_cast<int64_t>(layout->rows))
      return false;
  return d.scale == (a.type == CUDA_R_64F ? CUDA_R_64F : CUDA_R_32F);
}

}  // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  static int one = 0;
  *handle = reinterpret_cast<cublasLtHandle_t>(&one);
  return CUBLAS_STATUS_SUCCESS;
}

const char* cublasLtGetStatusString(cublasStatus_t) { return "the stand-in refuses it"; }

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* made, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  *made = new cublasLtMatmulDescOpaque_t{};
  as<Description>(*made) = {compute, scale, CUBLAS_OP_N, CUBLAS_OP_N, CUBLASLT_EPILOGUE_DEFAULT,
                            nullptr};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
  delete description;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t opaque,
                                              cublasLtMatmulDescAttributes_t which,
                                              const void* value, size_t bytes) {
  Description& d = as<Description>(opaque);
  switch (which) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return take(d.a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return take(d.b, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return take(d.epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return take(d.bias, value, bytes);
    default:
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* made, cudaDataType_t type,
                                          uint64_t rows, uint64_t columns, int64_t pitch) {
  *made = new cublasLtMatrixLayoutOpaque_t{};
  as<Layout>(*made) = {type, rows, columns, pitch, 0, 1};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t opaque,
                                                cublasLtMatrixLayoutAttribute_t which,
                                                const void* value, size_t bytes) {
  Layout& layout = as<Layout>(opaque);
  switch (which) {
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      return take(layout.copies, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return take(layout.step, value, bytes);
    default:
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* made) {
  *made = new cublasLtMatmulPreferenceOpaque_t{};
  as<Preference>(*made) = {0, {256, 256, 256, 256}};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t opaque,
                                                    cublasLtMatmulPreferenceAttributes_t which,
                                                    const void* value, size_t bytes) {
  Preference& preference = as<Preference>(opaque);
  switch (which) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return take(preference.workspace, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
      return take(preference.alignments[0], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
      return take(preference.alignments[1], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
      return take(preference.alignments[2], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      return take(preference.alignments[3], value, bytes);
    default:
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t description,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t opaque, int wanted,
                                              cublasLtMatmulHeuristicResult_t* found, int* count) {
  const Preference& preference = as<Preference>(opaque);
  if (wanted < 1 ||
      !fits(as<Description>(description), as<Layout>(a), as<Layout>(b), as<Layout>(c)))
    return CUBLAS_STATUS_INVALID_VALUE;
  // Nothing for some sums, as the real one may have nothing: another kernel computes them.
  *count = 0;
  if ((as<Description>(description).a == CUBLAS_OP_T ? as<Layout>(a).rows
                                                     : as<Layout>(a).columns) == kNone)
    return CUBLAS_STATUS_SUCCESS;
  uint32_t least = preference.alignments[0];
  for (const uint32_t alignment : preference.alignments)
    least = alignment < least ? alignment : least;
  found->workspaceSize = preference.workspace < kWorkspace ? 0 : kWorkspace;
  as<Algorithm>(&found->algo) = {found->workspaceSize, least};
  found->state = CUBLAS_STATUS_SUCCESS;
  *count = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t description, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                              cublasLtMatrixLayout_t c_layout, void* d, cublasLtMatrixLayout_t,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              size_t workspace_bytes, cudaStream_t) {
  const Description& how = as<Description>(description);
  const Layout &la = as<Layout>(a_layout), &lb = as<Layout>(b_layout), &lc = as<Layout>(c_layout);
  if (!fits(how, la, lb, lc) || c != d) return CUBLAS_STATUS_INVALID_VALUE;
  const Algorithm& chosen = as<const Algorithm>(algorithm);
  if (workspace_bytes < chosen.workspace || (chosen.workspace > 0 && workspace == nullptr))
    return CUBLAS_STATUS_INVALID_VALUE;
  for (const void* address : {a, b, static_cast<const void*>(d)})
    if (reinterpret_cast<uintptr_t>(address) % chosen.alignment != 0)
      return CUBLAS_STATUS_INVALID_VALUE;
  if (load(alpha, how.scale, 0) != 1 || load(beta, how.scale, 0) != 0)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  std::memset(workspace, 0x5a, chosen.workspace);
  const auto matrix = [](const void* at, const Layout& layout, cublasOperation_t op) {
    return fake_blas::Matrix{at, element_of(layout.type), op == CUBLAS_OP_T, layout.pitch,
                             layout.step};
  };
  const auto size = [](uint64_t value) { return static_cast<int64_t>(value); };
  fake_blas::note_use();
  fake_blas::multiply(matrix(a, la, how.a), matrix(b, lb, how.b), size(lc.rows), size(lc.columns),
                      size(how.a == CUBLAS_OP_T ? la.rows : la.columns), lc.copies,
                      [&](int64_t copy, int64_t row, int64_t column, double sum) {
                        if (has_epilogue(how.epilogue, CUBLASLT_EPILOGUE_BIAS))
                          sum += load(how.bias, lc.type, row);
                        if (has_epilogue(how.epilogue, CUBLASLT_EPILOGUE_RELU) && sum < 0) sum = 0;
                        fake_blas::store(d, element_of(lc.type),
                                         copy * lc.step + column * lc.pitch + row, sum);
                      });
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
