"""Optimizers and schedules against formulas by hand, and against PyTorch where there is one."""
import math

import numpy as np
import pytest

import tenon
from tenon import nn, optim
from tenon.testing import assert_close

START = np.array([1.0, -2.0, 3.0], np.float32)


def run(kind, steps=5, **options):
    """The parameter after steps on sum(w⁴)."""
    w = nn.Parameter(tenon.tensor(START))
    optimizer = kind([w], **options)
    for _ in range(steps):
        optimizer.zero_grad()
        (w ** 4).sum().backward()
        optimizer.step()
    return w.detach().numpy().astype(np.float64)


@pytest.mark.parametrize('dtype, ulp', [('float16', 2.0 ** -11), ('bfloat16', 2.0 ** -8)])
@pytest.mark.parametrize('n', [1, 255, 256, 257, 1000])
def test_steps_of_half_types_round_once(dtype, ulp, n):
    rng = np.random.default_rng(n)
    given = [tenon.tensor(rng.standard_normal(n).astype(np.float32)).to(getattr(tenon, dtype)) for _ in range(4)]
    given[3] = given[3].abs()
    w, g, m, v = (x.to(tenon.float64).numpy().copy() for x in given)
    params, grads, *state = ([x] for x in given)
    tenon.adam_step(params, grads, *state, [], 3, 0.1)
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    w = w - 0.1 * (m / (1 - 0.9 ** 3)) / (np.sqrt(v / (1 - 0.999 ** 3)) + 1e-8)
    for x, want in zip(given, (w, g, m, v)):
        # Half a unit in the last place of the result, and what f32 loses where terms cancel.
        np.testing.assert_allclose(x.to(tenon.float64).numpy(), want, rtol=1.01 * ulp, atol=1e-6)


def by_hand(update, steps=5):
    w, state = START.astype(np.float64), {}
    for t in range(1, steps + 1):
        w = update(w, 4 * w ** 3, state, t)
    return w


def test_sgd():
    assert_close(run(optim.SGD, lr=0.01), by_hand(lambda w, g, s, t: w - 0.01 * g), rtol=1e-5, atol=1e-6)

    def momentum(w, g, s, t):
        g = g + 0.1 * w
        s['v'] = g if t == 1 else 0.9 * s['v'] + g
        return w - 0.001 * (g + 0.9 * s['v'])
    assert_close(run(optim.SGD, lr=0.001, momentum=0.9, weight_decay=0.1, nesterov=True), by_hand(momentum), rtol=1e-5, atol=1e-6)
    w = nn.Parameter(tenon.ones(1))
    for params, options in (([w], {}), ([w], dict(momentum=0.9, dampening=0.1)), ([{'params': [w], 'momentum': 0.0}], dict(momentum=0.9))):
        with pytest.raises(ValueError, match='nesterov needs a momentum and no dampening'):
            optim.SGD(params, nesterov=True, **options)


@pytest.mark.parametrize('decoupled', [False, True])
@pytest.mark.parametrize('amsgrad', [False, True])
def test_adam(decoupled, amsgrad):
    def update(w, g, s, t):
        if decoupled:
            w = w - 0.1 * 0.2 * w
        else:
            g = g + 0.2 * w
        s['m'] = 0.8 * s.get('m', 0) + 0.2 * g
        s['v'] = 0.9 * s.get('v', 0) + 0.1 * g * g
        s['top'] = np.maximum(s.get('top', 0), s['v'])
        v = s['top'] if amsgrad else s['v']
        return w - 0.1 * (s['m'] / (1 - 0.8 ** t)) / (np.sqrt(v / (1 - 0.9 ** t)) + 1e-8)
    kind = optim.AdamW if decoupled else optim.Adam
    got = run(kind, lr=0.1, betas=(0.8, 0.9), weight_decay=0.2, amsgrad=amsgrad)
    assert_close(got, by_hand(update), rtol=1e-4, atol=1e-5)


def test_rmsprop_and_adagrad():
    def rmsprop(w, g, s, t):
        s['v'] = 0.9 * s.get('v', 0) + 0.1 * g * g
        s['mean'] = 0.9 * s.get('mean', 0) + 0.1 * g
        s['b'] = 0.5 * s.get('b', 0) + g / (np.sqrt(s['v'] - s['mean'] ** 2) + 1e-8)
        return w - 0.01 * s['b']
    assert_close(run(optim.RMSprop, lr=0.01, alpha=0.9, momentum=0.5, centered=True), by_hand(rmsprop), rtol=1e-4, atol=1e-5)

    def adagrad(w, g, s, t):
        s['sum'] = s.get('sum', 0.5) + g * g
        return w - 0.1 / (1 + (t - 1) * 0.01) * g / (np.sqrt(s['sum']) + 1e-10)
    assert_close(run(optim.Adagrad, lr=0.1, lr_decay=0.01, initial_accumulator_value=0.5), by_hand(adagrad), rtol=1e-4, atol=1e-5)


PEERS = [('SGD', dict(lr=0.001, momentum=0.9, dampening=0.1)), ('SGD', dict(lr=0.001, weight_decay=0.1)),
         ('Adam', dict(lr=0.1, weight_decay=0.1)), ('AdamW', dict()), ('AdamW', dict(lr=0.1, amsgrad=True)),
         ('RMSprop', dict(lr=0.01, centered=True)), ('Adagrad', dict(lr=0.1))]


@pytest.mark.parametrize('name, options', PEERS)
def test_against_pytorch(torch, name, options):
    w = torch.nn.Parameter(torch.tensor(START))
    optimizer = getattr(torch.optim, name)([w], **options)
    for _ in range(5):
        optimizer.zero_grad()
        (w ** 4).sum().backward()
        optimizer.step()
    assert_close(run(getattr(optim, name), **options), w.detach().numpy().astype(np.float64), rtol=1e-4, atol=1e-5)


def test_parameters_without_gradients_and_late_ones():
    a, b = nn.Parameter(tenon.ones(2)), nn.Parameter(tenon.ones(2))
    optimizer = optim.Adam([a, b], lr=0.1)
    (a * 2).sum().backward()
    optimizer.step()
    assert b.tolist() == [1, 1] and a[0].item() == pytest.approx(0.9)
    (a + b).sum().backward()
    optimizer.step()
    assert b[0].item() == pytest.approx(0.9)  # its own first step
    assert [optimizer.state[i]['step'] for i in (0, 1)] == [2, 1]
    assert optimizer.state_dict()['state.1.step'].item() == 1
    optimizer.zero_grad()
    assert a.grad is None and b.grad is None
    before = a.tolist()
    optimizer.step()
    assert a.tolist() == before


def test_groups_have_their_own_options():
    a, b = nn.Parameter(tenon.ones(1)), nn.Parameter(tenon.ones(1, dtype=tenon.float64))
    optimizer = optim.SGD([{'params': [a]}, {'params': b, 'lr': 0.5}], lr=0.25)
    (a + b).sum().backward()
    optimizer.step()
    assert a.item() == 0.75 and b.item() == 0.5 and b.dtype == tenon.float64
    optimizer.param_groups[0]['lr'] = 0.0
    optimizer.step()
    assert a.item() == 0.75 and b.item() == 0.0
    assert 'Parameter group 1' in repr(optimizer)
    assert optim.Adam([{'params': [a], 'betas': (0.5, 0.6)}]).param_groups[0]['betas'] == (0.5, 0.6)


def test_state_continues_where_it_was_saved():
    def make():
        tenon.manual_seed(1)
        net = nn.Linear(3, 2)
        return net, optim.AdamW(net.parameters(), lr=0.05, amsgrad=True)

    def train(net, optimizer, steps):
        for _ in range(steps):
            optimizer.zero_grad()
            (net(tenon.ones((2, 3))) ** 2).sum().backward()
            optimizer.step()
    net, optimizer = make()
    train(net, optimizer, 3)
    state, weights = optimizer.state_dict(), {k: x.clone() for k, x in net.state_dict().items()}
    assert sorted(state)[:3] == ['group.0.amsgrad', 'group.0.betas', 'group.0.eps']
    assert state['state.1.step'].item() == 3 and state['state.0.exp_avg'].shape == (2, 3)
    saved = {key: x.clone() for key, x in state.items()}
    other, second = make()
    other.load_state_dict(weights)
    second.load_state_dict(saved)
    train(net, optimizer, 2)
    train(other, second, 2)
    assert other.weight.tolist() == net.weight.tolist()
    assert second.param_groups[0]['lr'] == 0.05 and second.param_groups[0]['amsgrad'] is True
    for change, message in (({'more': tenon.ones(1)}, 'does not know'), ({'state.0.exp_avg': tenon.ones(7)}, r'shape \(7,\)')):
        with pytest.raises(ValueError, match=message):
            second.load_state_dict({**saved, **change})
    for key, message in (('group.0.lr', 'has no "group.0.lr"'), ('state.0.exp_avg', 'is missing')):
        with pytest.raises(ValueError, match=message):
            second.load_state_dict({k: x for k, x in saved.items() if k != key})


@pytest.mark.parametrize('kind, options', [(optim.SGD, {'momentum': 0.9}), (optim.AdamW, {}), (optim.RMSprop, {}), (optim.Adagrad, {})])
def test_state_has_its_parameters_layout(kind, options):
    rng = np.random.default_rng(1)
    values, slopes = rng.standard_normal((3, 4, 5)), rng.standard_normal((3, 4, 5))
    plain, turned = nn.Parameter(tenon.asarray(values)), nn.Parameter(tenon.asarray(values.transpose(2, 0, 1).copy()).permute(1, 2, 0))
    optimizers = [kind([w], **options) for w in (plain, turned)]
    for _ in range(3):
        for w, optimizer in zip((plain, turned), optimizers):
            w.grad = tenon.asarray(slopes)
            optimizer.step()
    assert turned.strides == (4, 1, 12) and turned.tolist() == plain.tolist()
    again = kind([turned], **options)
    again.load_state_dict(optimizers[1].state_dict())
    for optimizer in (optimizers[1], again):
        states = [x for x in optimizer.state[0].values() if isinstance(x, tenon.Tensor) and x.ndim]
        assert states and all(x.strides == turned.strides for x in states)


def test_errors():
    w = nn.Parameter(tenon.ones(1))
    for params, error, message in (([], ValueError, 'no parameters'), (w, TypeError, 'not one Tensor'), ([3], TypeError, 'Tensor'),
                                   ([w, w], ValueError, 'twice'), ([w * 2], ValueError, 'not a leaf: mul'),
                                   ([{'lr': 1}], TypeError, '"params"'), ([{'params': []}], ValueError, 'has no parameters'),
                                   ([{'params': [w], 'speed': 1}], TypeError, "'speed'"),
                                   (nn.Linear(2, 2), TypeError, r'not Linear: give model.parameters\(\)'), (3, TypeError, 'not int'),
                                   ([{'params': nn.Linear(2, 2)}], TypeError, r'give model.parameters'),
                                   (nn.Linear(2, 2).state_dict(), TypeError, r'not OrderedDict: give its values')):
        with pytest.raises(error, match=message):
            optim.SGD(params)
    for options, error in ((dict(lr=-1.0), ValueError), (dict(lr='1'), TypeError), (dict(lr=math.nan), ValueError),
                           (dict(nesterov=1), TypeError)):
        with pytest.raises(error, match=r'\[SGD\]'):
            optim.SGD([w], **options)
    with pytest.raises(ValueError, match='below 1'):
        optim.Adam([w], betas=(0.9, 1.0))
    with pytest.raises(TypeError, match='pair'):
        optim.Adam([w], betas=0.9)
    assert optim.SGD([w]).step(lambda: 3) == 3


def test_clipping():
    a, b = nn.Parameter(tenon.ones(1)), nn.Parameter(tenon.ones(1))
    (3 * a + 4 * b).sum().backward()
    assert optim.clip_grad_norm_([a, b], 10.0).item() == 5 and a.grad.item() == 3
    assert optim.clip_grad_norm_([a, b], 1.0).item() == 5
    assert a.grad.item() == pytest.approx(0.6) and b.grad.item() == pytest.approx(0.8)
    optim.clip_grad_value_(b, 0.5)
    assert b.grad.item() == 0.5 and a.grad.item() == pytest.approx(0.6)
    assert optim.clip_grad_norm_([nn.Parameter(tenon.ones(1))], 1.0).item() == 0
    with pytest.raises(ValueError, match='at least 0'):
        optim.clip_grad_value_(a, -1)
    with pytest.raises(TypeError, match='Tensor'):
        optim.clip_grad_norm_([3], 1)


def rates(make, steps, lr=1.0):
    optimizer = optim.SGD([nn.Parameter(tenon.ones(1))], lr=lr)
    schedule, found = make(optimizer), []
    for _ in range(steps):
        found.append(optimizer.param_groups[0]['lr'])
        schedule.step()
    return found


def test_schedules_by_hand():
    assert rates(lambda o: optim.StepLR(o, 2, 0.5), 5) == [1, 1, 0.5, 0.5, 0.25]
    assert rates(lambda o: optim.MultiStepLR(o, [1, 3], 0.5), 5) == [1, 0.5, 0.5, 0.25, 0.25]
    assert rates(lambda o: optim.ExponentialLR(o, 0.5), 3) == [1, 0.5, 0.25]
    assert rates(lambda o: optim.CosineAnnealingLR(o, 4, 0.5), 5) == pytest.approx(
        [1, 0.75 + math.sqrt(0.125) / 2, 0.75, 0.75 - math.sqrt(0.125) / 2, 0.5])
    assert rates(lambda o: optim.LinearLR(o, 0.5, 1.0, 2), 4) == [0.5, 0.75, 1, 1]
    assert rates(lambda o: optim.LambdaLR(o, lambda n: 1 / (n + 1)), 3) == [1, 0.5, 1 / 3]
    cycle = rates(lambda o: optim.OneCycleLR(o, 1.0, 10), 10, lr=0.3)
    assert cycle[0] == pytest.approx(1 / 25) and max(cycle) == pytest.approx(1.0) and cycle[-1] == pytest.approx(1 / 25e4)
    assert cycle.index(max(cycle)) == 2


SCHEDULES = [('StepLR', dict(step_size=3)), ('MultiStepLR', dict(milestones=[2, 5])), ('ExponentialLR', dict(gamma=0.9)),
             ('CosineAnnealingLR', dict(T_max=6)), ('LinearLR', dict()), ('OneCycleLR', dict(max_lr=0.5, total_steps=12))]


@pytest.mark.parametrize('name, options', SCHEDULES)
@pytest.mark.filterwarnings('ignore')
def test_schedules_against_pytorch(torch, name, options):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.4)
    schedule, expected = getattr(torch.optim.lr_scheduler, name)(optimizer, **options), []
    for _ in range(10):
        expected.append(optimizer.param_groups[0]['lr'])
        schedule.step()
    assert rates(lambda o: getattr(optim, name)(o, **options), 10, lr=0.4) == pytest.approx(expected, rel=1e-6)


def warm_up_and_cosine(optimizer):
    parts = [optim.LinearLR(optimizer, 0.5, 1.0, 2), optim.CosineAnnealingLR(optimizer, 4)]
    return optim.SequentialLR(optimizer, parts, [2])


def test_a_warm_up_is_followed_by_a_cosine():
    assert rates(warm_up_and_cosine, 7, lr=0.1) == pytest.approx(
        [0.05, 0.075, 0.1, 0.08535533905932738, 0.05, 0.014644660940672627, 0])
    first, second = (optim.SGD([nn.Parameter(tenon.ones(1))], lr=lr) for lr in (0.1, 0.7))
    running, restored = warm_up_and_cosine(first), warm_up_and_cosine(second)
    for _ in range(3):
        running.step()
    restored.load_state_dict(running.state_dict())
    assert restored.get_last_lr() == running.get_last_lr()
    running.step()
    restored.step()
    assert restored.get_last_lr() == running.get_last_lr() and restored.state_dict() == running.state_dict()
    with pytest.raises(ValueError, match='of another optimizer'):
        optim.SequentialLR(second, running.schedulers, [2])
    with pytest.raises(TypeError, match='wants schedulers, not int'):
        optim.SequentialLR(second, [3], [])


def test_schedule_state():
    optimizer = optim.SGD([nn.Parameter(tenon.ones(1))], lr=1.0)
    schedule = optim.ExponentialLR(optimizer, 0.5)
    schedule.step()
    state = schedule.state_dict()
    assert state == {'last_epoch': 1.0, 'base_lrs.0': 1.0}
    schedule.step()
    schedule.load_state_dict(state)
    assert schedule.get_last_lr() == [0.5]
    with pytest.raises(ValueError, match='has no "base_lrs.0"'):
        schedule.load_state_dict({})
    for bad in (lambda: optim.StepLR(optimizer, 0), lambda: optim.OneCycleLR(optimizer, 1.0, 1),
                lambda: optim.CosineAnnealingLR(optimizer, 0), lambda: optim.ReduceLROnPlateau(optimizer, mode='best')):
        with pytest.raises(ValueError):
            bad()
    with pytest.raises(TypeError, match='optimizer'):
        optim.StepLR(3, 1)


def test_plateau():
    optimizer = optim.SGD([nn.Parameter(tenon.ones(1))], lr=1.0)
    schedule = optim.ReduceLROnPlateau(optimizer, factor=0.5, patience=1, cooldown=1)
    found = []
    for value in (3.0, 2.0, 2.0, 2.0, 2.0, 2.0, tenon.tensor(1.0), math.nan):
        schedule.step(value)
        found.append(optimizer.param_groups[0]['lr'])
    assert found == [1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.5] and schedule.best == 1.0
    by_itself = optim.SGD([nn.Parameter(tenon.ones(1))], lr=1.0)
    schedule_by_itself = optim.ReduceLROnPlateau(by_itself, 'max', patience=0, threshold=0.5, threshold_mode='abs')
    for value, rate in ((0.0, 1), (0.6, 1), (1.0, 0.1), (1.2, 0.1)):
        schedule_by_itself.step(value)
        assert schedule_by_itself.get_last_lr() == [rate]
    small = optim.SGD([nn.Parameter(tenon.ones(1))], lr=1e-8)
    still = optim.ReduceLROnPlateau(small, patience=0)
    for _ in range(3):
        still.step(1.0)
    assert still.get_last_lr() == [1e-8]
    other = optim.ReduceLROnPlateau(optimizer, factor=0.5, patience=1, cooldown=1)
    other.load_state_dict(schedule.state_dict())
    assert other.state_dict() == schedule.state_dict()
