// This plugin's kernels: templates for four element types. Inputs may have any strides; outputs are contiguous.
#pragma once

#include "tenon/plugin.hpp"

namespace tenon::linalg {

// ops/lu.cpp
template <class T>
void inv(const sdk::Call& call);
template <class T>
void inv_ex(const sdk::Call& call);
template <class T>
void solve(const sdk::Call& call);
template <class T>
void solve_ex(const sdk::Call& call);
template <class T>
void det(const sdk::Call& call);
template <class T>
void slogdet(const sdk::Call& call);
// ops/lu_factor.cpp
template <class T>
void lu_factor(const sdk::Call& call);
void row_order(const sdk::Call& call);
// ops/cofactor.cpp
template <class T>
void cofactor(const sdk::Call& call);
// ops/triangular.cpp
template <class T>
void cholesky(const sdk::Call& call);
template <class T>
void cholesky_ex(const sdk::Call& call);
template <class T>
void solve_triangular(const sdk::Call& call);
// ops/qr.cpp
template <class T>
void qr(const sdk::Call& call);
// ops/eigen.cpp
template <class T>
void eigh(const sdk::Call& call);
template <class T>
void eigvalsh(const sdk::Call& call);
// ops/general_eigen.cpp
template <class T>
void eig(const sdk::Call& call);
template <class T>
void eigvals(const sdk::Call& call);
// ops/svd.cpp
template <class T>
void svd(const sdk::Call& call);
template <class T>
void svdvals(const sdk::Call& call);

// Instantiates a kernel's template for all element types; use it after the definition.
#define TN_LINALG_TYPES(name)                                     \
  template void name<float>(const sdk::Call& call);               \
  template void name<double>(const sdk::Call& call);              \
  template void name<std::complex<float>>(const sdk::Call& call); \
  template void name<std::complex<double>>(const sdk::Call& call);

}  // namespace tenon::linalg
