// The matrix of cofactors, which singular matrices also have: the derivative of the determinant.
#include "../kernels.hpp"
#include "../matrix.hpp"

namespace tenon::linalg {
namespace {

// For each element, the product of all others.
template <class R>
std::vector<R> products_of_others(const R* s, int n) {
  std::vector<R> out(n, R(1));
  R before = 1, after = 1;
  for (int i = 0; i < n; ++i) out[i] *= before, before *= s[i];
  for (int i = n; i-- > 0;) out[i] *= after, after *= s[i];
  return out;
}

template <class T>
T unitary_det(std::vector<T> a, int n) {
  std::vector<int> pivots(n);
  int info = 0;
  lapack<T>().getrf(&n, &n, a.data(), &n, pivots.data(), &info);
  T out = 1;
  for (int k = 0; k < n; ++k) out *= a[int64_t{k} * n + k] * T(pivots[k] == k + 1 ? 1 : -1);
  return out;
}

template <class T>
class Cofactors {
 public:
  explicit Cofactors(int n)
      : n_(n),
        a_(int64_t{n} * n),
        u_(a_.size()),
        vh_(a_.size()),
        s_(n),
        pivots_(n),
        integers_(8 * n) {
    if constexpr (is_complex<T>) real_.resize(static_cast<size_t>(n) * (5 * n + 7));
    T size{};
    decompose(&size, -1);
    work_ = workspace(size);
  }

  // C = det(A)·A⁻ᵀ where that is safe. Otherwise A = U·S·Vᴴ, C = det(U)·det(Vᴴ)·conj(U)·D·Vᵀ, D the products of the other
  // singular values (Magnus and Neudecker, Matrix Differential Calculus, ch. 9).
  void operator()(const Matrices<const T>& from, int64_t i, T* out) {
    load_columns(from, i, a_.data());
    if (invert(out)) return;
    load_columns(from, i, a_.data());
    if (!all_finite(a_.data(), int64_t{n_} * n_)) {
      std::fill_n(out, int64_t{n_} * n_, T(std::numeric_limits<Real<T>>::quiet_NaN()));
      return;
    }
    if (decompose(work_.data(), to_int(static_cast<int64_t>(work_.size()))) > 0)
      sdk::fail(TN_FAILED_PRECONDITION, from.name(i), ": the singular values did not converge");
    const std::vector<Real<T>> d = products_of_others(s_.data(), n_);
    const T scale = unitary_det(u_, n_) * unitary_det(vh_, n_);
    std::fill_n(out, int64_t{n_} * n_, T(0));
    for (int64_t r = 0; r < n_; ++r)
      for (int64_t k = 0; k < n_; ++k) {
        const T left = scale * conj(u_[k * n_ + r]) * d[k];
        for (int64_t c = 0; c < n_; ++c) out[r * n_ + c] += left * conj(vh_[c * n_ + k]);
      }
  }

 private:
  // By LU, unless a pivot says that the matrix is nearly singular. Read in columns, the inverse is in rows its transpose.
  bool invert(T* out) {
    int info = 0;
    lapack<T>().getrf(&n_, &n_, a_.data(), &n_, pivots_.data(), &info);
    T det = 1;
    Real<T> least = std::numeric_limits<Real<T>>::infinity(), most = 0;
    for (int64_t k = 0; k < n_; ++k) {
      const T pivot = a_[k * n_ + k];
      least = std::min(least, std::abs(pivot)), most = std::max(most, std::abs(pivot));
      det *= pivot * T(pivots_[k] == k + 1 ? 1 : -1);
    }
    if (info != 0 || !(least > most * n_ * 16 * std::numeric_limits<Real<T>>::epsilon()))
      return false;
    const int room = to_int(static_cast<int64_t>(work_.size()));
    lapack<T>().getri(&n_, a_.data(), &n_, pivots_.data(), work_.data(), &room, &info);
    for (size_t k = 0; k < a_.size(); ++k) out[k] = det * a_[k];
    return true;
  }

  int decompose(T* work, int size) {
    int info = 0;
    const auto run = [&](auto... reals) {
      lapack<T>().gesdd("A", &n_, &n_, a_.data(), &n_, s_.data(), u_.data(), &n_, vh_.data(), &n_,
                        work, &size, reals..., integers_.data(), &info, 1);
    };
    if constexpr (is_complex<T>)
      run(real_.data());
    else
      run();
    check_arguments(info);
    return info;
  }

  const int n_;
  std::vector<T> a_, u_, vh_, work_;
  std::vector<Real<T>> s_, real_;
  std::vector<int> pivots_, integers_;
};

}  // namespace

template <class T>
void cofactor(const sdk::Call& call) {
  const Matrices<const T> from(call.in(0));
  const int n = to_int(from.rows());
  if (from.count() * n == 0) return;
  T* out = sdk::data<T>(call.out());
  each_matrix(from.count(), 3.0 * n * n * n, [&] {
    return [&, worker = Cofactors<T>(n)](int64_t i) mutable { worker(from, i, out + i * n * n); };
  });
}
TN_LINALG_TYPES(cofactor)

}  // namespace tenon::linalg
