// Eigenvalues and right eigenvectors of general matrices (LAPACK geevx). Rows and columns are permuted, not scaled: scaling costs
// graded matrices all digits (D. S. Watkins, A case where balancing is harmful, 2006).
#include "../kernels.hpp"
#include "../matrix.hpp"
#include "../positions.hpp"

namespace tenon::linalg {
namespace {

template <class T>
using Complex = std::complex<Real<T>>;

// For real matrices, vectors of conjugate pairs of values come as pairs of columns.
template <class T>
class GeneralEigen {
 public:
  GeneralEigen(int n, bool vectors)
      : n_(n), job_(vectors ? "V" : "N"), a_(square()), right_(vectors ? square() : 1) {
    real_.resize(size_t{2} * static_cast<size_t>(n));
    values_.resize(static_cast<size_t>(n));
    scale_.resize(static_cast<size_t>(n));
    T size{};
    run(&size, -1);
    work_ = workspace(size);
  }
  void operator()(const Matrices<const T>& from, int64_t i, Complex<T>* values,
                  Complex<T>* vectors) {
    load_columns(from, i, a_.data());
    if (!all_finite(a_.data(), int64_t{n_} * n_))
      sdk::fail(TN_INVALID_ARGUMENT, from.name(i), " has elements that are not finite");
    if (run(work_.data(), to_int(static_cast<int64_t>(work_.size()))) > 0)
      sdk::fail(TN_FAILED_PRECONDITION, from.name(i), ": the eigenvalues did not converge");
    for (int k = 0; k < n_; ++k) values[k] = value(k);
    if (vectors == nullptr) return;
    for (int k = 0; k < n_; ++k)
      for (int row = 0; row < n_; ++row) vectors[int64_t{row} * n_ + k] = vector(row, k);
    for (int k = 0; k < n_; ++k) turn(vectors + k);
  }

 private:
  // A vector is unique up to a factor of size 1: its largest entry is made real and positive.
  void turn(Complex<T>* column) const {
    const auto at = [&](int row) -> Complex<T>& { return column[int64_t{row} * n_]; };
    int largest = 0;
    for (int row = 1; row < n_; ++row)
      if (std::abs(at(row)) > std::abs(at(largest))) largest = row;
    const Real<T> size = std::abs(at(largest));
    if (!(size > 0)) return;
    const Complex<T> factor = std::conj(at(largest)) / size;
    for (int row = 0; row < n_; ++row) at(row) *= factor;
    at(largest) = size;
  }
  size_t square() const { return static_cast<size_t>(n_) * static_cast<size_t>(n_); }
  Complex<T> value(int k) const {
    if constexpr (is_complex<T>)
      return values_[k];
    else
      return {real_[k], real_[n_ + k]};
  }
  Complex<T> vector(int row, int k) const {
    const auto at = [&](int column) { return right_[static_cast<size_t>(column) * n_ + row]; };
    if constexpr (is_complex<T>) {
      return at(k);
    } else {
      const Real<T> part = real_[n_ + k];
      if (part == 0) return at(k);
      return part > 0 ? Complex<T>(at(k), at(k + 1)) : Complex<T>(at(k - 1), -at(k));
    }
  }
  int run(T* work, int size) {
    int info = 0, low = 0, high = 0;
    Real<T> norm = 0;
    const int one = 1, step = std::max(n_, 1);
    const auto call = [&](auto... values) {
      return [&, values...](auto... room) {
        lapack<T>().geevx("P", "N", job_, "N", &n_, a_.data(), &step, values..., nullptr, &one,
                          right_.data(), &step, &low, &high, scale_.data(), &norm, nullptr, nullptr,
                          work, &size, room..., &info, 1, 1, 1, 1);
      };
    };
    if constexpr (is_complex<T>)
      call(values_.data())(real_.data());
    else
      call(real_.data(), real_.data() + n_)(static_cast<int*>(nullptr));
    check_arguments(info);
    return info;
  }

  const int n_;
  const char* job_;
  std::vector<T> a_, right_, work_;
  std::vector<Real<T>> real_;  // for real matrices, the parts of the values; otherwise a workspace
  std::vector<Real<T>> scale_;
  std::vector<Complex<T>> values_;
};

template <class T>
void decompose(const sdk::Call& call, Complex<T>* vectors) {
  const Matrices<const T> from(call.in(0));
  const int n = to_int(from.rows());
  if (from.count() * n == 0) return;
  auto* values = sdk::data<Complex<T>>(call.out(arg::eig::result::eigenvalues));
  const WholeMachine machine(from.count(), n);
  each_matrix(from.count(), 25.0 * n * n * n, [&] {
    return [&, worker = GeneralEigen<T>(n, vectors != nullptr)](int64_t i) mutable {
      worker(from, i, values + i * n, vectors != nullptr ? vectors + i * n * n : nullptr);
    };
  });
}

}  // namespace

template <class T>
void eig(const sdk::Call& call) {
  decompose<T>(call, sdk::data<Complex<T>>(call.out(arg::eig::result::eigenvectors)));
}
TN_LINALG_TYPES(eig)

// eigvals has its one result in the position of eig's eigenvalues.
template <class T>
void eigvals(const sdk::Call& call) {
  decompose<T>(call, nullptr);
}
TN_LINALG_TYPES(eigvals)

}  // namespace tenon::linalg
