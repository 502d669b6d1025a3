// A = Q·R with orthonormal columns (LAPACK geqrf, orgqr or ungqr).
#include "../kernels.hpp"
#include "../matrix.hpp"
#include "../positions.hpp"

namespace tenon::linalg {
namespace {

template <class T>
class Factors {
 public:
  Factors(int m, int n, int columns_of_q)
      : m_(m),
        n_(n),
        k_(std::min(m, n)),
        q_(columns_of_q),
        a_(int64_t{m} * std::max(n, q_)),
        tau_(std::max(k_, 1)) {
    T first{}, second{};
    run(&first, &second, -1);
    work_ = workspace(std::real(first) > std::real(second) ? first : second);
  }
  void operator()(const Matrices<const T>& from, int64_t i, T* q, T* r) {
    load_columns(from, i, a_.data());
    int info = 0;
    const int room = to_int(static_cast<int64_t>(work_.size()));
    lapack<T>().geqrf(&m_, &n_, a_.data(), &m_, tau_.data(), work_.data(), &room, &info);
    check_arguments(info);
    for (int64_t row = 0; row < q_; ++row)
      for (int64_t column = 0; column < n_; ++column)
        r[row * n_ + column] = row <= column ? a_[column * m_ + row] : T(0);
    lapack<T>().make_q(&m_, &q_, &k_, a_.data(), &m_, tau_.data(), work_.data(), &room, &info);
    check_arguments(info);
    store_columns(a_.data(), m_, m_, q_, q);
  }

 private:
  void run(T* first, T* second, int size) {
    int info = 0;
    lapack<T>().geqrf(&m_, &n_, a_.data(), &m_, tau_.data(), first, &size, &info);
    check_arguments(info);
    lapack<T>().make_q(&m_, &q_, &k_, a_.data(), &m_, tau_.data(), second, &size, &info);
    check_arguments(info);
  }
  const int m_, n_, k_, q_;
  std::vector<T> a_, tau_, work_;
};

}  // namespace

template <class T>
void qr(const sdk::Call& call) {
  using arg = linalg::arg::qr;
  const Matrices<const T> from(call.in(arg::x));
  const int m = to_int(from.rows()), n = to_int(from.columns());
  const int q = to_int(call.out(arg::result::Q).shape[call.out(arg::result::Q).ndim - 1]);
  if (from.count() * m == 0 || q == 0) return;
  T *first = sdk::data<T>(call.out(arg::result::Q)),
    *second = sdk::data<T>(call.out(arg::result::R));
  const WholeMachine machine(from.count(), std::min(m, n));
  each_matrix(from.count(), 2.0 * m * n * std::min(m, n), [&] {
    return [&, worker = Factors<T>(m, n, q)](int64_t i) mutable {
      worker(from, i, first + i * m * q, second + i * q * n);
    };
  });
}
TN_LINALG_TYPES(qr)

}  // namespace tenon::linalg
