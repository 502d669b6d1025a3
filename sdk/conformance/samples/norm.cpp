// Normalisations and their backward ops.
#include <algorithm>

#include "helpers.hpp"

namespace tenon::conformance {
namespace {

constexpr double kEps = 1e-3;

// Groups of positions that share statistics, and the channel each position belongs to (for weight and bias).
struct Grouping {
  std::vector<size_t> group, channel;
  size_t groups = 0, channels = 0;
  Shape stats;  // shape of mean and rstd
};

// Over the trailing `n` dimensions, as in layer_norm and rms_norm.
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

// For each sample and group of channels; with `batch`, for each channel over the batch and all positions.
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

// Gradients of the row parameters have the weight's dtype, if there is a weight.
void of_rows(std::vector<Array>& out, const Shape& inner, const Args& args, size_t weight) {
  for (size_t k = 1; k < out.size(); ++k) {
    out[k].shape = inner;
    if (has(args, weight)) out[k].dtype = array(args, weight).dtype;
  }
}

void add_layer_norms(Table& t) {
  for (const auto& [x, n] : {std::pair<Shape, size_t>{{3, 5}, 1},
                             {{2, 3, 4}, 2},
                             {{2, 3, 4}, 1},
                             {{4, 130}, 1},
                             {{45, 264}, 1},
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
            Statistics s = statistics(array(a, arg::layer_norm::x), g);
            DType d = statistics_dtype(array(a, arg::layer_norm::x).dtype);
            return std::vector<Array>{normalized(array(a, arg::layer_norm::x), g, s, a,
                                                 arg::layer_norm::weight, arg::layer_norm::bias),
                                      from_reals(d, g.stats, s.mean),
                                      from_reals(d, g.stats, s.rstd)};
          });
      Sample& rms = t.add(
          "rms_norm", label, kFloats,
          [=, x = x](DType dtype, Rng& rng) {
            return Args{random_array(rng, dtype, x), inner,
                        maybe(affine, random_array(rng, dtype, inner)), kEps};
          },
          [=](const Args& a) {
            Statistics s = statistics(array(a, arg::rms_norm::x), g, false);
            return std::vector<Array>{
                normalized(array(a, arg::rms_norm::x), g, s, a, arg::rms_norm::weight, 0),
                from_reals(statistics_dtype(array(a, arg::rms_norm::x).dtype), g.stats, s.rstd)};
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
            of_rows(out, inner, a, arg::weight);
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
            out.pop_back();
            of_rows(out, inner, a, arg::weight);
            return out;
          });
      for (Sample* s : {&layer, &rms, &layer_back, &rms_back}) {
        s->tolerance = 40;
        s->gradient = Array::count(x) < 60;
        s->layouts = s == &layer || s == &rms;
      }
      // A backward op takes the statistics as separate inputs, so its own gradient would treat them as independent.
      layer_back.gradient = rms_back.gradient = false;
    }
}

// The norm of x + residual: its statistics are those of the sum as it is stored.
void add_residual_norms(Table& t) {
  for (const auto& [x, n] : {std::pair<Shape, size_t>{{3, 5}, 1},
                             {{2, 3, 4}, 2},
                             {{4, 130}, 1},
                             {{520, 264}, 1},
                             {{2, 4400}, 1}})
    for (bool affine : {true, false}) {
      const bool large = Array::count(x) > 1000;
      if (large && !affine) continue;
      Shape inner(x.end() - static_cast<std::ptrdiff_t>(n), x.end());
      std::string label = label_of(x) + label_of(inner) + (affine ? " affine" : "");
      Grouping g = trailing(x, n);
      Sample& layer = t.add(
          "add_layer_norm", label, kFloats,
          [=, x = x](DType dtype, Rng& rng) {
            return Args{random_array(rng, dtype, x),
                        random_array(rng, dtype, x),
                        inner,
                        maybe(affine, random_array(rng, dtype, inner)),
                        maybe(affine, random_array(rng, dtype, inner)),
                        kEps};
          },
          [=](const Args& a) {
            using arg = tenon::arg::add_layer_norm;
            Array sum = array(a, arg::x);
            for (size_t i = 0; i < sum.size(); ++i) sum.v[i] += array(a, arg::residual).v[i];
            round_to_dtype(sum);
            const Statistics s = statistics(sum, g);
            const DType d = statistics_dtype(sum.dtype);
            return std::vector<Array>{normalized(sum, g, s, a, arg::weight, arg::bias), sum,
                                      from_reals(d, g.stats, s.mean),
                                      from_reals(d, g.stats, s.rstd)};
          });
      layer.tolerance = 40;
      layer.gradient = Array::count(x) < 20;
      layer.layouts = Array::count(x) < 60;
      for (bool arrives : {true, false}) {
        if (large && !arrives) continue;
        Sample& back = t.add(
            "add_layer_norm_backward", label + (arrives ? " sum" : ""), kFloats,
            [=, x = x](DType dtype, Rng& rng) {
              const Array sum = random_array(rng, dtype, x);
              const Statistics s = statistics(sum, g);
              const DType d = statistics_dtype(dtype);
              Array mean = from_reals(d, g.stats, s.mean), rstd = from_reals(d, g.stats, s.rstd);
              round_to_dtype(mean), round_to_dtype(rstd);
              const Array to_y = random_array(rng, dtype, x);
              return Args{to_y, maybe(arrives, random_array(rng, dtype, x)),    sum,  mean,
                          rstd, maybe(affine, random_array(rng, dtype, inner)), inner};
            },
            [=](const Args& a) {
              using arg = tenon::arg::add_layer_norm_backward;
              auto out =
                  backward(array(a, arg::g), array(a, arg::sum), g, reals(array(a, arg::mean)),
                           reals(array(a, arg::rstd)),
                           has(a, arg::weight) ? &array(a, arg::weight) : nullptr, true, false);
              if (has(a, arg::gsum))
                for (size_t i = 0; i < out[0].size(); ++i) out[0].v[i] += array(a, arg::gsum).v[i];
              of_rows(out, inner, a, arg::weight);
              return out;
            });
        back.tolerance = 60;
        back.gradient = back.layouts = false;
      }
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
          Statistics s = statistics(array(a, arg::group_norm::x), g);
          DType d = statistics_dtype(array(a, arg::group_norm::x).dtype);
          return std::vector<Array>{normalized(array(a, arg::group_norm::x), g, s, a,
                                               arg::group_norm::weight, arg::group_norm::bias),
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
            DType d = statistics_dtype(array(a, arg::batch_norm::x).dtype);
            return std::vector<Array>{normalized(array(a, arg::batch_norm::x), g, s, a,
                                                 arg::batch_norm::weight, arg::batch_norm::bias),
                                      from_reals(d, g.stats, s.mean),
                                      from_reals(d, g.stats, s.rstd)};
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

}  // namespace

void add_norm_samples(Table& table) {
  add_layer_norms(table);
  add_residual_norms(table);
  add_channel_norms(table);
}

}  // namespace tenon::conformance
