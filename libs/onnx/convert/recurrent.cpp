// RNN, GRU and LSTM as ONNX defines them: separate weights for each direction, gates in the orders i-o-f-c and z-r-h.
#include <algorithm>

#include "convert/layers.hpp"
#include "convert/table.hpp"

namespace tenon::onnx {
namespace {

using Ints = std::vector<int64_t>;
using Function = std::function<Tensor(const Tensor&)>;

// An activation of ONNX's list with its parameters.
Function activation(const Call& call, const std::string& name, double alpha, double beta) {
  if (name == "Sigmoid") return [](const Tensor& x) { return sigmoid(x); };
  if (name == "Tanh") return [](const Tensor& x) { return tanh(x); };
  if (name == "Relu") return [](const Tensor& x) { return relu(x); };
  if (name == "Affine") return [=](const Tensor& x) { return x * alpha + beta; };
  if (name == "LeakyRelu") return [=](const Tensor& x) { return leaky_relu(x, alpha); };
  if (name == "ThresholdedRelu")
    return [=](const Tensor& x) { return where(greater(x, alpha), x, zeros_like(x)); };
  if (name == "ScaledTanh") return [=](const Tensor& x) { return tanh(x * beta) * alpha; };
  if (name == "HardSigmoid")
    return [=](const Tensor& x) { return clamp(x * alpha + beta, 0.0, 1.0); };
  if (name == "Elu") return [=](const Tensor& x) { return elu(x, alpha); };
  if (name == "Softsign") return [](const Tensor& x) { return x / (abs(x) + 1); };
  if (name == "Softplus") return [](const Tensor& x) { return softplus(x); };
  call.fail("activation " + name);
}

// ONNX's default parameters for an activation.
std::pair<double, double> defaults_of(const std::string& name) {
  if (name == "LeakyRelu") return {0.01, 0};
  if (name == "HardSigmoid") return {0.2, 0.5};
  return {1.0, 0};
}

std::vector<Function> activations(const Call& call, const std::vector<std::string>& usual,
                                  size_t direction) {
  const std::vector<std::string> all = call.strings("activations");
  const std::vector<double> alphas = call.floats("activation_alpha"),
                            betas = call.floats("activation_beta");
  std::vector<Function> made;
  for (size_t i = 0; i < usual.size(); ++i) {
    const size_t at = direction * usual.size() + i;
    const std::string name = at < all.size() ? all[at] : usual[i];
    const auto [alpha, beta] = defaults_of(name);
    made.push_back(activation(call, name, at < alphas.size() ? alphas[at] : alpha,
                              at < betas.size() ? betas[at] : beta));
  }
  return made;
}

// A weight of 8-bit integers, (in, gates·H), with one scale or (gates·H).
struct Integers {
  IntegerWeight weight;
  Tensor scale;
};

// The weights and the initial state of one direction of a layer.
struct Layer {
  Tensor w, r, wb, rb, h, c, p;  // (gates·H, in), (gates·H, H), biases, (N, H) twice, peepholes
  std::vector<Function> f;
  int64_t hidden;
  const Integers *w8, *r8;  // instead of w and r

  Tensor from_x(const Tensor& x) const {
    const Tensor made = times(x, w, w8);
    return wb.defined() ? made + wb : made;
  }
  Tensor from_state(const Tensor& state) const { return times(state, r, r8); }

  Tensor part(const Tensor& of, int64_t gate, int64_t dim) const {
    return of.narrow(dim, gate * hidden, hidden);
  }
  Tensor gate(const Tensor& x, int64_t g) const { return part(x, g, 1); }

 private:
  static Tensor times(const Tensor& x, const Tensor& real, const Integers* integers) {
    return integers == nullptr ? matmul(x, real.t())
                               : scaled_product(by_own_range(x), integers->weight, integers->scale);
  }
};

struct State {
  Tensor h, c;
};
using Step = State (*)(const Call&, const Layer&, const Tensor& x,
                       const State&);  // x is already W·x + biases

double clip_of(const Call& call) { return call.f("clip", 0); }
Tensor clipped(const Call& call, const Tensor& x) {
  const double bound = clip_of(call);
  return bound > 0 ? clamp(x, -bound, bound) : x;
}

State rnn_step(const Call& call, const Layer& layer, const Tensor& x, const State& state) {
  return {layer.f[0](clipped(call, x + layer.from_state(state.h) + layer.rb)), {}};
}

State gru_step(const Call& call, const Layer& layer, const Tensor& x, const State& state) {
  const int64_t h = layer.hidden;
  const Tensor zr =
      clipped(call, x.narrow(1, 0, 2 * h) + matmul(state.h, layer.r.narrow(0, 0, 2 * h).t()) +
                        layer.rb.narrow(0, 0, 2 * h));
  const Tensor z = layer.f[0](zr.narrow(1, 0, h)), r = layer.f[0](zr.narrow(1, h, h));
  const Tensor rh = layer.part(layer.r, 2, 0).t(), bias = layer.part(layer.rb, 2, 0);
  const Tensor from_state = call.flag("linear_before_reset") ? r * (matmul(state.h, rh) + bias)
                                                             : matmul(r * state.h, rh) + bias;
  const Tensor n = layer.f[1](clipped(call, layer.gate(x, 2) + from_state));
  return {(1 - z) * n + z * state.h, {}};
}

State lstm_step(const Call& call, const Layer& layer, const Tensor& x, const State& state) {
  const Tensor gates = x + layer.from_state(state.h) + layer.rb;
  const auto peep = [&](const Tensor& gate, int64_t i, const Tensor& cell) {
    return clipped(call, layer.p.defined() ? gate + layer.part(layer.p, i, 0) * cell : gate);
  };
  const Tensor i = layer.f[0](peep(layer.gate(gates, 0), 0, state.c));
  const Tensor f =
      call.flag("input_forget") ? 1 - i : layer.f[0](peep(layer.gate(gates, 2), 2, state.c));
  const Tensor c = f * state.c + i * layer.f[1](clipped(call, layer.gate(gates, 3)));
  const Tensor o = layer.f[0](peep(layer.gate(gates, 1), 1, c));
  return {o * layer.f[2](c), c};
}

// Runs one direction over (T, N, in). Steps beyond a sequence's length keep the state and give 0. A program holds the steps once, so it
// takes any number of them.
struct Ran {
  Tensor ys, h, c;
};
Ran run(const Call& call, const Layer& layer, const Tensor& x, bool backward, const Tensor& lengths,
        Step step) {
  const int64_t steps = x.shape(0);
  if (steps == 0)
    return {zeros({0, x.shape(1), layer.hidden}, x.dtype(), x.device()), layer.h, layer.c};
  const auto turned = [&](const Tensor& of) { return backward ? of.flip({0}) : of; };
  std::vector<Tensor> state = {layer.h}, slices = {turned(layer.from_x(x))};
  if (layer.c.defined()) state.push_back(layer.c);
  if (lengths.defined()) {
    const Tensor counted = arange(0, steps, 1, DType::I64);
    slices.push_back(turned(traced(Value(x)) ? counted : counted.to(x.device())));
  }
  const auto body = [&](std::span<const Tensor> in) {
    const State before{in[0], layer.c.defined() ? in[1] : Tensor()};
    State next = step(call, layer, in[state.size()], before);
    Tensor y = next.h;
    if (lengths.defined()) {
      const Tensor inside = greater(lengths, in.back()).unsqueeze(1);
      y = where(inside, next.h, zeros_like(next.h));
      next.h = where(inside, next.h, before.h);
      if (next.c.defined()) next.c = where(inside, next.c, before.c);
    }
    std::vector<Tensor> made = {next.h};
    if (next.c.defined()) made.push_back(next.c);
    made.push_back(y);
    return made;
  };
  const std::vector<Tensor> made = graph::scan(body, state, slices);
  return {turned(made.back()), made[0], layer.c.defined() ? made[1] : Tensor()};
}

// Whether the lstm op covers this LSTM: standard activations, all steps of all sequences, no extras.
bool plain_lstm(const Call& call) {
  const std::vector<std::string> named = call.strings("activations");
  bool usual = true;
  for (size_t i = 0; i < named.size(); ++i)
    usual = usual && named[i] == (i % 3 == 0 ? "Sigmoid" : "Tanh");
  return usual && !call.has(4) && !call.has(7) && clip_of(call) == 0 && !call.flag("input_forget");
}

// The op orders the gates i, f, c, o.
Ran run_lstm(const Call& call, const Layer& layer, size_t direction, const Tensor& x,
             bool backward) {
  struct Weights {
    Tensor w, r, b;
  };
  const auto weights = call.kept(
      call.constant({1, 2, 3}),
      [&] {
        const auto ordered = [&](const Tensor& of) {
          std::vector<Tensor> parts;
          for (const int64_t gate : {0, 2, 3, 1}) parts.push_back(layer.part(of, gate, 0));
          return concat(parts, 0);
        };
        return Weights{ordered(layer.w), ordered(layer.r), ordered(layer.rb)};
      },
      static_cast<int>(direction));
  const auto made = lstm(linear(x, weights->w, weights->b), layer.h, layer.c, weights->r, backward);
  const int64_t last = backward ? 0 : x.shape(0) - 1;
  return {made.y, made.y.select(0, last), made.c.select(0, last)};
}

// Layer weights, directions first: (D, gates·H, in), (D, gates·H, H); or integers for each direction.
struct Given {
  int64_t hidden;
  Tensor w, r;
  std::vector<Integers> w8, r8;
};

template <Step kStep, int64_t kGates, size_t kStates>
Results recurrent(const Call& call, const Given& given, const std::vector<std::string>& usual) {
  const bool batch_first = call.flag("layout");
  const auto turned = [&](const Tensor& of) { return batch_first ? of.transpose(0, 1) : of; };
  const Tensor x = turned(call.x(0));
  const int64_t hidden = call.i("hidden_size", given.hidden), batch = x.shape(1);
  const std::string direction = call.s("direction", "forward");
  const size_t directions = direction == "bidirectional" ? 2 : 1;
  const int64_t weights = call.x(1).shape(0);
  if (weights != static_cast<int64_t>(directions))
    call.fail("weights of " + std::to_string(weights) + " directions");
  const Tensor lengths = call.has(4) ? call.x(4).to(DType::I64) : Tensor();
  const auto start = [&](size_t input, size_t d) {
    return call.has(input) ? turned(call.x(input)).select(0, static_cast<int64_t>(d))
                           : zeros({batch, hidden}, x.dtype(), x.device());
  };
  std::vector<Tensor> ys, hs, cs;
  for (size_t d = 0; d < directions; ++d) {
    const auto at = static_cast<int64_t>(d);
    Layer layer{{}, {}, {}, {}, start(5, d), {}, {}, activations(call, usual, d), hidden, {}, {}};
    if (given.w8.empty())
      layer.w = given.w.select(0, at), layer.r = given.r.select(0, at);
    else
      layer.w8 = &given.w8[d], layer.r8 = &given.r8[d];
    const Tensor b =
        call.has(3) ? call.x(3).select(0, at) : zeros({2 * kGates * hidden}, x.dtype(), x.device());
    layer.wb = b.narrow(0, 0, kGates * hidden);
    layer.rb = b.narrow(0, kGates * hidden, kGates * hidden);
    if (kStates == 2) {
      layer.rb = layer.wb + layer.rb, layer.wb = {};  // added last, as ONNX Runtime does
      layer.c = start(6, d);
      if (call.has(7)) layer.p = call.x(7).select(0, at);
    }
    const bool backward = direction == "reverse" || d == 1;
    const bool at_once = kStates == 2 && given.w8.empty() && x.shape(0) > 0 && plain_lstm(call);
    const Ran ran = at_once ? run_lstm(call, layer, d, x, backward)
                            : run(call, layer, x, backward, lengths, kStep);
    ys.push_back(ran.ys);
    hs.push_back(ran.h);
    if (kStates == 2) cs.push_back(ran.c);
  }
  // (T, directions, N, H), or (N, T, directions, H).
  const Tensor y = batch_first ? stack(ys, 1).permute({2, 0, 1, 3}) : stack(ys, 1);
  std::vector<Value> made = {y, turned(stack(hs, 0))};
  if (kStates == 2) made.emplace_back(turned(stack(cs, 0)));
  return made;
}

Given plain(const Call& call) { return {call.x(2).shape(2), call.x(1), call.x(2), {}, {}}; }

// 8-bit weights (D, in, 4·H), with a scale and zero point for each direction or each column.
Results quantized_lstm(const Call& call) {
  const auto integers = [&](size_t weight, size_t scale) {
    std::vector<Integers> made;
    for (int64_t d = 0; d < call.x(weight).shape(0); ++d) {
      const auto of_one = [&](const Tensor& of) {
        return of.defined() ? of.select(0, d).reshape({-1}) : of;
      };
      made.push_back({integer_weight(call.x(weight).select(0, d), of_one(call.maybe(scale + 1))),
                      of_one(call.x(scale))});
    }
    return made;
  };
  const auto given = call.kept(
      call.constant({1, 2, 8, 9, 10, 11}),
      [&] {
        return Given{call.x(2).shape(1), {}, {}, integers(1, 8), integers(2, 10)};
      },
      2);
  return recurrent<lstm_step, 4, 2>(call, *given, {"Sigmoid", "Tanh", "Tanh"});
}

}  // namespace

Family recurrent_ops() {
  static const Entry ops[] = {
      {"RNN", 7,
       [](const Call& call) { return recurrent<rnn_step, 1, 1>(call, plain(call), {"Tanh"}); }},
      {"GRU", 7,
       [](const Call& call) {
         return recurrent<gru_step, 3, 1>(call, plain(call), {"Sigmoid", "Tanh"});
       }},
      {"LSTM", 7,
       [](const Call& call) {
         return recurrent<lstm_step, 4, 2>(call, plain(call), {"Sigmoid", "Tanh", "Tanh"});
       }},
      {"DynamicQuantizeLSTM", 1, quantized_lstm, kMicrosoft},
  };
  return ops;
}

}  // namespace tenon::onnx
