// matmul and linear by cuBLASLt. A plan holds the descriptors and the algorithm that the library's heuristic chose for the shapes.
#include <cstdlib>
#include <memory>

#include "backend.hpp"
#include "blas_product.hpp"
#include "cublaslt.hpp"

namespace tenon::gpu {
namespace {

constexpr uint64_t kMostWorkspace = 32 << 20;

bool takes(const tn_call&, const BlasProduct& product) {
  const Product& p = product.product;
  if (p.bias != nullptr && p.bias_step != 1 && p.n != 1) return false;
  return cublaslt() != nullptr;
}

// ---- Plans --------------------------------------------------------------------------------------------------------------

#define TENON_CUBLAS_HANDLE(Name, Handle, destroy)                        \
  struct Name##Deleter {                                                  \
    void operator()(Handle handle) const { cublaslt()->destroy(handle); } \
  };                                                                      \
  using Name = std::unique_ptr<std::remove_pointer_t<Handle>, Name##Deleter>

TENON_CUBLAS_HANDLE(Description, cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy);
TENON_CUBLAS_HANDLE(MatrixLayout, cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy);
TENON_CUBLAS_HANDLE(Preference, cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy);

template <class T>
void set(const Description& description, cublasLtMatmulDescAttributes_t which, const T& value) {
  check(cublaslt()->cublasLtMatmulDescSetAttribute(description.get(), which, &value, sizeof value),
        "describing a product");
}
template <class T>
void set(const MatrixLayout& layout, cublasLtMatrixLayoutAttribute_t which, const T& value) {
  check(cublaslt()->cublasLtMatrixLayoutSetAttribute(layout.get(), which, &value, sizeof value),
        "describing a matrix");
}
template <class T>
void set(const Preference& preference, cublasLtMatmulPreferenceAttributes_t which, const T& value) {
  check(cublaslt()->cublasLtMatmulPreferenceSetAttribute(preference.get(), which, &value,
                                                         sizeof value),
        "describing what an algorithm may use");
}

struct Types {
  cudaDataType_t element, scale;
  cublasComputeType_t compute;
};
bool allows_tf32() {
  static const bool yes = [] {
    const char* const value = std::getenv("TENON_CUDA_TF32");
    return value != nullptr && std::string_view(value) == "1";
  }();
  return yes;
}
Types types_of(tn_dtype dtype) {
  switch (dtype) {
    case TN_DTYPE_F16:
      return {CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case TN_DTYPE_BF16:
      return {CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case TN_DTYPE_F64:
      return {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F};
    default:
      return {CUDA_R_32F, CUDA_R_32F,
              allows_tf32() ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F};
  }
}

// Algorithms may ask for alignment that the memory of a call has or has not, so there is one for each.
enum Alignment { kLoose, kVector, kAlignments };
constexpr uint32_t kVectorBytes = 16;

struct Plan final : BlasPlan {
  Description description;
  MatrixLayout a, b, c;
  cublasLtMatmulAlgo_t algorithms[kAlignments] = {};

 private:
  void multiply(const tn_call& call, const BlasProduct& product) const override;
};

MatrixLayout make_layout(const Types& types, int64_t rows, int64_t columns, int64_t pitch,
                         int64_t copies, int64_t step) {
  cublasLtMatrixLayout_t made = nullptr;
  check(cublaslt()->cublasLtMatrixLayoutCreate(&made, types.element, static_cast<uint64_t>(rows),
                                               static_cast<uint64_t>(columns), pitch),
        "describing a matrix");
  MatrixLayout layout(made);
  set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<int32_t>(copies));
  set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, step);
  return layout;
}
MatrixLayout make_layout(const Types& types, const BlasSide& side, int64_t along, int64_t across,
                         int64_t copies, int64_t step) {
  return side.transposed ? make_layout(types, across, along, side.pitch, copies, step)
                         : make_layout(types, along, across, side.pitch, copies, step);
}

// What the library's heuristic puts first. Throws TN_UNIMPLEMENTED where it has nothing.
cublasLtMatmulHeuristicResult_t choose(const Plan& plan, uint32_t device, uint32_t alignment) {
  cublasLtMatmulPreference_t made = nullptr;
  check(cublaslt()->cublasLtMatmulPreferenceCreate(&made), "describing what an algorithm may use");
  const Preference preference(made);
  set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kMostWorkspace);
  for (const auto which :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    set(preference, which, alignment);
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  check(cublaslt()->cublasLtMatmulAlgoGetHeuristic(
            cublaslt_handle(device), plan.description.get(), plan.b.get(), plan.a.get(),
            plan.c.get(), plan.c.get(), preference.get(), 1, &found, &count),
        "choosing an algorithm");
  if (count == 0) sdk::fail(TN_UNIMPLEMENTED, "[cuda] cuBLASLt has no algorithm for this product");
  return found;
}

std::unique_ptr<BlasPlan> prepare(const tn_call& call, const BlasProduct& product) {
  const Product& p = product.product;
  const tn_dtype dtype = output(call).dtype;
  const Types types = types_of(dtype);
  auto plan = std::make_unique<Plan>();
  cublasLtMatmulDesc_t made = nullptr;
  check(cublaslt()->cublasLtMatmulDescCreate(&made, types.compute, types.scale),
        "describing a product");
  plan->description.reset(made);
  const auto operation = [](const BlasSide& side) {
    return side.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  };
  // The library's A is our Bᵀ.
  set(plan->description, CUBLASLT_MATMUL_DESC_TRANSA, operation(product.b));
  set(plan->description, CUBLASLT_MATMUL_DESC_TRANSB, operation(product.a));
  plan->activates = product.activation == kRelu;
  const cublasLtEpilogue_t epilogue =
      p.bias != nullptr ? (plan->activates ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS)
                        : (plan->activates ? CUBLASLT_EPILOGUE_RELU : CUBLASLT_EPILOGUE_DEFAULT);
  set(plan->description, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
  plan->a = make_layout(types, product.a, p.k, p.m, product.copies, product.a_step);
  plan->b = make_layout(types, product.b, p.n, p.k, product.copies, product.b_step);
  plan->c = make_layout(types, p.n, p.m, p.n, product.copies, p.m * p.n);
  const uint32_t alignments[kAlignments] = {size_of(dtype), kVectorBytes};
  for (int i = 0; i < kAlignments; ++i) {
    const auto found = choose(*plan, call.device_index, alignments[i]);
    plan->algorithms[i] = found.algo;
    plan->workspace = std::max<uint64_t>(plan->workspace, found.workspaceSize);
  }
  return plan;
}

// ---- Runs ---------------------------------------------------------------------------------------------------------------

bool is_aligned(const void* address) {
  return reinterpret_cast<uintptr_t>(address) % kVectorBytes == 0;
}

void Plan::multiply(const tn_call& call, const BlasProduct& product) const {
  const Product& p = product.product;
  const Stream& stream = stream_of(call);
  const float one = 1, zero = 0;
  const double long_one = 1, long_zero = 0;
  const bool is_double = output(call).dtype == TN_DTYPE_F64;
  // The bias is part of the description, which several threads may use: each call has its own.
  const cublasLtMatmulDesc_t shared = description.get();
  cublasLtMatmulDescOpaque_t own = *shared;
  if (p.bias != nullptr) {
    const void* const bias = p.bias->data;
    check(cublaslt()->cublasLtMatmulDescSetAttribute(&own, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias,
                                                     sizeof bias),
          "describing a product");
  }
  for (int64_t i = 0; i < blas_calls(product); ++i) {
    const BlasPlace at = blas_place(call, product, i);
    const bool aligned = is_aligned(at.a) && is_aligned(at.b) && is_aligned(at.c);
    check(cublaslt()->cublasLtMatmul(
              cublaslt_handle(call.device_index), &own,
              is_double ? static_cast<const void*>(&long_one) : &one, at.b, b.get(), at.a, a.get(),
              is_double ? static_cast<const void*>(&long_zero) : &zero, at.c, c.get(), at.c,
              c.get(), &algorithms[aligned ? kVector : kLoose], call.scratch, workspace,
              static_cast<cudaStream_t>(stream.handle())),
          "multiplying matrices");
  }
}

constexpr BlasVendor kVendor = {"cuBLASLt", TN_MASK_FLOAT, 10, "TENON_CUDA_CUBLASLT_LEAST",
                                takes,      prepare};

}  // namespace

const std::vector<tn_kernel>& vendor_kernels() {
  static const std::vector<tn_kernel> kernels = blas_kernels(kVendor);
  return kernels;
}

}  // namespace tenon::gpu
