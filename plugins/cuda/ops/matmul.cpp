// matmul and linear by cuBLASLt. A plan holds the descriptors and the algorithm that the library's heuristic chose for the shapes.
#include <cstdlib>
#include <memory>

#include "backend.hpp"
#include "cublaslt.hpp"
#include "kernels.hpp"
#include "product.hpp"
#include "range.hpp"

namespace tenon::gpu {
namespace {

enum Op : uint32_t { kMatmul, kLinear };

constexpr uint64_t kMostWorkspace = 32 << 20;
// Products of less multiplications are not worth the library's fixed cost: the plugin's own kernels take them.
int64_t least_work() {
  static const int64_t least = [] {
    const char* const value = std::getenv("TENON_CUDA_CUBLASLT_LEAST");
    return value != nullptr ? std::strtoll(value, nullptr, 10) : 1 << 15;
  }();
  return least;
}

Product read(const tn_call& call, uint32_t op) {
  return op == kMatmul ? read_matmul(call) : read_linear(call);
}
Activation activation_of_call(const tn_call& call, uint32_t op) {
  return op == kLinear ? activation_of(text_arg(call, 3)) : kNone;
}

// cuBLASLt stores by columns, so the rows of our result are its columns: it is given Cᵀ = Bᵀ Aᵀ. A matrix of ours whose
// `along` dimension lies contiguous is one of its columns as it is; otherwise it is transposed.
struct Side {
  bool transposed;
  int64_t pitch;
};
bool takes(int64_t along_step, int64_t along, int64_t across_step, int64_t across) {
  const auto fits = [](int64_t contiguous, int64_t size, int64_t pitch, int64_t count) {
    return (contiguous == 1 || size == 1) && (pitch >= size || count == 1);
  };
  return fits(along_step, along, across_step, across) ||
         fits(across_step, across, along_step, along);
}
Side side_of(int64_t along_step, int64_t along, int64_t across_step, int64_t across) {
  const bool as_it_is = (along_step == 1 || along == 1) && (across_step >= along || across == 1);
  if (as_it_is) return {false, across == 1 ? along : across_step};
  return {true, along == 1 ? across : along_step};
}

// Bᵀ runs along n, Aᵀ along k.
Side side_of_b(const Product& p) { return side_of(p.b.column, p.n, p.b.row, p.k); }
Side side_of_a(const Product& p) { return side_of(p.a.column, p.k, p.a.row, p.m); }

bool supports(const tn_call& call, uint32_t op) {
  const Product p = read(call, op);
  if (p.empty() || p.k == 0 || p.m * p.n * p.k * p.batches < least_work()) return false;
  if (!takes(p.b.column, p.n, p.b.row, p.k) || !takes(p.a.column, p.k, p.a.row, p.m)) return false;
  if (p.bias != nullptr && p.bias_step != 1 && p.n != 1) return false;
  for (uint32_t d = 0; d < p.ndim; ++d)
    if (p.a.batch[d] < 0 || p.b.batch[d] < 0) return false;
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

struct Plan {
  Description description;
  MatrixLayout a, b, c;
  cublasLtMatmulAlgo_t algorithms[kAlignments] = {};
  uint64_t workspace = 0;
  uint32_t outer = 0;  // dimensions of the batch that calls loop over
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
MatrixLayout make_layout(const Types& types, const Side& side, int64_t along, int64_t across,
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

std::unique_ptr<Plan> make_plan(const tn_call& call, uint32_t op) {
  const Product p = read(call, op);
  const tn_dtype dtype = output(call).dtype;
  const Types types = types_of(dtype);
  auto plan = std::make_unique<Plan>();
  cublasLtMatmulDesc_t made = nullptr;
  check(cublaslt()->cublasLtMatmulDescCreate(&made, types.compute, types.scale),
        "describing a product");
  plan->description.reset(made);
  const Side a = side_of_a(p), b = side_of_b(p);
  // The library's A is our Bᵀ.
  set(plan->description, CUBLASLT_MATMUL_DESC_TRANSA, b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(plan->description, CUBLASLT_MATMUL_DESC_TRANSB, a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  const bool relu = activation_of_call(call, op) == kRelu;
  const cublasLtEpilogue_t epilogue =
      p.bias != nullptr ? (relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS)
                        : (relu ? CUBLASLT_EPILOGUE_RELU : CUBLASLT_EPILOGUE_DEFAULT);
  set(plan->description, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
  plan->outer = p.ndim == 0 ? 0 : p.ndim - 1;
  const int64_t copies = p.ndim == 0 ? 1 : p.shape[plan->outer];
  const auto step = [&](const Product::Operand& operand) {
    return p.ndim == 0 ? int64_t{0} : operand.batch[plan->outer];
  };
  plan->a = make_layout(types, a, p.k, p.m, copies, step(p.a));
  plan->b = make_layout(types, b, p.n, p.k, copies, step(p.b));
  plan->c = make_layout(types, p.n, p.m, p.n, copies, p.m * p.n);
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

// The batch's place in an operand, counted over the dimensions that calls loop over.
const char* at(const Product& p, const Product::Operand& operand, uint32_t outer, int64_t i,
               uint32_t size) {
  int64_t offset = 0;
  for (uint32_t d = outer; d-- > 0; i /= p.shape[d]) offset += i % p.shape[d] * operand.batch[d];
  return static_cast<const char*>(operand.view->data) + offset * size;
}

void run(const Plan& plan, const tn_call& call, uint32_t op) {
  const Product p = read(call, op);
  const uint32_t size = size_of(output(call).dtype);
  const Stream& stream = stream_of(call);
  const float one = 1, zero = 0;
  const double long_one = 1, long_zero = 0;
  const bool is_double = output(call).dtype == TN_DTYPE_F64;
  // The bias is part of the description, which several threads may use: each call has its own.
  const cublasLtMatmulDesc_t shared = plan.description.get();
  cublasLtMatmulDescOpaque_t own = *shared;
  if (p.bias != nullptr) {
    const void* const bias = p.bias->data;
    check(cublaslt()->cublasLtMatmulDescSetAttribute(&own, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias,
                                                     sizeof bias),
          "describing a product");
  }
  const int64_t copies = p.ndim == 0 ? 1 : p.shape[plan.outer];
  for (int64_t i = 0; i < p.batches / copies; ++i) {
    const char* const a = at(p, p.a, plan.outer, i, size);
    const char* const b = at(p, p.b, plan.outer, i, size);
    char* const c = static_cast<char*>(output(call).data) + i * copies * p.m * p.n * size;
    const bool aligned = is_aligned(a) && is_aligned(b) && is_aligned(c);
    check(cublaslt()->cublasLtMatmul(
              cublaslt_handle(call.device_index), &own,
              is_double ? static_cast<const void*>(&long_one) : &one, b, plan.b.get(), a,
              plan.a.get(), is_double ? static_cast<const void*>(&long_zero) : &zero, c,
              plan.c.get(), c, plan.c.get(), &plan.algorithms[aligned ? kVector : kLoose],
              call.scratch, plan.workspace, static_cast<cudaStream_t>(stream.handle())),
          "multiplying matrices");
  }
  const Activation activation = activation_of_call(call, op);
  if (activation != kNone && activation != kRelu) activate(call, output(call), activation);
}

template <uint32_t op>
tn_kernel make_kernel(std::string_view schema) {
  constexpr uint64_t kTypes = TN_MASK_FLOAT;
  tn_kernel kernel = sdk::make_kernel(
      schema, kTypes,
      [](void*, void* plan, const tn_call* call) -> tn_status* {
        return sdk::guard([&] {
          const Running here(*call, op == kMatmul ? "matmul" : "linear", "cuBLASLt");
          run(*static_cast<const Plan*>(plan), *call, op);
        });
      },
      10, TN_KERNEL_STRIDED);
  kernel.supports = [](void*, const tn_call* call, uint32_t* yes) -> tn_status* {
    return sdk::guard([&] { *yes = supports(*call, op); });
  };
  kernel.prepare = [](void*, const tn_call* call, void** plan) -> tn_status* {
    return sdk::guard([&] { *plan = make_plan(*call, op).release(); });
  };
  kernel.scratch_size = [](void*, const tn_call*, void* plan) {
    return static_cast<const Plan*>(plan)->workspace;
  };
  kernel.release = [](void*, void* plan) { delete static_cast<Plan*>(plan); };
  return kernel;
}

}  // namespace

const std::vector<tn_kernel>& vendor_kernels() {
  static const std::vector<tn_kernel> kernels = {make_kernel<kMatmul>(TN_SCHEMA_MATMUL),
                                                 make_kernel<kLinear>(TN_SCHEMA_LINEAR)};
  return kernels;
}

}  // namespace tenon::gpu
