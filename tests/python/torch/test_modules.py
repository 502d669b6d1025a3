"""Modules that are neither recurrent nor attention: lazy ones, dicts of parameters, the names of torch.nn, methods of Module."""
import pathlib
import sys

import pytest

import tenon.torch as ours

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from twins import compare, moved, twins


def test_every_module_is_offered_or_refused_by_name(torch):
    absent = []
    for name, kind in vars(torch.nn).items():
        if name[0] != '_' and isinstance(kind, type) and not hasattr(ours.nn, name):
            try:
                getattr(ours.nn, name)
            except AttributeError as error:
                if 'is not offered here' not in str(error):
                    absent.append(name)
    assert not absent


@pytest.mark.parametrize('name, args, shape', [
    ('LazyLinear', (3,), (2, 5)), ('LazyLinear', (3, False), (5,)), ('LazyConv1d', (4, 3), (2, 3, 7)), ('LazyConv2d', (4, 3), (3, 6, 6)),
    ('LazyConv3d', (4, 2), (2, 3, 4, 4, 4)), ('LazyConvTranspose1d', (4, 3), (2, 3, 7)), ('LazyConvTranspose2d', (4, 3), (2, 3, 5, 5)),
    ('LazyConvTranspose3d', (2, 2), (1, 3, 3, 3, 3)), ('LazyBatchNorm1d', (), (4, 3, 5)), ('LazyBatchNorm2d', (), (4, 3, 2, 2)),
    ('LazyBatchNorm3d', (), (2, 3, 2, 2, 2)), ('LazyInstanceNorm1d', (), (2, 3, 5)), ('LazyInstanceNorm2d', (), (2, 3, 4, 4)),
    ('LazyInstanceNorm3d', (), (2, 3, 2, 2, 2))])
def test_lazy_modules(torch, name, args, shape):
    mine, theirs = getattr(ours.nn, name)(*args), getattr(torch.nn, name)(*args)
    assert name in repr(mine)
    mine.eval()
    x = torch.randn(shape)
    mine(moved(x))
    theirs.eval()(x)
    assert type(mine).__name__ == type(theirs).__name__ == name[4:] and not mine.training
    assert {key: tuple(value.shape) for key, value in mine.state_dict().items()} == {
        key: tuple(value.shape) for key, value in theirs.state_dict().items()}


def test_adaptive_softmax(torch):
    mine, theirs = twins(torch, 'AdaptiveLogSoftmaxWithLoss', 'float64', 32, 20, [4, 9, 15], 2.0, head_bias=True)
    x, target = torch.randn(12, 32, dtype=torch.float64), torch.randint(0, 20, (12,))
    compare(torch, lambda_of(mine, moved(target)), lambda_of(theirs, target), [x], 1e-11)
    assert mine.predict(moved(x)).tolist() == theirs.predict(x).tolist()
    assert ours.allclose(mine.log_prob(moved(x)), moved(theirs.log_prob(x)))
    with pytest.raises(RuntimeError, match='0 to 19'):
        mine(moved(x), moved(target + 20))
    with pytest.raises(ValueError, match='cutoffs'):
        ours.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [9, 4])


class lambda_of:
    """A module with its second argument given."""

    def __init__(self, module, target):
        self.module, self.target = module, target
        self.parameters, self.named_parameters = module.parameters, module.named_parameters

    def __call__(self, x):
        return tuple(self.module(x, self.target))


@pytest.mark.parametrize('name, args, shape', [('UpsamplingNearest2d', (None, 2), (1, 2, 3, 3)),
                                               ('UpsamplingBilinear2d', ((5, 7),), (1, 2, 3, 3)), ('NLLLoss2d', (), None)])
def test_old_names(torch, name, args, shape):
    mine, theirs = getattr(ours.nn, name)(*args), getattr(torch.nn, name)(*args)
    inputs = [torch.randn(shape)] if shape else [torch.randn(2, 3, 4, 4), torch.randint(0, 3, (2, 4, 4))]
    assert ours.allclose(mine(*map(moved, inputs)), moved(theirs(*inputs)), atol=1e-5)


def test_fractional_pooling(torch):
    x, samples = torch.randn(2, 3, 8, 8), torch.rand(2, 3, 2)
    mine = ours.nn.FractionalMaxPool2d(3, output_size=(4, 5), _random_samples=moved(samples))
    assert ours.allclose(mine(moved(x)), moved(torch.nn.FractionalMaxPool2d(3, output_size=(4, 5), _random_samples=samples)(x)))


class Net(ours.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = ours.nn.Sequential(ours.nn.Linear(2, 3), ours.nn.ReLU())
        self.out = ours.nn.Linear(3, 1)
        self.register_buffer('seen', ours.zeros(1))
        self.register_buffer('scratch', ours.zeros(2), persistent=False)

    def forward(self, x):
        return self.out(self.layers(x))


def test_methods_of_modules():
    net = Net()
    assert 'scratch' not in net.state_dict() and 'scratch' in dict(net.named_buffers()) and list(net.state_dict(prefix='a.'))[0] == 'a.seen'
    assert net.get_parameter('layers.0.weight') is net.layers[0].weight and net.get_buffer('seen') is net.seen
    assert [name for name, _ in net.named_parameters(recurse=False)] == [] and len(list(net.parameters())) == 4
    assert [name for name, _ in net.named_modules(prefix='n')][:2] == ['n', 'n.layers']
    net.set_submodule('layers.1', ours.nn.Tanh())
    net.set_submodule('out', ours.nn.Identity())
    assert isinstance(net.layers[1], ours.nn.Tanh) and net(ours.ones(4, 2)).shape == (4, 3)
    assert net.half().layers[0].weight.dtype is ours.float16 and net.bfloat16().seen.dtype is ours.bfloat16
    assert net.type(ours.float64).seen.dtype is ours.float64 and net.to(ours.ones(1)).seen.dtype is ours.float32 and net.cpu() is net
    with pytest.raises(AttributeError, match='layers.0.nothing'):
        net.get_parameter('layers.0.nothing')


def test_loading():
    net, state = Net(), Net().state_dict()
    assert net.load_state_dict(state).missing_keys == [] and ours.equal(net.out.weight, state['out.weight'])
    del state['seen']
    with pytest.raises(RuntimeError, match=r'Missing key\(s\) in state_dict: "seen"'):
        net.load_state_dict(state)
    result = net.load_state_dict({**state, 'more': ours.ones(1)}, strict=False)
    assert result.missing_keys == ['seen'] and result.unexpected_keys == ['more']
    net.load_state_dict(state, strict=False, assign=True)
    state['out.bias'][0] = 5
    assert net.out.bias.item() == 5 and net.out.bias.requires_grad
    net(ours.ones(1, 2)).sum().backward()
    net.zero_grad(set_to_none=False)
    assert net.out.bias.grad.tolist() == [0]
