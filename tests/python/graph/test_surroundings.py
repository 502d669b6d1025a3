"""What a recorded function finds around it: autocast, forward mode, the device of its inputs, checks of elements that a trace lacks."""
import copy

import pytest

import tenon
import tenon.torch as torch
from tenon import func
from tenon.torch import distributions, nn
from tenon.torch.nn import functional as F


def same(a, b):
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


WEIGHT = torch.randn(16, 16)
ROWS = {'x': {0: 'rows'}}


def product(x):
    return x @ WEIGHT + 1


def mixed(x):
    """Every precision: low, outside of it, and that of functions made of several ops."""
    with torch.autocast('cpu', torch.bfloat16):
        y, z = x @ WEIGHT, F.linear(x, WEIGHT)
        with torch.autocast('cpu', enabled=False):
            whole = x @ WEIGHT
        cube = x[None, None]
        return y, z, whole, torch.einsum('ij,kj->ik', x, WEIGHT), F.scaled_dot_product_attention(cube, cube, cube), torch.addmm(z, x, WEIGHT)


class TestAutocast:
    @pytest.mark.parametrize('dynamic', [False, True])
    def test_inside_the_function(self, dynamic):
        fast = tenon.compile(mixed, dynamic=dynamic)
        with tenon.no_grad():
            for rows in (5, 5, 7, 9, 7):
                x = torch.randn(rows, 16)
                assert same(fast(x), mixed(x)), rows
        assert fast._programs

    def test_named_by_the_device_of_an_input(self):
        def by_device(x):
            with torch.autocast(x.device.type):
                assert torch.is_autocast_enabled(x.device.type)
                return x @ WEIGHT
        x = torch.randn(3, 16)
        program = tenon.graph.trace(by_device, x)
        assert same(program(x), by_device(x)) and program(x).dtype is tenon.bfloat16

    def test_inside_a_training_step(self):
        def step_of(net):
            adam = torch.optim.AdamW(net.parameters(), 1e-2)

            def step(x, y):
                adam.zero_grad()
                with torch.autocast('cpu'):
                    loss = F.cross_entropy(net(x), y)
                loss.backward()
                adam.step()
                return loss
            return step
        net = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4))
        other = copy.deepcopy(net)
        plain, fast = step_of(net), tenon.compile(step_of(other))
        for _ in range(4):
            x, y = torch.randn(8, 16), torch.randint(0, 4, (8,))
            assert same(plain(x, y).detach(), fast(x, y).detach())
        assert len(fast._programs) == 1
        assert all(same(a.detach(), b.detach()) for a, b in zip(net.parameters(), other.parameters()))

    def test_around_a_trace(self):
        x = torch.randn(3, 16)
        with tenon.no_grad(), torch.autocast('cpu'):
            want = product(x)
            programs = tenon.graph.trace(product, x), tenon.graph.trace(product, x, dynamic=ROWS)
        assert want.dtype is tenon.bfloat16
        assert all(same(program(x), want) for program in programs)

    def test_a_run_does_not_see_it(self):
        """A run at new sizes calls ops, and so does one of control flow and on other devices: their precision was recorded."""
        programs = [tenon.graph.trace(product, torch.zeros(3, 16), dynamic=ROWS),
                    tenon.graph.trace(lambda x: tenon.graph.cond(x.sum() > 1e9, lambda: x, lambda: product(x)), torch.zeros(5, 16))]
        x = torch.randn(5, 16)
        want = product(x)
        with torch.autocast('cpu'):
            for program in programs:
                assert all(same(program(x), want) for _ in range(3))

    def test_what_is_derived_from_a_weight_does_not_see_it(self):
        weight, x = torch.randn(16, 16), torch.randn(16, 16)
        program = tenon.graph.trace(lambda x: x + weight @ weight, x)
        weight.mul_(2)
        with torch.autocast('cpu'):
            found = program(x)
        assert same(found, x + weight @ weight)


class TestForwardMode:
    def test_runs_what_is_compiled_as_it_is_written(self):
        def fn(x):
            return x.sin() * 2
        fast, x = tenon.compile(fn), torch.randn(4)
        with tenon.no_grad():
            fast(x)
            fast(x)  # ready
        for _ in range(2):
            assert same(func.jvp(fast, (x,), (x,)), func.jvp(fn, (x,), (x,)))
        assert same(torch.func.jacfwd(fast)(x), torch.func.jacfwd(fn)(x))

    @pytest.mark.parametrize('dynamic', [None, ROWS])
    def test_is_refused_by_a_program(self, dynamic):
        x = torch.randn(4, 16)
        program = tenon.graph.trace(product, x, dynamic=dynamic)
        with pytest.raises(tenon.PreconditionError, match='tangents'):
            func.jvp(program, (x,), (x,))
        assert same(func.jvp(lambda y: y + program(x), (x,), (x,))[0], x + product(x))


class TestDevice:
    """Tensors of a trace say that they are where those are that they stand for."""

    @pytest.mark.parametrize('branch', [
        lambda x: x * 2 if x.device.type == 'cpu' else x * 3, lambda x: x * 2 if x.device == torch.device('cpu') else x * 3,
        lambda x: x * 3 if x.is_cuda or not x.is_cpu else x * 2, lambda x: x * {torch.device('cpu'): 2}.get(x.device, 3),
        lambda x: x * {'cpu:0': 2}.get(str(x.device), 3), lambda x: x * 2 if x.device == WEIGHT.device else x * 3,
        lambda x: x * torch.ones(1, device=x.device).to(x.device) * (2 if x.get_device() == -1 else 3)])
    def test_a_branch_goes_the_way_of_eager_calls(self, branch):
        x = torch.randn(3)
        assert same(tenon.graph.trace(branch, x)(x), branch(x))
        assert same(tenon.graph.trace(branch, x, dynamic={0: {0: 'n'}})(x), branch(x))

    def test_on_another_device(self, there):
        kind = tenon.device(there('gpusim:0'))
        x = torch.randn(3).to(kind)
        program = tenon.graph.trace(lambda x: x * 2 if x.device == kind else x * 3, x)
        assert same(program(x).cpu(), (x * 2).cpu())

    def test_memory_made_beside_an_input_is_written(self):
        def fn(x):
            row = torch.arange(3.0, device=x.device)
            row[0] = x[0]
            return row + torch.diag_embed(x).sum(0) + x.flatten().median() + torch.cdist(x[None], x[None])[0]
        x = torch.randn(3)
        assert same(tenon.graph.trace(fn, x)(x), fn(x))


def reparametrised(x):
    mean, scale = x.chunk(2, 1)
    normal = distributions.Normal(mean, F.softplus(scale))
    return normal.rsample(), distributions.kl_divergence(normal, distributions.Normal(torch.zeros_like(mean), 1.0)), normal.log_prob(mean)


def sampled(x):
    weights, at = x.softmax(-1).topk(4)
    return at.gather(1, torch.multinomial(weights, 1)), torch.bernoulli(x.sigmoid()), torch.normal(x, x.exp()), torch.quantile(x, x[0].sigmoid())


def aligned(x):
    labels = (x[:2] * 3).long().abs() % 5 + 1
    return F.ctc_loss(x.log_softmax(1)[:, None].expand(-1, 2, -1), labels[:, :2], torch.full((2,), 8), torch.full((2,), 2))


LAYER = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 1).eval()


@pytest.mark.parametrize('fn', [
    reparametrised, sampled, aligned, lambda x: torch.take_along_dim(x, x.argsort(1), 1), lambda x: torch.take_along_dim(x, (x > 0).long() - 1, 1),
    lambda x: LAYER(x[None], mask=x.tanh()), lambda x: torch.segment_reduce(x, 'sum', lengths=torch.tensor([3, 5]))])
def test_checks_of_elements_wait_for_none(fn):
    """These only look at elements to say what is wrong with them, or to take a shorter way."""
    x = torch.randn(8, 8)
    fast = tenon.compile(fn)
    with tenon.no_grad():
        for seed in range(3):
            torch.manual_seed(seed)
            found = fast(x)
            torch.manual_seed(seed)
            assert same(found, fn(x))
    assert fast._programs


def test_lengths_of_a_packed_sequence_are_refused_at_their_line():
    def pack(x, lengths):
        return nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True).data
    with pytest.raises(tenon.PreconditionError, match=r'an element of input1.*test_surroundings\.py:\d+'):
        tenon.graph.trace(pack, torch.zeros(2, 3, 4), torch.tensor([3, 2]))


def test_what_is_refused_runs_at_once():
    """A refused function does not pay for the search of a program."""
    def fn(x):
        return x if x.sum() > 0 else -x
    fast = tenon.compile(fn)
    with pytest.warns(UserWarning, match='runs as it is written'), tenon.no_grad():
        fast(torch.ones(3))
    fast._apart = None  # any call of it would fail
    assert same(fast(torch.ones(3)), torch.ones(3))
