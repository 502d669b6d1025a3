// Normalisations, their backwards, and losses.
#include <algorithm>

#include "helpers.hpp"

namespace tenon::conformance {
namespace {

constexpr double kEps = 1e-3;

Arg maybe(bool given, Array array) { return given ? Arg(std::move(array)) : Arg(); }

// Groups of positions that share statistics, and the channel each position belongs to (for weight and bias).
struct Grouping {
  std::vector<size_t> group, channel;
  size_t groups = 0, channels = 0;
  Shape stats;  // shape of mean and rstd
};

// Over the trailing `n` dimensions, as layer_norm and rms_norm.
Grouping trailing(const Shape& x, size_t n) {
  Grouping g;
  g.stats = Shape(x.begin(), x.end() - static_cast<std::ptrdiff_t>(n));
  g.groups = static_cast<size_t>(Array::count(g.stats));
  g.stats.insert(g.stats.end(), n, 1);  // kept, so that they broadcast against x
  g.channels =
      static_cast<size_t>(Array::count(Shape(x.end() - static_cast<std::ptrdiff_t>(n), x.end())));
  for (size_t i = 0; i < g.groups * g.channels; ++i)
    g.group.push_back(i / g.channels), g.channel.push_back(i % g.channels);
  return g;
}

// Per sample and group of channels; batch: over the batch and all places, per channel.
Grouping channelwise(const Shape& x, int64_t groups, bool batch) {
  Grouping g;
  Array frame(DType::F64, x);
  g.channels = static_cast<size_t>(x[1]);
  g.stats = batch ? Shape{x[1]} : Shape{x[0], groups};
  g.groups = static_cast<size_t>(Array::count(g.stats));
  for_each_index(x, [&](const Shape& at) {
    g.channel.push_back(static_cast<size_t>(at[1]));
    g.group.push_back(
        static_cast<size_t>(batch ? at[1] : at[0] * groups + at[1] / (x[1] / groups)));
  });
  return g;
}

struct Statistics {
  std::vector<double> mean, rstd;
};

Statistics statistics(const Array& x, const Grouping& g, bool centred = true) {
  Statistics s{std::vector<double>(g.groups), std::vector<double>(g.groups)};
  std::vector<double> count(g.groups);
  for (size_t i = 0; i < x.size(); ++i) count[g.group[i]] += 1;
  for (size_t i = 0; centred && i < x.size(); ++i)
    s.mean[g.group[i]] += x.re(i) / count[g.group[i]];
  for (size_t i = 0; i < x.size(); ++i)
    s.rstd[g.group[i]] += std::pow(x.re(i) - s.mean[g.group[i]], 2) / count[g.group[i]];
  for (double& value : s.rstd) value = 1 / std::sqrt(value + kEps);
  return s;
}

// Statistics are kept in f32 for half types.
DType statistics_dtype(DType dtype) { return dtype == DType::F64 ? DType::F64 : DType::F32; }
Array from_reals(DType dtype, Shape shape, const std::vector<double>& values) {
  Array out(dtype, std::move(shape));
  std::copy(values.begin(), values.end(), out.v.begin());
  return out;
}

Array normalized(const Array& x, const Grouping& g, const Statistics& s, const Args& args,
                 size_t weight, size_t bias) {
  Array y(x.dtype, x.shape);
  for (size_t i = 0; i < x.size(); ++i) {
    double value = (x.re(i) - s.mean[g.group[i]]) * s.rstd[g.group[i]];
    if (has(args, weight)) value *= array(args, weight).re(g.channel[i]);
    if (bias != 0 && has(args, bias)) value += array(args, bias).re(g.channel[i]);
    y.v[i] = value;
  }
  return y;
}

// ∂L/∂x = rstd·(ĝ − mean(ĝ) − x̂·mean(ĝ·x̂)) with ĝ = g·weight (Ba et al. 2016; without the mean for rms_norm).
std::vector<Array> backward(const Array& grad, const Array& x, const Grouping& g,
                            const std::vector<double>& mean, const std::vector<double>& rstd,
                            const Array* weight, bool centred, bool fixed) {
  std::vector<double> count(g.groups), first(g.groups), second(g.groups);
  Array gx(x.dtype, x.shape), gw(statistics_dtype(x.dtype), {static_cast<int64_t>(g.channels)}),
      gb = gw;
  auto hat = [&](size_t i) { return (x.re(i) - mean[g.group[i]]) * rstd[g.group[i]]; };
  auto scaled = [&](size_t i) { return grad.re(i) * (weight ? weight->re(g.channel[i]) : 1.0); };
  for (size_t i = 0; i < x.size(); ++i) {
    count[g.group[i]] += 1;
    first[g.group[i]] += scaled(i);
    second[g.group[i]] += scaled(i) * hat(i);
    gw.v[g.channel[i]] += grad.re(i) * hat(i);
    gb.v[g.channel[i]] += grad.re(i);
  }
  for (size_t i = 0; i < x.size(); ++i) {
    size_t k = g.group[i];
    double away = fixed ? 0 : (centred ? first[k] / count[k] : 0) + hat(i) * second[k] / count[k];
    gx.v[i] = rstd[k] * (scaled(i) - away);
  }
  return {gx, gw, gb};
}

std::vector<double> reals(const Array& a) {
  std::vector<double> out;
  for (Complex v : a.v) out.push_back(v.real());
  return out;
}

void add_layer_norms(Table& t) {
  for (const auto& [x, n] : {std::pair<Shape, size_t>{{3, 5}, 1},
                             {{2, 3, 4}, 2},
                             {{2, 3, 4}, 1},
                             {{4, 130}, 1},
                             {{7}, 1}})
    for (bool affine : {true, false}) {
      Shape inner(x.end() - static_cast<std::ptrdiff_t>(n), x.end());
      std::string label = label_of(x) + label_of(inner) + (affine ? " affine" : "");
      Grouping g = trailing(x, n);
      Sample& layer = t.add(
          "layer_norm", label, kFloats,
          [=, x = x](DType dtype, Rng& rng) {
            return Args{random_array(rng, dtype, x), inner,
                        maybe(affine, random_array(rng, dtype, inner)),
                        maybe(affine, random_array(rng, dtype, inner)), kEps};
          },
          [=](const Args& a) {
            Statistics s = statistics(array(a, 0), g);
            DType d = statistics_dtype(array(a, 0).dtype);
            return std::vector<Array>{
                normalized(array(a, 0), g, s, a, arg::layer_norm::weight, arg::layer_norm::bias),
                from_reals(d, g.stats, s.mean), from_reals(d, g.stats, s.rstd)};
          });
      Sample& rms = t.add(
          "rms_norm", label, kFloats,
          [=, x = x](DType dtype, Rng& rng) {
            return Args{random_array(rng, dtype, x), inner,
                        maybe(affine, random_array(rng, dtype, inner)), kEps};
          },
          [=](const Args& a) {
            Statistics s = statistics(array(a, 0), g, false);
            return std::vector<Array>{
                normalized(array(a, 0), g, s, a, arg::rms_norm::weight, 0),
                from_reals(statistics_dtype(array(a, 0).dtype), g.stats, s.rstd)};
          });
      Sample& layer_back = t.add(
          "layer_norm_backward", label, kFloats,
          [=, x = x](DType dtype, Rng& rng) {
            Array in = random_array(rng, dtype, x);
            Statistics s = statistics(in, g);
            DType d = statistics_dtype(dtype);
            Array mean = from_reals(d, g.stats, s.mean), rstd = from_reals(d, g.stats, s.rstd);
            round_to_dtype(mean), round_to_dtype(rstd);
            return Args{random_array(rng, dtype, x),
                        in,
                        mean,
                        rstd,
                        maybe(affine, random_array(rng, dtype, inner)),
                        inner};
          },
          [=](const Args& a) {
            using arg = tenon::arg::layer_norm_backward;
            auto out =
                backward(array(a, arg::g), array(a, arg::x), g, reals(array(a, arg::mean)),
                         reals(array(a, arg::rstd)),
                         has(a, arg::weight) ? &array(a, arg::weight) : nullptr, true, false);
            out[1].shape = out[2].shape = inner;
            return out;
          });
      Sample& rms_back = t.add(
          "rms_norm_backward", label, kFloats,
          [=, x = x](DType dtype, Rng& rng) {
            Array in = random_array(rng, dtype, x);
            Array rstd =
                from_reals(statistics_dtype(dtype), g.stats, statistics(in, g, false).rstd);
            round_to_dtype(rstd);
            return Args{random_array(rng, dtype, x), in, rstd,
                        maybe(affine, random_array(rng, dtype, inner)), inner};
          },
          [=](const Args& a) {
            using arg = tenon::arg::rms_norm_backward;
            auto out =
                backward(array(a, arg::g), array(a, arg::x), g, std::vector<double>(g.groups),
                         reals(array(a, arg::rstd)),
                         has(a, arg::weight) ? &array(a, arg::weight) : nullptr, false, false);
            out[1].shape = inner;
            out.pop_back();
            return out;
          });
      for (Sample* s : {&layer, &rms, &layer_back, &rms_back}) {
        s->tolerance = 40;
        s->gradient = Array::count(x) < 60;
        s->layouts = s == &layer || s == &rms;
      }
      // The backwards' statistics are inputs of their own there: the gradient would treat them as independent.
      layer_back.gradient = rms_back.gradient = false;
    }
}

void add_channel_norms(Table& t) {
  for (const auto& [x, groups] : {std::pair<Shape, int64_t>{{2, 4, 5}, 2},
                                  {{2, 4, 3, 3}, 4},
                                  {{2, 6, 2, 2}, 1},
                                  {{3, 4}, 2}}) {
    Grouping g = channelwise(x, groups, false);
    std::string label = label_of(x) + " groups " + std::to_string(groups);
    Sample& group = t.add(
        "group_norm", label, kFloats,
        [=, x = x, groups = groups](DType dtype, Rng& rng) {
          return Args{random_array(rng, dtype, x), groups, random_array(rng, dtype, {x[1]}),
                      random_array(rng, dtype, {x[1]}), kEps};
        },
        [=](const Args& a) {
          Statistics s = statistics(array(a, 0), g);
          DType d = statistics_dtype(array(a, 0).dtype);
          return std::vector<Array>{
              normalized(array(a, 0), g, s, a, arg::group_norm::weight, arg::group_norm::bias),
              from_reals(d, g.stats, s.mean), from_reals(d, g.stats, s.rstd)};
        });
    group.tolerance = 40;
    Sample& back = t.add(
        "group_norm_backward", label, kFloats,
        [=, x = x, groups = groups](DType dtype, Rng& rng) {
          Array in = random_array(rng, dtype, x);
          Statistics s = statistics(in, g);
          Array mean = from_reals(statistics_dtype(dtype), g.stats, s.mean),
                rstd = from_reals(statistics_dtype(dtype), g.stats, s.rstd);
          round_to_dtype(mean), round_to_dtype(rstd);
          return Args{random_array(rng, dtype, x),      in,    mean, rstd,
                      random_array(rng, dtype, {x[1]}), groups};
        },
        [=](const Args& a) {
          using arg = tenon::arg::group_norm_backward;
          return backward(array(a, arg::g), array(a, arg::x), g, reals(array(a, arg::mean)),
                          reals(array(a, arg::rstd)), &array(a, arg::weight), true, false);
        });
    back.tolerance = 60, back.gradient = back.layouts = false;
  }
  for (const Shape& x : {Shape{4, 3, 5}, Shape{6, 3}, Shape{2, 3, 4, 4}})
    for (bool training : {true, false}) {
      Grouping g = channelwise(x, 1, true);
      std::string label = label_of(x) + (training ? " training" : " evaluation");
      auto given = [=](const Args& a) {
        if (training) return statistics(array(a, arg::batch_norm::x), g);
        Statistics s{reals(array(a, arg::batch_norm::running_mean)),
                     reals(array(a, arg::batch_norm::running_var))};
        for (double& value : s.rstd) value = 1 / std::sqrt(value + kEps);
        return s;
      };
      Sample& batch = t.add(
          "batch_norm", label, kFloats,
          [=](DType dtype, Rng& rng) {
            DType d = statistics_dtype(dtype);
            return Args{random_array(rng, dtype, x),
                        random_array(rng, dtype, {x[1]}),
                        random_array(rng, dtype, {x[1]}),
                        maybe(!training, random_array(rng, d, {x[1]})),
                        maybe(!training, random_array(rng, d, {x[1]}, 0.5, 2)),
                        training,
                        kEps};
          },
          [=](const Args& a) {
            Statistics s = given(a);
            DType d = statistics_dtype(array(a, 0).dtype);
            return std::vector<Array>{
                normalized(array(a, 0), g, s, a, arg::batch_norm::weight, arg::batch_norm::bias),
                from_reals(d, g.stats, s.mean), from_reals(d, g.stats, s.rstd)};
          });
      batch.tolerance = 40, batch.gradient = training, batch.layouts = training;
      Sample& back = t.add(
          "batch_norm_backward", label, kFloats,
          [=](DType dtype, Rng& rng) {
            Array in = random_array(rng, dtype, x);
            Statistics s = statistics(in, g);
            Array mean = from_reals(statistics_dtype(dtype), g.stats, s.mean),
                  rstd = from_reals(statistics_dtype(dtype), g.stats, s.rstd);
            round_to_dtype(mean), round_to_dtype(rstd);
            return Args{random_array(rng, dtype, x),      in,      mean, rstd,
                        random_array(rng, dtype, {x[1]}), training};
          },
          [=](const Args& a) {
            using arg = tenon::arg::batch_norm_backward;
            return backward(array(a, arg::g), array(a, arg::x), g, reals(array(a, arg::mean)),
                            reals(array(a, arg::rstd)), &array(a, arg::weight), true, !training);
          });
      back.tolerance = 60, back.gradient = back.layouts = false;
    }
}

// ---- losses ---------------------------------------------------------------------------------------------------------------

Array reduced(const Array& each, const std::string& reduction, double divisor = 0) {
  if (reduction == "none") return each;
  Array out(each.dtype, {});
  for (Complex v : each.v) out.v[0] += v;
  if (reduction == "mean") out.v[0] /= divisor != 0 ? divisor : static_cast<double>(each.size());
  return out;
}

// All have x and target where mse_loss has them.
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
    loss.fixed = {arg::nll_loss::weight};  // class weights have no gradient, as elsewhere
    Sample& entropy = t.add(
        "cross_entropy", label, kFloats,
        [=](DType dtype, Rng& rng) { return make(dtype, rng, false); },
        [=](const Args& a) {
          using arg = tenon::arg::cross_entropy;
          return one(nll(log_softmax_rows(array(a, arg::logits)), array(a, arg::target),
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
         Array logs = log_softmax_rows(array(a, arg::cross_entropy::logits)), out(logs.dtype, {});
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
         Array logs = log_softmax_rows(array(a, arg::cross_entropy::logits)), out(logs.dtype, {});
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

void add_norm_samples(Table& table) {
  add_layer_norms(table);
  add_channel_norms(table);
  add_pointwise_losses(table);
  add_classification(table);
}

}  // namespace tenon::conformance
