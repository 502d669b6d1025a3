"""Optimizers and schedules beside PyTorch's, step for step; states that go from one to the other; errors."""
import collections
import copy
import importlib
import math
import pathlib
import sys

import pytest

import tenon.torch as ours

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from beside import same

SHAPES = [(4, 3), (3,), (2, 5)]
LOOSE = {'ASGD': 1e-6}  # PyTorch keeps its rate in float32
OPTIMIZERS = [
    ('SGD', {'lr': 0.1}), ('SGD', {'lr': 0.1, 'momentum': 0.9}), ('SGD', {'lr': 0.1, 'momentum': 0.9, 'nesterov': True, 'weight_decay': 0.1}),
    ('SGD', {'lr': 0.1, 'momentum': 0.8, 'dampening': 0.3, 'maximize': True}),
    ('Adam', {}), ('Adam', {'amsgrad': True, 'weight_decay': 0.1}), ('Adam', {'maximize': True, 'betas': (0.8, 0.95)}),
    ('Adam', {'weight_decay': 0.1, 'decoupled_weight_decay': True}), ('AdamW', {}), ('AdamW', {'amsgrad': True, 'lr': 0.01}),
    ('Adamax', {}), ('Adamax', {'weight_decay': 0.1, 'maximize': True}),
    ('NAdam', {}), ('NAdam', {'weight_decay': 0.1, 'momentum_decay': 6e-3}), ('NAdam', {'weight_decay': 0.1, 'decoupled_weight_decay': True}),
    ('RAdam', {}), ('RAdam', {'weight_decay': 0.1}), ('RAdam', {'weight_decay': 0.1, 'decoupled_weight_decay': True, 'betas': (0.9, 0.9)}),
    ('RMSprop', {}), ('RMSprop', {'momentum': 0.9, 'centered': True, 'weight_decay': 0.1}), ('RMSprop', {'centered': True}),
    ('Adagrad', {}), ('Adagrad', {'lr_decay': 0.1, 'weight_decay': 0.1, 'initial_accumulator_value': 0.2}),
    ('Adadelta', {}), ('Adadelta', {'rho': 0.8, 'weight_decay': 0.1, 'maximize': True}),
    ('ASGD', {}), ('ASGD', {'lambd': 0.1, 't0': 10, 'weight_decay': 0.1}), ('Rprop', {}), ('Rprop', {'etas': (0.4, 1.3), 'step_sizes': (1e-3, 1.0)}),
    ('Adafactor', {}), ('Adafactor', {'weight_decay': 0.1, 'beta2_decay': -0.5, 'd': 2.0}),
]


class Twins:
    """The same parameters in both libraries; gradients of a loss that has no symmetry."""

    def __init__(self, torch, kind='float64', shapes=SHAPES):
        self.torch = torch
        torch.manual_seed(0)
        self.theirs = [torch.nn.Parameter(torch.randn(shape, dtype=getattr(torch, kind))) for shape in shapes]
        self.mine = [ours.nn.Parameter(ours.tensor(x.tolist(), dtype=getattr(ours, kind))) for x in self.theirs]

    def backward(self, step):
        """The same gradients for both; one parameter has none at times."""
        for i, (a, b) in enumerate(zip(self.mine, self.theirs)):
            if i == 1 and step % 3 == 2:
                a.grad = b.grad = None
                continue
            b.grad = (3 * b.detach() + 0.3 * i + math.cos(step)).sin() + 0.2
            a.grad = ours.tensor(b.grad.tolist(), dtype=a.dtype)

    def difference(self):
        return max((b.detach() - b.new_tensor(a.detach().tolist())).abs().max().item() for a, b in zip(self.mine, self.theirs))


def make(twins, name, options):
    return getattr(ours.optim, name)(twins.mine, **options), getattr(twins.torch.optim, name)(twins.theirs, **options)


@pytest.mark.parametrize('name, options', OPTIMIZERS)
def test_steps(torch, name, options):
    twins = Twins(torch)
    mine, theirs = make(twins, name, options)
    for step in range(100):
        twins.backward(step)
        mine.step()
        theirs.step()
        assert twins.difference() < LOOSE.get(name, 1e-9), step


def complex_steps(t, name, options):
    """Parameters after steps downhill from complex and real starts, and the states of the complex one."""
    z = t.tensor([1 + 2j, -1j, 0.5], dtype=t.complex128, requires_grad=True)
    w = t.tensor([1.0, -2.0], dtype=t.float64, requires_grad=True)
    optimizer = getattr(t.optim, name)([z, w], **{'lr': 0.05, **options})
    for _ in range(8):
        optimizer.zero_grad()
        (((z * (1 + 1j) - (2 - 0.8j)).abs() ** 2).sum() + 3 * (w * w).sum()).backward()
        optimizer.step()
    state = optimizer.state_dict()['state']
    return z, w, {key: each.reshape(-1) for key, each in sorted(state.get(0, {}).items()) if each is not None and each.dtype == z.dtype}


@pytest.mark.parametrize('name, options', [each for each in OPTIMIZERS if each[0] != 'Adafactor'])
def test_complex_parameters_step(torch, name, options):
    same(torch, lambda t: complex_steps(t, name, options))


@pytest.mark.parametrize('line_search_fn', [None, 'strong_wolfe'])
def test_lbfgs_takes_complex_parameters(torch, line_search_fn):
    def run(t):
        z = t.tensor([1 + 2j, -1j], dtype=t.complex128, requires_grad=True)
        w = t.tensor([1.0], dtype=t.float64, requires_grad=True)
        optimizer = t.optim.LBFGS([z, w], lr=0.5, max_iter=4, line_search_fn=line_search_fn)

        def closure():
            optimizer.zero_grad()
            loss = ((z - (2 - 1j)).abs() ** 2).sum() + 3 * (w * w).sum()
            loss.backward()
            return loss
        return [optimizer.step(closure).detach() for _ in range(2)], z, w
    same(torch, run)


def test_the_state_of_an_own_step_is_kept_as_it_is(torch):
    """`step` of PyTorch's optimizers is saved as a tensor; that of a class of one's own stays an int."""
    def run(t):
        class Signs(t.optim.Optimizer):
            def __init__(self, params, lr=0.1):
                super().__init__(params, {'lr': lr})

            @t.no_grad()
            def step(self):
                for x in self.param_groups[0]['params']:
                    self.state[x]['step'] = self.state[x].get('step', 0) + 1
                    x.sub_(x.grad.sign(), alpha=self.param_groups[0]['lr'])
        x = t.nn.Parameter(t.tensor([1.0, -2.0]))
        optimizer = Signs([x])
        (x * x).sum().backward()
        optimizer.step()
        again = Signs([x])
        again.load_state_dict(optimizer.state_dict())
        return x, optimizer.state_dict()['state'], dict(again.state[x])
    same(torch, run)


def seen_states(t):
    """Counts in `state` are tensors that follow the steps and may be written to."""
    def kinds(state):
        return {key: (type(value).__name__, str(value.dtype), tuple(value.shape), value.clone()) for key, value in state.items()}
    x = t.nn.Parameter(t.tensor([1.0, -2.0]))
    optimizer, found = t.optim.NAdam([x]), []
    for i in range(5):
        x.grad = t.tensor([0.5, 0.1 * i])
        optimizer.step()
        state = optimizer.state[x]
        if i == 1:
            held = state['step']
        if i == 2:
            found.append(held.clone())
            held.fill_(7.0)
        if i == 3:
            state['step'] += 2
            for value in state.values():
                value.mul_(2)
        found += [x.detach().clone(), kinds(state), 'step' in state, len(state), sorted(state), state.get('nothing', 1)]
    found += [held, list(optimizer.state) == [x],
              kinds(copy.copy(state)), kinds(dict(state)), kinds(copy.deepcopy(optimizer).state_dict()['state'][0]), bool(state)]
    other = t.optim.NAdam([x])
    other.load_state_dict(optimizer.state_dict())
    found += [kinds(other.state[x]), x in other.state, isinstance(other.state, dict), isinstance(other.state[x], dict)]
    other.state = collections.defaultdict(dict)
    other.step()
    optimizer.state[x].clear()
    optimizer.step()
    found += [kinds(other.state[x]), kinds(optimizer.state[x]), x]
    optimizer.state.clear()
    optimizer.step()
    del optimizer.state[x]['step']
    optimizer.state[x]['step'] = t.tensor(3.0)
    optimizer.step()
    return found, kinds(optimizer.state[x]), repr(optimizer.state[x])[:20], optimizer.state[x].pop('step'), len({**optimizer.state[x]})


def test_states_are_tensors_to_programs(torch):
    same(torch, seen_states)


def copies(t):
    class Older(t.optim.Adam):
        def __setstate__(self, state):
            super().__setstate__(state)
            for group in self.param_groups:
                group.setdefault('warmup', 5)
    x = t.nn.Parameter(t.ones(2))
    optimizer, found = Older([x], lr=0.1), []
    x.grad = t.ones(2)
    optimizer.step()
    found.append(optimizer.state[x]['step'])
    other = copy.deepcopy(optimizer)
    y = other.param_groups[0]['params'][0]
    y.grad = t.ones(2)
    other.step()
    found += [other.param_groups[0]['warmup'], other.state[y]['step'], optimizer.state[x]['step'], y]
    again = t.optim.Adam([x])
    again.state = optimizer.state
    again.step()
    again.state.pop(x)
    return found, len(again.state), again.state[x], again.state.get(y, 'none'), x


def test_copies_and_states_of_others(torch):
    same(torch, copies)


@pytest.mark.parametrize('name, options', OPTIMIZERS)
def test_states_load_in_both_directions(torch, name, options):
    one, other = Twins(torch), Twins(torch)
    optimizers = [make(one, name, options), make(other, name, options)]
    for step in range(10):
        for twins, (mine, theirs) in zip((one, other), optimizers):
            twins.backward(step)
            mine.step()
            theirs.step()
    for (mine, theirs), (mine_2, theirs_2) in [optimizers]:
        kept, of_torch = mine.state_dict(), theirs.state_dict()
        assert list(kept) == list(of_torch) and kept['param_groups'][0]['params'] == of_torch['param_groups'][0]['params']
        assert {key for entry in kept['state'].values() for key in entry} == {key for entry in of_torch['state'].values() for key in entry}
        for key, each in of_torch['state'].get(0, {}).items():
            assert not hasattr(each, 'shape') or each.shape == kept['state'][0][key].shape, key
        theirs_2.load_state_dict(to_torch(torch, kept))
        mine_2.load_state_dict(to_ours(of_torch))
    for step in range(10, 20):
        other.backward(step)
        for optimizer in optimizers[1]:
            optimizer.step()
    assert other.difference() < LOOSE.get(name, 1e-9)


def to_torch(torch, value):
    if isinstance(value, ours.Tensor):
        return torch.tensor(value.tolist(), dtype=getattr(torch, value.dtype.name))
    if isinstance(value, dict):
        return {key: to_torch(torch, each) for key, each in value.items()}
    return [to_torch(torch, each) for each in value] if isinstance(value, list) else value


def to_ours(value):
    if hasattr(value, 'untyped_storage'):
        return ours.tensor(value.tolist(), dtype=getattr(ours, str(value.dtype)[6:]))
    if isinstance(value, dict):
        return {key: to_ours(each) for key, each in value.items()}
    return [to_ours(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize('options', [{}, {'line_search_fn': 'strong_wolfe'}, {'lr': 0.5, 'max_iter': 5, 'history_size': 3}])
def test_lbfgs(torch, options):
    twins = Twins(torch, shapes=[(2,), (3,)])
    mine, theirs = make(twins, 'LBFGS', options)

    def closure(library, params, optimizer):
        def run():
            optimizer.zero_grad()
            x = library.cat([library.reshape(each, (-1,)) for each in params])
            loss = library.sum((x - 1) ** 2 * library.tensor([1.0, 3.0, 0.5, 7.0, 2.0], dtype=library.float64)) + library.sum(x[1:] * x[:-1]) ** 2 / 9
            loss.backward()
            return loss
        return run
    for _ in range(8):
        losses = mine.step(closure(ours, twins.mine, mine)).item(), theirs.step(closure(torch, twins.theirs, theirs)).item()
        assert losses[0] == pytest.approx(losses[1], rel=1e-8, abs=1e-12)
    assert twins.difference() < 1e-6


def test_muon(torch):
    twins = Twins(torch, 'float32', [(6, 4), (3, 8)])
    mine, theirs = make(twins, 'Muon', {'lr': 0.01})
    for step in range(20):
        twins.backward(step)
        mine.step()
        theirs.step()
    assert twins.difference() < 0.02  # its steps are computed in bfloat16


SCHEDULES = [
    ('LambdaLR', {'lr_lambda': lambda epoch: 0.95 ** epoch}), ('LambdaLR', {'lr_lambda': [lambda epoch: epoch % 5, lambda epoch: 1 / (epoch + 1)]}),
    ('MultiplicativeLR', {'lr_lambda': lambda epoch: 0.9 if epoch % 2 else 1.05}), ('StepLR', {'step_size': 7, 'gamma': 0.3}),
    ('MultiStepLR', {'milestones': [3, 10, 10, 40], 'gamma': 0.5}), ('ConstantLR', {'factor': 0.2, 'total_iters': 6}),
    ('LinearLR', {'start_factor': 0.1, 'total_iters': 11}), ('ExponentialLR', {'gamma': 0.97}), ('PolynomialLR', {'total_iters': 60, 'power': 2.0}),
    ('CosineAnnealingLR', {'T_max': 17, 'eta_min': 0.001}), ('CosineAnnealingWarmRestarts', {'T_0': 5, 'T_mult': 2, 'eta_min': 0.01}),
    ('CosineAnnealingWarmRestarts', {'T_0': 8}), ('CyclicLR', {'base_lr': 0.01, 'max_lr': 0.2, 'step_size_up': 6, 'step_size_down': 9}),
    ('CyclicLR', {'base_lr': [0.01, 0.02], 'max_lr': 0.2, 'step_size_up': 6, 'mode': 'triangular2'}),
    ('CyclicLR', {'base_lr': 0.01, 'max_lr': 0.2, 'step_size_up': 6, 'mode': 'exp_range', 'gamma': 0.98}),
    ('CyclicLR', {'base_lr': 0.01, 'max_lr': 0.2, 'step_size_up': 6, 'scale_fn': lambda x: 1 / x, 'cycle_momentum': False}),
    ('OneCycleLR', {'max_lr': 0.4, 'total_steps': 101}), ('OneCycleLR', {'max_lr': [0.4, 0.1], 'epochs': 21, 'steps_per_epoch': 5, 'three_phase': True}),
    ('OneCycleLR', {'max_lr': 0.4, 'total_steps': 110, 'anneal_strategy': 'linear', 'cycle_momentum': False}),
]


def sides(torch, kind, options):
    """(library, optimizer) of both, with two groups."""
    found = []
    for library in (ours, torch):
        params = [library.nn.Parameter(library.ones(2)) for _ in range(2)]
        groups = [{'params': params[:1]}, {'params': params[1:], 'lr': 0.05}]
        found.append((library, getattr(library.optim, kind)(groups, lr=0.1, **options)))
    return found


def rates(optimizer):
    return [float(group[key][0] if key == 'betas' else group[key]) for group in optimizer.param_groups
            for key in ('lr', 'momentum', 'betas') if key in group]


@pytest.mark.parametrize('kind, momentum', [('SGD', {'momentum': 0.85}), ('Adam', {})])
@pytest.mark.parametrize('name, options', SCHEDULES)
def test_schedules(torch, name, options, kind, momentum):
    made = [(optimizer, getattr(library.optim.lr_scheduler, name)(optimizer, **options)) for library, optimizer in sides(torch, kind, momentum)]
    for step in range(100):
        assert rates(made[0][0]) == pytest.approx(rates(made[1][0]), rel=1e-12, abs=1e-15), step
        assert made[0][1].get_last_lr() == pytest.approx(made[1][1].get_last_lr(), rel=1e-12, abs=1e-15)
        if step == 50:  # what was kept goes on alike
            library_side = sides(torch, kind, momentum)[0][1]
            again = getattr(ours.optim.lr_scheduler, name)(library_side, **options)
            again.load_state_dict(made[0][1].state_dict())
            for group, other in zip(library_side.param_groups, made[0][0].param_groups):
                group.update({key: value for key, value in other.items() if key != 'params'})
            made[0] = library_side, again
        for optimizer, schedule in made:
            optimizer.step()
            schedule.step()


COMBINED = {
    'warm-up, then cosine': lambda s, o: s.SequentialLR(o, [s.LinearLR(o, 0.1, total_iters=5), s.CosineAnnealingLR(o, 40)], [5]),
    'three': lambda s, o: s.SequentialLR(o, [s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9), s.StepLR(o, 3, 0.5)], [2, 20]),
    'functions': lambda s, o: s.SequentialLR(o, [s.LambdaLR(o, lambda e: e + 1), s.PolynomialLR(o, 50)], [10]),
    'restarts': lambda s, o: s.SequentialLR(o, [s.MultiStepLR(o, [2, 4]), s.CosineAnnealingWarmRestarts(o, 7)], [9]),
    'chained': lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9)]),
    'one over the other': lambda s, o: [s.LinearLR(o, 0.25, total_iters=8), s.CosineAnnealingLR(o, 30), s.StepLR(o, 10)],
}


@pytest.mark.parametrize('name', COMBINED)
def test_schedules_together(torch, name):
    made = [(optimizer, COMBINED[name](library.optim.lr_scheduler, optimizer)) for library, optimizer in sides(torch, 'SGD', {})]
    for step in range(60):
        assert rates(made[0][0]) == pytest.approx(rates(made[1][0]), rel=1e-12, abs=1e-15), step
        for optimizer, schedules in made:
            optimizer.step()
            for schedule in schedules if isinstance(schedules, list) else [schedules]:
                schedule.step()


@pytest.mark.parametrize('options', [{}, {'patience': 2, 'cooldown': 2, 'min_lr': [0.01, 0.02]}, {'mode': 'max', 'threshold_mode': 'abs', 'patience': 3},
                                     {'threshold': 0.05, 'patience': 1, 'factor': 0.5}])
def test_plateaus(torch, options):
    made = [(optimizer, library.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **options)) for library, optimizer in sides(torch, 'SGD', {})]
    for step in range(60):
        for _, schedule in made:
            schedule.step(1 + math.cos(step / 7) / (1 + step / 10))
        assert rates(made[0][0]) == pytest.approx(rates(made[1][0]), rel=1e-12), step


@pytest.mark.parametrize('make', [
    lambda s, o: s.ExponentialLR(o, 0.9), lambda s, o: s.LambdaLR(o, lambda epoch: 0.5 ** epoch), lambda s, o: s.OneCycleLR(o, 0.2, total_steps=9),
    lambda s, o: s.CyclicLR(o, 0.01, 0.1, 3), lambda s, o: s.ReduceLROnPlateau(o, patience=0),
    lambda s, o: s.SequentialLR(o, [s.ConstantLR(o, 0.1, 2), s.StepLR(o, 1)], [2])])
def test_a_rate_that_is_a_tensor_changes_in_place(torch, make):
    found = []
    for library in (torch, ours):
        rate = library.tensor(0.125)
        optimizer = library.optim.SGD([library.ones(1, requires_grad=True)], lr=rate, momentum=0.5)
        schedule = make(library.optim.lr_scheduler, optimizer)
        for _ in range(4):
            optimizer.step()
            schedule.step(*[1.0] * (type(schedule).__name__ == 'ReduceLROnPlateau'))
        assert optimizer.param_groups[0]['lr'] is rate
        found.append(rate.item())
    assert found[1] == pytest.approx(found[0], rel=1e-6)


@pytest.mark.parametrize('strategy, epochs', [('cos', 5), ('linear', 7), ('cos', 0)])
def test_averages_of_weights(torch, strategy, epochs):
    for average in (lambda u: {}, lambda u: {'multi_avg_fn': u.get_ema_multi_avg_fn(0.9)}, lambda u: {'avg_fn': u.get_ema_avg_fn(0.8), 'use_buffers': True}):
        found = []
        for library in (ours, torch):
            utils = library.optim.swa_utils
            net = library.nn.Sequential(library.nn.Linear(2, 3), library.nn.BatchNorm1d(3))
            x = library.tensor([[1.0, 2.0], [-3.0, 0.5], [0.0, -1.0]])
            with library.no_grad():
                for i, parameter in enumerate(net.parameters()):
                    parameter.copy_(library.reshape(library.arange(parameter.numel(), dtype=library.float32), tuple(parameter.shape)) / 7 - i)
            optimizer = library.optim.SGD(net.parameters(), lr=0.1)
            mean, schedule = utils.AveragedModel(net, **average(utils)), utils.SWALR(optimizer, 0.02, epochs, strategy)
            for _ in range(12):
                optimizer.zero_grad()
                library.sum(library.tanh(net(x))).backward()
                optimizer.step()
                mean.update_parameters(net)
                schedule.step()
                found.append(optimizer.param_groups[0]['lr'])
            utils.update_bn([x, x * 2], mean)
            mean.eval()
            found += [*library.reshape(mean(x), (-1,)).tolist(), int(mean.n_averaged)]
        assert found[:len(found) // 2] == pytest.approx(found[len(found) // 2:], rel=1e-4, abs=1e-5)


def test_a_custom_optimizer_and_schedule():
    class Signs(ours.optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, dict(lr=lr))

        @ours.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group['params']:
                    if p.grad is not None:
                        self.state[p]['count'] = self.state[p].get('count', 0) + 1
                        p.sub_(ours.sign(p.grad) * group['lr'])

    class Halves(ours.optim.lr_scheduler.LRScheduler):
        def get_lr(self):
            return [base / 2 ** self.last_epoch for base in self.base_lrs]
    w = ours.nn.Parameter(ours.tensor([1.0, -1.0]))
    optimizer = Signs([w], 0.5)
    schedule = Halves(optimizer)
    for _ in range(2):
        optimizer.zero_grad()
        ours.sum(w * w).backward()
        optimizer.step()
        schedule.step()
    assert w.tolist() == [0.25, -0.25] and optimizer.state[w]['count'] == 2 and optimizer.state_dict()['state'] == {0: {'count': 2}}
    assert 'lr: 0.125' in repr(optimizer)


def test_hooks_and_groups():
    w, b = (ours.nn.Parameter(ours.ones(2)) for _ in range(2))
    optimizer = ours.optim.Adam([('w', w)], lr=ours.tensor(0.1))
    optimizer.add_param_group({'params': b, 'lr': 0.5})
    called = []
    handles = [optimizer.register_step_pre_hook(lambda o, args, kwargs: called.append('pre')),
               optimizer.register_step_post_hook(lambda o, args, kwargs: called.append('post')),
               optimizer.register_state_dict_post_hook(lambda o, state: {**state, 'more': 1}),
               optimizer.register_load_state_dict_pre_hook(lambda o, state: called.append('load'))]
    w.grad, b.grad = ours.ones(2), ours.ones(2)
    assert optimizer.step(lambda: 7) == 7 and called == ['pre', 'post'] and optimizer.state_dict()['more'] == 1
    assert [*w.tolist(), *b.tolist()] == pytest.approx([0.9, 0.9, 0.5, 0.5], abs=1e-4)
    optimizer.load_state_dict(optimizer.state_dict())
    for handle in handles:
        handle.remove()
    optimizer.zero_grad(set_to_none=False)
    assert w.grad.tolist() == [0, 0] and called[-1] == 'load' and optimizer.param_groups[0]['param_names'] == ['w']


@pytest.mark.parametrize('name', ['SGD', 'LBFGS'])
def test_hooks_of_every_optimizer(torch, name):
    def run(t):
        every, w, called = importlib.import_module(t.__name__ + '.optim.optimizer'), t.nn.Parameter(t.ones(2)), []

        def told(text):
            return lambda optimizer, args, kwargs: called.append((text, type(optimizer).__name__, len(args), kwargs))
        optimizer = getattr(t.optim, name)([w], lr=0.1)
        handles = [optimizer.register_step_post_hook(told('own post')), optimizer.register_step_pre_hook(told('own pre')),
                   every.register_optimizer_step_post_hook(told('post')), every.register_optimizer_step_pre_hook(told('pre'))]

        def closure():
            optimizer.zero_grad()
            loss = (w * w).sum()
            loss.backward()
            return loss
        for _ in range(2):
            optimizer.step(closure)
            for handle in handles:
                handle.remove()
        return called, w
    assert len(same(torch, run)[0]) == 4


@pytest.mark.parametrize('name, options', [('SGD', {'lr': 0.1, 'weight_decay': 0.1}), ('Adam', {}), ('RMSprop', {}), ('AdamW', {'amsgrad': True})])
def test_a_parameter_that_is_there_twice_is_updated_twice(torch, name, options):
    def run(t):
        w, b = t.nn.Parameter(t.tensor([1.0, -2.0])), t.nn.Parameter(t.ones(1))
        with pytest.warns(UserWarning, match='group with duplicate parameters'):
            optimizer = getattr(t.optim, name)([w, b, w], **options)
        for _ in range(3):
            optimizer.zero_grad()
            ((w ** 2).sum() * b).backward()
            optimizer.step()
        return w, b, [x.shape for x in optimizer.param_groups[0]['params']]
    same(torch, run)


@pytest.mark.parametrize('call, error, text', [
    (lambda o, w: o.SGD(w), TypeError, r'give \[parameter\]'),
    (lambda o, w: o.SGD([]), ValueError, 'no parameters'),
    (lambda o, w: o.SGD([{'params': w}, {'params': w}]), ValueError, 'appear in more than one parameter group'),
    (lambda o, w: o.SGD([w * 2]), ValueError, 'not a leaf'),
    (lambda o, w: o.SGD([3]), TypeError, 'must be Tensors'),
    (lambda o, w: o.SGD([w], lr=-1), ValueError, 'Invalid learning rate: -1'),
    (lambda o, w: o.SGD([w], nesterov=True), ValueError, 'nesterov'),
    (lambda o, w: o.Adam([w], betas=(1, 0)), ValueError, 'Invalid beta parameter at index 0: 1'),
    (lambda o, w: o.Adam([w], differentiable=True), ValueError, 'differentiable'),
    (lambda o, w: o.Rprop([w], etas=(1, 2)), ValueError, 'etas'),
    (lambda o, w: o.Muon([w]), ValueError, 'must be a matrix'),
    (lambda o, w: o.LBFGS([w]).step(), TypeError, 'needs a function'),
    (lambda o, w: o.SGD([w]).load_state_dict({'state': {}, 'param_groups': [{'params': [0, 1]}]}), ValueError, r'groups of \[2\]'),
    (lambda o, w: o.lr_scheduler.StepLR(w, 3), TypeError, 'wants an optimizer'),
    (lambda o, w: o.lr_scheduler.StepLR(o.SGD([w]), 3, last_epoch=4), KeyError, 'initial_lr'),
    (lambda o, w: o.lr_scheduler.SequentialLR(o.SGD([w]), [], []), ValueError, 'one milestone fewer'),
    (lambda o, w: o.lr_scheduler.OneCycleLR(o.SGD([w], momentum=0.9), 0.1), ValueError, 'total_steps'),
    (lambda o, w: o.lr_scheduler.CyclicLR(o.Adagrad([w]), 0.1, 0.2), ValueError, 'cycle_momentum=False'),
])
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call(ours.optim, ours.nn.Parameter(ours.ones(2)))


@pytest.mark.parametrize('options', [{}, {'lr': 0.1, 'betas': (0.8, 0.9)}, {'maximize': True}])
def test_sparse_adam_leaves_rows_alone(torch, options):
    def train(t):
        table = t.nn.Embedding(6, 3, sparse=True)
        with t.no_grad():
            table.weight.copy_(t.arange(18.0).reshape(6, 3).sin())
        optimizer, found = t.optim.SparseAdam(table.parameters(), **options), []
        for rows in ([1, 1, 3], [3, 5], [0]):
            optimizer.zero_grad()
            (table(t.tensor(rows)) ** 2).sum().backward()
            optimizer.step()
            found.append(table.weight.detach().clone())
        state = optimizer.state[table.weight]
        return found, state['exp_avg'], state['exp_avg_sq'], int(state['step'])
    same(torch, train)


def test_sparse_adam_refuses():
    for bad in ({'lr': 0}, {'eps': 0}, {'betas': (1, 0)}):
        with pytest.raises(ValueError, match='SparseAdam'):
            ours.optim.SparseAdam([ours.zeros(2, 2, requires_grad=True)], **bad)
    with pytest.raises(ValueError, match='complex'):
        ours.optim.SparseAdam([ours.zeros(2, dtype=ours.complex64, requires_grad=True)])


@pytest.mark.parametrize('line_search', [None, 'strong_wolfe'])
def test_lbfgs_ascends(torch, line_search):
    def climb(t):
        x = t.tensor([1.5, -0.5], dtype=t.float64, requires_grad=True)
        optimizer = t.optim.LBFGS([x], lr=0.5, max_iter=6, line_search_fn=line_search, maximize=True)

        def closure():
            optimizer.zero_grad()
            height = -((x - t.tensor([0.25, 2.0])) ** 4).sum()
            height.backward()
            return height
        return optimizer.step(closure), x
    same(torch, climb)


@pytest.mark.parametrize('name', ['SGD', 'Adam', 'AdamW', 'Adamax', 'NAdam', 'RAdam', 'RMSprop', 'Adagrad', 'Adadelta', 'ASGD', 'Rprop', 'Adafactor',
                                  'LBFGS', 'SparseAdam'])
def test_options_print_alike(torch, name):
    same(torch, lambda t: repr(getattr(t.optim, name)([t.nn.Parameter(t.ones(2, 2))])))


@pytest.mark.parametrize('call', [
    lambda o, w: o.SGD([], lr=1), lambda o, w: o.SGD([w], lr=-1), lambda o, w: o.Adam([w], lr=-1.5), lambda o, w: o.SGD([w], momentum=-1),
    lambda o, w: o.SGD([w], weight_decay=-1), lambda o, w: o.Adam([w], betas=(1.0, 0.9)), lambda o, w: o.Adam([w], eps=-1),
    lambda o, w: o.Adam([{'params': w}, {'params': w}]), lambda o, w: o.SGD([w]).load_state_dict({'state': {}, 'param_groups': [{'params': [0, 1]}]}),
    lambda o, w: o.SGD([w]).load_state_dict({'state': {}, 'param_groups': [{'params': [0]}, {'params': [1]}]})])
def test_errors_contain_pytorchs_words(torch, call):
    texts = []
    for t in torch, ours:
        with pytest.raises(ValueError) as caught:
            call(t.optim, t.nn.Parameter(t.ones(1)))
        texts.append(str(caught.value))
    assert texts[0] in texts[1]


@pytest.mark.parametrize('steps, share', [(1, 1.0), (2, 0.5), (3, 1 / 3)])
def test_a_phase_of_one_step_is_at_its_end(steps, share):
    """PyTorch divides by zero there."""
    optimizer = ours.optim.SGD([ours.nn.Parameter(ours.ones(1))], lr=0.1, momentum=0.9)
    schedule = ours.optim.lr_scheduler.OneCycleLR(optimizer, 2.0, total_steps=steps, pct_start=share)
    assert schedule.get_last_lr() == [2.0] and optimizer.param_groups[0]['momentum'] == 0.85


@pytest.mark.parametrize('search', [None, 'strong_wolfe'])
@pytest.mark.parametrize('lr, iterations', [(0.01, 3), (0.01, 5), (1, 4)])
def test_lbfgs_counts_evaluations(torch, search, lr, iterations):
    def losses(each):
        x, y, unused = (each.tensor(values, dtype=each.float64, requires_grad=True) for values in ([1.0, -2.0], [0.5, 3.0], [1.0]))
        optimizer, seen = each.optim.LBFGS([x, y, unused], lr, max_iter=iterations, line_search_fn=search), []

        def closure():
            optimizer.zero_grad()
            loss = (x * x).sum() + 2 * (y * y).sum() + x.sin().sum() * y.sum()
            loss.backward()
            seen.append(loss.item())
            return loss
        for _ in range(3):
            optimizer.step(closure)
        return seen
    assert losses(ours) == pytest.approx(losses(torch), rel=1e-6)


def test_lbfgs_goes_on_after_a_slope_that_is_too_flat(torch):
    def run(each):
        x = each.tensor([1.0], requires_grad=True)
        optimizer, scale = each.optim.LBFGS([x]), 1e-6

        def closure():
            optimizer.zero_grad()
            loss = (x * x * scale).sum()
            loss.backward()
            return loss
        optimizer.step(closure)
        flat, scale = x.item(), 1.0
        optimizer.step(closure)
        return [flat, x.item()]
    assert run(ours) == pytest.approx(run(torch), rel=1e-6, abs=1e-6)
