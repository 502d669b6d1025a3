// Formulas: M. Giles, An extended collection of matrix derivative results (2008), unless another source is named. Real formulas become
// complex ones with ᴴ for ᵀ. G is the incoming gradient; a bar marks an outgoing one.
#include "gradients.hpp"

#include <limits>

#include "algebra.hpp"
#include "positions.hpp"

namespace tenon::linalg {

using sdk::fail;
using sdk::GradCall;
using sdk::OpArgs;

namespace {

// X⁻ᴴ·Y
Handle solve_adjoint(const Handle& x, const Handle& y) { return call("linalg.solve", H(x), y); }

// X·U⁻ᴴ for an upper triangular U
Handle over_adjoint(const Handle& x, const Handle& u) {
  return H(call("linalg.solve_triangular", u, H(x), true));
}

// Tr(Xᴴ·Y) of each matrix
Handle inner(const Handle& x, const Handle& y) {
  constexpr int64_t kDims[] = {-2, -1};
  return call("sum", conj(x) * y, std::span<const int64_t>(kDims), false);
}

}  // namespace

// C = A⁻¹: Ā = -Cᴴ·G·Cᴴ (2.2.3)
void inv_gradient(GradCall& g) {
  const Handle ch = H(g.saved_output());
  g.set(0, call("neg", dot(ch, g.grad(), ch)));
}

// C = A⁻¹·B: B̄ = A⁻ᴴ·G, Ā = -B̄·Cᴴ (2.3.1)
void solve_gradient(GradCall& g) {
  const Handle b = solve_adjoint(g.saved_input(arg::solve::a), g.grad());
  if (g.needed(arg::solve::b)) g.set(arg::solve::b, b);
  if (g.needed(arg::solve::a)) g.set(arg::solve::a, call("neg", dot(b, H(g.saved_output()))));
}

// c = det A: Ā = g·conj(cofactors of A) (2.2.4 with det(A)·A⁻ᵀ for the cofactors)
void det_gradient(GradCall& g) {
  g.set(0, spread(g.grad()) * conj(call("linalg.cofactor", g.saved_input(0))));
}

// d log|det A| = Re Tr(A⁻¹·dA) and d sign = i·sign·Im Tr(A⁻¹·dA): Ā = (g_log + i·Im(conj(sign)·g_sign))·A⁻ᴴ
void slogdet_gradient(GradCall& g) {
  using result = arg::slogdet::result;
  const Handle a = g.saved_input(arg::slogdet::x), sign = g.grad(result::sign);
  Handle factor = g.grad(result::logabsdet);
  if (is_complex(a) && sign) {
    const Handle turn = imaginary(call("imag", conj(g.saved_output(result::sign)) * sign));
    factor = factor ? factor + turn : turn;
  }
  if (factor) g.set(arg::slogdet::x, spread(factor) * H(call("linalg.inv", a)));
}

// C = det(A)·A⁻ᵀ: Ā = Tr(Cᴴ·G)·A⁻ᴴ - conj(C)·Gᵀ·A⁻ᴴ, by the product rule; where A has an inverse
void cofactor_gradient(GradCall& g) {
  const Handle c = g.saved_output(), ah = H(call("linalg.inv", g.saved_input(0)));
  g.set(0, spread(inner(c, g.grad())) * ah - dot(conj(c), T(g.grad()), ah));
}

// A = P·L·U, square: Ā = P·L⁻ᴴ·(tril(Lᴴ·G_L, -1) + triu(G_U·Uᴴ))·U⁻ᴴ (F. de Hoog, R. Anderssen and M. Lukas, Differentiation of
// matrix functionals using triangular factorization, 2011). The rows of PᵀA below a square are L₂·U: G_L₂·U⁻ᴴ, and G_U -= L₂ᴴ times
// that; its columns to the right are L·U₂: L⁻ᴴ·G_U₂, and G_L -= that times U₂ᴴ.
void lu_factor_gradient(GradCall& g) {
  using result = arg::lu_factor::result;
  const Handle lu = g.saved_output(result::LU), grad = g.grad(result::LU);
  const int64_t m = rows(lu), n = columns(lu), k = std::min(m, n);
  const auto square = [&](const Handle& x) { return narrow(narrow(x, -1, 0, k), -2, 0, k); };
  const Handle u = call("triu", square(lu), 0);
  const Handle l = call("tril", square(lu), -1) + eye_like(u);
  Handle gl = square(grad), gu = gl, rest;
  if (m > n) {
    rest = over_adjoint(narrow(grad, -2, k, m), u);
    gu = gu - dot(H(narrow(lu, -2, k, m)), rest);
  } else if (n > m) {
    rest = call("linalg.solve_triangular", H(l), narrow(grad, -1, k, n), true);
    gl = gl - dot(rest, H(narrow(lu, -1, k, n)));
  }
  const Handle inside = call("tril", dot(H(l), call("tril", gl, -1)), -1) +
                        call("triu", dot(call("triu", gu, 0), H(u)), 0);
  Handle ga = over_adjoint(call("linalg.solve_triangular", H(l), inside, true), u);
  if (rest) ga = join(ga, rest, m > n ? -2 : -1);
  const Handle order = call("linalg.row_order", g.saved_output(result::pivots), m);
  g.set(arg::lu_factor::x, call("gather", ga, -2, like(per_row(call("argsort", order, -1)), ga)));
}

// A = L·Lᴴ: Ā = ½(S + Sᴴ), S = L⁻ᴴ·Φ(Lᴴ·G)·L⁻¹, Φ the lower triangle with half the diagonal (I. Murray, Differentiation of the
// Cholesky decomposition, 2016, eq. 10)
void cholesky_gradient(GradCall& g) {
  const bool upper = g.arg(arg::cholesky::upper).as.i != 0;
  const Handle l = upper ? H(g.saved_output()) : g.saved_output(),
               gl = upper ? H(g.grad()) : g.grad();
  const Handle lh = H(l), p = dot(lh, gl);
  const Handle one = ones_like(p);
  const Handle phi = p * ((call("tril", one, 0) + call("tril", one, -1)) * 0.5);
  const Handle left = call("linalg.solve_triangular", lh, phi, true);
  const Handle s = H(call("linalg.solve_triangular", lh, H(left), true));
  g.set(arg::cholesky::x, (s + H(s)) * 0.5);
}

// as of solve, where only a triangle of A is read
void solve_triangular_gradient(GradCall& g) {
  using arg = linalg::arg::solve_triangular;
  const bool upper = g.arg(arg::upper).as.i != 0;
  const Handle b = call("linalg.solve_triangular", H(g.saved_input(arg::a)), g.grad(), !upper);
  if (g.needed(arg::b)) g.set(arg::b, b);
  if (g.needed(arg::a))
    g.set(arg::a, call("neg", call(upper ? "triu" : "tril", dot(b, H(g.saved_output())), 0)));
}

// A = Q·R, m ≥ n: Ā = (G_Q + Q·S)·R⁻ᴴ, S = M + Mᴴ - Re diag(M), M = triu(G_R·Rᴴ - Qᴴ·G_Q) (S. Walter
// and L. Lehmann, Algorithmic differentiation of linear algebra functions with application in optimum
// experimental design, 2010). With n > m A is [X Y] and R is [R₁ Qᴴ·Y]: Ȳ = Q·G_R₂, and X̄ as above
// after G_Q += Y·G_R₂ᴴ.
void qr_gradient(GradCall& g) {
  using arg = linalg::arg::qr;
  using result = arg::result;
  const Handle a = g.saved_input(arg::x), q = g.saved_output(result::Q),
               r = g.saved_output(result::R);
  const int64_t m = rows(a), n = columns(a);
  if (columns(q) > n)
    fail(TN_UNIMPLEMENTED,
         "mode=\"complete\" has no gradient for matrices with more rows than columns; use "
         "mode=\"reduced\"");
  Handle gq = g.grad(result::Q) ? g.grad(result::Q) : zeros_like(q),
         gr = g.grad(result::R) ? g.grad(result::R) : zeros_like(r), r1 = r, gy;
  if (n > m) {
    const Handle g2 = narrow(gr, -1, m, n);
    gy = dot(q, g2);
    gq = gq + dot(narrow(a, -1, m, n), H(g2));
    r1 = narrow(r, -1, 0, m);
    gr = narrow(gr, -1, 0, m);
  }
  const Handle x = call("triu", dot(gr, H(r1)) - dot(H(q), gq), 0);
  const Handle diagonal = x * eye_like(x);
  const Handle s = x + H(x) - (diagonal + H(diagonal)) * 0.5;
  const Handle right = gq + dot(q, s);
  const Handle gx = H(call("linalg.solve_triangular", r1, H(right), true));
  if (n == m || !gy) return g.set(arg::x, gx);
  g.set(arg::x, join(gx, gy, -1));
}

// A = V·diag(w)·Vᴴ: Ā = V·(diag(g_w) + F∘(Vᴴ·G_V))·Vᴴ, F_ij = 1/(w_j - w_i) (3.1); its Hermitian part,
// as that is what is read of A
void eigh_gradient(GradCall& g) {
  using result = arg::eigh::result;
  const Handle w = g.saved_output(result::eigenvalues), v = g.saved_output(result::eigenvectors),
               gw = g.grad(result::eigenvalues), gv = g.grad(result::eigenvectors);
  Handle inside;
  if (gv) {
    const Handle p = dot(H(v), gv);
    const Handle eye = eye_like(per_column(w) - per_row(w));
    inside = p / (per_column(w) - per_row(w) + eye) * (1.0 - eye);
  }
  Handle out = inside ? dot(v, (inside + H(inside)) * 0.5, H(v)) : Handle();
  if (gw) {
    const Handle values = dot(v * per_column(gw), H(v));
    out = out ? out + values : values;
  }
  if (out) g.set(arg::eigh::x, out);
}

// w alone: Ā = V·diag(g)·Vᴴ
void eigvalsh_gradient(GradCall& g) {
  const auto [w, v] = sdk::call_all<2>("linalg.eigh", g.saved_input(0));
  g.set(0, dot(v * per_column(g.grad()), H(v)));
}

namespace {

// V⁻ᴴ·M·Vᴴ, the gradient of a general matrix whose eigenvectors V are; the engine takes its real part for a real one
Handle from_eigenbasis(const Handle& m, const Handle& v) {
  const Handle vh = H(v);
  return call("linalg.solve", vh, dot(m, vh));
}
// (…, n) on the diagonals of matrices
Handle on_diagonal(const Handle& w, const Handle& like) { return per_column(w) * eye_like(like); }

}  // namespace

// A·V = V·diag(w), columns of V of norm 1: Ā = V⁻ᴴ·(diag(g_w) + E∘(Vᴴ·G_V - Vᴴ·V·Re diag(Vᴴ·G_V)))·Vᴴ, E_ij = 1/conj(w_j - w_i)
// and 0 on the diagonal (C. Boeddeker et al., On the computation of complex-valued gradients, 2019). The largest entry of a column, v_k, is
// real, which turns a column that changes by u by -i·Im(u_k/v_k): G_V has -i·Im diag(Vᴴ·G_V)/v_k more there.
void eig_gradient(GradCall& g) {
  using result = arg::eig::result;
  const Handle w = g.saved_output(result::eigenvalues), v = g.saved_output(result::eigenvectors),
               gw = g.grad(result::eigenvalues), gv = g.grad(result::eigenvectors);
  Handle inside = gw ? on_diagonal(gw, v) : Handle();
  if (gv) {
    const Handle eye = eye_like(v);
    const auto diagonal = [&](const Handle& g_v) {
      constexpr int64_t kRows[] = {-2};
      return call("sum", dot(H(v), g_v) * eye, std::span<const int64_t>(kRows), true);
    };
    const Handle at = call("argmax", call("abs", v), -2, true);
    const Handle phase = imaginary(call("imag", diagonal(gv))) / call("gather", v, -2, at);
    const Handle whole = gv - call("scatter", call("full_like", v, 0.0), -2, at, phase);
    const Handle turned = dot(H(v), whole);
    const Handle along = call("real", diagonal(whole));
    const Handle gap = conj(per_column(w) - per_row(w)) + eye;
    const Handle rest = (turned - dot(H(v), v) * along) / gap * (1.0 - eye);
    inside = inside ? inside + rest : rest;
  }
  if (inside) g.set(arg::eig::x, from_eigenbasis(inside, v));
}

// w alone: Ā = V⁻ᴴ·diag(g)·Vᴴ
void eigvals_gradient(GradCall& g) {
  const auto [w, v] = sdk::call_all<2>("linalg.eig", g.saved_input(0));
  g.set(0, from_eigenbasis(on_diagonal(g.grad(), v), v));
}

namespace {

// X - Xᴴ
Handle skew(const Handle& x) { return x - H(x); }

// The contribution of U and Vᴴ: see below.
Handle vectors_gradient(const Handle& u, const Handle& s, const Handle& vh, const Handle& gu,
                        const Handle& gvh) {
  const Handle squares = s * s;
  const Handle difference = per_column(squares) - per_row(squares);
  const Handle e = difference + eye_like(difference);
  const Handle pu = skew(dot(H(u), gu)), pv = skew(dot(vh, H(gvh)));
  Handle inside = (pu * per_column(s) + per_row(s) * pv) / e;
  if (is_complex(u)) inside = inside + pu * eye_like(difference) / per_column(s * 2.0);
  Handle out = dot(u, inside, vh);
  if (rows(u) > columns(u)) {
    const Handle x = gu / per_column(s);
    out = out + dot(x - dot(u, H(u), x), vh);
  }
  if (columns(vh) > rows(vh)) {
    const Handle x = gvh / per_row(s);
    out = out + dot(u, x - dot(x, H(vh), vh));
  }
  return out;
}

}  // namespace

// A = U·diag(s)·Vᴴ: Ā = U·([skew(Uᴴ·G_U)∘1/E]·S + S·[skew(Vᴴ·G_V)∘1/E] + diag(g_s))·Vᴴ + (1 - U·Uᴴ)·G_U·S⁻¹·Vᴴ
// + U·S⁻¹·G_Vᴴ·(1 - V·Vᴴ), E_jk = s_k² - s_j² (J. Townsend, Differentiating the singular value decomposition, 2016); complex:
// + ½·diag(skew(Uᴴ·G_U))·S⁻¹ inside (Z.-Q. Wan and S.-X. Zhang, Automatic differentiation for complex valued SVD, 2019)
void svd_gradient(GradCall& g) {
  using result = arg::svd::result;
  Handle u = g.saved_output(result::U), s = g.saved_output(result::S),
         vh = g.saved_output(result::Vh);
  const Handle gu = g.grad(result::U), gs = g.grad(result::S), gvh = g.grad(result::Vh);
  const int64_t k = columns(per_column(s));
  if (columns(u) > k || rows(vh) > k) {
    if (gu || gvh)
      fail(TN_UNIMPLEMENTED,
           "U and Vh of full_matrices=True have no gradient where the matrices are not square; "
           "use full_matrices=False");
    auto [ru, rs, rvh] = sdk::call_all<3>("linalg.svd", g.saved_input(arg::svd::x), false);
    u = ru, s = rs, vh = rvh;
  }
  Handle out;
  if (gu || gvh)
    out = vectors_gradient(u, s, vh, gu ? gu : zeros_like(u), gvh ? gvh : zeros_like(vh));
  if (gs) {
    const Handle values = dot(u * per_column(gs), vh);
    out = out ? out + values : values;
  }
  if (out) g.set(arg::svd::x, out);
}

// s alone: Ā = U·diag(g)·Vᴴ
void svdvals_gradient(GradCall& g) {
  const auto [u, s, vh] = sdk::call_all<3>("linalg.svd", g.saved_input(0), false);
  g.set(0, dot(u * per_column(g.grad()), vh));
}

// P = V·diag(1/s)·Uᴴ over the singular values above the cutoff
Handle pinv(const OpArgs& args) {
  const Handle x = args.tensor(arg::pinv::x);
  const auto [u, s, vh] = sdk::call_all<3>("linalg.svd", x, false);
  if (columns(u) == 0) return dot(H(vh), H(u));
  constexpr int64_t kLast[] = {-1};
  const Handle largest = call("max", s, std::span<const int64_t>(kLast), true);
  const double eps = s.view().dtype == TN_DTYPE_F64 ? std::numeric_limits<double>::epsilon()
                                                    : std::numeric_limits<float>::epsilon();
  const Handle cutoff = args.has(arg::pinv::rtol)
                            ? largest * per_row(args.tensor(arg::pinv::rtol))
                            : largest * (eps * static_cast<double>(std::max(rows(x), columns(x))));
  const Handle inverse = call("where", call("greater", s, cutoff), 1.0 / s, 0.0);
  return dot(H(vh) * per_column(inverse), H(u));
}

// dP = -P·dA·P + P·Pᴴ·dAᴴ·(1 - A·P) + (1 - P·A)·dAᴴ·Pᴴ·P (G. Golub and V. Pereyra, 1973, eq. 4.12), where the rank stays:
// Ā = -Pᴴ·G·Pᴴ + (1 - A·P)·Gᴴ·P·Pᴴ + Pᴴ·P·Gᴴ·(1 - P·A)
void pinv_gradient(GradCall& g) {
  const Handle a = g.saved_input(arg::pinv::x), p = g.saved_output(), ph = H(p), gh = H(g.grad());
  const Handle left = dot(gh, p, ph), right = dot(ph, p, gh);
  g.set(arg::pinv::x, left - dot(a, p, left) + right - dot(right, p, a) - dot(ph, g.grad(), ph));
}

}  // namespace tenon::linalg
