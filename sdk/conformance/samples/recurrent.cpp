// An LSTM layer and its backward op by the definition, one unit after the other.
#include "helpers.hpp"

namespace tenon::conformance {
namespace {

struct Case {
  int64_t steps, batch, width;
  bool reverse = false;

  Shape gates() const { return {steps, batch, 4 * width}; }
  Shape sequence() const { return {steps, batch, width}; }
  Shape state() const { return {batch, width}; }
  Shape weight() const { return {4 * width, width}; }
  std::string label() const { return label_of(gates()) + (reverse ? " reverse" : ""); }
  // The position of the k-th step.
  int64_t place(int64_t k) const { return reverse ? steps - 1 - k : k; }
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// A row of a state before the k-th step: from `first`, or from a sequence.
double before(const Case& s, const Array& first, const Array& sequence, int64_t k, int64_t b,
              int64_t j) {
  return k == 0 ? first.re(first.at({b, j})) : sequence.re(sequence.at({s.place(k - 1), b, j}));
}

std::vector<Array> forward(const Case& s, const Args& a) {
  using arg = tenon::arg::lstm;
  const Array &x = array(a, arg::x), &h0 = array(a, arg::h0), &c0 = array(a, arg::c0),
              &weight = array(a, arg::weight);
  Array y(x.dtype, s.sequence()), c(x.dtype, s.sequence()), gates(x.dtype, s.gates());
  for (int64_t k = 0; k < s.steps; ++k)
    for_each_index(s.state(), [&](const Shape& at) {
      const int64_t b = at[0], j = at[1], t = s.place(k);
      double gate[4];
      for (int64_t q = 0; q < 4; ++q) {
        const int64_t column = q * s.width + j;
        double sum = x.re(x.at({t, b, column}));
        for (int64_t p = 0; p < s.width; ++p)
          sum += before(s, h0, y, k, b, p) * weight.re(weight.at({column, p}));
        gate[q] = q == 2 ? std::tanh(sum) : sigmoid(sum);
        gates.v[gates.at({t, b, column})] = gate[q];
      }
      const double state = gate[1] * before(s, c0, c, k, b, j) + gate[0] * gate[2];
      c.v[c.at({t, b, j})] = state;
      y.v[y.at({t, b, j})] = gate[3] * std::tanh(state);
    });
  return {y, c, gates};
}

std::vector<Array> backward(const Case& s, const Args& a) {
  using arg = tenon::arg::lstm_backward;
  const Array &gy = array(a, arg::gy), &c0 = array(a, arg::c0), &weight = array(a, arg::weight),
              &c = array(a, arg::c), &gates = array(a, arg::gates);
  const Array *gc = has(a, arg::gc) ? &array(a, arg::gc) : nullptr,
              *ggates = has(a, arg::ggates) ? &array(a, arg::ggates) : nullptr;
  Array gx(gates.dtype, s.gates()), gh(gates.dtype, s.state()), gstate(gates.dtype, s.state());
  for (int64_t k = s.steps; k-- > 0;) {
    const int64_t t = s.place(k);
    for_each_index(s.state(), [&](const Shape& at) {
      const int64_t b = at[0], j = at[1];
      const size_t unit = gy.at({t, b, j});
      double gate[4], more[4];
      for (int64_t q = 0; q < 4; ++q) {
        const size_t place = gates.at({t, b, q * s.width + j});
        gate[q] = gates.re(place);
        more[q] = ggates ? ggates->re(place) : 0;
      }
      const double bent = std::tanh(c.re(unit)), h = gh.re(gh.at(at)) + gy.re(unit);
      const double state =
          gstate.re(gstate.at(at)) + (gc ? gc->re(unit) : 0) + h * gate[3] * (1 - bent * bent);
      const double arrived[] = {state * gate[2], state * before(s, c0, c, k, b, j), state * gate[0],
                                h * bent};
      for (int64_t q = 0; q < 4; ++q)
        gx.v[gx.at({t, b, q * s.width + j})] =
            (arrived[q] + more[q]) * (q == 2 ? 1 - gate[q] * gate[q] : gate[q] * (1 - gate[q]));
      gstate.v[gstate.at(at)] = state * gate[1];
    });
    for_each_index(s.state(), [&](const Shape& at) {
      double sum = 0;
      for (int64_t column = 0; column < 4 * s.width; ++column)
        sum += gx.re(gx.at({t, at[0], column})) * weight.re(weight.at({column, at[1]}));
      gh.v[gh.at(at)] = sum;
    });
  }
  return {gx, gh, gstate};
}

// Weights for which a sum over the units stays near one.
Array weight_of(const Case& s, DType dtype, Rng& rng) {
  Array weight = random_array(rng, dtype, s.weight());
  for (auto& w : weight.v) w /= std::sqrt(static_cast<double>(s.width));
  round_to_dtype(weight);
  return weight;
}

Args arguments(const Case& s, DType dtype, Rng& rng) {
  return {random_array(rng, dtype, s.gates()), random_array(rng, dtype, s.state()),
          random_array(rng, dtype, s.state()), weight_of(s, dtype, rng), s.reverse};
}

void add_case(Table& t, const Case& s) {
  // Differences take many calls, so only the smallest operands are used.
  const bool tiny = s.steps * s.batch * s.width < 13;
  Sample& fused = t.add(
      "lstm", s.label(), kFloats, [=](DType dtype, Rng& rng) { return arguments(s, dtype, rng); },
      [=](const Args& a) { return forward(s, a); });
  Sample& back = t.add(
      "lstm_backward", s.label(), kFloats,
      [=](DType dtype, Rng& rng) {
        const Args given = arguments(s, dtype, rng);
        auto out = forward(s, given);
        for (Array& each : out) round_to_dtype(each);
        const bool all = s.width % 2 != 0;  // gradients arrive for all results
        return Args{random_array(rng, dtype, s.sequence()),
                    maybe(all, random_array(rng, dtype, s.sequence())),
                    maybe(all, random_array(rng, dtype, s.gates())),
                    given[tenon::arg::lstm::c0],
                    given[tenon::arg::lstm::weight],
                    out[1],
                    out[2],
                    s.reverse};
      },
      [=](const Args& a) { return backward(s, a); });
  fused.tolerance = back.tolerance = 60;
  fused.gradient = back.gradient = tiny;
  fused.layouts = back.layouts = s.width < 10;
}

}  // namespace

// Batches for one thread and for several, split by rows or by units; widths that are whole vectors, and others.
void add_recurrent_samples(Table& t) {
  const Case cases[] = {{3, 2, 1},  {2, 1, 2, true},   {1, 2, 3},   {4, 3, 5, true},   {0, 2, 3},
                        {3, 0, 2},  {0, 1, 2, true},   {2, 3, 0},   {5, 1, 8},         {3, 9, 7},
                        {1, 1, 33}, {6, 17, 16, true}, {4, 20, 45}, {3, 3, 150, true}, {2, 40, 64}};
  for (const Case& s : cases) add_case(t, s);
}

}  // namespace tenon::conformance
