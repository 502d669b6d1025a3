"""torch.compile records functions and modules; the rest of torch.compiler."""
import copy
import pathlib
import sys

import pytest

import tenon
import tenon.torch as ours

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from beside import same


def test_functions_are_recorded():
    x = ours.ones(2)

    @ours.compile(mode='max-autotune', fullgraph=True)
    def triple(x):
        return x * 3 + ours.ones(2)
    assert triple(x).tolist() == [4, 4] and len(triple._programs) == 1 and triple(ours.zeros(2)).tolist() == [1, 1] and len(triple._programs) == 1
    assert ours.compile(triple, backend='eager') is triple and ours.compile(triple, disable=True) is triple
    with pytest.raises(RuntimeError, match='not int'):
        ours.compile(3)
    with pytest.warns(UserWarning, match='is not called'):
        assert ours.compile(lambda x: x, backend=lambda graph, inputs: graph)(x).tolist() == [1, 1]


class Outputs(dict):
    """As of models of `transformers`: a registered container, which its own class makes."""

    def __init__(self, **parts):
        super().__init__(parts)
        self.first = next(iter(parts.values()))


def test_registered_containers_are_recorded():
    ours.utils._pytree.register_pytree_node(Outputs, lambda x: (list(x.values()), list(x)), lambda parts, keys: Outputs(**dict(zip(keys, parts))))

    class Net(ours.nn.Module):
        def forward(self, given):
            return Outputs(logits=given['x'] * 2, more=(given['x'] + 1, None))
    net = ours.compile(Net())
    for i in range(3):
        found = net(Outputs(x=ours.ones(2) * i))
        assert type(found) is Outputs and list(found) == ['logits', 'more'] and found.first is found['logits']
        assert found['logits'].tolist() == [2 * i] * 2 and found['more'][0].tolist() == [i + 1] * 2 and found['more'][1] is None
    assert len(net._recorded._programs) == 1


def test_a_warning_names_the_class_of_a_module():
    class Net(ours.nn.Sequential):
        def forward(self, x):
            return super().forward(x) * float(x.sum())
    net = ours.compile(Net(ours.nn.ReLU()))
    with pytest.warns(UserWarning, match=r'^\[compile\] Net runs as it is written: '):
        net(ours.ones(2))


def test_a_module_is_recorded_and_trained(torch):
    def run(t):
        t.manual_seed(0)
        net = t.nn.Sequential(t.nn.Linear(2, 4), t.nn.Dropout(0.5), t.nn.Linear(4, 1))
        with t.no_grad():
            for i, x in enumerate(net.parameters()):
                x.copy_(t.arange(float(x.numel())).reshape(x.shape) / 4 - i)
        compiled = t.compile(net, backend='eager' if t is torch else 'inductor')
        compiled.eval()
        optimizer = t.optim.SGD(compiled.parameters(), lr=0.1)
        told = [type(compiled).__name__, compiled.training, net.training, isinstance(compiled, t.nn.Module), list(compiled.state_dict()), len(compiled)]
        for size in (1, 3, 2):
            x = t.ones(size, 2)
            with t.no_grad():
                told.append(compiled(x))
            loss = compiled(x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            told.append(loss.detach())
        compiled.train()
        compiled.name = 'net'
        return told + [net.training, net.name, compiled.name, t.compile(compiled) is not None]
    same(torch, run)


def test_a_recorded_module_is_copied_with_its_weights():
    net = ours.compile(ours.nn.Linear(2, 2))
    other = copy.deepcopy(net)
    with ours.no_grad():
        other.weight.fill_(0)
        other.bias.fill_(7)
        assert other(ours.ones(1, 2)).tolist() == [[7, 7]] and net(ours.ones(1, 2)).tolist() != [[7, 7]]
    assert other._recorded is not net._recorded and other._recorded._programs


def test_hooks_of_a_recorded_module_are_its_own():
    net, seen = ours.compile(ours.nn.Linear(2, 2)), []
    handle = net.register_forward_hook(lambda module, args, output: seen.append(output.shape))
    with ours.no_grad():
        for _ in range(3):
            net(ours.ones(1, 2))
    handle.remove()
    assert seen == [(1, 2)] * 3 and not net._recorded._refused


def test_what_is_disabled_is_not_recorded():
    @ours.compiler.disable(reason='it counts')
    def plain(x):
        return x * 2
    assert plain(ours.ones(2)).tolist() == [2, 2] and plain.__name__ == 'plain'
    run = ours.compile(lambda x: plain(x) + 1)
    with pytest.warns(UserWarning, match='plain is disabled: it counts'):
        assert run(ours.ones(2)).tolist() == [3, 3]
    module = ours.nn.Linear(2, 1)
    assert ours.compiler.disable(module) is module


def test_a_function_knows_that_it_is_recorded():
    assert not ours.compiler.is_compiling()
    run = ours.compile(lambda x: x + 1 if ours.compiler.is_compiling() else x)
    assert run(ours.ones(1)).item() == 2 and ours.compiler.list_backends() == ['tenon']


def test_steps_are_recorded():
    net = ours.nn.Linear(2, 1)
    optimizer = ours.optim.SGD(net.parameters(), lr=0.1)

    @ours.compile
    def step(x):
        optimizer.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss
    losses = [step(ours.ones(4, 2)).item() for _ in range(5)]
    assert losses == sorted(losses, reverse=True) and step._programs
    assert tenon.compile is not ours.compile


def test_a_branch_is_recorded(torch):
    def run(t):
        def signed(x):
            return t.cond(x.sum() > 0, lambda y: y * 2, lambda y: -y, (x,))
        return signed(t.ones(2)), signed(-t.ones(2))
    same(torch, run)
    recorded = ours.compile(lambda x: ours.cond(x.sum() > 0, lambda y: y * 2, lambda y: -y, (x,)))
    assert recorded(ours.ones(2)).tolist() == [2, 2] and recorded(-ours.ones(2)).tolist() == [1, 1] and len(recorded._programs) == 1
