// Results of a factorisation P·L·U: inverse, solution, determinant (LAPACK getrf, getri, getrs).
#include <limits>

#include "../kernels.hpp"
#include "../matrix.hpp"
#include "../positions.hpp"

namespace tenon::linalg {
namespace {

// A report of singular matrices that ends the call.
auto refuse_singular(const char* instead) {
  return [instead](const auto& from, int64_t i, int info) {
    if (info > 0)
      sdk::fail(TN_INVALID_ARGUMENT, from.name(i), ", ", from.rows(), " by ", from.rows(),
                ", is singular: pivot ", info, " of its LU factorisation is 0; ", instead);
  };
}
// And one that notes the pivot.
auto note_singular(const tn_view& info) {
  return
      [infos = sdk::data<int32_t>(info)](const auto&, int64_t i, int pivot) { infos[i] = pivot; };
}

template <class T>
void fill_nan(T* to, int64_t count) {
  std::fill_n(to, count, T(std::numeric_limits<Real<T>>::quiet_NaN()));
}

// L and U in place of the matrix; info is LAPACK's: the first pivot that is 0, from 1.
template <class T>
int factor(T* a, int n, std::vector<int>& pivots) {
  int info = 0;
  const int step = std::max(n, 1);
  lapack<T>().getrf(&n, &n, a, &step, pivots.data(), &info);
  check_arguments(info);
  return info;
}

bool is_odd(const std::vector<int>& pivots) {
  bool odd = false;
  for (size_t k = 0; k < pivots.size(); ++k) odd ^= pivots[k] != static_cast<int>(k) + 1;
  return odd;
}

// report(from, i, info) for each matrix: the first pivot that is 0, or 0. Such a matrix has no inverse: NaN.
template <class T, class Report>
void invert(const sdk::Call& call, Report&& report) {
  const Matrices<const T> from(call.in(0));
  const int n = to_int(from.rows());
  if (n == 0)
    for (int64_t i = 0; i < from.count(); ++i) report(from, i, 0);
  if (from.count() * n == 0) return;
  T* out = sdk::data<T>(call.out());
  const WholeMachine machine(from.count(), n);
  each_matrix(from.count(), 2.0 * n * n * n, [&] {
    int info = 0, ask = -1;
    T size{};
    lapack<T>().getri(&n, nullptr, &n, nullptr, &size, &ask, &info);
    return [&, pivots = std::vector<int>(n), work = workspace(size)](int64_t i) mutable {
      // Reading rows, LAPACK inverts the transpose and returns the transpose of the inverse.
      T* a = out + i * n * n;
      load(from, i, a);
      const int zero = factor(a, n, pivots);
      report(from, i, zero);
      if (zero > 0) return fill_nan(a, int64_t{n} * n);
      int done = 0;
      const int room = to_int(static_cast<int64_t>(work.size()));
      lapack<T>().getri(&n, a, &n, pivots.data(), work.data(), &room, &done);
      check_arguments(done);
    };
  });
}

// The same for systems.
template <class T, class Report>
void solve_each(const sdk::Call& call, Report&& report) {
  const std::span<const int64_t> batch = sdk::shape(call.out()).first(call.out().ndim - 2);
  const Matrices<const T> left(call.in(arg::solve::a), batch), right(call.in(arg::solve::b), batch);
  const int n = to_int(right.rows()), k = to_int(right.columns());
  if (n == 0)
    for (int64_t i = 0; i < left.count(); ++i) report(left, i, 0);
  if (left.count() * n == 0) return;
  T* out = sdk::data<T>(call.out());
  const WholeMachine machine(left.count(), n);
  each_matrix(left.count(), 1.0 * n * n * (n + k), [&] {
    return [&, pivots = std::vector<int>(n), a = std::vector<T>(int64_t{n} * n),
            b = std::vector<T>(int64_t{n} * k)](int64_t i) mutable {
      load(left, i,
           a.data());  // LAPACK factors the transpose and solves with its transpose
      const int zero = factor(a.data(), n, pivots);
      report(left, i, zero);
      if (zero > 0) return fill_nan(out + i * n * k, int64_t{n} * k);
      load_columns(right, i, b.data());
      int info = 0;
      lapack<T>().getrs("T", &n, &k, a.data(), &n, pivots.data(), b.data(), &n, &info, 1);
      check_arguments(info);
      store_columns(b.data(), n, n, k, out + i * n * k);
    };
  });
}

}  // namespace

template <class T>
void inv(const sdk::Call& call) {
  invert<T>(call, refuse_singular("pinv() gives the pseudo-inverse"));
}
TN_LINALG_TYPES(inv)
template <class T>
void inv_ex(const sdk::Call& call) {
  invert<T>(call, note_singular(call.out(arg::inv::result::info)));
}
TN_LINALG_TYPES(inv_ex)

template <class T>
void solve(const sdk::Call& call) {
  solve_each<T>(call, refuse_singular("pinv(a) @ b gives a least-squares solution"));
}
TN_LINALG_TYPES(solve)
template <class T>
void solve_ex(const sdk::Call& call) {
  solve_each<T>(call, note_singular(call.out(arg::solve::result::info)));
}
TN_LINALG_TYPES(solve_ex)

namespace {

// visit(i, pivot) for every pivot of every matrix, after start(i, whether rows were exchanged an odd number of times).
template <class T, class Start, class Visit>
void visit_pivots(const sdk::Call& call, Start&& start, Visit&& visit) {
  const Matrices<const T> from(call.in(0));
  const int n = to_int(from.rows());
  const WholeMachine machine(from.count(), n);
  each_matrix(from.count(), 0.7 * n * n * n, [&] {
    return
        [&, pivots = std::vector<int>(n), a = std::vector<T>(int64_t{n} * n)](int64_t i) mutable {
          load(from, i, a.data());
          if (n > 0) factor(a.data(), n, pivots);
          start(i, is_odd(pivots));
          for (int64_t k = 0; k < n; ++k) visit(i, a[k * n + k]);
        };
  });
}

}  // namespace

template <class T>
void det(const sdk::Call& call) {
  T* out = sdk::data<T>(call.out());
  visit_pivots<T>(
      call, [&](int64_t i, bool odd) { out[i] = odd ? T(-1) : T(1); },
      [&](int64_t i, T pivot) { out[i] *= pivot; });
}
TN_LINALG_TYPES(det)

// A matrix without an inverse has sign 0 and logarithm -inf.
template <class T>
void slogdet(const sdk::Call& call) {
  T* sign = sdk::data<T>(call.out(arg::slogdet::result::sign));
  auto* logarithm = sdk::data<Real<T>>(call.out(arg::slogdet::result::logabsdet));
  visit_pivots<T>(
      call,
      [&](int64_t i, bool odd) {
        sign[i] = odd ? T(-1) : T(1);
        logarithm[i] = 0;
      },
      [&](int64_t i, T pivot) {
        const Real<T> size = std::abs(pivot);
        sign[i] *= size == 0 ? T(0) : pivot / size;
        logarithm[i] += std::log(size);
      });
}
TN_LINALG_TYPES(slogdet)

}  // namespace tenon::linalg
