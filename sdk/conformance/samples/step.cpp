// Optimizer steps over lists of tensors, by their papers' formulas.
#include "helpers.hpp"

namespace tenon::conformance {
namespace {

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> list = {{3, 4}, {1}, {67}, {0}, {}};
  return list;
}
std::vector<Array> list(Rng& rng, DType dtype, double low = -1, double high = 1) {
  std::vector<Array> arrays;
  for (const Shape& shape : shapes()) arrays.push_back(random_array(rng, dtype, shape, low, high));
  return arrays;
}

// Calls fn with references to the elements at one position of all lists. Returns the first `written` lists.
template <class Fn>
std::vector<Array> each_element(std::vector<std::vector<Array>> lists,
                                const std::vector<size_t>& written, Fn fn) {
  for (size_t k = 0; k < lists[0].size(); ++k)
    for (size_t i = 0; i < lists[0][k].size(); ++i) {
      std::vector<double> values;
      for (auto& l : lists) values.push_back(l.empty() ? 0 : l[k].re(i));
      fn(values);
      for (size_t n = 0; n < lists.size(); ++n)
        if (!lists[n].empty()) lists[n][k].v[i] = values[n];
    }
  std::vector<Array> results;
  for (size_t n : written) results.insert(results.end(), lists[n].begin(), lists[n].end());
  return results;
}

Sample& step(Table& t, const std::string& op, const std::string& label,
             std::function<Args(DType, Rng&)> make, Reference reference) {
  Sample& s = t.add(op, label, kFloats, std::move(make), std::move(reference));
  s.tolerance = 12, s.layouts = s.gradient = false;
  return s;
}

// Sutskever et al. 2013 as PyTorch states it: v = μv + (1−τ)g; p -= lr·(nesterov ? g + μv : v).
void add_sgd(Table& t) {
  struct Sgd {
    double momentum, dampening, decay;
    bool nesterov, first;
  };
  for (const Sgd& o :
       {Sgd{0, 0, 0, false, false}, Sgd{0, 0, 0.1, false, false}, Sgd{0.9, 0, 0, false, false},
        Sgd{0.9, 0, 0.1, true, false}, Sgd{0.9, 0.5, 0, false, true}})
    step(
        t, "sgd_step",
        std::to_string(o.momentum) + (o.nesterov ? " nesterov" : "") + (o.first ? " first" : "") +
            (o.decay > 0 ? " decay" : ""),
        [=](DType dtype, Rng& rng) {
          return Args{list(rng, dtype),
                      list(rng, dtype),
                      o.momentum != 0 ? list(rng, dtype) : std::vector<Array>{},
                      0.1,
                      o.momentum,
                      o.dampening,
                      o.decay,
                      o.nesterov,
                      o.first};
        },
        [=](const Args& a) {
          return each_element({arrays(a, arg::sgd_step::params), arrays(a, arg::sgd_step::grads),
                               arrays(a, arg::sgd_step::momenta)},
                              {0, 2}, [&](std::vector<double>& v) {
                                double g = v[1] + o.decay * v[0];
                                if (o.momentum != 0) {
                                  v[2] = o.first ? g : o.momentum * v[2] + (1 - o.dampening) * g;
                                  g = o.nesterov ? g + o.momentum * v[2] : v[2];
                                }
                                v[0] -= 0.1 * g;
                              });
        });
}

// Kingma & Ba 2015, algorithm 1; decoupled decay of Loshchilov & Hutter 2019; AMSGrad of Reddi et al. 2018.
void add_adam(Table& t) {
  struct Adam {
    double decay;
    bool decoupled, amsgrad;
  };
  // The same formula, with the step's number and rate given as numbers or as tensors.
  const auto formula = [](const Adam& o, const Args& a) {
    using arg = tenon::arg::adam_step;
    return each_element({arrays(a, arg::params), arrays(a, arg::grads), arrays(a, arg::exp_avg),
                         arrays(a, arg::exp_avg_sq), arrays(a, arg::max_exp_avg_sq)},
                        {0, 2, 3, 4}, [&](std::vector<double>& v) {
                          double g = v[1];
                          if (o.decoupled)
                            v[0] *= 1 - 0.01 * o.decay;
                          else
                            g += o.decay * v[0];
                          v[2] = 0.9 * v[2] + 0.1 * g;
                          v[3] = 0.99 * v[3] + 0.01 * g * g;
                          double second = v[3];
                          if (o.amsgrad) second = v[4] = std::max(v[4], v[3]);
                          double m = v[2] / (1 - std::pow(0.9, 3)),
                                 s = second / (1 - std::pow(0.99, 3));
                          v[0] -= 0.01 * m / (std::sqrt(s) + 1e-6);
                        });
  };
  for (const Adam& o : {Adam{0, false, false}, Adam{0.1, false, false}, Adam{0.1, true, false},
                        Adam{0, false, true}}) {
    const std::string label = std::string(o.decoupled ? "decoupled " : "") +
                              (o.amsgrad ? "amsgrad " : "") + std::to_string(o.decay);
    const auto make = [=](DType dtype, Rng& rng) {
      return Args{list(rng, dtype),
                  list(rng, dtype),
                  list(rng, dtype),
                  list(rng, dtype, 0.1, 1),
                  o.amsgrad ? list(rng, dtype, 0.1, 1) : std::vector<Array>{},
                  int64_t{3},
                  0.01,
                  0.9,
                  0.99,
                  1e-6,
                  o.decay,
                  o.decoupled};
    };
    step(t, "adam_step", label, make, [=](const Args& a) { return formula(o, a); });
    step(
        t, "adam_step_counted", label,
        [=](DType dtype, Rng& rng) {
          Args args = make(dtype, rng);
          Array count(DType::I64, {}), rate(DType::F64, {});
          count.v[0] = 2;
          rate.v[0] = 0.01;
          args[arg::adam_step_counted::step] = count;
          args[arg::adam_step_counted::lr] = rate;
          return args;
        },
        [=](const Args& a) {
          std::vector<Array> written = formula(o, a);
          Array count(DType::I64, {});
          count.v[0] = 3;
          written.push_back(count);
          return written;
        });
  }
}

void add_others(Table& t) {
  for (bool centred : {false, true})
    for (double momentum : {0.0, 0.9})
      step(
          t, "rmsprop_step", std::string(centred ? "centred " : "") + std::to_string(momentum),
          [=](DType dtype, Rng& rng) {
            return Args{list(rng, dtype),
                        list(rng, dtype),
                        list(rng, dtype, 1.1, 2),
                        centred ? list(rng, dtype, -0.2, 0.2) : std::vector<Array>{},
                        momentum != 0 ? list(rng, dtype) : std::vector<Array>{},
                        0.01,
                        0.9,
                        1e-4,
                        0.1,
                        momentum};
          },
          [=](const Args& a) {
            using arg = tenon::arg::rmsprop_step;
            return each_element(
                {arrays(a, arg::params), arrays(a, arg::grads), arrays(a, arg::square_avg),
                 arrays(a, arg::grad_avg), arrays(a, arg::momenta)},
                {0, 2, 3, 4}, [&](std::vector<double>& v) {
                  double g = v[1] + 0.1 * v[0];
                  v[2] = 0.9 * v[2] + 0.1 * g * g;
                  double mean = v[2];
                  if (centred) v[3] = 0.9 * v[3] + 0.1 * g, mean -= v[3] * v[3];
                  double change = g / (std::sqrt(mean) + 1e-4);
                  if (momentum != 0) change = v[4] = momentum * v[4] + change;
                  v[0] -= 0.01 * change;
                });
          });
  step(
      t, "adagrad_step", "decay",  // Duchi et al. 2011
      [](DType dtype, Rng& rng) {
        return Args{list(rng, dtype),
                    list(rng, dtype),
                    list(rng, dtype, 0.1, 1),
                    int64_t{3},
                    0.1,
                    0.05,
                    1e-6,
                    0.1};
      },
      [](const Args& a) {
        return each_element(
            {arrays(a, arg::adagrad_step::params), arrays(a, arg::adagrad_step::grads),
             arrays(a, arg::adagrad_step::sums)},
            {0, 2}, [&](std::vector<double>& v) {
              double g = v[1] + 0.1 * v[0];
              v[2] += g * g;
              v[0] -= 0.1 / (1 + 2 * 0.05) * g / (std::sqrt(v[2]) + 1e-6);
            });
      });
  for (double p : {2.0, 1.0, kInf})
    step(
        t, "multi_norm", "p " + std::to_string(p),
        [=](DType dtype, Rng& rng) {
          return Args{list(rng, dtype), p};
        },
        [=](const Args& a) {
          double total = 0;
          for (const Array& x : arrays(a, arg::multi_norm::xs))
            for (size_t i = 0; i < x.size(); ++i)
              total = std::isinf(p) ? std::max(total, std::abs(x.re(i)))
                                    : total + std::pow(std::abs(x.re(i)), p);
          Array out(arrays(a, arg::multi_norm::xs)[0].dtype, {});
          if (out.dtype == DType::F16 || out.dtype == DType::BF16) out.dtype = DType::F32;
          out.v[0] = std::isinf(p) ? total : std::pow(total, 1 / p);
          return one(out);
        });
  step(
      t, "multi_scale", "half",
      [](DType dtype, Rng& rng) {
        Array factor(dtype, {});
        factor.v[0] = 0.5;
        return Args{list(rng, dtype), factor};
      },
      [](const Args& a) {
        return each_element({arrays(a, arg::multi_scale::xs)}, {0},
                            [](std::vector<double>& v) { v[0] *= 0.5; });
      });
}

}  // namespace

void add_step_samples(Table& table) {
  add_sgd(table);
  add_adam(table);
  add_others(table);
}

}  // namespace tenon::conformance
