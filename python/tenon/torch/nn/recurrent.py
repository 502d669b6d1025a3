"""RNN, LSTM and GRU, whole sequences at a time, and their cells.

The products of a whole sequence with the input's weights are one product; each step then adds one product of its state. Sequences
lie step by step: as many rows in each step as there are sequences that long, longest first, so that packed ones waste no work. An LSTM
over sequences of one length is one op a layer and direction.
"""
import math
import warnings

import tenon

from ..._core import Tensor, ops
from ...nn import Module, Parameter
from ..index import index_select
from ..join import split, unbind
from . import functional as F
from .packed import PackedSequence

__all__ = ['GRU', 'GRUCell', 'LSTM', 'LSTMCell', 'RNN', 'RNNBase', 'RNNCell']

_linear, _sigmoid, _tanh, _slice = ops['linear'], ops['sigmoid'], ops['tanh'], ops['slice']


def _parts(x, count):
    size = x.shape[1] // count
    return [_slice(x, 1, i * size, (i + 1) * size) for i in range(count)]


# One step: rows of the input's products (B, gates · H), state, weights of the state -> new state, whose first is the result. ---------

def _rnn_step(activation):
    def step(x, state, weight, bias, project):
        return (activation(x + _linear(state[0], weight, bias)),)
    return step


def _lstm_step(x, state, weight, bias, project):
    """Hochreiter & Schmidhuber 1997 with forget gates (Gers et al. 2000); project: of the results (Sak et al. 2014)."""
    i, f, g, o = _parts(x + _linear(state[0], weight, bias), 4)
    c = _sigmoid(f) * state[1] + _sigmoid(i) * _tanh(g)
    h = _sigmoid(o) * _tanh(c)
    return h if project is None else _linear(h, project), c


def _gru_step(x, state, weight, bias, project):
    """Cho et al. 2014, the reset gate behind the product as in cuDNN."""
    h = state[0]
    (xr, xz, xn), (hr, hz, hn) = _parts(x, 3), _parts(_linear(h, weight, bias), 3)
    n = _tanh(xn + _sigmoid(xr + hr) * hn)
    return (n + _sigmoid(xz + hz) * (h - n),)


def lstm_layer(x, h0, c0, w_ih, w_hh, b_ih=None, b_hh=None, reverse=False):
    """One direction of one layer of an LSTM over x (T, B, I) as one op, from the states h0 and c0 (B, H): y (T, B, H), h_n, c_n (B, H)."""
    y, c, _ = ops['lstm'](_linear(x, w_ih, b_ih if b_hh is None else b_ih + b_hh), h0, c0, w_hh, reverse)
    if not y.shape[0]:
        return y, h0, c0
    last = 0 if reverse else -1
    return y, ops['select'](y, 0, last), ops['select'](c, 0, last)


# mode: gates, tensors of state, step
_MODES = {'RNN_TANH': (1, 1, _rnn_step(_tanh)), 'RNN_RELU': (1, 1, _rnn_step(ops['relu'])),
          'LSTM': (4, 2, _lstm_step), 'GRU': (3, 1, _gru_step)}


def _forward(step, parts, state):
    """(results of each step, last state); rows whose sequence has ended leave the state."""
    results, ended, rows = [], [], state[0].shape[0]
    for x in parts:
        if x.shape[0] < rows:
            ended.append([_slice(each, 0, x.shape[0]) for each in state])
            rows = x.shape[0]
            state = [_slice(each, 0, 0, rows) for each in state]
        state = step(x, state)
        results.append(state[0])
    if ended:
        state = [ops['concat'](list(each), 0) for each in zip(state, *reversed(ended))]
    return results, state


def _backward(step, parts, first):
    """_forward() from the last step to the first; rows join where their sequence ends."""
    results, rows = [], parts[-1].shape[0]
    state = [_slice(each, 0, 0, rows) for each in first]
    for x in reversed(parts):
        if x.shape[0] > rows:
            state = [ops['concat']([each, _slice(new, 0, rows, x.shape[0])], 0) for each, new in zip(state, first)]
            rows = x.shape[0]
        state = step(x, state)
        results.append(state[0])
    return results[::-1], state


class RNNBase(Module):
    """What RNN, LSTM and GRU are: layers of one or two directions over a sequence.

    Input (T, B, input_size), (B, T, input_size) where batch_first, (T, input_size), or a PackedSequence; results alike, of hidden_size
    (or proj_size) a direction. States are (num_layers · directions, B, size), layer by layer.
    """

    def __init__(self, mode, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
                 proj_size=0, device=None, dtype=None):
        super().__init__()
        name = type(self).__name__
        if mode not in _MODES:
            raise ValueError(f'[{name}] mode must be one of {", ".join(_MODES)}, not {mode!r}')
        if isinstance(dropout, bool) or not isinstance(dropout, (int, float)) or not 0 <= dropout <= 1:
            raise ValueError(f'[{name}] dropout is {dropout!r}, must be a number from 0 to 1')
        if dropout > 0 and num_layers == 1:
            warnings.warn(f'[{name}] dropout lies between layers: with num_layers=1 it does nothing', stacklevel=3)
        if not isinstance(hidden_size, int):
            raise TypeError(f'[{name}] hidden_size must be an int, not {type(hidden_size).__name__}')
        if hidden_size <= 0 or num_layers <= 0:
            raise ValueError(f'[{name}] hidden_size {hidden_size} and num_layers {num_layers} must be above 0')
        if not 0 <= proj_size < hidden_size:
            raise ValueError(f'[{name}] proj_size {proj_size} must be at least 0 and below hidden_size')
        if proj_size and mode != 'LSTM':
            raise ValueError(f'[{name}] proj_size is an LSTM\'s')
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout, self.bidirectional = bias, batch_first, float(dropout), bidirectional
        self.proj_size = proj_size
        gates, out = _MODES[mode][0] * hidden_size, proj_size or hidden_size
        for layer in range(num_layers):
            shapes = {'weight_ih': (gates, out * self._directions if layer else input_size), 'weight_hh': (gates, out)}
            if bias:
                shapes.update(bias_ih=(gates,), bias_hh=(gates,))
            if proj_size:
                shapes['weight_hr'] = (proj_size, hidden_size)
            for suffix in self._suffixes(layer):
                for key, shape in shapes.items():
                    setattr(self, key + suffix, Parameter(ops['full'](shape, 0.0, dtype or tenon.float32, device)))
        self.reset_parameters()

    @property
    def _directions(self):
        return 2 if self.bidirectional else 1

    def _suffixes(self, layer):
        """The ends of the names of a layer's parameters, one for each direction."""
        return [f'_l{layer}{end}' for end in ('', '_reverse')[:self._directions]]

    def reset_parameters(self):
        """Uniform numbers up to 1 / √hidden_size."""
        bound = 1 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            _draw(parameter, bound)

    def flatten_parameters(self):
        """Does nothing: weights need no common memory here."""

    @property
    def all_weights(self):
        """The parameters of each layer and direction, in a list each."""
        keys = ['weight_ih', 'weight_hh', *(['bias_ih', 'bias_hh'] if self.bias else []), *(['weight_hr'] if self.proj_size else [])]
        return [[getattr(self, key + suffix) for key in keys] for layer in range(self.num_layers) for suffix in self._suffixes(layer)]

    def forward(self, input, hx=None):
        packed = input if isinstance(input, PackedSequence) else None
        x, sizes = self._steps(input, packed)
        single = not isinstance(input, PackedSequence) and input.ndim == 2
        state = self._first_state(hx, x, sizes[0], single)
        if packed is not None and packed.sorted_indices is not None and hx is not None:
            state = [index_select(each, 1, packed.sorted_indices) for each in state]
        x, state = self._run(x, sizes, state)
        if packed is not None:
            result = PackedSequence(x, packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices)
            if packed.unsorted_indices is not None:
                state = [index_select(each, 1, packed.unsorted_indices) for each in state]
        else:
            result = ops['reshape'](x, (len(sizes), sizes[0], x.shape[1]))
            if single:
                result, state = ops['squeeze'](result, 1), [ops['squeeze'](each, 1) for each in state]
            elif self.batch_first:
                result = ops['transpose'](result, 0, 1)
        return result, tuple(state) if len(state) > 1 else state[0]

    def _steps(self, input, packed):
        """(rows of all steps (rows, input_size), rows of each step)."""
        x = input if packed is None else packed.data
        name = type(self).__name__
        if not isinstance(x, Tensor):
            raise TypeError(f'[{name}] input must be a Tensor or a PackedSequence, not {type(input).__name__}')
        if packed is None and x.ndim not in (2, 3):
            raise ValueError(f'[{name}] input has rank {x.ndim}, must be (T, B, input_size) or (T, input_size)')
        if x.shape[-1] != self.input_size:
            raise RuntimeError(f'[{name}] the last dimension of input is {x.shape[-1]}, must be input_size {self.input_size}')
        if packed is not None:
            return x, packed.batch_sizes.tolist()
        if x.ndim == 2:
            x = ops['unsqueeze'](x, 1)
        elif self.batch_first:
            x = ops['transpose'](x, 0, 1)
        steps, batch = x.shape[:2]
        if not steps:
            raise RuntimeError(f'[{name}] the sequence has no steps')
        return ops['reshape'](x, (steps * batch, self.input_size)), [batch] * steps

    def _first_state(self, hx, x, batch, single):
        """Tensors of state (layers · directions, batch, size); zeros where hx is None."""
        count = _MODES[self.mode][1]
        lead = self.num_layers * self._directions
        shapes = [(lead, batch, self.proj_size or self.hidden_size), (lead, batch, self.hidden_size)][:count]
        if hx is None:
            return [ops['full'](shape, 0.0, x.dtype, x.device) for shape in shapes]
        name, state = type(self).__name__, [hx] if count == 1 else list(hx)
        if len(state) != count or not all(isinstance(each, Tensor) for each in state):
            raise TypeError(f'[{name}] hx must be ' + ('(h_0, c_0), two tensors' if count == 2 else 'a Tensor'))
        if single and all(each.ndim == 2 for each in state):
            state = [ops['unsqueeze'](each, 1) for each in state]
        for each, shape in zip(state, shapes):
            if tuple(each.shape) != shape:
                raise RuntimeError(f'[{name}] a state of hx has shape {tuple(each.shape)}, must be {shape}'
                                   + (' (without the batch)' if single else ''))
        return state

    def _run(self, x, sizes, state):
        """(rows of the last layer, last state)."""
        last = []
        for layer in range(self.num_layers):
            if layer and self.dropout:
                x = F.dropout(x, self.dropout, self.training)
            results = []
            for suffix in self._suffixes(layer):
                rows, end = self._direction(x, sizes, suffix, [ops['select'](each, 0, len(last)) for each in state])
                results.append(rows)
                last.append(end)
            x = results[0] if len(results) == 1 else ops['concat'](results, 1)
        return x, [ops['stack'](list(each), 0) for each in zip(*last)]

    def _direction(self, x, sizes, suffix, state):
        """(rows of one direction, its last state)."""
        step = _MODES[self.mode][2]
        weight_ih, weight_hh, bias_ih, bias_hh, project = (
            getattr(self, key + suffix, None) for key in ('weight_ih', 'weight_hh', 'bias_ih', 'bias_hh', 'weight_hr'))
        reverse, same = suffix.endswith('_reverse'), sizes[0] == sizes[-1]
        if self.mode == 'LSTM' and project is None and same:
            x = ops['reshape'](x, (len(sizes), sizes[0], x.shape[1]))
            y, *end = lstm_layer(x, state[0], state[1], weight_ih, weight_hh, bias_ih, bias_hh, reverse)
            return ops['reshape'](y, (len(sizes) * sizes[0], y.shape[2])), end
        products = _linear(x, weight_ih, bias_ih)
        if same:
            parts = unbind(ops['reshape'](products, (len(sizes), sizes[0], products.shape[1])))
        else:
            parts = split(products, sizes)
        results, end = (_backward if reverse else _forward)(
            lambda x, state: step(x, state, weight_hh, bias_hh, project), parts, state)
        return ops['concat'](results, 0), end

    def extra_repr(self):
        options = {'num_layers': 1, 'bias': True, 'batch_first': False, 'dropout': 0.0, 'bidirectional': False, 'proj_size': 0}
        told = [f'{key}={getattr(self, key)}' for key, default in options.items() if getattr(self, key) != default]
        return ', '.join([str(self.input_size), str(self.hidden_size), *told])


def _draw(parameter, bound):
    with tenon.no_grad():
        parameter.uniform_(-bound, bound)


class RNN(RNNBase):
    """tanh (or relu) of W_ih x + b_ih + W_hh h + b_hh, step by step (Elman 1990)."""

    def __init__(self, input_size, hidden_size, num_layers=1, nonlinearity='tanh', bias=True, batch_first=False, dropout=0.0,
                 bidirectional=False, device=None, dtype=None):
        if nonlinearity not in ('tanh', 'relu'):
            raise ValueError(f"[RNN] nonlinearity must be 'tanh' or 'relu', not {nonlinearity!r}")
        super().__init__('RNN_' + nonlinearity.upper(), input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
                         device=device, dtype=dtype)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory; its state is (h, c), its gates lie in the order input, forget, cell, output."""

    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
                 proj_size=0, device=None, dtype=None):
        super().__init__('LSTM', input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size, device, dtype)


class GRU(RNNBase):
    """Gated recurrent units; gates lie in the order reset, update, new."""

    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
                 device=None, dtype=None):
        super().__init__('GRU', input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, device=device, dtype=dtype)


class _Cell(Module):
    """One step: input (B, input_size) or (input_size), state (B, hidden_size) or (hidden_size)."""

    _mode = ''

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        gates, place = _MODES[self._mode][0] * hidden_size, (dtype or tenon.float32, device)
        self.weight_ih = Parameter(ops['full']((gates, input_size), 0.0, *place))
        self.weight_hh = Parameter(ops['full']((gates, hidden_size), 0.0, *place))
        self.bias_ih = Parameter(ops['full']((gates,), 0.0, *place)) if bias else None
        self.bias_hh = Parameter(ops['full']((gates,), 0.0, *place)) if bias else None
        self.reset_parameters()

    def reset_parameters(self):
        """Uniform numbers up to 1 / √hidden_size."""
        for parameter in self.parameters():
            _draw(parameter, 1 / math.sqrt(self.hidden_size))

    def forward(self, input, hx=None):
        name, count = type(self).__name__, _MODES[self._mode][1]
        if input.ndim not in (1, 2):
            raise ValueError(f'[{name}] input has rank {input.ndim}, must be (B, input_size) or (input_size)')
        if input.shape[-1] != self.input_size:
            raise RuntimeError(f'[{name}] the last dimension of input is {input.shape[-1]}, must be input_size {self.input_size}')
        shape = (*input.shape[:-1], self.hidden_size)
        state = [ops['full'](shape, 0.0, input.dtype, input.device)] * count if hx is None else [hx] if count == 1 else list(hx)
        if len(state) != count or any(tuple(each.shape) != shape for each in state):
            raise RuntimeError(f'[{name}] hx must be ' + ('two tensors of shape ' if count == 2 else 'a Tensor of shape ') + f'{shape}')
        single = input.ndim == 1
        if single:
            input, state = ops['unsqueeze'](input, 0), [ops['unsqueeze'](each, 0) for each in state]
        state = _MODES[self._mode][2](_linear(input, self.weight_ih, self.bias_ih), state, self.weight_hh, self.bias_hh, None)
        if single:
            state = tuple(ops['squeeze'](each, 0) for each in state)
        return state if count == 2 else state[0]

    def extra_repr(self):
        return f'{self.input_size}, {self.hidden_size}' + ('' if self.bias else ', bias=False')


class RNNCell(_Cell):
    """A step of RNN."""

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity='tanh', device=None, dtype=None):
        if nonlinearity not in ('tanh', 'relu'):
            raise ValueError(f"[RNNCell] nonlinearity must be 'tanh' or 'relu', not {nonlinearity!r}")
        self._mode = 'RNN_' + nonlinearity.upper()
        super().__init__(input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity

    def extra_repr(self):
        return super().extra_repr() + ('' if self.nonlinearity == 'tanh' else f', nonlinearity={self.nonlinearity}')


class LSTMCell(_Cell):
    """A step of LSTM: (h, c) from input and (h, c)."""

    _mode = 'LSTM'


class GRUCell(_Cell):
    """A step of GRU."""

    _mode = 'GRU'
