"""The device meta: shapes without elements, against PyTorch."""
import copy
import pathlib
import resource
import sys
import warnings

import pytest

import tenon
import tenon.torch as ours

sys.path.insert(0, str(pathlib.Path(__file__).parent))

# Over x (2, 3), y (3, 4) that requires a gradient, and a network m, all on meta; what they give prints alike.
LINES = r'''repr(t.device('meta')); t.device('meta') == x.device; str(x.device); x.device.index; x.device.type; repr(x); repr(y); repr(x @ y); x.is_meta
t.zeros(2).is_meta; repr(x.sum()); repr(x.int()); f'{x.sum()}'; x.to('meta') is x; repr(t.ones(2, 3).to('meta')); repr(x + 1); repr(x + t.tensor(1.0)); x.t().stride()
x[0].shape; x[:, [0, 1]].shape; x[t.tensor([0, 1, 1])].shape; t.empty_like(x).device.type; t.empty_like(x, device='cpu').shape; x.new_zeros(3).device.type
t.cat([x, x]).shape; t.stack([x, x], 1).stride(); x.view(t.int16).shape; x.data_ptr(); x.untyped_storage().nbytes(); x.nbytes; x.clone().fill_(1).shape; x.get_device()
t.svd(x)[0].shape; t.linalg.inv(e(3, 3)).shape; t.fft.rfft(x).shape; F.softmax(x, -1).shape; repr(F.cross_entropy(e(4, 5), e(4, dtype=t.long)))
F.conv2d(e(1, 3, 8, 8), e(4, 3, 3, 3)).shape; F.scaled_dot_product_attention(e(1, 2, 4, 8), e(1, 2, 4, 8), e(1, 2, 4, 8)).shape; F.embedding(e(3, dtype=t.long), e(10, 4)).shape
F.interpolate(e(1, 3, 8, 8), scale_factor=2).shape; t.einsum('ij,jk->ik', x, y).shape; t.where(x > 0, x, 0).shape; str(x.topk(2)[1].dtype); x.sort()[0].shape
x.max(1).values.shape; x.std().shape; t.multinomial(e(3), 2).shape; t.bernoulli(x).shape; x.uniform_().shape; str(x.half().dtype); repr(t.tensor([1, 2], device='meta'))
repr(m[0].weight); m(e(2, 3, 8, 8)).shape; sum(p.numel() for p in m.parameters()); nn.TransformerEncoderLayer(16, 2, 32, device='meta')(e(5, 2, 16)).shape
nn.LSTM(4, 5, 2, device='meta')(e(3, 2, 4))[0].shape; nn.MultiheadAttention(8, 2, device='meta')(e(3, 1, 8), e(3, 1, 8), e(3, 1, 8))[0].shape; m.to('cpu')
copy.deepcopy(m)[0].weight.device.type; copy.deepcopy(m).to_empty(device='cpu')[0].weight.device.type; str(copy.deepcopy(m).half()[0].weight.dtype)
nn.Linear(2, 2).to('meta').weight.is_meta; next(iter(m.state_dict().values())).is_meta; str(copy.deepcopy(m).load_state_dict(given(t, m), assign=True)); x.item(); x.sum().item()
bool(x.sum()); int(x.sum()); x.tolist(); x.cpu(); x.to('cpu'); x.nonzero(); x[x > 0]; x.unique(); t.equal(x, x); t.allclose(x, x); x + t.ones(2, 3); m(t.empty(2, 3, 8, 8))
x.numpy(); (x @ y).sum().backward() or y.grad.shape; t.full((2,), 3.0, device='meta').shape; t.eye(3, device='meta').shape; t.linspace(0, 1, 5, device='meta').shape
t.randperm(5, device='meta').shape; str(t.randint(0, 5, (2,), device='meta').dtype); t.as_tensor([1.0], device='meta').is_meta; t.empty(10 ** 12, device='meta').shape
x.expand(4, 2, 3).shape; y.detach().device.type; hash(t.device('meta')) == hash(t.device('meta')); [row.shape for row in x]; repr(e(2, requires_grad=True)); repr(e(()))'''


def names(t):
    def e(*sizes, **options):
        return t.empty(*sizes, device='meta', **options)
    nn = t.nn
    with t.device('meta'):
        m = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10))
    return {'t': t, 'nn': nn, 'F': nn.functional, 'x': e(2, 3), 'y': e(3, 4, requires_grad=True), 'e': e, 'm': m, 'copy': copy, 'given': given}


def given(t, module):
    return {name: t.zeros(x.shape, dtype=x.dtype) for name, x in module.state_dict().items()}


def result(t, text):
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        try:
            return eval(text, names(t))
        except (RuntimeError, TypeError) as error:
            return error


@pytest.mark.parametrize('text', [line for lines in LINES.split('\n') for line in lines.split('; ')])
def test_lines(torch, text):
    theirs, mine = result(torch, text), result(ours, text)
    if isinstance(theirs, Exception):
        assert isinstance(mine, type(theirs))
    else:
        assert mine == theirs


def test_new_tensors_and_modules_of_a_scope(torch):
    def made(t):
        found = []
        with t.device('meta'):
            found += [t.zeros(3), t.arange(5), t.tensor([1.0]), t.rand(2), t.nn.Embedding(10, 4).weight, t.nn.GRU(2, 3).weight_ih_l0, t.ones(2, device='cpu')]
        t.set_default_device('meta')
        found += [t.ones(2), t.nn.Linear(2, 2).weight]
        t.set_default_device(None)
        return [(x.device.type, tuple(x.shape)) for x in (*found, t.ones(2))]
    assert made(ours) == made(torch)


def test_large_modules_take_no_memory():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    nn = ours.nn
    with ours.device('meta'):
        net = nn.Sequential(nn.Linear(10 ** 5, 10 ** 5), nn.Embedding(10 ** 7, 1024), nn.Conv2d(10 ** 4, 10 ** 4, 3), nn.TransformerEncoderLayer(8192, 64, 32768))
    net.bfloat16()
    assert sum(p.numel() for p in net.parameters()) > 2e10 and net[0](ours.empty(2, 10 ** 5, dtype=ours.bfloat16, device='meta')).shape == (2, 10 ** 5)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # in KiB


def test_a_checkpoint_is_assigned_or_says_that_it_is_not(torch):
    found = []
    for t in torch, ours:
        with t.device('meta'):
            net = t.nn.Linear(2, 1)
        with pytest.warns(UserWarning, match=r'for weight: copying from a non-meta parameter in the checkpoint to a meta parameter .* no-op'):
            net.load_state_dict(given(t, net))
        assert net.weight.is_meta
        net.load_state_dict({'weight': t.ones(1, 2), 'bias': t.zeros(1)}, assign=True)
        found.append((net(t.ones(3, 2)).tolist(), net.weight.requires_grad, type(net.weight).__name__))
    assert found[0] == found[1]


def test_the_device_is_not_listed_and_works_without_the_names_of_pytorch():
    assert all(device.type != 'meta' for device in tenon.devices())
    x = tenon.ones((2, 3), device='meta')
    assert (x @ x.T).shape == (2, 2) and x.device == tenon.device('meta')
    with pytest.raises(NotImplementedError, match=r'\[meta\] Cannot copy out'):
        x.tolist()
    with pytest.raises(LookupError):
        tenon.device('meta:1')
    program = tenon.graph.trace(lambda x: x + 1, tenon.ones(2))
    assert program(tenon.ones(2)).tolist() == [2.0, 2.0]


def test_a_file_is_read_as_shapes(torch, tmp_path):
    for t in torch, ours:
        t.save({'x': t.ones(2, 3), 'n': 1}, tmp_path / 'x.pt')
        found = t.load(tmp_path / 'x.pt', map_location='meta')
        assert found['x'].is_meta and tuple(found['x'].shape) == (2, 3) and found['n'] == 1
