"""What RNN, LSTM and GRU compute over sequences.

Rows are ordered step by step, longest sequence first; each step has as many rows as there are sequences of that length, so that packed
ones waste no work. One product multiplies all rows by the input's weights; each step then adds one product of its state. Steps with
equally many rows form a run; an LSTM's run is one op.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import tenon

from ... import _core
from ..._core import Tensor, ops
from ..join import split, unbind
from . import functional as F
from .packed import runs

_linear, _sigmoid, _tanh, _slice = ops['linear'], ops['sigmoid'], ops['tanh'], ops['slice']


class Packed(NamedTuple):
    """A weight (out, in) as integers of eight bits and a scale for each row."""

    integers: Tensor
    scale: Tensor


class Weights(NamedTuple):
    """The weights of one direction of one layer: weight_ih (gates · H, I), weight_hh (gates · H, P), biases (gates · H,), weight_hr
    (P, H)."""

    weight_ih: Tensor | Packed
    weight_hh: Tensor
    bias_ih: Tensor | None = None
    bias_hh: Tensor | None = None
    weight_hr: Tensor | None = None


class Mode(NamedTuple):
    """How a kind of layer works; step takes the input's products (B, gates · H), the state and the weights."""

    gates: int
    states: int
    step: Callable


def _parts(x, count):
    last = x.ndim - 1
    size = x.shape[last] // count
    return [_slice(x, last, i * size, (i + 1) * size) for i in range(count)]


# One step: the new state, whose first part is the result. ----------------------------------------------------------------------------

def _rnn_step(activation):
    def step(x, state, weights):
        return (activation(x + _linear(state[0], weights.weight_hh, weights.bias_hh)),)
    return step


def _lstm_step(x, state, weights):
    """Hochreiter & Schmidhuber 1997 with forget gates (Gers et al. 2000); weight_hr projects the results (Sak et al. 2014)."""
    i, f, g, o = _parts(x + _linear(state[0], weights.weight_hh, weights.bias_hh), 4)
    c = _sigmoid(f) * state[1] + _sigmoid(i) * _tanh(g)
    h = _sigmoid(o) * _tanh(c)
    return h if weights.weight_hr is None else _linear(h, weights.weight_hr), c


def _gru_step(x, state, weights):
    """Cho et al. 2014, with the reset gate after the product, as in cuDNN."""
    h = state[0]
    (xr, xz, xn), (hr, hz, hn) = _parts(x, 3), _parts(_linear(h, weights.weight_hh, weights.bias_hh), 3)
    n = _tanh(xn + _sigmoid(xr + hr) * hn)
    return (n + _sigmoid(xz + hz) * (h - n),)


MODES = {'RNN_TANH': Mode(1, 1, _rnn_step(_tanh)), 'RNN_RELU': Mode(1, 1, _rnn_step(ops['relu'])),
         'LSTM': Mode(4, 2, _lstm_step), 'GRU': Mode(3, 1, _gru_step)}


# One run: (results (T, B, P), last state) from the input's products (T, B, gates · H) and the state. ----------------------------------

def _run_of_steps(step, x, state, weights, reverse):
    if _core._trace_active() and not tenon.is_grad_enabled():  # one node of the program, however long x is
        def turn(state, each):
            state = step(each, state, weights)
            return state, state[0]
        last, y = tenon.graph.scan(turn, tuple(state), ops['flip'](x, [0]) if reverse else x)
        return ops['flip'](y, [0]) if reverse else y, last
    results = []
    for each in reversed(unbind(x)) if reverse else unbind(x):
        state = step(each, state, weights)
        results.append(state[0])
    return ops['stack'](results[::-1] if reverse else results, 0), state


def _run_of_lstm(x, state, weights, reverse):
    y, c, _ = ops['lstm'](x, *state, weights.weight_hh, reverse)
    last = 0 if reverse else -1
    return y, (ops['select'](y, 0, last), ops['select'](c, 0, last))


# All runs: the results of each, and the last state. -------------------------------------------------------------------------------------

def _forward(run, parts, state):
    """Rows whose sequence has ended leave the state."""
    results, ended, rows = [], [], state[0].shape[0]
    for x in parts:
        if x.shape[1] < rows:
            ended.append([_slice(each, 0, x.shape[1]) for each in state])
            rows = x.shape[1]
            state = [_slice(each, 0, 0, rows) for each in state]
        y, state = run(x, state)
        results.append(y)
    if ended:
        state = [ops['concat'](list(each), 0) for each in zip(state, *reversed(ended))]
    return results, state


def _backward(run, parts, first):
    """From the last run to the first; rows join where their sequence ends."""
    results, rows = [], parts[-1].shape[1]
    state = [_slice(each, 0, 0, rows) for each in first]
    for x in reversed(parts):
        if x.shape[1] > rows:
            state = [ops['concat']([each, _slice(new, 0, rows, x.shape[1])], 0) for each, new in zip(state, first)]
            rows = x.shape[1]
        y, state = run(x, state)
        results.append(y)
    return results[::-1], state


def _products(x, weight, bias):
    return ops['linear_w8a8'](x, *weight, bias) if isinstance(weight, Packed) else _linear(x, weight, bias)


def direction(mode, x, sizes, state, weights, reverse=False):
    """(rows (rows, P), last state [(B, P), ...]) of one direction of one layer over x (rows, I), of which sizes[t] belong to step t."""
    if mode != 'GRU' and weights.bias_hh is not None:  # both biases are only added, so once suffices
        weights = weights._replace(bias_ih=weights.bias_ih + weights.bias_hh, bias_hh=None)
    products, step = _products(x, weights.weight_ih, weights.bias_ih), MODES[mode].step
    shapes = runs(sizes)
    parts = [products] if len(shapes) == 1 else split(products, [steps * rows for steps, rows in shapes])
    parts = [ops['reshape'](part, (*shape, products.shape[1])) for part, shape in zip(parts, shapes)]

    def run(x, state):
        if mode == 'LSTM' and weights.weight_hr is None:
            return _run_of_lstm(x, state, weights, reverse)
        return _run_of_steps(step, x, state, weights, reverse)
    results, state = (_backward if reverse else _forward)(run, parts, state)
    results = [ops['reshape'](y, (y.shape[0] * y.shape[1], y.shape[2])) for y in results]
    return results[0] if len(results) == 1 else ops['concat'](results, 0), state


def layers(mode, x, sizes, state, weights, bidirectional=False, dropout=0.0, training=False):
    """(rows of the last layer, last state) over x (rows, I), of which sizes[t] rows belong to step t.

    state: tensors (layers · directions, B, size); weights: a Weights for each layer and direction.
    """
    directions, last = 2 if bidirectional else 1, []
    while len(last) < len(weights):
        if last and dropout:
            x = F.dropout(x, dropout, training)
        found = []
        for reverse in range(directions):
            i = len(last)
            rows, end = direction(mode, x, sizes, [ops['select'](each, 0, i) for each in state], weights[i], bool(reverse))
            found.append(rows)
            last.append(end)
        x = found[0] if directions == 1 else ops['concat'](found, 1)
    return x, [ops['stack'](list(each), 0) for each in zip(*last)]
