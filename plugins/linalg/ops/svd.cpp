// A = U·S·Vᴴ (LAPACK gesdd).
#include "../kernels.hpp"
#include "../matrix.hpp"
#include "../positions.hpp"

namespace tenon::linalg {
namespace {

// Where LAPACK reads rows as columns, A = U·S·Vᴴ becomes Aᵀ = conj(V)·S·Uᵀ: its U is our Vᴴ and its Vᴴ our U, row by row.
template <class T>
class Svd {
 public:
  // `job`: "A" for square U and Vᴴ, "S" for min(m, n) of their columns and rows, "N" for neither.
  Svd(int m, int n, const char* job)
      : m_(m),
        n_(n),
        k_(std::min(m, n)),
        u_rows_(*job == 'A' ? m : k_),
        job_(job),
        a_(int64_t{m} * n),
        integers_(8 * k_) {
    if constexpr (is_complex<T>) {
      const int64_t least = k_, most = std::max(m, n);
      real_.resize(*job == 'N' ? 7 * least
                               : std::max(5 * least * least + 7 * least,
                                          2 * most * least + 2 * least * least + least));
    }
    T size{};
    run(nullptr, nullptr, nullptr, &size, -1);
    work_ = workspace(size);
  }
  void operator()(const Matrices<const T>& from, int64_t i, T* u, Real<T>* s, T* vh) {
    load(from, i, a_.data());
    if (!all_finite(a_.data(), int64_t{m_} * n_))
      sdk::fail(TN_INVALID_ARGUMENT, from.name(i), " has elements that are not finite");
    if (run(vh, s, u, work_.data(), to_int(static_cast<int64_t>(work_.size()))) > 0)
      sdk::fail(TN_FAILED_PRECONDITION, from.name(i), ": the singular values did not converge");
  }

 private:
  int run(T* u, Real<T>* s, T* vh, T* work, int size) {
    int info = 0;
    const auto call = [&](auto... reals) {
      lapack<T>().gesdd(job_, &n_, &m_, a_.data(), &n_, s, u, &n_, vh, &u_rows_, work, &size,
                        reals..., integers_.data(), &info, 1);
    };
    if constexpr (is_complex<T>)
      call(real_.data());
    else
      call();
    check_arguments(info);
    return info;
  }

  const int m_, n_, k_, u_rows_;
  const char* job_;
  std::vector<T> a_, work_;
  std::vector<Real<T>> real_;
  std::vector<int> integers_;
};

template <class T>
void set_identity(T* out, int64_t count, int64_t n) {
  std::fill_n(out, count * n * n, T(0));
  for (int64_t i = 0; i < count; ++i)
    for (int64_t k = 0; k < n; ++k) out[(i * n + k) * n + k] = T(1);
}

template <class T>
void decompose(const sdk::Call& call, const char* job, T* u, Real<T>* s, T* vh) {
  const Matrices<const T> from(call.in(0));
  const int m = to_int(from.rows()), n = to_int(from.columns()), k = std::min(m, n);
  if (k == 0) {  // LAPACK leaves the square ones alone
    if (*job == 'A') set_identity(u, from.count(), m), set_identity(vh, from.count(), n);
    return;
  }
  const int64_t columns = *job == 'A' ? m : k, rows = *job == 'A' ? n : k;
  const WholeMachine machine(from.count(), k);
  each_matrix(from.count(), (*job == 'N' ? 4.0 : 12.0) * m * n * k, [&] {
    return [&, worker = Svd<T>(m, n, job)](int64_t i) mutable {
      worker(from, i, u != nullptr ? u + i * m * columns : nullptr, s + i * k,
             vh != nullptr ? vh + i * rows * n : nullptr);
    };
  });
}

}  // namespace

template <class T>
void svd(const sdk::Call& call) {
  using arg = linalg::arg::svd;
  decompose<T>(call, call.flag(arg::full_matrices) ? "A" : "S",
               sdk::data<T>(call.out(arg::result::U)), sdk::data<Real<T>>(call.out(arg::result::S)),
               sdk::data<T>(call.out(arg::result::Vh)));
}
TN_LINALG_TYPES(svd)

template <class T>
void svdvals(const sdk::Call& call) {
  decompose<T>(call, "N", nullptr, sdk::data<Real<T>>(call.out()), nullptr);
}
TN_LINALG_TYPES(svdvals)

}  // namespace tenon::linalg
