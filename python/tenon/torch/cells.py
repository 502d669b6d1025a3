"""One step of recurrent networks as functions of their weights: torch.lstm_cell and its kin."""
from .._core import ops
from .nn.sequences import MODES, Weights

__all__ = ['gru_cell', 'lstm_cell', 'rnn_relu_cell', 'rnn_tanh_cell']


def _step(mode, input, state, w_ih, w_hh, b_ih, b_hh):
    return MODES[mode].step(ops['linear'](input, w_ih, b_ih), state, Weights(w_ih, w_hh, b_ih, b_hh))


def rnn_tanh_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """The next state of an RNN with tanh."""
    return _step('RNN_TANH', input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


def rnn_relu_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """The next state of an RNN with relu."""
    return _step('RNN_RELU', input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


def gru_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """The next state of a GRU; the weights hold those of reset, update and new gate."""
    return _step('GRU', input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


def lstm_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """The next (h, c) of an LSTM after hx = (h, c); the weights hold those of input, forget, cell and output gate."""
    h, c = hx
    return _step('LSTM', input, (h, c), w_ih, w_hh, b_ih, b_hh)
