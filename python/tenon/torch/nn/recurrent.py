"""RNN, LSTM and GRU, and their cells."""
import math
import warnings

import tenon

from ..._core import Tensor, ops
from ..._errors import InvalidArgumentError
from ...nn import Module, Parameter
from .._common import autocasting, defaults, lowered
from ..index import index_select
from .packed import PackedSequence
from .sequences import MODES, Weights, layers

__all__ = ['GRU', 'GRUCell', 'LSTM', 'LSTMCell', 'RNN', 'RNNBase', 'RNNCell', 'RNNCellBase']


def _check_nonlinearity(name, nonlinearity):
    if nonlinearity not in ('tanh', 'relu'):
        raise InvalidArgumentError(f"[{name}] nonlinearity must be 'tanh' or 'relu', not {nonlinearity!r}")


class _Recurrent(Module):
    """What layers and cells share: initial parameters, and checks of dtypes."""

    input_size: int
    hidden_size: int
    weight_ih: Parameter

    def _add(self, shapes, device, dtype):
        """Adds parameters with these names and shapes; None if there is no shape."""
        dtype, device = defaults.settle(dtype, device)
        for name, shape in shapes.items():
            self.register_parameter(name, None if shape is None else Parameter(ops['full'](shape, 0.0, dtype, device)))

    def reset_parameters(self):
        """Draws uniform numbers up to 1 / √hidden_size."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size else 0
        with tenon.no_grad():
            for parameter in self.parameters():
                parameter.uniform_(-bound, bound)

    def _check_input(self, x, weight, ranks, shapes):
        name = type(self).__name__
        if not isinstance(x, Tensor):
            raise TypeError(f'[{name}] input must be a Tensor, not {type(x).__name__}')
        if x.ndim not in ranks:
            raise InvalidArgumentError(f'[{name}] input has rank {x.ndim}, must be {shapes}')
        if x.shape[-1] != self.input_size:
            raise RuntimeError(f'[{name}] the last dimension of input is {x.shape[-1]}, must be input_size {self.input_size}')
        if x.dtype is not weight.dtype and not autocasting(x):
            raise InvalidArgumentError(f'[{name}] input is {x.dtype}, the weights are {weight.dtype}: cast one of them with to()')

    def _check_states(self, state, shapes, dtype):
        """Checks state, one tensor or a tuple of them; returns a list."""
        name = type(self).__name__
        state = [state] if len(shapes) == 1 else list(state) if isinstance(state, (tuple, list)) else []
        if len(state) != len(shapes) or not all(isinstance(each, Tensor) for each in state):
            raise TypeError(f'[{name}] hx must be ' + ('(h_0, c_0), two tensors' if len(shapes) == 2 else 'a Tensor'))
        state = list(lowered(*state))
        for each, shape in zip(state, shapes):
            if tuple(each.shape) != shape or each.dtype is not dtype:
                raise RuntimeError(f'[{name}] hx has a state of {each.dtype} and shape {tuple(each.shape)}, must be {dtype} and {shape}')
        return state


class RNNBase(_Recurrent):
    """The base of RNN, LSTM and GRU: layers of one or two directions over a sequence.

    Input is (T, B, input_size), (B, T, input_size) if batch_first, (T, input_size), or a PackedSequence; results have the same form,
    with hidden_size (or proj_size) for each direction. States are (num_layers · directions, B, size), layer by layer.
    """

    def __init__(self, mode, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
                 proj_size=0, device=None, dtype=None):
        super().__init__()
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout, self.bidirectional = bias, batch_first, dropout, bidirectional
        self.proj_size = proj_size
        self._check_options()
        self.dropout = float(dropout)
        gates, out = MODES[mode].gates * hidden_size, proj_size or hidden_size
        for layer in range(num_layers):
            shapes = {'weight_ih': (gates, out * self._directions if layer else input_size), 'weight_hh': (gates, out),
                      'bias_ih': (gates,), 'bias_hh': (gates,), 'weight_hr': (proj_size, hidden_size)}
            for suffix in self._suffixes(layer):
                self._add({key + suffix: shapes[key] for key in self._keys}, device, dtype)
        self.reset_parameters()

    def _check_options(self):
        name, dropout = type(self).__name__, self.dropout
        if self.mode not in MODES:
            raise InvalidArgumentError(f'[{name}] mode must be one of {", ".join(MODES)}, not {self.mode!r}')
        if isinstance(dropout, bool) or not isinstance(dropout, (int, float)) or not 0 <= dropout <= 1:
            raise InvalidArgumentError(f'[{name}] dropout is {dropout!r}, must be a number from 0 to 1')
        if dropout > 0 and self.num_layers == 1:
            warnings.warn(f'[{name}] dropout lies between layers: with num_layers=1 it does nothing', stacklevel=4)
        for key in ('input_size', 'hidden_size', 'num_layers'):
            value = getattr(self, key)
            if not isinstance(value, int):
                raise TypeError(f'[{name}] {key} must be an int, not {type(value).__name__}')
            if value <= 0:
                raise InvalidArgumentError(f'[{name}] {key} is {value}, must be above 0')
        if not 0 <= self.proj_size < self.hidden_size:
            raise InvalidArgumentError(f'[{name}] proj_size {self.proj_size} must be at least 0 and below hidden_size')
        if self.proj_size and self.mode != 'LSTM':
            raise InvalidArgumentError(f'[{name}] proj_size is an LSTM\'s')

    @property
    def _directions(self):
        return 2 if self.bidirectional else 1

    @property
    def _keys(self):
        """The names of the parameters of one direction of a layer, without its suffix."""
        return [key for key in Weights._fields if (self.bias or key[:4] != 'bias') and (self.proj_size or key != 'weight_hr')]

    def _suffixes(self, layer):
        """The suffixes of the names of a layer's parameters, one for each direction."""
        return [f'_l{layer}{end}' for end in ('', '_reverse')[:self._directions]]

    @property
    def _all_weights(self):
        """The names of the parameters of each layer and direction, one list each."""
        return [[key + suffix for key in self._keys] for layer in range(self.num_layers) for suffix in self._suffixes(layer)]

    @property
    def all_weights(self):
        """The parameters of each layer and direction, one list each."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights_names(self):
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self):
        return [getattr(self, name) for name in self._flat_weights_names]

    def flatten_parameters(self):
        """Does nothing: weights need no shared memory here."""

    def forward(self, input, hx=None):
        if isinstance(input, PackedSequence):
            return self._of_packed(input, hx)
        self._check_input(input, self.weight_ih_l0, (2, 3), '(T, B, input_size) or (T, input_size)')
        (x,), single = lowered(input), input.ndim == 2
        if single:
            x = ops['unsqueeze'](x, 1)
        elif self.batch_first:
            x = ops['transpose'](x, 0, 1)
        steps, batch = x.shape[:2]
        if not steps:
            raise RuntimeError(f'[{type(self).__name__}] the sequence has no steps')
        state = self._first_state(hx, x, batch, single)
        x, state = self._layers(ops['reshape'](x, (steps * batch, self.input_size)), [batch] * steps, state)
        x = ops['reshape'](x, (steps, batch, x.shape[1]))
        if single:
            x, state = ops['squeeze'](x, 1), [ops['squeeze'](each, 1) for each in state]
        elif self.batch_first:
            x = ops['transpose'](x, 0, 1)
        return x, tuple(state) if len(state) > 1 else state[0]

    def _of_packed(self, input, hx):
        x, sizes, order, back = input
        self._check_input(x, self.weight_ih_l0, (2,), 'packed rows (rows, input_size)')
        x, = lowered(x)
        sizes = sizes.tolist()
        state = self._first_state(hx, x, sizes[0])
        if order is not None and hx is not None:
            state = [index_select(each, 1, order) for each in state]
        x, state = self._layers(x, sizes, state)
        if back is not None:
            state = [index_select(each, 1, back) for each in state]
        return PackedSequence(x, input.batch_sizes, order, back), tuple(state) if len(state) > 1 else state[0]

    def _layers(self, x, sizes, state):
        all_weights = [lowered(*each) for each in self.all_weights] if autocasting(x) else self.all_weights
        weights = [Weights(**dict(zip(self._keys, each))) for each in all_weights]
        return layers(self.mode, x, sizes, state, weights, self.bidirectional, self.dropout, self.training)

    def _first_state(self, hx, x, batch, single=False):
        """Tensors of state (layers · directions, batch, size); zeros if hx is None."""
        lead = (self.num_layers * self._directions, batch)
        shapes = [(*lead, self.proj_size or self.hidden_size), (*lead, self.hidden_size)][:MODES[self.mode].states]
        if hx is None:
            return [ops['full'](shape, 0.0, x.dtype, x.device) for shape in shapes]
        if not single:
            return self._check_states(hx, shapes, x.dtype)
        return [ops['unsqueeze'](each, 1) for each in self._check_states(hx, [(shape[0], shape[2]) for shape in shapes], x.dtype)]

    def extra_repr(self):
        options = {'proj_size': 0, 'num_layers': 1, 'bias': True, 'batch_first': False, 'dropout': 0, 'bidirectional': False}
        told = [f'{key}={getattr(self, key)}' for key, default in options.items() if getattr(self, key) != default]
        return ', '.join([str(self.input_size), str(self.hidden_size), *told])


class RNN(RNNBase):
    """tanh (or relu) of W_ih x + b_ih + W_hh h + b_hh, step by step (Elman 1990)."""

    def __init__(self, input_size, hidden_size, num_layers=1, nonlinearity='tanh', bias=True, batch_first=False, dropout=0.0,
                 bidirectional=False, device=None, dtype=None):
        _check_nonlinearity('RNN', nonlinearity)
        super().__init__('RNN_' + nonlinearity.upper(), input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
                         device=device, dtype=dtype)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory; its state is (h, c), and its gates are in the order input, forget, cell, output."""

    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
                 proj_size=0, device=None, dtype=None):
        super().__init__('LSTM', input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size, device, dtype)


class GRU(RNNBase):
    """Gated recurrent units; gates are in the order reset, update, new."""

    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
                 device=None, dtype=None):
        super().__init__('GRU', input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, device=device, dtype=dtype)


class RNNCellBase(_Recurrent):
    """What cells have: weight_ih (num_chunks · H, input_size), weight_hh (num_chunks · H, H), bias_ih and bias_hh (num_chunks · H,)."""

    nonlinearity = 'tanh'

    def __init__(self, input_size, hidden_size, bias, num_chunks, device=None, dtype=None):
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        gates = num_chunks * hidden_size
        self._add({'weight_ih': (gates, input_size), 'weight_hh': (gates, hidden_size),
                   'bias_ih': (gates,) if bias else None, 'bias_hh': (gates,) if bias else None}, device, dtype)
        self.reset_parameters()

    def extra_repr(self):
        return (f'{self.input_size}, {self.hidden_size}' + ('' if self.bias else ', bias=False')
                + ('' if self.nonlinearity == 'tanh' else f', nonlinearity={self.nonlinearity}'))


class _Cell(RNNCellBase):
    """One step: input (B, input_size) or (input_size), state (B, hidden_size) or (hidden_size)."""

    _mode = ''

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, MODES[self._mode].gates, device, dtype)

    def forward(self, input, hx=None):
        mode = MODES[self._mode]
        self._check_input(input, self.weight_ih, (1, 2), '(B, input_size) or (input_size)')
        input, = lowered(input)
        shape = (*input.shape[:-1], self.hidden_size)
        if hx is None:
            state = [ops['full'](shape, 0.0, input.dtype, input.device)] * mode.states
        else:
            state = self._check_states(hx, [shape] * mode.states, input.dtype)
        single = input.ndim == 1
        if single:
            input, state = ops['unsqueeze'](input, 0), [ops['unsqueeze'](each, 0) for each in state]
        given = self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh, None
        weights = Weights._make([x if x is None else lowered(x)[0] for x in given] if autocasting(input) else given)
        state = mode.step(ops['linear'](input, weights.weight_ih, weights.bias_ih), state, weights)
        if single:
            state = tuple(ops['squeeze'](each, 0) for each in state)
        return state if mode.states == 2 else state[0]


class RNNCell(_Cell):
    """A step of RNN."""

    _mode = property(lambda self: f'RNN_{self.nonlinearity.upper()}')

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity='tanh', device=None, dtype=None):
        _check_nonlinearity('RNNCell', nonlinearity)
        super().__init__(input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity


class LSTMCell(_Cell):
    """A step of LSTM: (h, c) from input and (h, c)."""

    _mode = 'LSTM'


class GRUCell(_Cell):
    """A step of GRU."""

    _mode = 'GRU'
