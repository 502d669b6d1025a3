// Losses.
#include <algorithm>

#include "helpers.hpp"

namespace tenon::conformance {
namespace {

Array reduced(const Array& each, const std::string& reduction, double divisor = 0) {
  if (reduction == "none") return each;
  Array out(each.dtype, {});
  for (Complex v : each.v) out.v[0] += v;
  if (reduction == "mean") out.v[0] /= divisor != 0 ? divisor : static_cast<double>(each.size());
  return out;
}

// All have x and target in mse_loss's positions.
template <class Fn>
void pointwise(Table& t, const std::string& op, Fn loss, double low, double high, double target_low,
               double target_high, const Args& rest = {}) {
  for (const std::string reduction : {"mean", "sum", "none"}) {
    Sample& s = t.add(
        op, reduction + " " + std::to_string(rest.size()), kFloats,
        [=](DType dtype, Rng& rng) {
          Args args = {random_array(rng, dtype, {3, 4}, low, high),
                       random_array(rng, dtype, {3, 4}, target_low, target_high)};
          if (op.starts_with("bce")) args.emplace_back();
          if (op == "bce_with_logits_loss") args.emplace_back();
          args.push_back(reduction);
          args.insert(args.end(), rest.begin(), rest.end());
          return args;
        },
        [=](const Args& a) {
          return one(
              reduced(zip(array(a, arg::mse_loss::x), array(a, arg::mse_loss::target),
                          array(a, arg::mse_loss::x).dtype,
                          [&](Complex x, Complex y) { return Complex(loss(x.real(), y.real())); }),
                      reduction));
        });
    s.tolerance = 40;
  }
}

void add_pointwise_losses(Table& t) {
  pointwise(
      t, "mse_loss", [](double x, double y) { return (x - y) * (x - y); }, -2, 2, -2, 2);
  pointwise(
      t, "l1_loss", [](double x, double y) { return std::abs(x - y); }, -2, 2, -2, 2);
  pointwise(t, "smooth_l1_loss",
            [](double x, double y) {
              double d = std::abs(x - y);
              return d < 0.5 ? d * d / 1.0 : d - 0.25;
            },
            -2, 2, -2, 2, {0.5});
  pointwise(t, "huber_loss",
            [](double x, double y) {
              double d = std::abs(x - y);
              return d < 0.5 ? d * d / 2 : 0.5 * (d - 0.25);
            },
            -2, 2, -2, 2, {0.5});
  pointwise(
      t, "bce_loss",
      [](double x, double y) { return -(y * std::log(x) + (1 - y) * std::log(1 - x)); }, 0.1, 0.9,
      0.1, 0.9);
  pointwise(
      t, "bce_with_logits_loss",
      [](double x, double y) {
        return std::log1p(std::exp(-std::abs(x))) + std::max(x, 0.0) - x * y;
      },
      -3, 3, 0.1, 0.9);
  pointwise(t, "kl_div_loss", [](double x, double y) { return y * (std::log(y) - x); }, -3, -0.1,
            0.1, 0.9, {false});
}

// scale·g·(x − target), clamped to ±delta; g has an element for each of x's, or is one number.
void add_pair_backward(Table& t) {
  using arg = arg::huber_loss_backward;
  for (const double delta : {0.6, kInf})
    for (const auto& [g, x] : {std::pair<Shape, Shape>{{2, 3, 4}, {2, 3, 4}}, {{}, {37}}, {{}, {}}})
      t.add(
           "huber_loss_backward", label_of(g) + label_of(x) + (delta < kInf ? " held" : ""),
           kFloats,
           [=, g = g, x = x](DType dtype, Rng& rng) {
             return Args{random_array(rng, dtype, g), random_array(rng, dtype, x),
                         random_array(rng, dtype, x), delta < kInf ? Arg(delta) : Arg(), 0.5};
           },
           [=](const Args& a) {
             const Array gap = zip(array(a, arg::x), array(a, arg::target), array(a, arg::x).dtype,
                                   [](Complex x, Complex y) { return x - y; });
             return one(zip(array(a, arg::g), gap, gap.dtype, [&](Complex g, Complex d) {
               return g * 0.5 * std::clamp(d.real(), -delta, delta);
             }));
           })
          .tolerance = 4;
}

struct Nll {
  Shape shape;  // (N, C, d1…)
  bool weighted;
  int64_t ignore;
  std::string reduction;
};

// The position of the target's class in the logits, for each target.
size_t class_position(const Shape& shape, size_t i, int64_t label) {
  size_t classes = static_cast<size_t>(shape[1]), inner = 1;
  for (size_t d = 2; d < shape.size(); ++d) inner *= static_cast<size_t>(shape[d]);
  return (i / inner * classes + static_cast<size_t>(label)) * inner + i % inner;
}

Shape target_shape(const Shape& shape) {
  Shape out = {shape[0]};
  out.insert(out.end(), shape.begin() + 2, shape.end());
  return out;
}

// Loss and total weight of log-probabilities.
std::vector<Array> nll(const Array& logs, const Array& target, const Array* weight, const Nll& n) {
  Array each(logs.dtype, target.shape);
  double total = 0;
  for (size_t i = 0; i < target.size(); ++i) {
    auto label = static_cast<int64_t>(target.re(i));
    if (label == n.ignore) continue;
    double w = weight ? weight->re(static_cast<size_t>(label)) : 1;
    total += w;
    each.v[i] = -w * logs.v[class_position(n.shape, i, label)];
  }
  Array sum(logs.dtype, {});
  sum.v[0] = total;
  return {reduced(each, n.reduction, total), sum};
}

Array log_softmax_rows(const Array& x) {
  Array out = x;
  for_each_index(target_shape(x.shape), [&](const Shape& at) {
    auto place = [&](int64_t c) {
      Shape index = {at[0], c};
      index.insert(index.end(), at.begin() + 1, at.end());
      return x.at(index);
    };
    double total = 0;
    for (int64_t c = 0; c < x.shape[1]; ++c) total += std::exp(x.re(place(c)));
    for (int64_t c = 0; c < x.shape[1]; ++c) out.v[place(c)] = x.v[place(c)] - std::log(total);
  });
  return out;
}

// The dtype in which sums over a row are kept.
DType statistic_of(DType dtype) {
  return dtype == DType::F16 || dtype == DType::BF16 ? DType::F32 : dtype;
}
Array widened(Array x) {
  x.dtype = statistic_of(x.dtype);
  return x;
}

// Rows of logits: a few, one in which no class counts, and one longer than a block of threads reads at a time.
void add_rows(Table& t) {
  struct Rows {
    int64_t n, classes;
    bool weighted;
    int64_t ignore;
    std::string reduction = "none";
  };
  for (const Rows& r :
       {Rows{5, 3, false, -100}, Rows{5, 7, true, 2}, Rows{3, 1000, true, -100},
        Rows{2, 20000, false, -100}, Rows{5, 7, true, 2, "mean"}, Rows{5, 7, true, 2, "sum"}}) {
    const std::string label = label_of({r.n, r.classes}) + (r.weighted ? " weights" : "") +
                              (r.ignore >= 0 ? " ignore " : " ") + r.reduction;
    const auto make = [=](DType dtype, Rng& rng) {
      Array target = random_indices(rng, {r.n}, 0, r.classes);
      if (r.ignore >= 0) target.v[1] = static_cast<double>(r.ignore);
      return Args{random_array(rng, dtype, {r.n, r.classes}, -3, 3), target,
                  maybe(r.weighted, random_array(rng, statistic_of(dtype), {r.classes}, 0.5, 2)),
                  r.reduction, r.ignore};
    };
    const auto results = [](const Args& a) {
      using arg = tenon::arg::softmax_cross_entropy;
      const Array &x = array(a, arg::logits), &target = array(a, arg::target);
      const Array logs = log_softmax_rows(x);
      const auto classes = static_cast<size_t>(x.shape[1]);
      std::vector<Array> out(3, Array(statistic_of(x.dtype), target.shape));
      for (size_t i = 0; i < target.size(); ++i) {
        out[arg::result::lse].v[i] = x.v[i * classes] - logs.v[i * classes];
        const auto k = static_cast<size_t>(target.re(i));
        if (static_cast<int64_t>(k) == integer(a, arg::ignore_index)) continue;
        const double w = has(a, arg::weight) ? array(a, arg::weight).re(k) : 1;
        out[arg::result::counted].v[i] = w;
        out[arg::result::loss].v[i] = -w * logs.v[i * classes + k];
      }
      if (text(a, arg::reduction) == "none") return out;
      double sum = 0, total = 0;
      for (size_t i = 0; i < target.size(); ++i)
        sum += out[arg::result::loss].re(i), total += out[arg::result::counted].re(i);
      out[arg::result::loss] = Array(statistic_of(x.dtype), {});
      out[arg::result::loss].v[0] = text(a, arg::reduction) == "mean" ? sum / total : sum;
      return out;
    };
    Sample& forward = t.add("softmax_cross_entropy", label, kFloats, make, results);
    forward.tolerance = 20, forward.layouts = false, forward.gradient = r.classes < 10;
    forward.fixed = {arg::softmax_cross_entropy::weight};
    Sample& back = t.add(
        "softmax_cross_entropy_backward", label, kFloats,
        [=](DType dtype, Rng& rng) {
          using arg = tenon::arg::softmax_cross_entropy;
          Args a = make(dtype, rng);
          std::vector<Array> made = results(a);
          for (Array& each : made) round_to_dtype(each);
          return Args{random_array(rng, statistic_of(dtype), made[arg::result::loss].shape, -1, 1),
                      a[arg::logits], a[arg::target], made[arg::result::counted],
                      made[arg::result::lse]};
        },
        [](const Args& a) {
          using arg = tenon::arg::softmax_cross_entropy_backward;
          Array out = array(a, arg::logits);
          const auto classes = static_cast<size_t>(out.shape[1]);
          for (size_t i = 0; i < out.size(); ++i) {
            const size_t row = i / classes;
            const double p = std::exp(out.re(i) - array(a, arg::lse).re(row));
            const bool at = array(a, arg::target).re(row) == static_cast<double>(i % classes);
            const double g = array(a, arg::g).re(array(a, arg::g).size() == 1 ? 0 : row);
            out.v[i] = g * array(a, arg::counted).re(row) * (p - (at ? 1 : 0));
          }
          return one(out);
        });
    back.tolerance = 20, back.layouts = false, back.gradient = false;
  }
}

void add_classification(Table& t) {
  for (const Nll& n : {Nll{{4, 3}, false, -100, "mean"}, Nll{{4, 3}, true, -100, "mean"},
                       Nll{{4, 3}, true, 1, "sum"}, Nll{{4, 3}, false, 2, "none"},
                       Nll{{2, 3, 2, 2}, true, -100, "mean"}, Nll{{2, 3, 5}, false, 0, "mean"},
                       Nll{{64, 10}, false, -100, "mean"}}) {
    std::string label = label_of(n.shape) + (n.weighted ? " weights " : " ") + n.reduction +
                        " ignore " + std::to_string(n.ignore);
    auto make = [=](DType dtype, Rng& rng, bool logs) {
      Array x = random_array(rng, dtype, n.shape);
      if (logs) x = log_softmax_rows(x), round_to_dtype(x);
      return Args{x, random_indices(rng, target_shape(n.shape), 0, n.shape[1]),
                  maybe(n.weighted, random_array(rng, dtype, {n.shape[1]}, 0.5, 2)), n.reduction,
                  n.ignore};
    };
    Sample& loss = t.add(
        "nll_loss", label, kFloats, [=](DType dtype, Rng& rng) { return make(dtype, rng, true); },
        [=](const Args& a) {
          using arg = tenon::arg::nll_loss;
          return nll(array(a, arg::log_probs), array(a, arg::target),
                     has(a, arg::weight) ? &array(a, arg::weight) : nullptr, n);
        });
    loss.tolerance = 20, loss.layouts = false;
    loss.fixed = {arg::nll_loss::weight};  // as elsewhere, class weights have no gradient
    Sample& entropy = t.add(
        "cross_entropy", label, kFloats,
        [=](DType dtype, Rng& rng) { return make(dtype, rng, false); },
        [=](const Args& a) {
          using arg = tenon::arg::cross_entropy;
          return one(nll(widened(log_softmax_rows(array(a, arg::logits))), array(a, arg::target),
                         has(a, arg::weight) ? &array(a, arg::weight) : nullptr, n)[0]);
        });
    entropy.tolerance = 20, entropy.layouts = false;
    entropy.fixed = {arg::cross_entropy::weight};
    loss.gradient = entropy.gradient = n.shape[0] < 10;
    Sample& back = t.add(
        "nll_loss_backward", label, kFloats,
        [=](DType dtype, Rng& rng) {
          Args a = make(dtype, rng, true);
          using arg = tenon::arg::nll_loss;
          using result = arg::result;
          auto results = nll(array(a, arg::log_probs), array(a, arg::target),
                             has(a, arg::weight) ? &array(a, arg::weight) : nullptr, n);
          round_to_dtype(results[result::total_weight]);
          return Args{random_array(rng, dtype, results[result::loss].shape),
                      a[arg::log_probs],
                      a[arg::target],
                      a[arg::weight],
                      results[result::total_weight],
                      n.reduction,
                      n.ignore};
        },
        [=](const Args& a) {
          using arg = tenon::arg::nll_loss_backward;
          Array out(array(a, arg::log_probs).dtype, n.shape);
          for (size_t i = 0; i < array(a, arg::target).size(); ++i) {
            auto label = static_cast<int64_t>(array(a, arg::target).re(i));
            if (label == n.ignore) continue;
            double w =
                has(a, arg::weight) ? array(a, arg::weight).re(static_cast<size_t>(label)) : 1;
            double g = array(a, arg::g).re(n.reduction == "none" ? i : 0);
            out.v[class_position(n.shape, i, label)] =
                -w * g / (n.reduction == "mean" ? array(a, arg::total_weight).re(0) : 1);
          }
          return one(out);
        });
    back.tolerance = 20, back.layouts = false, back.gradient = false;
  }
  t.add(
       "cross_entropy", "probabilities", kFloats,
       [](DType dtype, Rng& rng) {
         return Args{random_array(rng, dtype, {3, 4}),
                     random_array(rng, dtype, {3, 4}, 0.1, 0.4),
                     {},
                     std::string("mean")};
       },
       [](const Args& a) {
         Array logs = log_softmax_rows(array(a, arg::cross_entropy::logits)),
               out(statistic_of(logs.dtype), {});
         for (size_t i = 0; i < logs.size(); ++i)
           out.v[0] -= logs.v[i] * array(a, arg::cross_entropy::target).v[i] / 3.0;
         return one(out);
       })
      .tolerance = 20;
  t.add(
       "cross_entropy", "smoothing", kFloats,
       [](DType dtype, Rng& rng) {
         return Args{random_array(rng, dtype, {3, 4}),
                     random_indices(rng, {3}, 0, 4),
                     {},
                     std::string("mean"),
                     int64_t{-100},
                     0.2};
       },
       [](const Args& a) {
         Array logs = log_softmax_rows(array(a, arg::cross_entropy::logits)),
               out(statistic_of(logs.dtype), {});
         for (size_t i = 0; i < logs.size(); ++i) {
           double target =
               0.2 / 4 +
               (array(a, arg::cross_entropy::target).re(i / 4) == static_cast<double>(i % 4) ? 0.8
                                                                                             : 0);
           out.v[0] -= logs.v[i] * target / 3.0;
         }
         return one(out);
       })
      .tolerance = 20;
}

}  // namespace

void add_loss_samples(Table& table) {
  add_pointwise_losses(table);
  add_pair_backward(table);
  add_classification(table);
  add_rows(table);
}

}  // namespace tenon::conformance
