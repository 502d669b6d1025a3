// RNN, LSTM and GRU over sequences, and their single-step cells.
#ifndef TENON_NN_RECURRENT_HPP
#define TENON_NN_RECURRENT_HPP

#include "tenon/nn/detail/recurrent.hpp"
#include "tenon/nn/init.hpp"
#include "tenon/nn/module_of.hpp"
#include "tenon/nn/packed.hpp"

namespace tenon::nn {

// The parameters of one direction of a layer: weight_ih (gates · H, I), weight_hh (gates · H, P), biases (gates · H), weight_hr (P, H).
struct RNNWeights {
  Parameter weight_ih, weight_hh, bias_ih, bias_hh, weight_hr;
};
// h and c.
using LSTMState = std::tuple<Tensor, Tensor>;

struct RNNOptions {
  int64_t num_layers = 1;
  std::string nonlinearity = "tanh";  // or "relu"
  bool bias = true;
  bool batch_first = false;
  double dropout = 0;  // between layers
  bool bidirectional = false;
};
struct LSTMOptions {
  int64_t num_layers = 1;
  bool bias = true;
  bool batch_first = false;
  double dropout = 0;  // between layers
  bool bidirectional = false;
  int64_t proj_size = 0;  // size that results are projected to; 0: none
};
struct GRUOptions {
  int64_t num_layers = 1;
  bool bias = true;
  bool batch_first = false;
  double dropout = 0;  // between layers
  bool bidirectional = false;
};

namespace detail {

// What layers and cells share: initial values and argument checks.
template <class Signature>
class Recurrent : public ModuleOf<Signature> {
 protected:
  Recurrent(const char* name, CellKind kind, int64_t input_size, int64_t hidden_size)
      : name_(name), kind_(kind), input_(input_size), hidden_(hidden_size) {
    check_least(name, "input_size", input_size, 1);
    check_least(name, "hidden_size", hidden_size, 1);
  }
  std::string sizes() const { return std::to_string(input_) + ", " + std::to_string(hidden_); }

  // Undefined if absent; otherwise uniform up to 1 / √hidden_size.
  Parameter parameter(const std::string& key, bool there, IntList shape) {
    return this->add_parameter(
        key, there ? init::detail::layer_default(shape, static_cast<double>(hidden_)) : Tensor());
  }
  RNNWeights make_weights(const std::string& end, int64_t inputs, int64_t projected, bool bias) {
    const int64_t gates = gates_of(kind_) * hidden_;
    return {parameter("weight_ih" + end, true, {gates, inputs}),
            parameter("weight_hh" + end, true, {gates, projected > 0 ? projected : hidden_}),
            parameter("bias_ih" + end, bias, gates), parameter("bias_hh" + end, bias, gates),
            parameter("weight_hr" + end, projected > 0, {projected, hidden_})};
  }
  static CellTensors tensors_in(const RNNWeights& w) {
    return {w.weight_ih, w.weight_hh, w.bias_ih, w.bias_hh, w.weight_hr};
  }

  // x must have rank `least` or one more.
  void check_input(const Tensor& x, const Tensor& weight, int64_t least) const {
    if (x.ndim() != least && x.ndim() != least + 1)
      refuse(name_, "input has rank " + std::to_string(x.ndim()) + ", must be " +
                        std::to_string(least) + " or " + std::to_string(least + 1));
    if (x.shape(-1) != input_)
      refuse(name_, "the last dimension of input is " + std::to_string(x.shape(-1)) +
                        ", must be input_size " + std::to_string(input_));
    if (x.dtype() != weight.dtype())
      refuse(name_, "input is " + std::string(name_of(x.dtype())) + ", the weights are " +
                        std::string(name_of(weight.dtype())) + ": cast one of them with to()");
  }
  // The initial states: those given, or zeros.
  CellState first_state(const CellState& given, const std::vector<std::vector<int64_t>>& shapes,
                        const Tensor& x) const {
    CellState state;
    for (size_t i = 0; i < given.size(); ++i) {
      if (!given[i].defined()) {
        state.push_back(zeros(shapes[i], x.dtype(), x.device()));
        continue;
      }
      if (!std::ranges::equal(given[i].shape(), shapes[i]) || given[i].dtype() != x.dtype())
        refuse(name_, "a state is " + std::string(name_of(given[i].dtype())) + ' ' +
                          text_of(given[i].shape()) + ", must be " +
                          std::string(name_of(x.dtype())) + ' ' + text_of(shapes[i]));
      state.push_back(given[i]);
    }
    return state;
  }

  const char* name_;
  CellKind kind_;
  int64_t input_, hidden_;
};

// State: a Tensor, or LSTMState.
template <class State>
class RecurrentLayers : public Recurrent<std::tuple<Tensor, State>(const Tensor&, const State&)> {
 public:
  std::tuple<Tensor, State> forward(const Tensor& input, const State& state = {}) override {
    this->check_input(input, weights[0].weight_ih, 2);
    const bool single = input.ndim() == 2, swap = batch_first_ && !single;
    const Tensor x = single ? input.unsqueeze(1) : swap ? input.transpose(0, 1) : input;
    if (x.shape(0) == 0) refuse(this->name_, "the sequence has no steps");
    const int64_t steps = x.shape(0), batch = x.shape(1);
    auto [rows, last] = run_rows(x.reshape({steps * batch, x.shape(2)}), {{steps, batch}},
                                 begin(state, batch, x, single));
    const Tensor y = rows.reshape({steps, batch, rows.shape(1)});
    for (Tensor& each : last) each = single ? each.squeeze(1) : each;
    State end;
    set_tensors(last, end);
    return {single ? y.squeeze(1) : swap ? y.transpose(0, 1) : y, end};
  }
  // For packed sequences. Hooks only see the other form. States are in the batch's order before packing.
  std::tuple<utils::rnn::PackedSequence, State> forward_with_packed_input(
      const utils::rnn::PackedSequence& input, const State& state = {}) {
    this->check_input(input.data, weights[0].weight_ih, 1);
    const std::vector<Run> runs = runs_of(input.batch_sizes.template to_vector<int64_t>());
    CellState first = begin(state, runs.at(0).rows, input.data, false);
    for (Tensor& each : first)
      if (input.sorted_indices.defined()) each = each.index_select(1, input.sorted_indices);
    auto [rows, last] = run_rows(input.data, runs, first);
    for (Tensor& each : last)
      if (input.unsorted_indices.defined()) each = each.index_select(1, input.unsorted_indices);
    State end;
    set_tensors(last, end);
    return {{rows, input.batch_sizes, input.sorted_indices, input.unsorted_indices}, end};
  }
  std::string describe() const override {
    const auto layers = static_cast<int64_t>(weights.size()) / directions_;
    return this->name_ + ('(' + this->sizes()) +
           (layers > 1 ? ", " + std::to_string(layers) + " layers" : "") +
           (directions_ > 1 ? ", bidirectional)" : ")");
  }

  std::vector<RNNWeights> weights;  // by layer and direction

 protected:
  RecurrentLayers(const char* name, CellKind kind, int64_t input_size, int64_t hidden_size,
                  const LSTMOptions& options)
      : Recurrent<std::tuple<Tensor, State>(const Tensor&, const State&)>(name, kind, input_size,
                                                                          hidden_size),
        batch_first_(options.batch_first),
        dropout_(check_part(name, "dropout", options.dropout)),
        directions_(options.bidirectional ? 2 : 1),
        projected_(check_least(name, "proj_size", options.proj_size)) {
    check_least(name, "num_layers", options.num_layers, 1);
    if (projected_ >= hidden_size)
      refuse(name, "proj_size", std::to_string(projected_),
             "must be below hidden_size " + std::to_string(hidden_size));
    for (int64_t layer = 0; layer < options.num_layers; ++layer)
      for (const char* end : {"", "_reverse"})
        if (*end == 0 || options.bidirectional)
          weights.push_back(this->make_weights("_l" + std::to_string(layer) + end,
                                               layer == 0 ? input_size : size() * directions_,
                                               projected_, options.bias));
  }

 private:
  int64_t size() const { return projected_ > 0 ? projected_ : this->hidden_; }
  std::pair<Tensor, CellState> run_rows(const Tensor& x, const std::vector<Run>& runs,
                                        const CellState& first) const {
    std::vector<CellTensors> tensors;
    for (const RNNWeights& each : weights) tensors.push_back(this->tensors_in(each));
    return run_layers(this->kind_, x, runs, first, tensors, directions_,
                      this->training() ? dropout_ : 0);
  }
  // (layers · directions, B, size) each. Without a batch, the given states have none either.
  CellState begin(const State& state, int64_t batch, const Tensor& x, bool single) const {
    CellState given = tensors_of(state);
    for (Tensor& each : given)
      if (single && each.defined()) each = each.unsqueeze(1);
    const auto count = static_cast<int64_t>(weights.size());
    return this->first_state(given, {{count, batch, size()}, {count, batch, this->hidden_}}, x);
  }
  bool batch_first_;
  double dropout_;
  int64_t directions_, projected_;
};

}  // namespace detail

// All three take input (T, B, input_size), (B, T, input_size) with batch_first, or (T, input_size), and a state (num_layers · directions,
// B, hidden_size), by default zeros. They return the results of the last layer and the last state:
//
//   auto [y, h] = gru(x);
//   auto [y, state] = lstm(x, {h, c});

// tanh or relu of W_ih x + b_ih + W_hh h + b_hh, step by step (Elman 1990).
class RNN : public detail::RecurrentLayers<Tensor> {
 public:
  RNN(int64_t input_size, int64_t hidden_size, const RNNOptions& options = {})
      : RecurrentLayers("RNN", detail::rnn_kind("RNN", options.nonlinearity), input_size,
                        hidden_size,
                        {options.num_layers, options.bias, options.batch_first, options.dropout,
                         options.bidirectional}) {}
};

// Long short-term memory (Hochreiter & Schmidhuber 1997, Gers et al. 2000). Order of gates: input, forget, cell, output.
class LSTM : public detail::RecurrentLayers<LSTMState> {
 public:
  LSTM(int64_t input_size, int64_t hidden_size, const LSTMOptions& options = {})
      : RecurrentLayers("LSTM", detail::CellKind::kLSTM, input_size, hidden_size, options) {}
};

// Gated recurrent units (Cho et al. 2014). Order of gates: reset, update, new.
class GRU : public detail::RecurrentLayers<Tensor> {
 public:
  GRU(int64_t input_size, int64_t hidden_size, const GRUOptions& options = {})
      : RecurrentLayers("GRU", detail::CellKind::kGRU, input_size, hidden_size,
                        {options.num_layers, options.bias, options.batch_first, options.dropout,
                         options.bidirectional}) {}
};

namespace detail {
template <class State>
class RecurrentCell : public Recurrent<State(const Tensor&, const State&)>, public RNNWeights {
 public:
  State forward(const Tensor& input, const State& state = {}) override {
    this->check_input(input, this->weight_ih, 1);
    const bool single = input.ndim() == 1;
    const Tensor x = single ? input.unsqueeze(0) : input;
    CellState given = tensors_of(state);
    for (Tensor& each : given)
      if (single && each.defined()) each = each.unsqueeze(0);
    const std::vector<int64_t> shape{x.shape(0), this->hidden_};
    const CellTensors tensors = this->tensors_in(*this);
    CellState next = step(this->kind_, linear(x, tensors.weight_ih, tensors.bias_ih),
                          this->first_state(given, std::vector(given.size(), shape), x), tensors);
    for (Tensor& each : next) each = single ? each.squeeze(0) : each;
    State result;
    set_tensors(next, result);
    return result;
  }
  std::string describe() const override { return this->name_ + ('(' + this->sizes()) + ')'; }

 protected:
  RecurrentCell(const char* name, CellKind kind, int64_t input_size, int64_t hidden_size, bool bias)
      : Recurrent<State(const Tensor&, const State&)>(name, kind, input_size, hidden_size),
        RNNWeights(this->make_weights("", input_size, 0, bias)) {}
};
}  // namespace detail

// Single steps: input (B, input_size) or (input_size) and a state (B, hidden_size), by default zeros, give the next state.
class RNNCell : public detail::RecurrentCell<Tensor> {
 public:
  RNNCell(int64_t input_size, int64_t hidden_size, bool bias = true,
          std::string_view nonlinearity = "tanh")
      : RecurrentCell("RNNCell", detail::rnn_kind("RNNCell", nonlinearity), input_size, hidden_size,
                      bias) {}
};
class LSTMCell : public detail::RecurrentCell<LSTMState> {
 public:
  LSTMCell(int64_t input_size, int64_t hidden_size, bool bias = true)
      : RecurrentCell("LSTMCell", detail::CellKind::kLSTM, input_size, hidden_size, bias) {}
};
class GRUCell : public detail::RecurrentCell<Tensor> {
 public:
  GRUCell(int64_t input_size, int64_t hidden_size, bool bias = true)
      : RecurrentCell("GRUCell", detail::CellKind::kGRU, input_size, hidden_size, bias) {}
};

}  // namespace tenon::nn
#endif
