"""Training steps recorded as programs: the same bits as eager steps, in weights, buffers and optimizers, step after step."""
import warnings

import pytest

import tenon
from tenon import nn, optim
from tenon.nn import functional as F
from tenon.torch import optim as torch_optim


@pytest.fixture(autouse=True)
def strict():
    """compile warns where it cannot record; here that is a failure."""
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        yield


def mlp():
    return nn.Sequential(nn.Linear(12, 16), nn.Tanh(), nn.Linear(16, 5))


class Pictures(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(2, 6, 3, padding=1), nn.BatchNorm2d(6)
        self.drop, self.last = nn.Dropout(0.25), nn.Linear(6 * 9, 5)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.first(x))), 2)
        return self.last(self.drop(x.flatten(1)))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(16), nn.LayerNorm(16)])
        self.project, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
        self.inner = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16), nn.Dropout(0.1))

    def forward(self, x):
        q, k, v = self.project(self.norms[0](x)).reshape(*x.shape[:2], 3, 2, 8).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).permute(0, 2, 1, 3).reshape(x.shape)
        x = x + self.out(y)
        return x + self.inner(self.norms[1](x))


class Characters(nn.Module):
    """A GPT of two blocks whose last layer is its embedding."""

    def __init__(self):
        super().__init__()
        self.embed, self.places = nn.Embedding(11, 16), nn.Parameter(tenon.randn(6, 16))
        self.blocks = nn.Sequential(Block(), Block())

    def forward(self, tokens):
        return self.blocks(self.embed(tokens) + self.places[:tokens.shape[1]]) @ self.embed.weight.T


def batch(seed, kind):
    tenon.manual_seed(seed)
    x = {Pictures: lambda: tenon.randn(7, 2, 6, 6),
         Characters: lambda: tenon.randint((3, 6), 0, 11)}.get(kind, lambda: tenon.randn(7, 12))()
    return x, tenon.randint((3, 6) if kind is Characters else (7,), 0, 5)


class Training:
    """A network with its optimizer, and its step as it is usually written."""

    def __init__(self, net, optimizer, clip=None):
        tenon.manual_seed(3)
        self.net = net()
        self.optimizer, self.clip = optimizer(self.net.parameters()), clip

    def step(self, x, y):
        self.optimizer.zero_grad()
        logits = self.net(x)
        loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), y.reshape(-1))
        loss.backward()
        if self.clip:
            self.clip(list(self.net.parameters()))
        self.optimizer.step()
        return loss

    def everything(self):
        found = {f'net.{name}': x.detach().numpy().tobytes() for name, x in self.net.state_dict().items()}
        for name, value in self.optimizer.state_dict().items():
            found[name] = value.detach().numpy().tobytes() if isinstance(value, tenon.Tensor) else repr(value)
        return found


def compare(kind, optimizer, clip=None, steps=10, eagerly=(), between=lambda training, i: None):
    eager, other = Training(kind, optimizer, clip), Training(kind, optimizer, clip)
    step = tenon.compile(other.step)
    for i in range(steps):
        for training in eager, other:
            between(training, i)
        given = batch(i, kind)
        wanted = eager.step(*given)
        batch(i, kind)  # the generator, as it was
        found = other.step(*given) if i in eagerly else step(*given)
        assert found.detach().numpy().tobytes() == wanted.detach().numpy().tobytes(), i
    assert step._programs and not step._refused
    assert eager.everything() == other.everything()
    return step, other


def rates(training, i):
    training.optimizer.param_groups[0]['lr'] = 0.05 / (1 + i)


SETTINGS = [
    lambda p: optim.SGD(p, 0.1), lambda p: optim.SGD(p, 0.1, momentum=0.9, weight_decay=1e-3),
    lambda p: optim.SGD(p, 0.1, momentum=0.9, nesterov=True), lambda p: optim.Adam(p, 0.01), lambda p: optim.Adam(p, 0.01, amsgrad=True),
    lambda p: optim.AdamW(p, 0.01), lambda p: optim.RMSprop(p, 0.01, momentum=0.5, centered=True), lambda p: optim.Adagrad(p, 0.1, 0.01),
    lambda p: torch_optim.SGD(p, 0.1), lambda p: torch_optim.SGD(p, 0.1, momentum=0.9), lambda p: torch_optim.Adam(p, 0.01), lambda p: torch_optim.AdamW(p, 0.01, amsgrad=True),
    lambda p: torch_optim.RMSprop(p, 0.01, momentum=0.5, centered=True), lambda p: torch_optim.Adagrad(p, 0.1),
    lambda p: torch_optim.Adadelta(p, 0.1)]


@pytest.mark.parametrize('optimizer', SETTINGS)
def test_optimizers(optimizer):
    compare(mlp, optimizer, between=rates)


@pytest.mark.parametrize('kind', [mlp, Pictures, Characters])
@pytest.mark.parametrize('clip', [None, lambda p: optim.clip_grad_norm_(p, 0.3), lambda p: optim.clip_grad_value_(p, 0.01)])
@pytest.mark.parametrize('optimizer', [SETTINGS[1], SETTINGS[5]])
def test_networks(kind, clip, optimizer):
    compare(kind, optimizer, clip, between=rates)


def test_eager_steps_may_run_in_between():
    compare(Pictures, SETTINGS[5], eagerly=(3, 4, 7), between=rates)


def test_groups_with_their_own_options():
    def two(params):
        params = list(params)
        return optim.AdamW([{'params': params[:1], 'lr': 0.1}, {'params': params[1:], 'betas': (0.8, 0.9)}], lr=0.01)

    def change(training, i):
        for group in training.optimizer.param_groups:
            group['betas'] = (0.8 + i / 100, 0.9)
    compare(mlp, two, between=change)


def test_schedules_continue_outside():
    schedules = {}

    def go_on(training, i):
        if training not in schedules:
            schedules[training] = optim.OneCycleLR(training.optimizer, 0.1, 12)
        elif i:
            schedules[training].step()
    compare(mlp, SETTINGS[1], between=go_on)


def test_options_that_choose_ops_may_change():
    def change(training, i):
        if i == 5:
            training.optimizer.param_groups[0]['weight_decay'] = 0.1
        if i == 7:
            training.net.drop.p = 0.5
        if i == 8:
            training.net.eval()
    compare(Pictures, SETTINGS[1], between=change)


def test_parameters_may_be_frozen():
    def change(training, i):
        training.net[0].weight.requires_grad = i < 4
    compare(mlp, SETTINGS[5], steps=4, between=change)


@pytest.mark.parametrize('optimizer', [SETTINGS[0], SETTINGS[3], SETTINGS[8], SETTINGS[10]])
def test_parameters_may_be_moved(optimizer):
    def change(training, i):
        if i == 5:
            training.net.to(tenon.float64).to(tenon.float32)  # the same objects with other tensors
    compare(mlp, optimizer, between=change)


def test_state_may_be_loaded():
    def change(training, i):
        if i == 3:
            training.kept = {k: v.clone() for k, v in training.optimizer.state_dict().items()}
        if i == 6:
            training.optimizer.load_state_dict(training.kept)
    compare(mlp, SETTINGS[3], between=change)


def test_the_last_batch_may_be_smaller():
    eager, other = Training(mlp, SETTINGS[1]), Training(mlp, SETTINGS[1])
    step = tenon.compile(other.step)
    for i in range(9):
        x, y = batch(i, mlp)
        size = 4 if i % 3 == 2 else 7
        assert step(x[:size], y[:size]).item() == eager.step(x[:size], y[:size]).item()
    assert len(step._programs) == 2 and eager.everything() == other.everything()


def test_gradients_stay_inside_and_versions_increase():
    step, training = compare(mlp, SETTINGS[0])
    assert all(x.grad is None for x in training.net.parameters())
    y = (training.net[0].weight ** 2).sum()
    step(*batch(1, mlp))
    with pytest.raises(tenon.Error, match='changed'):
        y.backward()


def test_forward_may_come_first():
    def step(training, x, y):
        loss = F.cross_entropy(training.net(x), y)
        training.optimizer.zero_grad()
        loss.backward()
        training.optimizer.step()
        return loss
    eager, other = Training(Pictures, SETTINGS[1]), Training(Pictures, SETTINGS[1])
    fast = tenon.compile(lambda x, y: step(other, x, y))  # refers to neither network nor optimizer
    net, optimizer = other.net, other.optimizer
    named = tenon.compile(lambda x, y: (net, optimizer) and step(other, x, y))
    for i in range(6):
        given = batch(i, Pictures)
        wanted = step(eager, *given)
        batch(i, Pictures)
        assert named(*given).item() == wanted.item()
    assert named._programs and eager.everything() == other.everything()
    with pytest.warns(UserWarning, match='writes what is traced into a tensor from outside'):
        fast(*batch(1, Pictures))


def test_structures_are_returned():
    net = mlp()
    sgd = optim.SGD(net.parameters(), 0.1)

    @tenon.compile
    def step(given):
        sgd.zero_grad()
        logits = net(given['x'])
        loss = F.cross_entropy(logits, given['y'])
        loss.backward()
        sgd.step()
        return {'loss': loss, 'right': (logits.argmax(1) == given['y']).sum()}
    x, y = batch(1, mlp)
    losses = [step({'x': x, 'y': y})['loss'].item() for _ in range(30)]
    assert losses[-1] < losses[0] / 2 and step._programs
    assert step({'x': x, 'y': y})['right'].item() >= 5
    assert not step({'x': x, 'y': y})['loss'].requires_grad


def test_names_and_files(tmp_path):
    training = Training(Pictures, SETTINGS[5])
    net, adamw = training.net, training.optimizer

    def step(x, y):
        adamw.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        adamw.step()
        return loss
    x, y = batch(1, Pictures)
    step(x, y)
    program = tenon.graph.trace(step, x, y, training=True)
    text = str(program)
    assert 'net.first.weight' in text and 'optimizer0.state.0.exp_avg' in text and 'lr=$0' in text
    assert program.numbers['optimizer0.group.0.lr'] and len(program.numbers) == 6
    for _ in range(3):
        program(x, y)
    program.save(tmp_path / 'step')
    other = tenon.graph.load(tmp_path / 'step')
    assert {'net.first.weight', 'net.norm.running_mean', 'optimizer0.state.0.exp_avg'} < set(tenon.io.load(tmp_path / 'step'))
    assert other.numbers['optimizer0.step'] == 5
    for i in range(5):
        if i == 2:
            adamw.param_groups[0]['lr'] = 0.002
            other.set_numbers(**{'optimizer0.group.0.lr': 0.002})
        tenon.manual_seed(i)
        wanted = program(x, y)
        tenon.manual_seed(i)
        assert other(x, y).detach().numpy().tobytes() == wanted.detach().numpy().tobytes()
    with pytest.raises(ValueError, match='no number is called'):
        other.set_numbers(lr=1)
    with pytest.raises(tenon.PreconditionError, match='set their options'):
        program.set_numbers(lr=1)


def test_models_have_no_state(tmp_path):
    training, given = Training(mlp, SETTINGS[0]), batch(1, mlp)
    training.step(*given)
    program = tenon.graph.trace(training.step, *given, training=True)
    with pytest.raises(NotImplementedError, match='export the network alone'):
        tenon.onnx.export(program, (), tmp_path / 'model.onnx')


class TestRefusals:
    @staticmethod
    def refused(change, optimizer=SETTINGS[1]):
        """The error of tracing a changed step; the training itself is unchanged afterwards."""
        training = Training(mlp, optimizer)
        given = batch(1, mlp)

        def step(x, y):
            training.optimizer.zero_grad()
            loss = F.cross_entropy(training.net(x), y)
            return change(training, loss, x)
        step(*given)
        before = training.everything()
        with pytest.raises((tenon.Error, TypeError)) as caught:
            tenon.graph.trace(step, *given, training=True)
        assert training.everything() == before
        training.optimizer.zero_grad()
        step(*given)  # nothing is traced any more
        return str(caught.value)

    @staticmethod
    def plain(training, loss, x):
        loss.backward()
        training.optimizer.step()
        return loss

    def test_elements(self):
        def change(training, loss, x):
            loss.backward()
            training.optimizer.step()
            return loss.item()
        assert 'is read while a function is traced' in self.refused(change)

    def test_numbers_that_vary(self):
        calls = []

        def change(training, loss, x):
            calls.append(0)
            return self.plain(training, loss * (0.1 * len(calls)), x)
        assert "mul: its argument 'other' varies" in self.refused(change) or 'varies from run to run' in self.refused(change)

    def test_numbers_that_an_optimizer_computes(self):
        said = self.refused(self.plain, lambda p: torch_optim.NAdam(p, 0.01))
        assert 'varies from run to run' in said and 'optimizer0.group.0.lr' in said

    def test_state_that_each_step_creates_anew(self):
        assert 'keeps a new tensor as prev' in self.refused(self.plain, lambda p: torch_optim.Rprop(p, 0.01))

    def test_schedules(self):
        training = Training(mlp, SETTINGS[1])
        schedule = optim.StepLR(training.optimizer, 2)

        def step(x, y):
            training.optimizer.zero_grad()
            loss = F.cross_entropy(training.net(x), y)
            self.plain(training, loss, x)
            schedule.step()
            return loss
        given = batch(1, mlp)
        step(*given)
        with pytest.raises(tenon.PreconditionError, match=r'StepLR\.step\(\) would run in the trace alone'):
            tenon.graph.trace(step, *given, training=True)

    def test_two_steps_of_one_optimizer(self):
        def change(training, loss, x):
            self.plain(training, loss, x)
            training.optimizer.step()
            return loss
        assert 'steps twice' in self.refused(change)

    def test_rates_in_tensors(self):
        assert 'is a Tensor' in self.refused(self.plain, lambda p: torch_optim.SGD(p, tenon.tensor(0.1)))

    def test_gradients_left_from_before_the_step(self):
        net, given = mlp(), batch(1, mlp)

        def accumulate(x, y):
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            return loss
        accumulate(*given)
        with pytest.raises(tenon.PreconditionError, match=r'begin with zero_grad\(\)'):
            tenon.graph.trace(accumulate, *given, training=True)
        for x in net.parameters():
            x.grad = None
        with pytest.raises(tenon.PreconditionError, match=r'begin with zero_grad\(\)'):
            tenon.graph.trace(accumulate, *given, training=True)

    def test_an_optimizer_without_state(self):
        training = Training(mlp, SETTINGS[3])
        with pytest.raises(tenon.PreconditionError, match='no memory yet'):
            tenon.graph.trace(training.step, *batch(1, mlp), training=True)
        assert not training.optimizer.state

    def test_a_step_as_a_function(self):
        training = Training(mlp, SETTINGS[3])
        with pytest.raises(Exception, match='this is a training step'):
            tenon.graph.trace(training.step, *batch(1, mlp))

    def test_a_program_whose_optimizer_state_was_replaced(self):
        training, given = Training(mlp, SETTINGS[3]), batch(1, mlp)
        training.step(*given)
        program = tenon.graph.trace(training.step, *given, training=True)
        program(*given)
        training.optimizer.load_state_dict(training.optimizer.state_dict())
        with pytest.raises(tenon.PreconditionError, match='other parameters, memory or choices'):
            program(*given)


class Scaled(tenon.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x * weight

    @staticmethod
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        return gradient * weight, (gradient * x).sum(0)


class OwnFunction(nn.Module):
    """A function with a custom gradient whose argument is a parameter."""

    def __init__(self):
        super().__init__()
        self.weight, self.last = nn.Parameter(tenon.randn(12)), nn.Linear(12, 5)

    def forward(self, x):
        return self.last(Scaled.apply(x, self.weight))


class Summed(nn.Module):
    """Rows chosen by its own indices and added up by others, as in a graph network."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(12, 8), nn.Linear(8, 5)
        self.a, self.b = tenon.tensor([0, 1, 1, 6, 3]), tenon.tensor([2, 2, 4, 5, 0])

    def forward(self, x):
        y = self.first(x)
        weight = (y[self.a] - y[self.b]).exp()
        whole = tenon.zeros(7, 8, device=x.device).index_add(0, self.b, weight)
        return self.last(tenon.zeros_like(y).index_add(0, self.b, weight / whole[self.b]))


class Chosen(nn.Module):
    """The same rows, some of them several times, chosen more than once in each way, so that gradients meet in one sum."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(12, 8), nn.Linear(8, 5)
        self.a = tenon.tensor([0, 1, 1, 6, 3, 1, 0])
        self.places = tenon.tensor([[0, 3, 1, 1, 3, 2, 1, 5]] * 7)

    def forward(self, x):
        y = self.first(x)
        by_index = y[self.a]
        by_index = by_index * y[self.a]
        by_select = y.index_select(0, self.a) * y.index_select(0, self.a).exp()
        by_gather = y.gather(1, self.places) * y.gather(1, self.places).sin()
        return self.last(by_index + by_select * by_gather)


@pytest.mark.parametrize('kind', [OwnFunction, Summed, Chosen])
def test_functions_and_indices_of_its_own(kind):
    compare(kind, SETTINGS[5])


def test_what_cannot_be_recorded_trains_eagerly():
    training = Training(mlp, SETTINGS[1])

    @tenon.compile
    def step(x, y):
        loss = training.step(x, y)
        return loss.item()
    with pytest.warns(UserWarning, match='is read while a function is traced'):
        losses = [step(*batch(1, mlp)) for _ in range(4)]
    assert losses[3] < losses[0]
    wanted = Training(mlp, SETTINGS[1])
    assert losses == [wanted.step(*batch(1, mlp)).item() for _ in range(4)] and wanted.everything() == training.everything()


def test_weights_and_buffers_may_be_viewed():
    weight, places = tenon.torch.nn.Parameter(tenon.torch.ones(4, 3)), tenon.torch.arange(6).reshape(2, 3)
    sgd = torch_optim.SGD([weight], 0.1)

    @tenon.compile
    def step(x):
        sgd.zero_grad()
        loss = (weight.view(2, 6)[:, places.view(-1)] * x).square().mean()
        loss.backward()
        sgd.step()
        return loss

    losses = [step(tenon.ones(2, 6)).item() for _ in range(4)]
    assert losses == sorted(losses, reverse=True)
    assert step._programs and not step._refused
