"""Recurrent modules and packed sequences beside PyTorch's: the same weights and inputs, all results and gradients."""
import itertools
import pathlib
import sys

import pytest

import tenon.torch as ours

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from twins import check_close, compare, flat, moved, twins

TOLERANCE = {'float32': 2e-5, 'float64': 1e-11}
OPTIONS = [{}, {'num_layers': 2}, {'bidirectional': True}, {'num_layers': 2, 'bidirectional': True, 'batch_first': True}, {'bias': False},
           {'num_layers': 3, 'dropout': 0.0}]


@pytest.mark.parametrize('dtype', TOLERANCE)
@pytest.mark.parametrize('given', [True, False])
@pytest.mark.parametrize('name, more', [('RNN', {}), ('RNN', {'nonlinearity': 'relu'}), ('GRU', {}), ('LSTM', {}), ('LSTM', {'proj_size': 2})])
def test_layers(torch, name, more, given, dtype):
    kind = getattr(torch, dtype)
    for options in OPTIONS:
        mine, theirs = twins(torch, name, dtype, 3, 5, **options, **more)
        layers = options.get('num_layers', 1) * (2 if options.get('bidirectional') else 1)
        for batch in (4, None):
            x = torch.randn(*((6,) if batch is None else (batch, 6) if options.get('batch_first') else (6, batch)), 3, dtype=kind)
            middle = () if batch is None else (batch,)
            state = torch.randn(layers, *middle, more.get('proj_size', 5), dtype=kind)
            if name == 'LSTM':
                state = (state, torch.randn(layers, *middle, 5, dtype=kind))
            compare(torch, mine, theirs, [x, state if given else None], TOLERANCE[dtype])


@pytest.mark.parametrize('name', ['RNNCell', 'LSTMCell', 'GRUCell'])
@pytest.mark.parametrize('options', [{}, {'bias': False}])
def test_cells(torch, name, options):
    mine, theirs = twins(torch, name, 'float64', 3, 5, **options)
    for lead, given in itertools.product([(4,), ()], [True, False]):
        state = torch.randn(*lead, 5, dtype=torch.float64)
        state = (state, torch.randn(*lead, 5, dtype=torch.float64)) if name == 'LSTMCell' else state
        compare(torch, mine, theirs, [torch.randn(*lead, 3, dtype=torch.float64), state if given else None], 1e-11)


LENGTHS = [[5, 3, 3, 1], [2, 5, 1, 4], [3], [4, 4]]


@pytest.mark.parametrize('lengths', LENGTHS)
@pytest.mark.parametrize('name, options', [('LSTM', {}), ('LSTM', {'bidirectional': True, 'num_layers': 2}), ('GRU', {'bidirectional': True}),
                                           ('RNN', {}), ('LSTM', {'proj_size': 2, 'bidirectional': True})])
def test_packed_sequences(torch, name, options, lengths):
    mine, theirs = twins(torch, name, 'float64', 3, 5, **options)
    x = torch.randn(max(lengths), len(lengths), 3, dtype=torch.float64, requires_grad=True)
    y = moved(x).requires_grad_()
    ends = []
    for library, module, padded in ((torch, theirs, x), (ours, mine, y)):
        rnn = library.nn.utils.rnn
        packed = rnn.pack_padded_sequence(padded, library.tensor(lengths), enforce_sorted=False)
        out, state = module(packed)
        assert isinstance(out, rnn.PackedSequence)
        padded_out, sizes = rnn.pad_packed_sequence(out, batch_first=True, padding_value=-1.0, total_length=7)
        ((padded_out ** 2).sum() + sum((each ** 3).sum() for each in flat(state))).backward()
        ends.append((padded_out, sizes, out.batch_sizes, *flat(state)))
    for i, (a, b) in enumerate(zip(ends[1], ends[0], strict=True)):
        check_close(a, b, 1e-11, f'result {i}')
    check_close(y.grad, x.grad, 1e-10, 'gradient')


@pytest.mark.parametrize('lengths', LENGTHS)
def test_packing(torch, lengths):
    xs = [torch.randn(length, 2) for length in lengths]
    both = []
    for library, sequences in ((torch, xs), (ours, list(map(moved, xs)))):
        rnn = library.nn.utils.rnn
        packed = rnn.pack_sequence(sequences, enforce_sorted=False)
        found = [packed.data, packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices, *rnn.unpack_sequence(packed)]
        for first, side in itertools.product([False, True], ['left', 'right']):
            found.append(rnn.pad_sequence(sequences, batch_first=first, padding_value=9.0, padding_side=side))
        found += rnn.unpad_sequence(rnn.pad_sequence(sequences), library.tensor(lengths))
        both.append(found)
        assert packed.to(library.float64).data.dtype is library.float64 and packed.cpu() is packed and len(packed) == 4
    for i, (b, a) in enumerate(zip(*both, strict=True)):
        check_close(a, b, 0, f'tensor {i}')


def test_dropout_applies_between_layers_in_training():
    with pytest.warns(UserWarning, match='between layers'):
        ours.nn.LSTM(2, 3, dropout=0.5)
    net = ours.nn.GRU(2, 3, 2, dropout=0.5)
    x = ours.randn(4, 2, 2)
    assert not ours.equal(net(x)[0], net(x)[0])
    net.eval()
    assert ours.equal(net(x)[0], net(x)[0])


@pytest.mark.parametrize('call, error, text', [
    (lambda nn: nn.LSTM(2, 0), ValueError, 'hidden_size is 0'),
    (lambda nn: nn.LSTM(2, 3, proj_size=3), ValueError, 'proj_size 3'),
    (lambda nn: nn.RNN(2, 3, nonlinearity='sin'), ValueError, 'nonlinearity'),
    (lambda nn: nn.GRU(2, 3, dropout=2), ValueError, 'dropout'),
    (lambda nn: nn.LSTM(2, 3)(ours.zeros(4, 1, 5)), RuntimeError, 'last dimension of input is 5'),
    (lambda nn: nn.LSTM(2, 3)(ours.zeros(2)), ValueError, 'rank 1'),
    (lambda nn: nn.LSTM(2, 3)(ours.zeros(4, 1, 2), ours.zeros(1, 1, 3)), TypeError, 'h_0, c_0'),
    (lambda nn: nn.GRU(2, 3)(ours.zeros(4, 1, 2), ours.zeros(2, 1, 3)), RuntimeError, r'must be torch.float32 and \(1, 1, 3\)'),
    (lambda nn: nn.GRU(2, 3)(ours.zeros(0, 1, 2)), RuntimeError, 'no steps'),
    (lambda nn: nn.GRUCell(2, 3)(ours.zeros(1, 2), ours.zeros(1, 4)), RuntimeError, r'shape \(1, 4\), must be torch.float32 and \(1, 3\)'),
    (lambda nn: nn.utils.rnn.pack_padded_sequence(ours.zeros(3, 2, 1), [1, 2]), RuntimeError, 'enforce_sorted=False'),
    (lambda nn: nn.utils.rnn.pack_padded_sequence(ours.zeros(3, 2, 1), [4, 2]), RuntimeError, 'a length of 4'),
    (lambda nn: nn.utils.rnn.pack_padded_sequence(ours.zeros(3, 2, 1), [3, 0]), RuntimeError, 'above 0'),
    (lambda nn: nn.utils.rnn.PackedSequence(ours.zeros(3, 1)), ValueError, 'batch_sizes is missing'),
])
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call(ours.nn)
