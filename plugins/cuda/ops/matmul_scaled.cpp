// scaled_matmul by cuBLASLt, whose 8-bit products require compute capability 8.9. It takes both operands along k ("TN"), columns and k in
// multiples of 16, addresses in multiples of 16 bytes, and at most one E5M2. The plugin's own kernel takes the rest.
#include <mutex>

#include "backend.hpp"
#include "blaslt.hpp"
#include "library_kernel.hpp"
#include "product.hpp"

namespace tenon::gpu {
namespace {

using namespace blaslt;

constexpr uint32_t kAda = 89;
constexpr int64_t kMultiple = 16;  // elements, and bytes

bool is_multiple(int64_t size) { return size % kMultiple == 0; }
bool is_aligned(const tn_view& view) { return gpu::is_aligned(view.data, kMultiple); }

DataType element_of(tn_dtype dtype) {
  if (dtype == TN_DTYPE_F8_E4M3) return CUDA_R_8F_E4M3;
  return dtype == TN_DTYPE_F8_E5M2 ? CUDA_R_8F_E5M2 : types_of(dtype).element;
}

// The library's A is our b, so it gets Bᵀ and A as they are.
class ScaledPlan final : public LibraryPlan {
 public:
  explicit ScaledPlan(const tn_call& call);

 private:
  void run(const tn_call& call) const override;

  Description description_;
  MatrixLayout a_, b_, c_;
  cublasLtMatmulAlgo_t algorithm_ = {};
  mutable std::mutex addresses_;  // guards the addresses in the description, which threads share
};

ScaledPlan::ScaledPlan(const tn_call& call) {
  const Product p = read_scaled_matmul(call);
  const DataType result = element_of(output(call).dtype);
  description_ = make_description({result, CUDA_R_32F, CUBLAS_COMPUTE_32F}, {true, p.b.column},
                                  {false, p.a.row});
  // Some heuristics check whether there are scales.
  const void* const somewhere = reinterpret_cast<const void*>(uintptr_t{kMultiple});
  set(description_, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, somewhere);
  set(description_, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, somewhere);
  if (p.bias != nullptr) {
    set(description_, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set(description_, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, static_cast<int32_t>(result));
    set(description_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, somewhere);
  }
  b_ = make_layout(element_of(p.b.view->dtype), p.k, p.n, p.b.column, 1, 0);
  a_ = make_layout(element_of(p.a.view->dtype), p.k, p.m, p.m == 1 ? p.k : p.a.row, 1, 0);
  c_ = make_layout(result, p.n, p.m, p.n, 1, 0);
  const Heuristic found = choose(call, description_, b_, a_, c_, kMultiple, 1).front();
  algorithm_ = found.algo;
  workspace = found.workspaceSize;
}

void ScaledPlan::run(const tn_call& call) const {
  const Product p = read_scaled_matmul(call);
  const float one = 1, zero = 0;
  // A single column is computed as a row.
  const bool swapped = p.b.view != &input(call, arg::scaled_matmul::b);
  const void* const scale_a = input(call, arg::scaled_matmul::scale_a).data;
  const void* const scale_b = input(call, arg::scaled_matmul::scale_b).data;
  void* const to = output(call).data;
  const std::lock_guard lock(addresses_);
  set(description_, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, swapped ? scale_a : scale_b);
  set(description_, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, swapped ? scale_b : scale_a);
  if (p.bias != nullptr) {
    const void* const bias = p.bias->data;
    set(description_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  }
  check(cublaslt()->cublasLtMatmul(handle_of(call), description_.get(), &one, p.b.view->data,
                                   b_.get(), p.a.view->data, a_.get(), &zero, to, c_.get(), to,
                                   c_.get(), &algorithm_, call.scratch, workspace,
                                   static_cast<StreamHandle>(stream_of(call).handle())),
        "multiplying matrices of 8-bit floats");
}

class ScaledMatmul final : public LibraryKernel {
 public:
  ScaledMatmul()
      : LibraryKernel({TN_SCHEMA_SCALED_MATMUL, "cuBLASLt", TN_MASK_F8, TN_KERNEL_STRIDED}) {}

 private:
  bool takes(const tn_call& call) const override {
    const Product p = read_scaled_matmul(call);
    if (p.work() == 0 || p.work() < least_ || !is_multiple(p.n) || !is_multiple(p.k)) return false;
    const bool lie = p.a.column == 1 && p.b.row == 1 && p.b.column >= p.k &&
                     is_multiple(p.b.column) &&
                     (p.m == 1 || (p.a.row >= p.k && is_multiple(p.a.row)));
    const bool both_wide =
        p.a.view->dtype == TN_DTYPE_F8_E5M2 && p.b.view->dtype == TN_DTYPE_F8_E5M2;
    if (!lie || both_wide) return false;
    if (!is_aligned(*p.a.view) || !is_aligned(*p.b.view) || !is_aligned(output(call))) return false;
    // It has no f32 bias, and only adds one for columns.
    if (p.bias != nullptr &&
        (output(call).dtype == TN_DTYPE_F32 || p.bias_step != 1 || !is_aligned(*p.bias)))
      return false;
    return backend().device(call.device_index).architecture >= kAda && cublaslt() != nullptr;
  }
  std::unique_ptr<LibraryPlan> prepare(const tn_call& call) const override {
    return std::make_unique<ScaledPlan>(call);
  }

  const double least_ = number_from("TENON_CUDA_CUBLASLT_LEAST", 1 << 15);
};

}  // namespace

tn_kernel cublaslt_scaled_matmul() {
  static const ScaledMatmul kernel;
  return library_kernel(kernel);
}

}  // namespace tenon::gpu
