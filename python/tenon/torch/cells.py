"""One step of recurrent networks as functions of their weights: torch.lstm_cell and its kin."""
from .._core import ops

__all__ = ['gru_cell', 'lstm_cell', 'rnn_relu_cell', 'rnn_tanh_cell']


def _gates(input, hx, w_ih, w_hh, b_ih, b_hh):
    return ops['linear'](input, w_ih, b_ih), ops['linear'](hx, w_hh, b_hh)


def _split(gates, count):
    size = gates.shape[-1] // count
    return [ops['slice'](gates, -1, i * size, (i + 1) * size) for i in range(count)]


def rnn_tanh_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """The next state of an RNN with tanh."""
    own, kept = _gates(input, hx, w_ih, w_hh, b_ih, b_hh)
    return ops['tanh'](own + kept)


def rnn_relu_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """The next state of an RNN with relu."""
    own, kept = _gates(input, hx, w_ih, w_hh, b_ih, b_hh)
    return ops['relu'](own + kept)


def gru_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """The next state of a GRU; the weights hold those of reset, update and new gate."""
    own, kept = (_split(gates, 3) for gates in _gates(input, hx, w_ih, w_hh, b_ih, b_hh))
    reset, update = (ops['sigmoid'](own[i] + kept[i]) for i in range(2))
    new = ops['tanh'](own[2] + reset * kept[2])
    return new + update * (hx - new)


def lstm_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """The next (h, c) of an LSTM after hx = (h, c); the weights hold those of input, forget, cell and output gate."""
    h, c = hx
    own, kept = _gates(input, h, w_ih, w_hh, b_ih, b_hh)
    take, keep, cell, give = _split(own + kept, 4)
    c = ops['sigmoid'](keep) * c + ops['sigmoid'](take) * ops['tanh'](cell)
    return ops['sigmoid'](give) * ops['tanh'](c), c
