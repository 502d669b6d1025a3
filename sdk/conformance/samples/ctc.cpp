// ctc_loss and its backward by the forward and backward variables of Graves et al. 2006, as probabilities: equations 6 to 16.
#include "helpers.hpp"

namespace tenon::conformance {
namespace {

struct Case {
  int64_t steps, batch, classes, most;
  int64_t blank = 0;
  bool normalized = false, impossible = false;

  Shape shape() const { return {steps, batch, classes}; }
  std::string label() const {
    return label_of(shape()) + " " + std::to_string(most) + " labels, blank " +
           std::to_string(blank) + (normalized ? " normalized" : "") +
           (impossible ? " impossible" : "");
  }
};

// One sample: y[t][k], and the labels with blanks around.
struct Ways {
  std::vector<std::vector<double>> y, alpha, beta;
  std::vector<size_t> path;
  double p = 0;

  // arg: of ctc_loss or its backward op.
  template <class arg>
  Ways(arg, const Case& c, const Args& a, int64_t n) {
    const Array &x = array(a, arg::log_probs), &targets = array(a, arg::targets);
    const auto at = static_cast<size_t>(n), blank = static_cast<size_t>(c.blank);
    y.resize(static_cast<size_t>(array(a, arg::input_lengths).re(at)));
    for (size_t t = 0; t < y.size(); ++t)
      for (int64_t k = 0; k < c.classes; ++k)
        y[t].push_back(std::exp(x.re(x.at({static_cast<int64_t>(t), n, k}))));
    path.push_back(blank);
    for (int64_t s = 0; s < static_cast<int64_t>(array(a, arg::target_lengths).re(at)); ++s) {
      path.push_back(static_cast<size_t>(targets.re(targets.at({n, s}))));
      path.push_back(blank);
    }
    alpha = beta = {y.size(), std::vector<double>(path.size())};
    for (size_t t = 0; t < y.size(); ++t)
      for (size_t s = 0; s < path.size(); ++s) {
        double sum = t == 0 ? (s < 2 ? 1 : 0) : 0;
        for (size_t back = 0; t > 0 && back <= s && may_skip(s, back); ++back)
          sum += alpha[t - 1][s - back];
        alpha[t][s] = sum * y[t][path[s]];
      }
    for (size_t t = y.size(); t-- > 0;)
      for (size_t s = 0; s < path.size(); ++s) {
        double sum = t + 1 == y.size() ? (s + 2 >= path.size() ? 1 : 0) : 0;
        for (size_t ahead = 0;
             t + 1 < y.size() && s + ahead < path.size() && may_skip(s + ahead, ahead); ++ahead)
          sum += beta[t + 1][s + ahead];
        beta[t][s] = sum * y[t][path[s]];
      }
    if (y.empty()) p = path.size() == 1 ? 1 : 0;
    for (size_t s = 0; !y.empty() && s < path.size(); ++s)
      p += alpha[0][s] * beta[0][s] / y[0][path[s]];
  }

 private:
  // Whether place s can be reached from the place `back` before it.
  bool may_skip(size_t s, size_t back) const {
    return back < 2 || (back == 2 && path[s] != path[0] && path[s] != path[s - 2]);
  }
};

DType statistic_of(DType dtype) {
  return dtype == DType::F16 || dtype == DType::BF16 ? DType::F32 : dtype;
}

std::vector<Array> loss(const Case& c, const Args& a) {
  using arg = tenon::arg::ctc_loss;
  Array out(statistic_of(array(a, arg::log_probs).dtype), {c.batch});
  for (int64_t n = 0; n < c.batch; ++n)
    out.v[static_cast<size_t>(n)] = -std::log(Ways(arg{}, c, a, n).p);
  return {out};
}

std::vector<Array> gradient(const Case& c, const Args& a) {
  using arg = tenon::arg::ctc_loss_backward;
  Array out(array(a, arg::log_probs).dtype, c.shape());
  for (int64_t n = 0; n < c.batch; ++n) {
    const Ways ways(arg{}, c, a, n);
    const double g = array(a, arg::g).re(static_cast<size_t>(n));
    for (size_t t = 0; ways.p > 0 && t < ways.y.size(); ++t) {
      const size_t row = out.at({static_cast<int64_t>(t), n, 0});
      for (size_t k = 0; c.normalized && k < ways.y[t].size(); ++k)
        out.v[row + k] = g * ways.y[t][k];
      for (size_t s = 0; s < ways.path.size(); ++s)
        out.v[row + ways.path[s]] -=
            g * ways.alpha[t][s] * ways.beta[t][s] / ways.y[t][ways.path[s]] / ways.p;
    }
  }
  return {out};
}

Args arguments(const Case& c, DType dtype, Rng& rng) {
  const auto whole = [](int64_t n) { return Array(DType::I64, {n}); };
  Array targets = random_indices(rng, {c.batch, c.most}, 0, c.classes - 1);
  for (auto& label : targets.v) label += label.real() >= static_cast<double>(c.blank) ? 1 : 0;
  Array inputs = whole(c.batch), lengths = whole(c.batch);
  for (size_t n = 0; n < inputs.size(); ++n) {
    const int64_t steps = n == 0 ? c.steps : rng.integer(c.steps / 2, c.steps + 1);
    inputs.v[n] = static_cast<double>(steps);
    // For this many labels there is a way, even if labels repeat.
    const int64_t fit = std::min(c.most, (steps + 1) / 2);
    lengths.v[n] = static_cast<double>(c.impossible ? c.most
                                       : n == 0     ? fit
                                                    : rng.integer(0, fit + 1));
  }
  return {
      random_array(rng, dtype, c.shape(), -3, 0), targets, inputs, lengths, c.blank, c.normalized};
}

void add_case(Table& t, const Case& c) {
  const bool tiny = c.steps * c.batch * c.classes < 60;
  Sample& forward = t.add(
      "ctc_loss", c.label(), kFloats,
      [=](DType dtype, Rng& rng) { return arguments(c, dtype, rng); },
      [=](const Args& a) { return loss(c, a); });
  Sample& back = t.add(
      "ctc_loss_backward", c.label(), kFloats,
      [=](DType dtype, Rng& rng) {
        Args a = arguments(c, dtype, rng);
        a.insert(a.begin(), random_array(rng, statistic_of(dtype), {c.batch}));
        return a;
      },
      [=](const Args& a) { return gradient(c, a); });
  forward.tolerance = back.tolerance = 60;
  forward.gradient = tiny && !c.normalized && !c.impossible;
  back.gradient = tiny;
  forward.layouts = back.layouts = tiny;
}

}  // namespace

// Long and short samples, with repeated labels, without labels, and without a way.
void add_ctc_samples(Table& t) {
  const Case cases[] = {{5, 2, 4, 2},          {6, 3, 3, 3, 2},
                        {5, 2, 4, 3, 1, true}, {1, 2, 2, 1},
                        {4, 2, 3, 0},          {3, 0, 4, 2},
                        {0, 2, 3, 0},          {2, 2, 3, 4, 0, false, true},
                        {30, 5, 7, 9},         {50, 9, 40, 20, 39, true}};
  for (const Case& c : cases) add_case(t, c);
}

}  // namespace tenon::conformance
