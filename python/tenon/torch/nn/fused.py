"""Recurrent layers whose steps are one op."""
from ..._core import ops


def lstm_layer(x, h0, c0, w_ih, w_hh, b_ih=None, b_hh=None, reverse=False):
    """One direction of one layer of an LSTM over x (T, B, I), from the states h0 and c0 (B, H): y (T, B, H), h_n, c_n (B, H).

    Weights and biases are those of PyTorch's layer, gates in the order i, f, g, o; `reverse` begins at the last step."""
    bias = b_ih if b_hh is None else b_ih + b_hh
    y, c, _ = ops['lstm'](ops['linear'](x, w_ih, bias), h0, c0, w_hh, reverse)
    if not len(y):
        return y, h0, c0
    last = 0 if reverse else -1
    return y, y[last], c[last]
