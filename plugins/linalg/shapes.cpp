#include "shapes.hpp"

#include <algorithm>

#include "positions.hpp"

namespace tenon::linalg {

using host::Results;
using host::Sizes;
using host::text_of;
using host::Views;

namespace {

void check_matrices(const Views& in, uint32_t i, const char* name) {
  const tn_dtype dtype = in.dtype(i);
  constexpr uint64_t kTypes = TN_MASK(TN_DTYPE_F32) | TN_MASK(TN_DTYPE_F64) | TN_MASK_COMPLEX;
  if ((TN_MASK(dtype) & kTypes) == 0)
    sdk::fail(TN_INVALID_ARGUMENT, name, " has dtype ", name_of(dtype),
              "; f32, f64, c64 and c128 are possible: cast it first");
  if (in.shape(i).size() < 2)
    sdk::fail(TN_INVALID_ARGUMENT, name, " has shape ", text_of(in.shape(i)),
              "; it must be a matrix or a batch of them");
  for (const int64_t size : in.shape(i).last(2))
    if (size > 0x7fffffff)
      sdk::fail(TN_INVALID_ARGUMENT, name, " has shape ", text_of(in.shape(i)),
                "; LAPACK counts to 2147483647");
}

// Its size n.
int64_t check_square(const Views& in, uint32_t i, const char* name) {
  check_matrices(in, i, name);
  const Sizes shape = in.shape(i);
  if (shape[shape.size() - 2] != shape.back())
    sdk::fail(TN_INVALID_ARGUMENT, name, " has shape ", text_of(shape),
              "; its last two dimensions must be equal");
  return shape.back();
}

Sizes batch(const Views& in, uint32_t i = 0) { return in.shape(i).first(in.shape(i).size() - 2); }

// m, n and the smaller of the two.
struct Extent {
  int64_t m, n, k;
};
Extent extent(const Views& in) {
  check_matrices(in, 0, "x");
  const Sizes shape = in.shape(0);
  const int64_t m = shape[shape.size() - 2], n = shape.back();
  return {m, n, std::min(m, n)};
}

}  // namespace

void like_square(const Views& in, const Results& out) {
  check_square(in, 0, "x");
  out.set(0, in.dtype(0), in.shape(0));
}

static_assert(arg::inv::result::info == arg::cholesky::result::info);
void factor_and_info(const Views& in, const Results& out) {
  like_square(in, out);
  out.set(arg::cholesky::result::info, TN_DTYPE_I32, batch(in));
}

void lu_and_pivots(const Views& in, const Results& out) {
  using result = arg::lu_factor::result;
  const int64_t k = extent(in).k;
  out.set(result::LU, in.dtype(0), in.shape(0));
  out.set(result::pivots, TN_DTYPE_I32, batch(in), {k});
  out.set(result::info, TN_DTYPE_I32, batch(in));
}

void order_of_rows(const Views& in, const Results& out) {
  using arg = linalg::arg::row_order;
  const Sizes shape = in.shape(arg::pivots);
  const int64_t rows = in.integer(arg::rows);
  if (in.dtype(arg::pivots) != TN_DTYPE_I32 || shape.empty() || shape.back() > rows)
    sdk::fail(TN_INVALID_ARGUMENT, "pivots have dtype ", name_of(in.dtype(arg::pivots)),
              " and shape ", text_of(shape), "; they must be i32 and at most as many as rows, ",
              rows);
  out.set(0, TN_DTYPE_I64, shape.first(shape.size() - 1), {rows});
}

void of_square(const Views& in, const Results& out) {
  check_square(in, 0, "x");
  out.set(0, in.dtype(0), batch(in));
}

void sign_and_log(const Views& in, const Results& out) {
  of_square(in, out);
  out.set(arg::slogdet::result::logabsdet, host::real_of(in.dtype(0)), batch(in));
}

namespace {

// The batch that those of a and b broadcast to.
struct Joint {
  int64_t sizes[TN_MAX_DIMS];
  size_t ndim;
  operator Sizes() const { return {sizes, ndim}; }
};
Joint check_system(const Views& in) {
  using arg = linalg::arg::solve;  // solve_triangular has them in the same positions
  const int64_t n = check_square(in, arg::a, "a");
  check_matrices(in, arg::b, "b");
  const Sizes a = batch(in, arg::a), b = batch(in, arg::b), shape = in.shape(arg::b);
  if (in.dtype(arg::a) != in.dtype(arg::b))
    sdk::fail(TN_INVALID_ARGUMENT, "a has dtype ", name_of(in.dtype(arg::a)), " and b ",
              name_of(in.dtype(arg::b)), "; cast one of them");
  bool fit = shape[shape.size() - 2] == n;
  Joint joint{{}, std::max(a.size(), b.size())};
  for (size_t d = 0; d < joint.ndim; ++d) {
    const int64_t x = d < a.size() ? a[a.size() - 1 - d] : 1,
                  y = d < b.size() ? b[b.size() - 1 - d] : 1;
    fit = fit && (x == y || x == 1 || y == 1);
    joint.sizes[joint.ndim - 1 - d] = x == 1 ? y : x;
  }
  if (!fit)
    sdk::fail(TN_INVALID_ARGUMENT, "a has shape ", text_of(in.shape(arg::a)), " and b ",
              text_of(shape), "; b must be (..., ", n, ", k), and the batches must broadcast");
  return joint;
}

void set_solution(const Views& in, const Results& out, const Joint& joint) {
  const Sizes shape = in.shape(arg::solve::b);
  out.set(arg::solve::result::solution, in.dtype(arg::solve::a), joint,
          {shape[shape.size() - 2], shape.back()});
}

}  // namespace

void solution(const Views& in, const Results& out) { set_solution(in, out, check_system(in)); }

void solution_and_info(const Views& in, const Results& out) {
  const Joint joint = check_system(in);
  set_solution(in, out, joint);
  out.set(arg::solve::result::info, TN_DTYPE_I32, joint);
}

void eigenpairs(const Views& in, const Results& out) {
  eigenvalues(in, out);
  out.set(arg::eigh::result::eigenvectors, in.dtype(0), in.shape(0));
}

void eigenvalues(const Views& in, const Results& out) {
  const int64_t n = check_square(in, 0, "x");
  out.set(0, host::real_of(in.dtype(0)), batch(in), {n});
}

void general_eigenpairs(const Views& in, const Results& out) {
  general_eigenvalues(in, out);
  out.set(arg::eig::result::eigenvectors, host::complex_of(in.dtype(0)), in.shape(0));
}

void general_eigenvalues(const Views& in, const Results& out) {
  const int64_t n = check_square(in, 0, "x");
  out.set(0, host::complex_of(in.dtype(0)), batch(in), {n});
}

void q_and_r(const Views& in, const Results& out) {
  const auto [m, n, k] = extent(in);
  const std::string_view mode = in.str(arg::qr::mode);
  if (mode != "reduced" && mode != "complete")
    sdk::fail(TN_INVALID_ARGUMENT, "mode is \"reduced\" or \"complete\", not \"", std::string(mode),
              "\"");
  const int64_t q = mode == "complete" ? m : k;
  out.set(arg::qr::result::Q, in.dtype(0), batch(in), {m, q});
  out.set(arg::qr::result::R, in.dtype(0), batch(in), {q, n});
}

void singular(const Views& in, const Results& out) {
  using arg = linalg::arg::svd;
  const auto [m, n, k] = extent(in);
  const bool full = in.flag(arg::full_matrices);
  out.set(arg::result::U, in.dtype(0), batch(in), {m, full ? m : k});
  out.set(arg::result::S, host::real_of(in.dtype(0)), batch(in), {k});
  out.set(arg::result::Vh, in.dtype(0), batch(in), {full ? n : k, n});
}

void singular_values(const Views& in, const Results& out) {
  const int64_t k =
      extent(in).k;  // before batch(), because C++ does not order the evaluation of arguments
  out.set(0, host::real_of(in.dtype(0)), batch(in), {k});
}

void like_adjoint(const Views& in, const Results& out) {
  const auto [m, n, k] = extent(in);
  out.set(0, in.dtype(0), batch(in), {n, m});
}

}  // namespace tenon::linalg
