// Attention and its gradients. A reference needs the whole table of scores of one (batch, head), so all checked elements come from that
// one.
#include <algorithm>

#include "large.hpp"

namespace tenon::conformance::large {
namespace {

struct Problem {
  int64_t batch, heads, kept, length, width;  // k and v have `kept` heads
  bool causal;
  double scale() const { return 1 / std::sqrt(static_cast<double>(width)); }
  Shape q_shape() const { return {batch, heads, length, width}; }
  Shape k_shape() const { return {batch, kept, length, width}; }
  Shape lse_shape() const { return {batch, heads, length}; }
};

// Rows of a head: where its elements begin in an operand.
struct Head {
  const Numbers& of;
  int64_t from, width;
  double operator()(int64_t row, int64_t e) const { return of[from + row * width + e]; }
};

// Probabilities and the errors of the scores, for one head.
struct Scores {
  std::vector<double> p, error, lse;
  int64_t length = 0;
  double at(int64_t i, int64_t j) const { return p[static_cast<size_t>(i * length + j)]; }
  double error_at(int64_t i, int64_t j) const { return error[static_cast<size_t>(i * length + j)]; }
};

Scores scores_of(const Problem& c, DType dtype, const Head& q, const Head& k) {
  Scores s{{}, {}, {}, c.length};
  const auto n = static_cast<size_t>(c.length);
  s.p.assign(n * n, 0), s.error.assign(n * n, 0), s.lse.assign(n, 0);
  for (int64_t i = 0; i < c.length; ++i) {
    const int64_t end = c.causal ? i + 1 : c.length;
    double top = -INFINITY, total = 0;
    double* const row = &s.p[static_cast<size_t>(i * c.length)];
    double* const error = &s.error[static_cast<size_t>(i * c.length)];
    for (int64_t j = 0; j < end; ++j) {
      double sum = 0, sizes = 0;
      for (int64_t e = 0; e < c.width; ++e)
        sum += q(i, e) * k(j, e), sizes += std::abs(q(i, e) * k(j, e));
      row[j] = sum * c.scale();
      error[j] = sum_error(dtype, static_cast<double>(c.width), sizes * c.scale()) +
                 4 * sum_unit_of(dtype) * (1 + std::abs(row[j]));
      top = std::max(top, row[j]);
    }
    for (int64_t j = 0; j < end; ++j) total += row[j] = std::exp(row[j] - top);
    for (int64_t j = 0; j < end; ++j) row[j] /= total;
    s.lse[static_cast<size_t>(i)] = top + std::log(total);
  }
  return s;
}

// A sum whose terms have a relative error, in addition to the error of summing.
struct Sum {
  double value = 0, sizes = 0, error = 0, terms = 0;
  void add(double term, double own_error) {
    value += term, sizes += std::abs(term), error += own_error, ++terms;
  }
  Wanted wanted(DType dtype) const { return {value, error + sum_error(dtype, terms, sizes)}; }
};

struct Drawn {
  Problem c;
  Numbers q, k, v;
  int64_t b, h;
  Head head(const Numbers& of, bool is_kept) const {
    const int64_t heads = is_kept ? c.kept : c.heads, at = is_kept ? h / (c.heads / c.kept) : h;
    return {of, (b * heads + at) * c.length * c.width, c.width};
  }
};
Drawn draw(Setting& s, const Problem& c) {
  return {c,
          s.draw(c.q_shape()),
          s.draw(c.k_shape()),
          s.draw(c.k_shape()),
          s.rng.integer(0, c.batch),
          s.rng.integer(0, c.heads)};
}

// The elements of one head of an (N, H, L, E) tensor.
Tensor one_head(const Tensor& x, int64_t b, int64_t h) { return select(select(x, 0, b), 0, h); }

std::string run_forward(Setting& s, const Problem& c) {
  const Drawn d = draw(s, c);
  const Head q = d.head(d.q, false), k = d.head(d.k, true), v = d.head(d.v, true);
  const auto result = attention(d.q.tensor, d.k.tensor, d.v.tensor, {}, c.causal);
  const Scores scores = scores_of(c, s.dtype, q, k);
  return compare(s, one_head(result.y, d.b, d.h), {c.length, c.width}, [&](int64_t place) {
    const int64_t i = place / c.width, e = place % c.width;
    Sum sum;
    for (int64_t j = 0; j < c.length; ++j) {
      const double term = scores.at(i, j) * v(j, e);
      sum.add(term, std::abs(term) * (2 * scores.error_at(i, j) + unit_of(s.dtype)));
    }
    return sum.wanted(s.dtype);
  });
}

// ds_ij = p_ij·(Σ_e g_ie v_je − Σ_e g_ie y_ie)·scale, with its error.
struct ScoreGradients {
  std::vector<double> value, error;
};
ScoreGradients gradients_of(const Problem& c, DType dtype, const Scores& scores, const Head& g,
                            const Head& v, const Head& y) {
  const auto n = static_cast<size_t>(c.length);
  ScoreGradients made{std::vector<double>(n * n), std::vector<double>(n * n)};
  for (int64_t i = 0; i < c.length; ++i) {
    double rest = 0, rest_sizes = 0;
    for (int64_t e = 0; e < c.width; ++e)
      rest += g(i, e) * y(i, e), rest_sizes += std::abs(g(i, e) * y(i, e));
    for (int64_t j = 0; j < (c.causal ? i + 1 : c.length); ++j) {
      double dp = 0, sizes = rest_sizes;
      for (int64_t e = 0; e < c.width; ++e)
        dp += g(i, e) * v(j, e), sizes += std::abs(g(i, e) * v(j, e));
      const double p = scores.at(i, j), ds = p * (dp - rest) * c.scale();
      const auto at = static_cast<size_t>(i * c.length + j);
      made.value[at] = ds;
      made.error[at] = std::abs(ds) * (2 * scores.error_at(i, j) + unit_of(dtype)) +
                       p * c.scale() * sum_error(dtype, static_cast<double>(c.width), sizes);
    }
  }
  return made;
}

std::string run_backward(Setting& s, const Problem& c) {
  const Drawn d = draw(s, c);
  const Numbers g = s.draw(c.q_shape());
  const auto forward = attention(d.q.tensor, d.k.tensor, d.v.tensor, {}, c.causal);
  const Numbers y{forward.y, c.q_shape(), elements_of(forward.y)};
  const auto result = attention_backward(g.tensor, d.q.tensor, d.k.tensor, d.v.tensor, forward.y,
                                         forward.lse, {}, {}, c.causal, {});
  const Head q = d.head(d.q, false), k = d.head(d.k, true), v = d.head(d.v, true),
             gs = d.head(g, false);
  const Scores scores = scores_of(c, s.dtype, q, k);
  const ScoreGradients ds = gradients_of(c, s.dtype, scores, gs, v, d.head(y, false));
  const auto along = [&](int64_t i, int64_t j) { return static_cast<size_t>(i * c.length + j); };
  const Shape shape = {c.length, c.width};
  std::string wrong = compare(s, one_head(result.gq, d.b, d.h), shape, [&](int64_t place) {
    const int64_t i = place / c.width, e = place % c.width;
    Sum sum;
    for (int64_t j = 0; j < c.length; ++j)
      sum.add(ds.value[along(i, j)] * k(j, e), ds.error[along(i, j)] * std::abs(k(j, e)));
    return sum.wanted(s.dtype);
  });
  if (!wrong.empty()) return "gq: " + wrong;
  // Gradients of k and v add up over the heads that share them; the sums below are for one head.
  if (c.heads != c.kept) return {};
  wrong = compare(s, one_head(result.gk, d.b, d.h), shape, [&](int64_t place) {
    const int64_t j = place / c.width, e = place % c.width;
    Sum sum;
    for (int64_t i = 0; i < c.length; ++i)
      sum.add(ds.value[along(i, j)] * q(i, e), ds.error[along(i, j)] * std::abs(q(i, e)));
    return sum.wanted(s.dtype);
  });
  if (!wrong.empty()) return "gk: " + wrong;
  wrong = compare(s, one_head(result.gv, d.b, d.h), shape, [&](int64_t place) {
    const int64_t j = place / c.width, e = place % c.width;
    Sum sum;
    for (int64_t i = 0; i < c.length; ++i) {
      const double term = scores.at(i, j) * gs(i, e);
      sum.add(term, std::abs(term) * (2 * scores.error_at(i, j) + unit_of(s.dtype)));
    }
    return sum.wanted(s.dtype);
  });
  return wrong.empty() ? wrong : "gv: " + wrong;
}

}  // namespace

void add_attention(Cases& cases) {
  struct Named {
    std::string label;
    Problem whole, small;
  };
  for (const Named& one : {Named{"GPT-2", {2, 4, 4, 256, 64, true}, {1, 2, 2, 48, 64, true}},
                           Named{"ViT", {2, 4, 4, 197, 64, false}, {1, 2, 2, 37, 64, false}},
                           Named{"grouped", {1, 8, 2, 160, 128, true}, {1, 4, 2, 40, 128, true}}}) {
    const auto add = [&](const char* op, std::string (*run)(Setting&, const Problem&)) {
      cases.push_back({op, one.label, TN_MASK_FLOAT,
                       [=](Setting& s) { return run(s, s.small ? one.small : one.whole); }});
    };
    add("attention", run_forward);
    add("attention_backward", run_backward);
  }
}

}  // namespace tenon::conformance::large
