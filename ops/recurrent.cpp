// Recurrent layers.
// The product with the input is computed outside, for all steps at once; an op only walks the steps. The gates i, f, g and o lie side by
// side.
#include <algorithm>
#include <vector>

#include "ops/gradients.hpp"
#include "ops/operands.hpp"
#include "ops/record.hpp"

namespace {

// The sizes of a layer, read from argument `i`: (steps, batch, 4·width).
struct LayerSizes {
  int64_t steps, batch, width;

  LayerSizes(const Frame& frame, uint32_t i) {
    const auto sizes = frame.tensor(i).sizes();
    frame.require(sizes.size() == 3 && sizes[2] % 4 == 0,
                  "{} must be (T, B, 4·H): four gates side by side, got shape {}",
                  frame.op().schema.args[i].name, format_shape(sizes));
    steps = sizes[0], batch = sizes[1], width = sizes[2] / 4;
  }
  Dims gates() const { return dims({steps, batch, 4 * width}); }
  Dims sequence() const { return dims({steps, batch, width}); }
  Dims state() const { return dims({batch, width}); }
  Dims weight() const { return dims({4 * width, width}); }

 private:
  static Dims dims(std::initializer_list<int64_t> sizes) {
    return Dims(std::span(sizes.begin(), sizes.size()));
  }
};

// The steps of a sequence in the order in which the layer walks them.
std::vector<int64_t> walk(int64_t steps, bool reverse) {
  std::vector<int64_t> places;
  for (int64_t k = 0; k < steps; ++k) places.push_back(reverse ? steps - 1 - k : k);
  return places;
}

Tensor gate(const Tensor& gates, int64_t k) {
  const int64_t width = gates.shape(-1) / 4;
  return slice(gates, -1, k * width, (k + 1) * width);
}

Tensor stacked(const std::vector<Tensor>& steps, const Tensor& state, int64_t width, DType dtype) {
  if (steps.empty()) return full({0, state.shape(0), width}, 0, dtype, state.device());
  return stack(steps, 0).to(dtype);
}

// Σ over the steps of gxᵀ·(the state before it), which is h0 for the first step and y one step earlier for the others.
Tensor weight_gradient(const Tensor& gx, const Tensor& h0, const Tensor& y, bool reverse) {
  const int64_t steps = gx.shape(0), first = reverse ? steps - 1 : 0;
  if (steps == 0) return zeros({gx.shape(2), h0.shape(1)}, gx);
  const auto rows = [](const Tensor& x, int64_t begin, int64_t end) {
    return reshape(slice(x, 0, begin, end), {(end - begin) * x.shape(1), x.shape(2)});
  };
  Tensor start = matmul(transpose(select(gx, 0, first), 0, 1), h0);
  if (steps == 1) return start;
  const int64_t later = reverse ? 0 : 1, before = 1 - later;
  return matmul(transpose(rows(gx, later, later + steps - 1), 0, 1),
                rows(y, before, before + steps - 1)) +
         start;
}

}  // namespace

TN_OP(lstm) = {
    .schema =
        "(Tensor x, Tensor h0, Tensor c0, Tensor weight, bool reverse=false) -> Tensor y, Tensor "
        "c, Tensor gates",
    .gives =
        "A layer of long short-term memory over a sequence: a = x[t] + h·weightᵀ gives the gates "
        "i, f and o by sigmoid and g by tanh; then c = f·c + i·g and h = o·tanh(c), which are rows "
        "t of the results. x is the product of the input with its weight, plus biases; reverse "
        "begins at the end.",
    .example = "tenon.lstm(t([[[0., 0., 1., 9.]]]), t([[0.]]), t([[0.]]), tenon.zeros((4, 1))).y",
    .autocast = "low",
    .rule = &rule::lstm,
    .gradient = &gradient::lstm,
    .decompose = &decomposition::lstm,
};

TN_RULE(lstm, lstm,
        {.dtypes = "a floating dtype, common to all",
         .shapes = "x (T, B, 4·H), h0 and c0 (B, H), weight (4·H, H) give y and c (T, B, H) and "
                   "gates (T, B, 4·H)"}) {
  tn_dtype dtype = operand(frame, arg::x, TN_MASK_FLOAT, "a floating-point dtype").dtype();
  for (const uint32_t i : {arg::h0, arg::c0, arg::weight})
    dtype = promote(dtype, operand(frame, i, TN_MASK_FLOAT, "a floating-point dtype").dtype());
  const LayerSizes sizes(frame, arg::x);
  parameter(frame, arg::x, sizes.gates(), dtype);
  for (const uint32_t i : {arg::h0, arg::c0}) parameter(frame, i, sizes.state(), dtype);
  parameter(frame, arg::weight, sizes.weight(), dtype);
  frame.result(arg::result::y, dtype, sizes.sequence());
  frame.result(arg::result::c, dtype, sizes.sequence());
  frame.result(arg::result::gates, dtype, sizes.gates());
}

// backwards through the steps (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000); the weight's gradient is one
// product
TN_GRADIENT(lstm, {.always = in_(arg::h0) | in_(arg::c0) | in_(arg::weight) | out_(arg::result::y) |
                             out_(arg::result::c) | out_(arg::result::gates)}) {
  const Tensor h0 = c.in(arg::h0), y = c.out(arg::result::y), gy = c.grad(arg::result::y);
  const bool reverse = c.flag(arg::reverse);
  const auto grads = lstm_backward(gy.defined() ? gy : zeros(y.shape(), y), c.grad(arg::result::c),
                                   c.grad(arg::result::gates), c.in(arg::c0), c.in(arg::weight),
                                   c.out(arg::result::c), c.out(arg::result::gates), reverse);
  c.set(arg::x, grads.gx);
  c.set(arg::h0, grads.gh0);
  c.set(arg::c0, grads.gc0);
  if (c.needs(arg::weight)) c.set(arg::weight, weight_gradient(grads.gx, h0, y, reverse));
}

TN_DECOMPOSE(lstm) {
  const Tensor x = wide(in.tensor(arg::x)), weight = transpose(wide(in.tensor(arg::weight)), 0, 1);
  const DType dtype = in.tensor(arg::x).dtype();
  const int64_t width = weight.shape(0);
  Tensor h = wide(in.tensor(arg::h0)), c = wide(in.tensor(arg::c0));
  std::vector<Tensor> ys(static_cast<size_t>(x.shape(0))), cs = ys, gates = ys;
  for (const int64_t t : walk(x.shape(0), in.flag(arg::reverse))) {
    const Tensor a = select(x, 0, t) + matmul(h, weight);
    const Tensor i = sigmoid(gate(a, 0)), f = sigmoid(gate(a, 1)), g = tanh(gate(a, 2)),
                 o = sigmoid(gate(a, 3));
    c = f * c + i * g;
    h = o * tanh(c);
    const auto k = static_cast<size_t>(t);
    ys[k] = h, cs[k] = c, gates[k] = concat({i, f, g, o}, -1);
  }
  out[arg::result::y] = stacked(ys, h, width, dtype);
  out[arg::result::c] = stacked(cs, h, width, dtype);
  out[arg::result::gates] = stacked(gates, h, 4 * width, dtype);
}

TN_OP(lstm_backward) = {
    .schema =
        "(Tensor gy, Tensor? gc, Tensor? ggates, Tensor c0, Tensor weight, Tensor c, Tensor "
        "gates, bool reverse) -> Tensor gx, Tensor gh0, Tensor gc0",
    .gives =
        "The gradients of lstm, computed from its results; the weight's is the product of gx with "
        "the states before each step.",
    .example =
        "tenon.lstm_backward(t([[[1.]]]), None, None, t([[0.]]), tenon.zeros((4, 1)), "
        "t([[[0.]]]), t([[[0.5, 0.5, 0., 0.5]]]), False).gx",
    .rule = &rule::lstm_backward,
    .through = true,
    .decompose = &decomposition::lstm_backward,
};

TN_RULE(lstm_backward, lstm_backward,
        {.dtypes = "as in `lstm`", .shapes = "those of x, h0 and c0"}) {
  const tn_dtype dtype =
      operand(frame, arg::gates, TN_MASK_FLOAT, "a floating-point dtype").dtype();
  const LayerSizes sizes(frame, arg::gates);
  for (const uint32_t i : {arg::gy, arg::gc, arg::c}) parameter(frame, i, sizes.sequence(), dtype);
  parameter(frame, arg::ggates, sizes.gates(), dtype);
  parameter(frame, arg::c0, sizes.state(), dtype);
  parameter(frame, arg::weight, sizes.weight(), dtype);
  frame.result(arg::result::gx, dtype, sizes.gates());
  frame.result(arg::result::gh0, dtype, sizes.state());
  frame.result(arg::result::gc0, dtype, sizes.state());
}

TN_DECOMPOSE(lstm_backward) {
  const Tensor gy = wide(in.tensor(arg::gy)), c = wide(in.tensor(arg::c)),
               gates = wide(in.tensor(arg::gates)), weight = wide(in.tensor(arg::weight)),
               c0 = wide(in.tensor(arg::c0));
  const DType dtype = in.tensor(arg::gates).dtype();
  const std::vector<int64_t> places = walk(gates.shape(0), in.flag(arg::reverse));
  Tensor gh = zeros(c0.shape(), c0), gstate = gh;
  std::vector<Tensor> gx(places.size());
  for (size_t k = places.size(); k-- > 0;) {
    const int64_t t = places[k];
    const Tensor row = select(gates, 0, t), i = gate(row, 0), f = gate(row, 1), g = gate(row, 2),
                 o = gate(row, 3);
    const Tensor before = k == 0 ? c0 : select(c, 0, places[k - 1]), bent = tanh(select(c, 0, t));
    gh = gh + select(gy, 0, t);
    gstate = gstate + gh * o * (1 - square(bent));
    if (in.has(arg::gc)) gstate = gstate + wide(select(in.tensor(arg::gc), 0, t));
    Tensor ggates = concat({gstate * g, gstate * before, gstate * i, gh * bent}, -1);
    if (in.has(arg::ggates)) ggates = ggates + wide(select(in.tensor(arg::ggates), 0, t));
    const Tensor slopes = concat({i * (1 - i), f * (1 - f), 1 - square(g), o * (1 - o)}, -1);
    gstate = gstate * f;
    gx[static_cast<size_t>(t)] = ggates * slopes;
    gh = matmul(gx[static_cast<size_t>(t)], weight);
  }
  out[arg::result::gx] = stacked(gx, c0, gates.shape(2), dtype);
  out[arg::result::gh0] = gh.to(dtype);
  out[arg::result::gc0] = gstate.to(dtype);
}
