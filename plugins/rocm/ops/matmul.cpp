// matmul and linear by rocBLAS: the bias is written to the result before the product is added, and the activation follows.
#include <algorithm>
#include <limits>

#include "blas_product.hpp"
#include "rocblas.hpp"

namespace tenon::gpu {
namespace {

// The workspace that rocBLAS allocates if it is given none.
constexpr uint64_t kWorkspace = 32 << 20;

// Its kernels map columns and copies to grid dimensions of at most 65535 blocks, which not all versions respect. A block has at least 16
// columns.
constexpr int64_t kMostCopies = 65535, kMostColumns = int64_t{16} * 65535;

bool takes(const tn_call&, const BlasProduct& product) {
  const Product& p = product.product;
  constexpr int64_t kMost = std::numeric_limits<rocblas_int>::max();
  // The columns of Cᵀ are our rows; they are processed in parts.
  if (std::max({p.n, p.k, product.a.pitch, product.b.pitch}) > kMost) return false;
  return rocblas() != nullptr;
}

struct Types {
  rocblas_datatype element, compute;
};
Types types_of(tn_dtype dtype) {
  switch (dtype) {
    case TN_DTYPE_F16:
      return {rocblas_datatype_f16_r, rocblas_datatype_f32_r};
    case TN_DTYPE_BF16:
      return {rocblas_datatype_bf16_r, rocblas_datatype_f32_r};
    case TN_DTYPE_F64:
      return {rocblas_datatype_f64_r, rocblas_datatype_f64_r};
    default:
      return {rocblas_datatype_f32_r, rocblas_datatype_f32_r};
  }
}

// A number in the type that the library computes in.
struct Scale {
  Scale(const Types& types, float value)
      : single(value), wide(value), is_wide(types.compute == rocblas_datatype_f64_r) {}
  const void* get() const { return is_wide ? static_cast<const void*>(&wide) : &single; }
  float single;
  double wide;
  bool is_wide;
};

rocblas_operation operation_of(const BlasSide& side) {
  return side.transposed ? rocblas_operation_transpose : rocblas_operation_none;
}

// `rows` of our rows and `copies` of the batch, within the library's limits.
void multiply_part(rocblas_handle handle, const tn_call& call, const BlasProduct& product,
                   const BlasPlace& at, int64_t rows, int64_t copies) {
  const Product& p = product.product;
  const Types types = types_of(output(call).dtype);
  const Scale alpha(types, 1), beta(types, p.bias != nullptr ? 1 : 0);
  const auto count = [](int64_t value) { return static_cast<rocblas_int>(value); };
  check(rocblas()->rocblas_gemm_strided_batched_ex(
            handle, operation_of(product.b), operation_of(product.a), count(p.n), count(rows),
            count(p.k), alpha.get(), at.b, types.element, count(product.b.pitch), product.b_step,
            at.a, types.element, count(product.a.pitch), product.a_step, beta.get(), at.c,
            types.element, count(p.n), p.m * p.n, at.c, types.element, count(p.n), p.m * p.n,
            count(copies), types.compute, rocblas_gemm_algo_standard, 0, rocblas_gemm_flags_none),
        "multiplying matrices");
}

class Plan final : public BlasPlan {
 public:
  Plan() { workspace = kWorkspace; }

 private:
  void multiply(const tn_call& call, const BlasProduct& product) const override;
};

void Plan::multiply(const tn_call& call, const BlasProduct& product) const {
  const Product& p = product.product;
  const int64_t size = size_of(output(call).dtype);
  if (p.bias != nullptr) repeat_row(call, output(call), *p.bias, p.bias_step, p.n);
  const RocblasHandle handle(call, workspace);
  for (int64_t i = 0; i < blas_calls(product); ++i) {
    const BlasPlace first = blas_place(call, product, i);
    for (int64_t copy = 0; copy < product.copies; copy += kMostCopies)
      for (int64_t row = 0; row < p.m; row += kMostColumns) {
        const BlasPlace at = {first.a + (copy * product.a_step + row * p.a.row) * size,
                              first.b + copy * product.b_step * size,
                              first.c + (copy * p.m + row) * p.n * size};
        multiply_part(handle, call, product, at, std::min(p.m - row, kMostColumns),
                      std::min(product.copies - copy, kMostCopies));
      }
  }
}

std::unique_ptr<BlasPlan> prepare(const tn_call&, const BlasProduct&) {
  return std::make_unique<Plan>();
}

constexpr BlasVendor kVendor = {"rocBLAS", TN_MASK_FLOAT, 10, "TENON_ROCM_ROCBLAS_LEAST",
                                takes,     prepare};

}  // namespace

std::vector<tn_kernel> rocblas_kernels() { return blas_kernels(kVendor); }

}  // namespace tenon::gpu
