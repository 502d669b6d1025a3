#include "blas_product.hpp"

#include <cstdlib>

#include "backend.hpp"
#include "own_kernel.hpp"
#include "range.hpp"

namespace tenon::gpu {
namespace {

enum Op : uint32_t { kMatmul, kLinear };

struct BlasKernel {
  const BlasVendor* vendor;
  Op op;
  double least_work;  // multiplications
};
const BlasKernel& kernel_of(void* self) { return *static_cast<const BlasKernel*>(self); }
std::string_view schema_of(Op op) { return op == kMatmul ? TN_SCHEMA_MATMUL : TN_SCHEMA_LINEAR; }

// Products of less are not worth a library's fixed cost.
double least_work(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr ? std::strtod(value, nullptr) : 1 << 15;
}

// A matrix of ours whose `along` dimension lies contiguous is a column as it is; otherwise it is transposed.
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

BlasProduct read(const tn_call& call, Op op) {
  BlasProduct made;
  made.product = op == kMatmul ? read_matmul(call) : read_linear(call);
  const Product& p = made.product;
  if (op == kLinear) made.activation = activation_of(text_arg(call, 3));
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

bool takes(const tn_call& call, const BlasKernel& kernel) {
  const BlasProduct made = read(call, kernel.op);
  const Product& p = made.product;
  if (p.empty() || p.k == 0) return false;
  const double work = static_cast<double>(p.m) * static_cast<double>(p.n) *
                      static_cast<double>(p.k) * static_cast<double>(p.batches);
  if (work < kernel.least_work) return false;
  if (!has_side(p.b.column, p.n, p.b.row, p.k) || !has_side(p.a.column, p.k, p.a.row, p.m))
    return false;
  for (uint32_t d = 0; d < p.ndim; ++d)
    if (p.a.batch[d] < 0 || p.b.batch[d] < 0) return false;
  return kernel.vendor->takes(made);
}

void run(const tn_call& call, const BlasKernel& kernel, const BlasPlan& plan) {
  const Running here(call, kernel.op == kMatmul ? "matmul" : "linear", kernel.vendor->library);
  const BlasProduct product = read(call, kernel.op);
  kernel.vendor->run(plan, call, product);
  Timed::launched();
  if (product.activation != kNone && !plan.activates)
    activate(call, output(call), product.activation);
}

std::unique_ptr<BlasPlan> make_plan(const tn_call& call, const BlasKernel& kernel) {
  const BlasProduct product = read(call, kernel.op);
  try {
    return kernel.vendor->prepare(call, product);
  } catch (const sdk::Error& error) {
    if (error.code() != TN_UNIMPLEMENTED || !product.product.fits()) throw;
  }
  auto plan = std::make_unique<BlasPlan>();
  plan->left = true;
  return plan;
}

tn_kernel make_kernel(const BlasKernel& self) {
  tn_kernel kernel = sdk::make_kernel(
      schema_of(self.op), TN_MASK_FLOAT,
      [](void* self, void* plan, const tn_call* call) -> tn_status* {
        return sdk::guard([&]() -> tn_status* {
          const BlasPlan& made = *static_cast<const BlasPlan*>(plan);
          const BlasKernel& kernel = kernel_of(self);
          if (made.left) {
            const tn_kernel& own = own_kernel(schema_of(kernel.op));
            return own.run(own.self, nullptr, call);
          }
          run(*call, kernel, made);
          return nullptr;
        });
      },
      10, TN_KERNEL_STRIDED);
  kernel.supports = [](void* self, const tn_call* call, uint32_t* yes) -> tn_status* {
    return sdk::guard([&] { *yes = takes(*call, kernel_of(self)) ? 1 : 0; });
  };
  kernel.prepare = [](void* self, const tn_call* call, void** plan) -> tn_status* {
    return sdk::guard([&] { *plan = make_plan(*call, kernel_of(self)).release(); });
  };
  kernel.scratch_size = [](void* self, const tn_call* call, void* plan) {
    const BlasPlan& made = *static_cast<const BlasPlan*>(plan);
    return made.left ? scratch_of(own_kernel(schema_of(kernel_of(self).op)), *call)
                     : made.workspace;
  };
  kernel.release = [](void*, void* plan) { delete static_cast<BlasPlan*>(plan); };
  kernel.self = const_cast<BlasKernel*>(&self);
  return kernel;
}

}  // namespace

BlasPlace blas_place(const tn_call& call, const BlasProduct& product, int64_t index) {
  const Product& p = product.product;
  const int64_t size = size_of(output(call).dtype);
  int64_t a = 0, b = 0, rest = index;
  for (uint32_t d = product.outer; d-- > 0; rest /= p.shape[d]) {
    a += rest % p.shape[d] * p.a.batch[d];
    b += rest % p.shape[d] * p.b.batch[d];
  }
  return {static_cast<const char*>(p.a.view->data) + a * size,
          static_cast<const char*>(p.b.view->data) + b * size,
          static_cast<char*>(output(call).data) + index * product.copies * p.m * p.n * size};
}

std::vector<tn_kernel> blas_kernels(const BlasVendor& vendor) {
  static const double least = least_work(vendor.least_variable);
  static const BlasKernel both[] = {{&vendor, kMatmul, least}, {&vendor, kLinear, least}};
  return {make_kernel(both[0]), make_kernel(both[1])};
}

}  // namespace tenon::gpu
