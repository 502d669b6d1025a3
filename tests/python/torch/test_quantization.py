"""torch.ao.quantization.quantize_dynamic beside PyTorch: which layers change, and how far results move."""
import copy
import importlib
import pathlib
import sys

import pytest

import tenon.torch as ours

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from beside import same
from twins import moved


def network(t):
    t.manual_seed(0)
    return t.nn.Sequential(t.nn.Linear(32, 48), t.nn.ReLU(), t.nn.ModuleDict({'out': t.nn.Linear(48, 8, bias=False)})['out'])


@pytest.mark.parametrize('chosen', [None, 'types', 'name', 'dict'])
def test_layers_by_type_and_by_name(torch, chosen):
    def run(t):
        spec = {'types': {t.nn.Linear}, 'name': {'0'}, 'dict': {t.nn.Linear: t.quantization.default_dynamic_qconfig}}.get(chosen)
        model = network(t)
        made = t.quantization.quantize_dynamic(model, spec, dtype=t.qint8)
        return [type(layer).__name__ for layer in made], [f'{layer}'.split('(')[0] for layer in made], type(model[0]).__name__
    same(torch, run)


def test_results_stay_near(torch):
    net = network(ours)
    x = ours.randn(16, 32)
    y, packed = net(x), ours.ao.quantization.quantize_dynamic(net)
    assert (packed(x) - y).norm() / y.norm() < 0.02
    theirs = network(torch)
    theirs.load_state_dict({key: torch.tensor(value.tolist()) for key, value in net.state_dict().items()})
    theirs = torch.ao.quantization.quantize_dynamic(theirs)
    with torch.no_grad():
        moved_far = (moved(theirs(torch.tensor(x.tolist()))) - y).norm()
    assert (packed(x) - y).norm() < 1.2 * moved_far, 'no further than in PyTorch, whose weights share one scale'


@pytest.mark.parametrize('kind', ['LSTM', 'GRU', 'RNN'])
@pytest.mark.parametrize('options', [{}, {'num_layers': 2, 'bidirectional': True, 'batch_first': True}, {'bias': False}], ids=str)
def test_recurrent_layers(kind, options):
    ours.manual_seed(1)
    layer = getattr(ours.nn, kind)(12, 16, **options)
    packed = ours.ao.quantization.quantize_dynamic(ours.nn.ModuleList([layer]))[0]
    assert isinstance(packed, getattr(ours.ao.nn.quantized.dynamic, kind)) and str(packed).startswith(f'DynamicQuantized{kind}(12, 16')
    x = ours.randn(5, 3, 12)
    y, found = layer(x)[0], packed(x)[0]
    assert found.shape == y.shape and 0 < (found - y).norm() / y.norm() < 0.02
    rows = ours.nn.utils.rnn.pack_padded_sequence(x, ours.tensor([5, 2, 1] if x.shape[1] == 3 and not layer.batch_first else [3, 3, 2, 1, 1]),
                                                  batch_first=layer.batch_first)
    assert (packed(rows)[0].data - layer(rows)[0].data).norm() < 0.05 * layer(rows)[0].data.norm()
    held = sum(x.nbytes for x in packed.state_dict().values())
    assert held < 0.55 * sum(x.nbytes for x in layer.state_dict().values())


def test_a_language_model_is_saved_and_loaded():
    class Model(ours.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.rnn, self.head = ours.nn.Embedding(20, 8), ours.nn.LSTM(8, 16, 2), ours.nn.Linear(16, 20)

        def forward(self, x):
            return self.head(self.rnn(self.embed(x))[0])
    model = Model().eval()
    made = ours.ao.quantization.quantize_dynamic(model, {ours.nn.LSTM, ours.nn.Linear})
    x = ours.arange(10).view(5, 2)
    again = ours.ao.quantization.quantize_dynamic(Model(), {ours.nn.LSTM, ours.nn.Linear})
    again.load_state_dict(made.state_dict())
    assert ours.equal(again(x), made(x)) and not made.training and type(made.embed) is ours.nn.Embedding
    assert ours.equal(copy.deepcopy(made)(x), made(x))
    assert ours.ao.quantization.quantize_dynamic(model, inplace=True) is model and 'Quantized' in str(model)


def test_transformer_layers():
    layer = ours.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval()
    x = ours.randn(2, 5, 16)
    y, packed = layer(x), ours.ao.quantization.quantize_dynamic(layer)
    assert type(packed.linear1) is ours.ao.nn.quantized.dynamic.Linear and type(packed.self_attn.out_proj) is type(layer.self_attn.out_proj)
    assert (packed(x) - y).norm() / y.norm() < 0.02


def test_what_is_refused():
    with pytest.raises(ValueError, match='Conv2d cannot be quantized'):
        ours.ao.quantization.quantize_dynamic(ours.nn.Conv2d(1, 1, 1), {ours.nn.Conv2d})
    with pytest.raises(ValueError, match='torch.qint8, not torch.float16'):
        ours.ao.quantization.quantize_dynamic(ours.nn.Linear(1, 1), dtype=ours.float16)
    with pytest.raises(AttributeError, match='quantize_dynamic'):
        ours.ao.quantization.prepare
    with pytest.raises(ModuleNotFoundError, match='quantize_dynamic'):
        importlib.import_module('tenon.torch.nn.quantized')


def test_layers_print_as_pytorchs(torch):
    shown = [repr(t.ao.quantization.quantize_dynamic(t.nn.Sequential(t.nn.Linear(2, 3), t.nn.LSTM(3, 4), t.nn.GRU(4, 2))))
             for t in (torch, ours)]
    assert shown[1] == shown[0]
