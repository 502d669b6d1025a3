// Eigenvalues and eigenvectors of symmetric and Hermitian matrices (LAPACK syevd, heevd).
#include "../kernels.hpp"
#include "../matrix.hpp"
#include "../positions.hpp"

namespace tenon::linalg {
namespace {

template <class T>
class Eigen {
 public:
  Eigen(int n, bool vectors) : n_(n), job_(vectors ? "V" : "N"), a_(int64_t{n} * n) {
    T size{};
    Real<T> real_size{};
    int integer_size = 0;
    run(nullptr, &size, -1, &real_size, -1, &integer_size, -1);
    work_ = workspace(size);
    real_ = workspace(real_size);
    integers_.resize(std::max(integer_size, 1));
  }
  void operator()(const Matrices<const T>& from, int64_t i, Real<T>* values, T* vectors) {
    load(from, i, a_.data());
    make_symmetric(a_.data(), n_);
    if (!all_finite(a_.data(), int64_t{n_} * n_))
      sdk::fail(TN_INVALID_ARGUMENT, from.name(i), " has elements that are not finite");
    if (run(values, work_.data(), room(work_), real_.data(), room(real_), integers_.data(),
            room(integers_)) > 0)
      sdk::fail(TN_FAILED_PRECONDITION, from.name(i), ": the eigenvalues did not converge");
    if (vectors == nullptr) return;
    // LAPACK saw the transpose, which is the conjugate.
    store_columns(a_.data(), n_, n_, n_, vectors);
    if constexpr (is_complex<T>)
      for (int64_t k = 0; k < int64_t{n_} * n_; ++k) vectors[k] = conj(vectors[k]);
  }

 private:
  template <class V>
  static int room(const V& v) {
    return to_int(static_cast<int64_t>(v.size()));
  }
  int run(Real<T>* values, T* work, int size, Real<T>* real, int real_size, int* integers,
          int integer_size) {
    int info = 0;
    const auto call = [&](auto... reals) {
      lapack<T>().heevd(job_, "U", &n_, a_.data(), &n_, values, work, &size, reals..., integers,
                        &integer_size, &info, 1, 1);
    };
    if constexpr (is_complex<T>)
      call(real, &real_size);
    else
      call();
    check_arguments(info);
    return info;
  }

  const int n_;
  const char* job_;
  std::vector<T> a_, work_;
  std::vector<Real<T>> real_;
  std::vector<int> integers_;
};

// eigvalsh has its one result in the position of eigh's eigenvalues.
template <class T>
void decompose(const sdk::Call& call, T* vectors) {
  const Matrices<const T> from(call.in(0));
  const int n = to_int(from.rows());
  if (from.count() * n == 0) return;
  auto* values = sdk::data<Real<T>>(call.out(arg::eigh::result::eigenvalues));
  const WholeMachine machine(from.count(), n);
  each_matrix(from.count(), 5.0 * n * n * n, [&] {
    return [&, worker = Eigen<T>(n, vectors != nullptr)](int64_t i) mutable {
      worker(from, i, values + i * n, vectors != nullptr ? vectors + i * n * n : nullptr);
    };
  });
}

}  // namespace

template <class T>
void eigh(const sdk::Call& call) {
  decompose<T>(call, sdk::data<T>(call.out(arg::eigh::result::eigenvectors)));
}
TN_LINALG_TYPES(eigh)

template <class T>
void eigvalsh(const sdk::Call& call) {
  decompose<T>(call, nullptr);
}
TN_LINALG_TYPES(eigvalsh)

}  // namespace tenon::linalg
