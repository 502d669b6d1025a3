"""Module: what it finds, saves, moves and reports."""
import copy
import pickle
import resource

import pytest

import tenon
from tenon import nn


class Block(nn.Module):
    def __init__(self):
        self.inner = nn.Linear(3, 4, bias=False)
        self.scale = nn.Parameter(tenon.ones(4))
        self.register_buffer('count', tenon.zeros(()))
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.ReLU()])

    def forward(self, x):
        x = self.inner(x) * self.scale
        for layer in self.layers:
            x = layer(x)
        return x


def test_finds_parameters_buffers_and_parts():
    net = Block()
    assert [name for name, _ in net.named_parameters()] == ['scale', 'inner.weight', 'layers.0.weight', 'layers.0.bias']
    assert [name for name, _ in net.named_buffers()] == ['count']
    assert list(net.state_dict()) == ['scale', 'count', 'inner.weight', 'layers.0.weight', 'layers.0.bias']
    assert [path for path, _ in net.named_modules()] == ['', 'inner', 'layers', 'layers.0', 'layers.1']
    assert net.parameter_count() == 4 + 12 + 16 + 4
    assert net.get_submodule('layers.0') is net.layers[0]
    with pytest.raises(ValueError, match='no module "layers.7"'):
        net.get_submodule('layers.7')
    assert net(tenon.ones((2, 3))).shape == (2, 4)
    assert 'tied' not in net.state_dict()
    net.tied = net.inner.weight
    assert len(list(net.parameters())) == 4 and 'tied' in net.state_dict()
    del net.inner
    assert 'inner.weight' not in net.state_dict()


def test_repr_shows_the_tree():
    assert repr(Block()) == (
        'Block(\n  (inner): Linear(in_features=3, out_features=4, bias=False)\n  (layers): ModuleList(\n'
        '    (0): Linear(in_features=4, out_features=4, bias=True)\n    (1): ReLU()\n  )\n)')
    assert 'Parameter containing:' in repr(Block().scale)


def test_modes_reach_all_parts():
    net = nn.Sequential(nn.Dropout(0.5), Block())
    assert net.training and net.eval() is net
    assert not any(module.training for module in net.modules())
    net.train()
    assert all(module.training for module in net.modules())
    with pytest.raises(ValueError, match='True or False'):
        net.train(1)
    net.requires_grad_(False)
    assert not any(x.requires_grad for x in net.parameters())


def test_state_dict_shares_and_loads():
    a, b = Block(), Block()
    state = a.state_dict()
    a.scale.detach()[...] = 5
    assert state['scale'].tolist() == [5] * 4 and not state['scale'].requires_grad
    assert b.load_state_dict(state) == ([], [])
    assert b.scale.tolist() == [5] * 4 and b.scale.requires_grad
    for name, x in b.state_dict().items():
        assert x.tolist() == state[name].tolist()
    numpy = pytest.importorskip('numpy')
    b.load_state_dict({'scale': numpy.arange(4.0)}, strict=False)
    assert b.scale.tolist() == [0, 1, 2, 3] and b.scale.dtype == tenon.float32


def test_load_state_dict_names_every_problem_and_changes_nothing():
    net = Block()
    state = net.state_dict()
    before = net.scale.tolist()
    bad = {**{name: tenon.zeros(x.shape) for name, x in state.items()}, 'more': tenon.ones(1), 'inner.weight': tenon.ones((4, 2))}
    del bad['count']
    with pytest.raises(ValueError) as error:
        net.load_state_dict(bad)
    assert str(error.value) == ('[load_state_dict] Error(s) in loading state_dict for Block:\n\tMissing key(s) in state_dict: "count". \n\t'
                                'Unexpected key(s) in state_dict: "more". \n\tsize mismatch for inner.weight: copying a param with shape '
                                f'{tenon.ones((4, 2)).shape} from checkpoint, the shape in current model is {net.inner.weight.shape}.')
    assert net.scale.tolist() == before
    with pytest.raises(ValueError, match='size mismatch'):
        net.load_state_dict(bad, strict=False)
    del bad['inner.weight']
    assert net.load_state_dict(bad, strict=False) == (['count', 'inner.weight'], ['more'])
    assert net.scale.tolist() == [0] * 4
    with pytest.raises(TypeError, match='dict'):
        net.load_state_dict([1])


def test_to_casts_floats_keeps_sharing_and_gradients():
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm(2))
    net[0].twice = net[0].weight
    net[0].register_buffer('steps', tenon.tensor(3))
    net(tenon.ones((3, 2))).sum().backward()
    weight = net[0].weight
    assert net.to('cpu')[0].weight is weight
    net.to(tenon.float64)
    assert {x.dtype.name for x in net.parameters()} == {'float64'} and net[0].steps.dtype == tenon.int64
    assert net[0].twice is net[0].weight and net[0].weight is weight and weight.requires_grad
    assert isinstance(net[0].weight, nn.Parameter) and net[0].weight.grad.dtype == tenon.float64
    assert net.float()[1].running_mean.dtype == tenon.float32
    net.zero_grad()
    assert all(x.grad is None for x in net.parameters())
    for bad in (3, tenon.int32):
        with pytest.raises(TypeError, match='Module.to'):
            net.to(bad)


def resident():
    with open('/proc/self/statm') as pages:
        return int(pages.read().split()[1]) * resource.getpagesize()


def test_to_gives_back_what_a_large_module_leaves():
    def net():
        return nn.Sequential(nn.Embedding(8192, 512), *(nn.Linear(512, 512, bias=False) for _ in range(16)))  # 16 MiB, and 1 MiB each
    net().to(tenon.bfloat16)
    tenon.device('cpu').trim_memory()
    given = net()
    before = resident()
    given.to(tenon.bfloat16)  # in the places of what it frees, of which each is then only half in use
    assert resident() < before - (12 << 20)


def test_an_optimizer_continues_after_its_parameters_are_cast():
    net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    frozen = net[1].bias.requires_grad_(False)
    optimizer = tenon.optim.SGD(net.parameters(), lr=0.5)
    x = tenon.ones((4, 2))
    net(x).sum().backward()
    optimizer.step()  # which keeps a plan of its parameters
    kept = net[0].weight.detach()
    net[1].to(tenon.float64)
    assert not frozen.requires_grad and frozen.dtype == tenon.float64
    before = [p.detach().clone() for p in net.parameters()]
    optimizer.zero_grad()
    net[1](net[0](x).to(tenon.float64)).sum().backward()
    optimizer.step()
    for p, old in zip(net.parameters(), before):
        assert p.dtype == old.dtype
        assert (p != old).any() == p.requires_grad
    net.to(tenon.float64)
    assert kept.dtype == tenon.float32 and not kept.shares_memory(net[0].weight)  # who held the elements keeps them


def test_names_and_types_are_checked():
    net = Block()
    with pytest.raises(TypeError, match='scale is a parameter'):
        net.scale = tenon.ones(4)
    with pytest.raises(TypeError, match='count is a buffer'):
        net.count = 3
    net.scale = None
    assert 'scale' not in net.state_dict()
    for name, error in (('', ValueError), ('a.b', ValueError), ('inner', KeyError), (3, TypeError)):
        with pytest.raises(error):
            net.register_buffer(name, tenon.ones(1))
    with pytest.raises(TypeError, match='must be a Parameter'):
        net.register_parameter('p', tenon.ones(1))
    with pytest.raises(TypeError, match='must be a Module'):
        net.add_module('m', 3)
    with pytest.raises(TypeError, match='tenon.tensor'):
        nn.Parameter([1.0])
    with pytest.raises(NotImplementedError, match='define forward'):
        nn.Module()(1)


def test_hooks_see_and_replace():
    net, seen = nn.Linear(2, 2), []
    before = net.register_forward_pre_hook(lambda module, args: (args[0] * 0,))
    after = net.register_forward_hook(lambda module, args, output: seen.append((module, args[0].tolist())))
    assert net(tenon.ones((1, 2))).tolist() == [net.bias.tolist()]
    assert seen == [(net, [[0, 0]])]
    before.remove()
    after.remove()
    after.remove()
    replace = net.register_forward_hook(lambda module, args, output: output * 0)
    assert net(tenon.ones((1, 2))).tolist() == [[0, 0]] and len(seen) == 1
    replace.remove()
    with pytest.raises(TypeError, match='callable'):
        net.register_forward_hook(3)


def test_copies_and_pickles():
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Dropout(0.1))
    net[0].bias.requires_grad_(False)
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert repr(other) == repr(net)
        assert isinstance(other[0].weight, nn.Parameter) and other[0].weight.tolist() == net[0].weight.tolist()
        assert not other[0].weight.shares_memory(net[0].weight)
        assert other[0].weight.requires_grad and not other[0].bias.requires_grad


def test_containers():
    net = nn.Sequential({'first': nn.Linear(2, 3), 'then': nn.ReLU()})
    assert list(net.state_dict()) == ['first.weight', 'first.bias'] and net.first is net[0] and net[-1] is net.then
    net.append(nn.Linear(3, 1))
    assert len(net) == 3 and isinstance(net[:2], nn.Sequential) and net[:2][0] is net[0]
    layers = nn.ModuleList(net)
    assert type(layers[1:]) is nn.ModuleList and [*layers[1:]] == [*net][1:]
    net[1] = nn.Tanh()
    assert isinstance(net.then, nn.Tanh) and [type(part).__name__ for part in net] == ['Linear', 'Tanh', 'Linear']
    with pytest.raises(IndexError, match='out of range for 3 parts'):
        net[3]
    with pytest.raises(TypeError, match='must be a Module'):
        nn.Sequential(3)
    with pytest.raises(AttributeError, match='nothing'):
        net.nothing
    parts = nn.ModuleDict({'a': nn.Linear(1, 1)})
    parts['b'] = nn.ReLU()
    assert list(parts) == ['a', 'b'] and 'a' in parts and len(parts) == 2
    assert list(parts.state_dict()) == ['a.weight', 'a.bias']
    del parts['a']
    assert list(parts.parameters()) == []
    own = nn.ParameterList([tenon.ones(2), nn.Parameter(tenon.zeros(3))])
    assert [name for name, _ in own.named_parameters()] == ['0', '1'] and own[-1].shape == (3,) and len(list(own)) == 2
    with pytest.raises(IndexError):
        own[2]


def test_apply_visits_inner_modules_first():
    net, seen = nn.Sequential(nn.Linear(1, 1), nn.ReLU()), []
    assert net.apply(lambda module: seen.append(type(module).__name__)) is net
    assert seen == ['Linear', 'ReLU', 'Sequential']


def test_summary():
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.BatchNorm(8))
    net[0].bias.requires_grad_(False)
    before = net[2].running_mean.tolist()
    found = tenon.summary(net, (5, 1, 4, 4))
    assert [row[2] for row in found.rows] == ['(5, 8)', '(5, 2, 2, 2)', '(5, 8)', '(5, 8)']
    assert found.total_parameters == 20 + 16 and found.trained_parameters == 34
    assert 'Conv2d' in str(found) and '36 parameters, 34 of them trained' in str(found)
    assert net.training and net[2].running_mean.tolist() == before and not net[0]._forward_hooks
    assert tenon.summary(net).rows[0][2] == '?'
    with pytest.raises(TypeError, match='wants a Module'):
        tenon.summary(3, (1,))


def test_summary_of_a_tensor():
    net = nn.Sequential(nn.Linear(4, 2), nn.ReLU())
    assert str(tenon.summary(net, tenon.ones((3, 4)))) == str(tenon.summary(net, (3, 4)))
    embedding = nn.Embedding(5, 2)
    assert tenon.summary(embedding, tenon.tensor([[1, 2, 3]])).rows[0][2] == '(1, 3, 2)'  # the dtype is the tensor's
    for wrong in (3, 'x', [(1, 4), 3], [[tenon.ones(2)], 1], object()):
        with pytest.raises(TypeError, match=r'\[summary\] shape must be a shape such as \(1, 784\), a Tensor, or a list'):
            tenon.summary(net, wrong)


class Classifier(nn.Module):
    def __init__(self):
        self.body = nn.Sequential(nn.Linear(4, 8), nn.Sequential(nn.ReLU(), nn.Linear(9, 2)))

    def forward(self, x):
        return self.body(x)


def test_an_error_names_the_layer():
    net = Classifier()
    with pytest.raises(tenon.Error, match=r'^\[linear\] [^\n]*\n  in layer body\.1\.1: Linear\(in_features=9, out_features=2.*\)$') as caught:
        net(tenon.ones((3, 4)))
    assert isinstance(caught.value, ValueError)  # the type stays
    with pytest.raises(tenon.Error, match=r'\n  in layer 1\.1: Linear'):
        net.body(tenon.ones((3, 4)))
    with pytest.raises(tenon.Error) as caught:  # called by itself it needs no name
        net.body[0](tenon.ones((3, 5)))
    assert 'in layer' not in str(caught.value)
    hook = net.body[0].register_forward_hook(lambda *_: None)
    with pytest.raises(TypeError, match=r'in layer body\.0: Linear'):
        net([1.])
    hook.remove()


def test_other_errors_stay_unchanged():
    class Odd(nn.Module):
        def forward(self, x):
            raise x

    net = nn.Sequential(Odd())
    for error in (KeyError('name'), OSError(2, 'gone'), ValueError(1, 2), ValueError(), StopIteration()):
        args = error.args
        with pytest.raises(type(error)) as caught:
            net(error)
        assert caught.value is error and error.args == args


def test_older_files_lack_the_count_of_batches():
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm(3))
    state = {key: x.clone() for key, x in net.state_dict().items()}
    del state['1.num_batches_tracked']
    net(tenon.ones((4, 2)))
    net.load_state_dict(state)
    assert net[1].num_batches_tracked.item() == 1
    del state['1.running_mean']
    with pytest.raises(ValueError, match='Missing key.*"1.running_mean"'):
        net.load_state_dict(state)
