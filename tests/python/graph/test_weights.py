"""What a function computes from tensors of its own follows later writes to them, as in eager calls."""
import threading

import pytest

import tenon
import tenon.torch as torch
from tenon.torch import nn

from .test_graph import same

F = nn.functional


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.gain = nn.Parameter(torch.randn(6, 6)), nn.Parameter(torch.rand(6) + 1)
        self.register_buffer('offset', torch.randn(6))

    def forward(self, x):
        return x @ (self.weight * self.gain[:, None] / self.weight.norm(dim=1, keepdim=True)).t() + self.offset.exp()


class Views(Scaled):
    def forward(self, x):
        halves = self.weight.t().contiguous().chunk(2, -1)
        return torch.cat([x @ halves[1], x @ halves[0].abs()], -1) + self.gain.view(2, 3).t().flatten() + self.offset.flip(0)


class Written(Scaled):
    """Tables that the function makes, fills from its weights and changes after the graph has read them."""

    def forward(self, x):
        table = torch.zeros(6, 6)
        table[:, 0::2] = self.weight[:, :3] * 2
        table[:, 1::2].copy_(self.weight[:, 3:])
        y = x @ table
        table += self.gain
        table.mul_(0.5)
        y = y + x @ table
        row = self.offset.clone()
        row[1:] -= 1
        return y * row + table.sum()


class Experts(Scaled):
    """As a state-space model and a mixture have them."""

    def forward(self, x):
        decay = -torch.exp(self.offset.float())
        gates = torch.softmax(self.gain, -1)
        patterns = F.normalize(self.weight, dim=-1)
        return torch.exp(x * decay) * gates + torch.softmax(x @ patterns.t(), -1) @ patterns


class Constant(Scaled):
    """Gives what depends on no input."""

    def forward(self, x):
        return x + self.offset, self.weight * 2, self.gain


class Branches(Scaled):
    def forward(self, x):
        scale = self.gain * 3
        return tenon.graph.cond(x.sum() > 0, lambda x: x * scale, lambda x: x - self.weight.sum(0) - scale, x)


def weight_normed():
    return nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(6, 6)), nn.ReLU(), nn.Linear(6, 3))


MODULES = [Scaled, Views, Written, Experts, Constant, Branches, weight_normed]


def changed(net):
    """Everything that a module holds gets other elements, by ops."""
    with torch.no_grad():
        for tensor in (*net.parameters(), *net.buffers()):
            tensor.mul_(1.5).add_(0.25)


def equal(found, wanted):
    found, wanted = (of if isinstance(of, tuple) else (of,) for of in (found, wanted))
    return all(same(a.detach(), b.detach()) for a, b in zip(found, wanted, strict=True))


@pytest.mark.parametrize('kind', MODULES)
@pytest.mark.parametrize('dynamic', [False, True])
def test_runs_see_later_writes(kind, dynamic, tmp_path):
    torch.manual_seed(0)
    net = kind().eval()
    x = torch.randn(4, 6)
    program = tenon.graph.trace(net, x, dynamic={0: {0: 'batch'}} if dynamic else None)
    fast = tenon.compile(net, dynamic=dynamic)
    for turn in range(3):
        for size in (4, 9) if dynamic else (4,):
            x = torch.randn(size, 6) * (1 - 2 * (turn % 2))
            with torch.no_grad():
                wanted = net(x)
                assert equal(program(x), wanted) and equal(fast(x), wanted), turn
        changed(net)
    program.save(tmp_path / 'program')  # as the weights are now
    with torch.no_grad():
        assert equal(tenon.graph.load(tmp_path / 'program')(x), net(x))


def test_an_optimizer_between_compiled_evaluations():
    torch.manual_seed(0)
    net = Experts()
    evaluate, optimizer = tenon.compile(net), torch.optim.SGD(net.parameters(), 0.5)
    x = torch.randn(4, 6)
    for _ in range(3):
        with torch.no_grad():
            assert same(evaluate(x), net(x))
        optimizer.zero_grad()
        net(x).pow(2).mean().backward()
        optimizer.step()


def test_results_are_not_overwritten_by_later_runs():
    net = Constant()
    program = tenon.graph.trace(net, torch.ones(4, 6))
    before = program(torch.ones(4, 6))[1]
    kept = before.clone()
    changed(net)
    after = program(torch.ones(4, 6))[1]
    assert same(before, kept) and same(after, net.weight.detach() * 2)
    after.zero_()
    assert same(program(torch.ones(4, 6))[1], net.weight.detach() * 2)


def test_several_threads_meet_new_weights():
    torch.manual_seed(0)
    net = Scaled()
    program, x = tenon.graph.trace(net, torch.randn(4, 6)), torch.randn(4, 6)
    for _ in range(20):
        changed(net)
        with torch.no_grad():
            wanted = net(x)
        found = []
        threads = [threading.Thread(target=lambda found=found: found.append(program(x))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 4 and all(same(one, wanted) for one in found)
