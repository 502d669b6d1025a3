// Recurrent layers over rows (rows, I), stored step by step, longest sequence first. One product multiplies all steps by the input weights;
// each step then adds one product of its state. One direction of an LSTM without a projection is a single op.
#ifndef TENON_NN_DETAIL_RECURRENT_HPP
#define TENON_NN_DETAIL_RECURRENT_HPP

#include <algorithm>
#include <utility>

#include "tenon/nn/detail/check.hpp"
#include "tenon/tenon.hpp"

namespace tenon::nn::detail {

enum class CellKind { kTanh, kRelu, kLSTM, kGRU };
using CellState = std::vector<Tensor>;  // h, and c of an LSTM

// The weights of one direction of one layer; the last three may be undefined.
struct CellTensors {
  Tensor weight_ih, weight_hh, bias_ih, bias_hh, weight_hr;
};

inline CellKind rnn_kind(std::string_view where, std::string_view nonlinearity) {
  return check_one_of(where, "nonlinearity", std::string(nonlinearity), {"tanh", "relu"}) == "tanh"
             ? CellKind::kTanh
             : CellKind::kRelu;
}
inline int64_t gates_of(CellKind kind) {
  return kind == CellKind::kLSTM ? 4 : kind == CellKind::kGRU ? 3 : 1;
}

// Gate number i of x (B, gates · H).
inline Tensor gate(const Tensor& x, int64_t i, int64_t gates) {
  const int64_t size = x.shape(1) / gates;
  return x.slice(1, i * size, (i + 1) * size);
}
// Hochreiter & Schmidhuber 1997, with forget gates (Gers et al. 2000). weight_hr projects the result (Sak et al. 2014).
inline CellState lstm_step(const Tensor& a, const Tensor& c, const Tensor& weight_hr) {
  const Tensor next = gate(a, 1, 4).sigmoid() * c + gate(a, 0, 4).sigmoid() * gate(a, 2, 4).tanh();
  const Tensor h = gate(a, 3, 4).sigmoid() * next.tanh();
  return {weight_hr.defined() ? linear(h, weight_hr) : h, next};
}
// Cho et al. 2014, with the reset gate after the product, as in cuDNN. x and a are the products of the input and of the state h.
inline CellState gru_step(const Tensor& x, const Tensor& a, const Tensor& h) {
  const Tensor reset = (gate(x, 0, 3) + gate(a, 0, 3)).sigmoid(),
               update = (gate(x, 1, 3) + gate(a, 1, 3)).sigmoid();
  const Tensor next = (gate(x, 2, 3) + reset * gate(a, 2, 3)).tanh();
  return {next + update * (h - next)};
}
// The next state. x (B, gates · H): the products of the input.
inline CellState step(CellKind kind, const Tensor& x, const CellState& state,
                      const CellTensors& w) {
  const Tensor a = linear(state[0], w.weight_hh, w.bias_hh);
  if (kind == CellKind::kGRU) return gru_step(x, a, state[0]);
  if (kind == CellKind::kLSTM) return lstm_step(x + a, state[1], w.weight_hr);
  return {kind == CellKind::kTanh ? (x + a).tanh() : (x + a).relu()};
}

// A run of steps with equally many rows.
struct Run {
  int64_t steps, rows;
};
// Runs, from the number of rows in each step.
inline std::vector<Run> runs_of(const std::vector<int64_t>& sizes) {
  std::vector<Run> runs;
  for (const int64_t rows : sizes) {
    if (runs.empty() || runs.back().rows != rows) runs.push_back({0, rows});
    ++runs.back().steps;
  }
  return runs;
}

// Results (T, B, P) and last state of a run, from the input's products (T, B, gates · H).
inline std::pair<Tensor, CellState> run_steps(CellKind kind, const Tensor& products,
                                              CellState state, const CellTensors& w, bool reverse) {
  if (kind == CellKind::kLSTM && !w.weight_hr.defined()) {
    const auto [y, c, gates] = lstm(products, state[0], state[1], w.weight_hh, reverse);
    const int64_t last = reverse ? 0 : -1;
    return {y, {y.select(0, last), c.select(0, last)}};
  }
  std::vector<Tensor> results = products.unbind(0);
  if (reverse) std::ranges::reverse(results);
  for (Tensor& each : results) {
    state = step(kind, each, state, w);
    each = state[0];
  }
  if (reverse) std::ranges::reverse(results);
  return {stack(results, 0), state};
}

inline CellState rows_of(const CellState& state, int64_t from, int64_t to) {
  CellState rows;
  for (const Tensor& each : state)
    rows.push_back(from == 0 && to == each.shape(0) ? each : each.slice(0, from, to));
  return rows;
}
inline void add_rows(CellState& state, const CellState& more) {
  for (size_t i = 0; i < state.size(); ++i) state[i] = concat({state[i], more[i]}, 0);
}

// Results (rows, P) and last state of one direction. Forward, rows leave the state where their sequence ends; backward, they enter it
// there.
inline std::pair<Tensor, CellState> run_direction(CellKind kind, const Tensor& x,
                                                  const std::vector<Run>& runs,
                                                  const CellState& first, CellTensors w,
                                                  bool reverse) {
  if (kind != CellKind::kGRU &&
      w.bias_hh.defined()) {  // Both biases are only added, so they are added once
    w.bias_ih = w.bias_ih + w.bias_hh;
    w.bias_hh = {};
  }
  const Tensor products = linear(x, w.weight_ih, w.bias_ih);
  int64_t rows = (reverse ? runs.back() : runs.front()).rows, at = reverse ? x.shape(0) : 0;
  CellState state = rows_of(first, 0, rows);
  std::vector<CellState> ended;
  std::vector<Tensor> results;
  for (size_t i = 0; i < runs.size(); ++i) {
    const Run& run = runs[reverse ? runs.size() - 1 - i : i];
    if (run.rows < rows) {
      ended.push_back(rows_of(state, run.rows, rows));
      state = rows_of(state, 0, run.rows);
    } else if (run.rows > rows) {
      add_rows(state, rows_of(first, rows, run.rows));
    }
    rows = run.rows;
    const int64_t count = run.steps * rows;
    if (reverse) at -= count;
    auto [y, end] =
        run_steps(kind, products.narrow(0, at, count).reshape({run.steps, rows, products.shape(1)}),
                  state, w, reverse);
    if (!reverse) at += count;
    results.push_back(y.flatten(0, 1));
    state = end;
  }
  for (size_t i = ended.size(); i > 0; --i) add_rows(state, ended[i - 1]);
  if (reverse) std::ranges::reverse(results);
  return {results.size() == 1 ? results[0] : concat(results, 0), state};
}

// Results (rows, …) of the last layer, and the last states (layers · directions, B, size). There are weights for each layer and direction.
inline std::pair<Tensor, CellState> run_layers(CellKind kind, Tensor x,
                                               const std::vector<Run>& runs, const CellState& state,
                                               const std::vector<CellTensors>& weights,
                                               int64_t directions, double dropout_p) {
  std::vector<CellState> last(state.size());
  for (size_t layer = 0; layer < weights.size(); layer += static_cast<size_t>(directions)) {
    if (layer > 0 && dropout_p > 0) x = dropout(x, dropout_p);
    std::vector<Tensor> found;
    for (size_t i = layer; i < layer + static_cast<size_t>(directions); ++i) {
      CellState first;
      for (const Tensor& each : state) first.push_back(each.select(0, static_cast<int64_t>(i)));
      const auto [y, end] = run_direction(kind, x, runs, first, weights[i], i > layer);
      found.push_back(y);
      for (size_t s = 0; s < end.size(); ++s) last[s].push_back(end[s]);
    }
    x = directions == 1 ? found[0] : concat(found, 1);
  }
  CellState stacked;
  for (const CellState& each : last) stacked.push_back(stack(each, 0));
  return {x, stacked};
}

}  // namespace tenon::nn::detail
#endif
