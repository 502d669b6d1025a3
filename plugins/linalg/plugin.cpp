// The plugin's entry point. It adds ops with kernels for the host's device; other devices fall back to that.
#include "../common/parallel.hpp"
#include "gradients.hpp"
#include "kernels.hpp"
#include "lapack.hpp"
#include "shapes.hpp"

namespace tenon::linalg {
namespace {

template <sdk::KernelFn f32, sdk::KernelFn f64, sdk::KernelFn c64, sdk::KernelFn c128>
void add(sdk::Registry& registry, const tn_op_def& def) {
  registry.op(def);
  const std::string_view schema = sdk::view_of(def.schema);
  const auto kernel = [&]<sdk::KernelFn fn>(tn_dtype dtype) {
    return sdk::make_kernel<fn>(schema, TN_MASK(dtype), 0, TN_KERNEL_STRIDED);
  };
  registry.kernels("cpu", {kernel.template operator()<f32>(TN_DTYPE_F32),
                           kernel.template operator()<f64>(TN_DTYPE_F64),
                           kernel.template operator()<c64>(TN_DTYPE_C64),
                           kernel.template operator()<c128>(TN_DTYPE_C128)});
}

template <auto gradient, void (*shapes)(const host::Views&, const host::Results&),
          auto decompose = nullptr>
tn_op_def op(std::string_view schema, uint64_t saved_inputs, uint64_t saved_outputs) {
  tn_op_def def = sdk::new_op<decompose, gradient>(schema, saved_inputs, saved_outputs);
  def.infer = host::rule<shapes>();
  return def;
}

#define TN_ADD(name, def)                                                                         \
  add<name<float>, name<double>, name<std::complex<float>>, name<std::complex<double>>>(registry, \
                                                                                        def)

void add_row_order(sdk::Registry& registry) {
  constexpr std::string_view kSchema = "linalg.row_order(Tensor pivots, int rows) -> Tensor @1";
  tn_op_def def = sdk::new_op<nullptr, nullptr>(kSchema, 0, 0);
  def.infer = host::rule<order_of_rows>();
  registry.op(def);
  registry.kernels("cpu", {sdk::make_kernel<row_order>(kSchema, TN_MASK(TN_DTYPE_I32))});
}

// positions.hpp names the positions in these schemas.
void start(sdk::Registry& registry) {
  host::start_threads(sdk::host());
  TN_ADD(inv, (op<inv_gradient, like_square>("linalg.inv(Tensor x) -> Tensor @1", 0, 1)));
  TN_ADD(inv_ex, (op<inv_gradient, factor_and_info>(
                     "linalg.inv_ex(Tensor x) -> Tensor inverse, Tensor info @1", 0, 1)));
  TN_ADD(solve,
         (op<solve_gradient, solution>("linalg.solve(Tensor a, Tensor b) -> Tensor @1", 0b01, 1)));
  TN_ADD(solve_ex,
         (op<solve_gradient, solution_and_info>(
             "linalg.solve_ex(Tensor a, Tensor b) -> Tensor result, Tensor info @1", 0b01, 1)));
  TN_ADD(det, (op<det_gradient, of_square>("linalg.det(Tensor x) -> Tensor @1", 1, 0)));
  TN_ADD(slogdet, (op<slogdet_gradient, sign_and_log>(
                      "linalg.slogdet(Tensor x) -> Tensor sign, Tensor logabsdet @1", 1, 0b01)));
  TN_ADD(cofactor,
         (op<cofactor_gradient, like_square>("linalg.cofactor(Tensor x) -> Tensor @1", 1, 1)));
  TN_ADD(lu_factor,
         (op<lu_factor_gradient, lu_and_pivots>(
             "linalg.lu_factor(Tensor x) -> Tensor LU, Tensor pivots, Tensor info @1", 0, 0b011)));
  add_row_order(registry);
  TN_ADD(cholesky, (op<cholesky_gradient, like_square>(
                       "linalg.cholesky(Tensor x, bool upper=false) -> Tensor @1", 0, 1)));
  TN_ADD(cholesky_ex,
         (op<cholesky_gradient, factor_and_info>(
             "linalg.cholesky_ex(Tensor x, bool upper=false) -> Tensor L, Tensor info @1", 0, 1)));
  TN_ADD(
      solve_triangular,
      (op<solve_triangular_gradient, solution>(
          "linalg.solve_triangular(Tensor a, Tensor b, bool upper=true) -> Tensor @1", 0b01, 1)));
  TN_ADD(qr, (op<qr_gradient, q_and_r>(
                 "linalg.qr(Tensor x, str mode=\"reduced\") -> Tensor Q, Tensor R @1", 1, 0b11)));
  TN_ADD(eigh,
         (op<eigh_gradient, eigenpairs>(
             "linalg.eigh(Tensor x) -> Tensor eigenvalues, Tensor eigenvectors @1", 0, 0b11)));
  TN_ADD(eigvalsh,
         (op<eigvalsh_gradient, eigenvalues>("linalg.eigvalsh(Tensor x) -> Tensor @1", 1, 0)));
  TN_ADD(eig, (op<eig_gradient, general_eigenpairs>(
                  "linalg.eig(Tensor x) -> Tensor eigenvalues, Tensor eigenvectors @1", 0, 0b11)));
  TN_ADD(eigvals, (op<eigvals_gradient, general_eigenvalues>(
                      "linalg.eigvals(Tensor x) -> Tensor @1", 1, 0)));
  TN_ADD(svd,
         (op<svd_gradient, singular>(
             "linalg.svd(Tensor x, bool full_matrices=true) -> Tensor U, Tensor S, Tensor Vh @1", 1,
             0b111)));
  TN_ADD(svdvals,
         (op<svdvals_gradient, singular_values>("linalg.svdvals(Tensor x) -> Tensor @1", 1, 0)));
  registry.op(op<pinv_gradient, like_adjoint, pinv>(
      "linalg.pinv(Tensor x, Tensor? rtol=none) -> Tensor @1", 1, 1));
}

}  // namespace
}  // namespace tenon::linalg

TENON_PLUGIN("linalg", TN_VERSION_STRING, tenon::linalg::start)
