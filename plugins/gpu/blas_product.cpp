#include "blas_product.hpp"

#include <algorithm>
#include <deque>

#include "timeline.hpp"

namespace tenon::gpu {
namespace {

// A matrix whose dimension `along` is contiguous is already column-major; otherwise it is transposed.
bool lies(int64_t along_step, int64_t along, int64_t across_step, int64_t across) {
  return (along_step == 1 || along == 1) && (across_step >= along || across == 1);
}
bool has_side(int64_t along_step, int64_t along, int64_t across_step, int64_t across) {
  return lies(along_step, along, across_step, across) ||
         lies(across_step, across, along_step, along);
}
BlasSide side_of(int64_t along_step, int64_t along, int64_t across_step, int64_t across) {
  if (lies(along_step, along, across_step, across))
    return {false, across == 1 ? along : across_step};
  return {true, along == 1 ? across : along_step};
}

BlasProduct with_sides(const Product& p) {
  BlasProduct made;
  made.product = p;
  // Bᵀ runs along n, Aᵀ along k.
  made.b = side_of(p.b.column, p.n, p.b.row, p.k);
  made.a = side_of(p.a.column, p.k, p.a.row, p.m);
  if (p.ndim == 0) return made;
  made.outer = p.ndim - 1;
  made.copies = p.shape[made.outer];
  made.a_step = p.a.batch[made.outer];
  made.b_step = p.b.batch[made.outer];
  return made;
}
BlasProduct matmul_of(const tn_call& call) { return with_sides(read_matmul(call)); }
BlasProduct linear_of(const tn_call& call) {
  BlasProduct made = with_sides(read_linear(call));
  made.activation = activation_of(text_arg(call, arg::linear::activation));
  return made;
}

BlasProduct weight_gradient_of(const tn_call& call) {
  BlasProduct made = with_sides(read_weight_gradient(call));
  made.sums = call.outs[arg::linear_backward_weight::result::gbias];
  return made;
}

class BlasKernel final : public LibraryKernel {
 public:
  BlasKernel(const BlasVendor& vendor, std::string_view schema,
             BlasProduct (*read)(const tn_call& call), uint32_t flags)
      : LibraryKernel({schema, vendor.library, vendor.dtypes, flags, vendor.priority}),
        vendor_(vendor),
        read_(read),
        least_(number_from(vendor.least_variable, 1 << 15)) {}

  bool takes(const tn_call& call) const override {
    const BlasProduct made = read_(call);
    const Product& p = made.product;
    if (p.empty() || p.k == 0) return false;
    if (p.work() < least_) return false;
    if (!has_side(p.b.column, p.n, p.b.row, p.k) || !has_side(p.a.column, p.k, p.a.row, p.m))
      return false;
    for (uint32_t d = 0; d < p.ndim; ++d)
      if (p.a.batch[d] < 0 || p.b.batch[d] < 0) return false;
    return vendor_.takes(call, made);
  }

  std::unique_ptr<LibraryPlan> prepare(const tn_call& call) const override {
    const BlasProduct product = read_(call);
    std::unique_ptr<BlasPlan> plan = vendor_.prepare(call, product);
    plan->read = read_;
    if (product.sums != nullptr && !plan->adds_up)
      plan->workspace = std::max(plan->workspace, sum_columns_scratch(*product.product.a.view));
    if (plan->takes_any_memory()) return plan;
    plan->otherwise = plan_of_next(*this, call);
    if (plan->otherwise == nullptr)
      sdk::fail(TN_UNIMPLEMENTED, "[", rt::kName,
                "] no algorithm for operands at arbitrary addresses");
    plan->workspace = std::max(plan->workspace, plan->otherwise->workspace);
    return plan;
  }

 private:
  const BlasVendor& vendor_;
  BlasProduct (*read_)(const tn_call& call);
  double least_;  // multiplications
};

}  // namespace

BlasPlace blas_place(const tn_call& call, const BlasProduct& product, int64_t index) {
  const Product& p = product.product;
  const int64_t size = size_of(output(call).dtype);
  const Product::Offsets at = p.offsets(index, product.outer);
  return {static_cast<const char*>(p.a.view->data) + at.a * size,
          static_cast<const char*>(p.b.view->data) + at.b * size,
          static_cast<char*>(output(call).data) + index * product.copies * p.m * p.n * size};
}

void BlasPlan::run(const tn_call& call) const {
  const BlasProduct product = read(call);
  if (!suits(call, product)) return otherwise->run(call);
  multiply(call, product);
  Timed::launched();
  if (product.activation != kNone && !activates) activate(call, output(call), product.activation);
  if (product.sums != nullptr && !adds_up)
    sum_columns(call, *product.product.a.view, *product.sums);
}

std::vector<tn_kernel> blas_kernels(const BlasVendor& vendor) {
  static std::deque<BlasKernel>& kept = *new std::deque<BlasKernel>;
  return {
      library_kernel(kept.emplace_back(vendor, TN_SCHEMA_MATMUL, matmul_of, TN_KERNEL_STRIDED)),
      library_kernel(kept.emplace_back(vendor, TN_SCHEMA_LINEAR, linear_of, TN_KERNEL_STRIDED)),
      library_kernel(
          kept.emplace_back(vendor, TN_SCHEMA_LINEAR_BACKWARD_WEIGHT, weight_gradient_of, 0)),
  };
}

}  // namespace tenon::gpu
