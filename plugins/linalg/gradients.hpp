// Gradients, written in other ops, so that second gradients follow. Complex ones are conj(df/dz) times the incoming gradient, as in the
// core.
#pragma once

#include "tenon/new_op.hpp"

namespace tenon::linalg {

void inv_gradient(sdk::GradCall& g);
void solve_gradient(sdk::GradCall& g);
void det_gradient(sdk::GradCall& g);
void slogdet_gradient(sdk::GradCall& g);
void cofactor_gradient(sdk::GradCall& g);
void lu_factor_gradient(sdk::GradCall& g);
void cholesky_gradient(sdk::GradCall& g);
void solve_triangular_gradient(sdk::GradCall& g);
void qr_gradient(sdk::GradCall& g);
void eigh_gradient(sdk::GradCall& g);
void eigvalsh_gradient(sdk::GradCall& g);
void eig_gradient(sdk::GradCall& g);
void eigvals_gradient(sdk::GradCall& g);
void svd_gradient(sdk::GradCall& g);
void svdvals_gradient(sdk::GradCall& g);

// The pseudo-inverse, from the singular values above rtol times the largest, and its gradient.
sdk::Handle pinv(const sdk::OpArgs& args);
void pinv_gradient(sdk::GradCall& g);

}  // namespace tenon::linalg
