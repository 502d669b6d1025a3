// Cholesky's factor and systems with triangular matrices (LAPACK potrf, trtrs).
#include <limits>

#include "../kernels.hpp"
#include "../matrix.hpp"
#include "../positions.hpp"

namespace tenon::linalg {

namespace {

// The first leading minor that is not positive, from 1; 0: all are. LAPACK lets NaN pass.
template <class T>
int first_bad_minor(const T* a, int n, int info) {
  for (int k = 0; k < (info > 0 ? info - 1 : n); ++k)
    if (!(std::real(a[k * n + k]) > 0)) return k + 1;
  return info;
}

// report(from, i, info) for each matrix: the first leading minor that is not positive, or 0. Such a matrix has no factor: NaN.
template <class T, class Report>
void factor_positive(const sdk::Call& call, Report&& report) {
  const Matrices<const T> from(call.in(arg::cholesky::x));
  const bool upper = call.flag(arg::cholesky::upper);
  const int n = to_int(from.rows());
  T* out = sdk::data<T>(call.out());
  const WholeMachine machine(from.count(), n);
  each_matrix(from.count(), n * n * n / 3.0, [&] {
    return [&](int64_t i) {
      // Of conj(A), as LAPACK reads the rows, Uᴴ·U is the factorisation whose Uᵀ is the lower factor of A.
      T* a = out + i * n * n;
      int info = 0;
      if (n > 0) {
        load(from, i, a);
        make_symmetric(a, n);
        lapack<T>().potrf(upper ? "L" : "U", &n, a, &n, &info, 1);
        check_arguments(info);
      }
      info = first_bad_minor(a, n, info);
      report(from, i, info);
      if (info > 0) std::fill_n(a, n * n, T(std::numeric_limits<Real<T>>::quiet_NaN()));
      for (int64_t r = 0; r < n; ++r)
        upper ? std::fill_n(a + r * n, r, T(0)) : std::fill_n(a + r * n + r + 1, n - r - 1, T(0));
    };
  });
}

}  // namespace

template <class T>
void cholesky(const sdk::Call& call) {
  factor_positive<T>(call, [](const Matrices<const T>& from, int64_t i, int info) {
    if (info > 0)
      sdk::fail(TN_INVALID_ARGUMENT, from.name(i), ", ", from.rows(), " by ", from.rows(),
                ", is not positive definite: its leading minor of order ", info,
                " is not positive");
  });
}
TN_LINALG_TYPES(cholesky)

// The same without an error.
template <class T>
void cholesky_ex(const sdk::Call& call) {
  auto* infos = sdk::data<int32_t>(call.out(arg::cholesky::result::info));
  factor_positive<T>(call, [&](const auto&, int64_t i, int info) { infos[i] = info; });
}
TN_LINALG_TYPES(cholesky_ex)

template <class T>
void solve_triangular(const sdk::Call& call) {
  using arg = linalg::arg::solve_triangular;
  const std::span<const int64_t> batch = sdk::shape(call.out()).first(call.out().ndim - 2);
  const Matrices<const T> left(call.in(arg::a), batch), right(call.in(arg::b), batch);
  // The opposite half, because LAPACK reads the transpose.
  const char* half = call.flag(arg::upper) ? "L" : "U";
  const int n = to_int(right.rows()), k = to_int(right.columns());
  if (left.count() * n == 0) return;
  T* out = sdk::data<T>(call.out());
  each_matrix(left.count(), 0.5 * n * n * k, [&] {
    return [&, a = std::vector<T>(int64_t{n} * n),
            b = std::vector<T>(int64_t{n} * k)](int64_t i) mutable {
      load(left, i, a.data());
      load_columns(right, i, b.data());
      int info = 0;
      lapack<T>().trtrs(half, "T", "N", &n, &k, a.data(), &n, b.data(), &n, &info, 1, 1, 1);
      check_arguments(info);
      if (info > 0)
        sdk::fail(TN_INVALID_ARGUMENT, left.name(i), ", ", n, " by ", n, ", is singular: element ",
                  info - 1, " of its diagonal is 0");
      store_columns(b.data(), n, n, k, out + i * n * k);
    };
  });
}
TN_LINALG_TYPES(solve_triangular)

}  // namespace tenon::linalg
