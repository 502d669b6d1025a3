"""torch.optim.lr_scheduler: rates that change with the steps of training.

As in PyTorch, most schedules compute the next rate from the current one, so that several may act on one optimizer. If a schedule has
_closed(), it computes a rate from the number of steps alone, for step(epoch) and SequentialLR.
"""
import math
import types
import warnings
from bisect import bisect_left, bisect_right
from collections import Counter

from ... import _steps
from ... import optim as _optim
from ..._core import Tensor
from .optimizer import Optimizer

__all__ = ['ChainedScheduler', 'ConstantLR', 'CosineAnnealingLR', 'CosineAnnealingWarmRestarts', 'CyclicLR', 'ExponentialLR', 'LRScheduler',
           'LambdaLR', 'LinearLR', 'MultiStepLR', 'MultiplicativeLR', 'OneCycleLR', 'PolynomialLR', 'ReduceLROnPlateau', 'SequentialLR',
           'StepLR']


def _check_optimizer(scheduler, optimizer):
    if not isinstance(optimizer, (Optimizer, _optim.Optimizer)):
        raise TypeError(f'[{type(scheduler).__name__}] wants an optimizer, not {type(optimizer).__name__}')
    return optimizer


def _put_rate(group, rate):
    """Sets the rate of a group. A Tensor stays the same object, which the program may hold."""
    if isinstance(group['lr'], Tensor):
        group['lr'].fill_(float(rate))
    else:
        group['lr'] = rate


def _rates(optimizer):
    """The present rates of the groups; of a Tensor a copy, since it goes on changing."""
    return [group['lr'].clone() if isinstance(group['lr'], Tensor) else group['lr'] for group in optimizer.param_groups]


class LRScheduler:
    """Sets the rates of an optimizer's groups. A subclass defines get_lr(), the rates for `last_epoch`, which may read group['lr']."""

    _closed = None

    def __init__(self, optimizer, last_epoch=-1):
        self.optimizer = _check_optimizer(self, optimizer)
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault('initial_lr', float(group['lr']))
            elif 'initial_lr' not in group:
                raise KeyError(f"[{type(self).__name__}] last_epoch={last_epoch} goes on with a schedule, but group {i} has no 'initial_lr'")
        self.base_lrs = [float(group['initial_lr']) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self):
        self._step_count = 0
        self._is_initial = self._get_lr_called_within_step = False  # parts of PyTorch's state
        self.step()

    def get_lr(self):
        """The rates of all groups for `last_epoch`."""
        raise NotImplementedError(f'[{type(self).__name__}] has no schedule: define get_lr()')

    def get_last_lr(self):
        """The rates that the last step set."""
        return self._last_lr

    def step(self, epoch=None):
        """Advances by one step, or to a given step."""
        _steps.before_schedule(self)
        if self._step_count == 1:
            self._warn_of_order()
        self._step_count += 1
        if epoch is None:
            self.last_epoch += 1
            rates = self.get_lr()
        else:
            self.last_epoch = epoch
            rates = self.get_lr() if self._closed is None else [self._closed(base) for base in self.base_lrs]
        self._set(rates)

    def _warn_of_order(self):
        # An optimizer of the program's own that replaces step() does not tell.
        if not getattr(self.optimizer, '_opt_called', True) and type(self.optimizer).__module__.startswith('tenon.'):
            warnings.warn(f'[{type(self).__name__}] Detected call of `lr_scheduler.step()` before `optimizer.step()`: call them in the opposite order, or '
                          'the first rate of the schedule is skipped', UserWarning, stacklevel=3)

    def _set(self, rates):
        for group, rate in zip(self.optimizer.param_groups, rates):
            _put_rate(group, rate)
        self._last_lr = _rates(self.optimizer)

    def _times(self, factor):
        return [group['lr'] * factor for group in self.optimizer.param_groups]

    def state_dict(self):
        """Everything that the schedule keeps, except the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != 'optimizer'}

    def load_state_dict(self, state_dict):
        """Continues where state_dict() was taken."""
        self.__dict__.update(state_dict)


class _LRScheduler(LRScheduler):
    """The older base of schedules."""


class _OfFunctions(LRScheduler):
    """A function of the epoch for each group, or one for all."""

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        groups = len(_check_optimizer(self, optimizer).param_groups)
        lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * groups
        if len(lambdas) != groups:
            raise ValueError(f'[{type(self).__name__}] {len(lambdas)} functions for {groups} groups')
        self.lr_lambdas = lambdas
        super().__init__(optimizer, last_epoch)

    def state_dict(self):
        """As for all schedules; of functions only the attributes of objects are kept."""
        plain = {key: value for key, value in super().state_dict().items() if key != 'lr_lambdas'}
        return {**plain, 'lr_lambdas': [None if isinstance(each, types.FunctionType) else dict(each.__dict__) for each in self.lr_lambdas]}

    def load_state_dict(self, state_dict):
        kept = state_dict['lr_lambdas']
        super().load_state_dict({key: value for key, value in state_dict.items() if key != 'lr_lambdas'})
        for function, state in zip(self.lr_lambdas, kept):
            if state is not None:
                function.__dict__.update(state)


class LambdaLR(_OfFunctions):
    """The first rate times a function of the epoch."""

    def get_lr(self):
        return [base * function(self.last_epoch) for base, function in zip(self.base_lrs, self.lr_lambdas)]


class MultiplicativeLR(_OfFunctions):
    """The rate times a function of the epoch, at each step."""

    def get_lr(self):
        if self.last_epoch <= 0:
            return self._times(1)
        return [group['lr'] * function(self.last_epoch) for group, function in zip(self.optimizer.param_groups, self.lr_lambdas)]


class StepLR(LRScheduler):
    """Times gamma every step_size steps."""

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return self._times(self.gamma if self.last_epoch and self.last_epoch % self.step_size == 0 else 1)

    def _closed(self, base):
        return base * self.gamma ** (self.last_epoch // self.step_size)


class MultiStepLR(LRScheduler):
    """Times gamma at each milestone."""

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1):
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return self._times(self.gamma ** self.milestones.get(self.last_epoch, 0))

    def _closed(self, base):
        return base * self.gamma ** bisect_right(sorted(self.milestones.elements()), self.last_epoch)


class ConstantLR(LRScheduler):
    """Times factor for the first total_iters steps."""

    def __init__(self, optimizer, factor=1 / 3, total_iters=5, last_epoch=-1):
        if not 0 <= factor <= 1:
            raise ValueError(f'[ConstantLR] factor is {factor}, must be from 0 to 1')
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return self._times(self.factor if self.last_epoch == 0 else 1 / self.factor if self.last_epoch == self.total_iters else 1)

    def _closed(self, base):
        return base * (1 if self.last_epoch >= self.total_iters else self.factor)


class LinearLR(LRScheduler):
    """From start_factor times the rate to end_factor times it in total_iters steps: a warm-up."""

    def __init__(self, optimizer, start_factor=1 / 3, end_factor=1.0, total_iters=5, last_epoch=-1):
        if not 0 < start_factor <= 1:
            raise ValueError(f'[LinearLR] start_factor is {start_factor}, must be above 0 and at most 1')
        if not 0 <= end_factor <= 1:
            raise ValueError(f'[LinearLR] end_factor is {end_factor}, must be from 0 to 1')
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch):
        return self.start_factor + (self.end_factor - self.start_factor) * min(self.total_iters, epoch) / self.total_iters

    def get_lr(self):
        epoch = self.last_epoch
        return self._times(self.start_factor if not epoch else 1 if epoch > self.total_iters else self._factor(epoch) / self._factor(epoch - 1))

    def _closed(self, base):
        return base * self._factor(self.last_epoch)


class ExponentialLR(LRScheduler):
    """Times gamma every step."""

    def __init__(self, optimizer, gamma, last_epoch=-1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return self._times(self.gamma if self.last_epoch else 1)

    def _closed(self, base):
        return base * self.gamma ** self.last_epoch


class PolynomialLR(LRScheduler):
    """Falls to 0 in total_iters steps, by a power of the remaining share."""

    def __init__(self, optimizer, total_iters=5, power=1.0, last_epoch=-1):
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        epoch, whole = self.last_epoch, self.total_iters
        return self._times(1 if not 0 < epoch <= whole else ((1 - epoch / whole) / (1 - (epoch - 1) / whole)) ** self.power)

    def _closed(self, base):
        return base * (1 - min(self.total_iters, self.last_epoch) / self.total_iters) ** self.power


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the first rate to eta_min in T_max steps, and back (Loshchilov & Hutter 2017, eq. 5)."""

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        epoch, groups = self.last_epoch, self.optimizer.param_groups
        if epoch == 0:
            return self._times(1)
        if self._step_count == 1:
            return [self._closed(base) for base in self.base_lrs]
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # the previous step was at eta_min
            return [group['lr'] + (base - self.eta_min) * (1 - math.cos(math.pi / self.T_max)) / 2 for base, group in zip(self.base_lrs, groups)]
        before, now = (1 + math.cos(math.pi * at / self.T_max) for at in (epoch - 1, epoch))
        return [now / before * (group['lr'] - self.eta_min) + self.eta_min for group in groups]

    def _closed(self, base):
        return self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine to eta_min, restarted after T_0 steps and then each time after T_mult times as many (Loshchilov & Hutter 2017)."""

    def __init__(self, optimizer, T_0, T_mult=1, eta_min=0.0, last_epoch=-1):
        for name, value in (('T_0', T_0), ('T_mult', T_mult)):
            if not isinstance(value, int) or value < 1:
                raise ValueError(f'[CosineAnnealingWarmRestarts] {name} is {value!r}, must be an int of at least 1')
        if not isinstance(eta_min, (int, float)):
            raise ValueError(f'[CosineAnnealingWarmRestarts] eta_min must be a number, not {type(eta_min).__name__}')
        self.T_0, self.T_i, self.T_mult, self.eta_min, self.T_cur = T_0, T_0, T_mult, eta_min, last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return [self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2 for base in self.base_lrs]

    def step(self, epoch=None):
        """Advances by one step, or to an epoch, which may be fractional: step(epoch + batch / batches)."""
        _steps.before_schedule(self)
        self._step_count += 1
        if epoch is None and self.last_epoch >= 0:
            self.last_epoch += 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur, self.T_i = self.T_cur - self.T_i, self.T_i * self.T_mult
        else:
            epoch = 0 if epoch is None else epoch
            if epoch < 0:
                raise ValueError(f'[CosineAnnealingWarmRestarts] epoch is {epoch}, must be at least 0')
            n = 0 if epoch < self.T_0 or self.T_mult == 1 else int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_i = self.T_0 * self.T_mult ** n
            begun = self.T_0 * n if self.T_mult == 1 else self.T_0 * (self.T_mult ** n - 1) // (self.T_mult - 1)
            self.T_cur = epoch % self.T_0 if self.T_mult == 1 else epoch - begun
            self.last_epoch = math.floor(epoch)
        self._set(self.get_lr())


class SequentialLR(LRScheduler):
    """One schedule after another; each begins anew at its milestone."""

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1):
        if not schedulers or len(milestones) != len(schedulers) - 1:
            raise ValueError(f'[SequentialLR] {len(schedulers)} schedules need one milestone fewer, not {len(milestones)}')
        _check_same('SequentialLR', optimizer, schedulers)
        self.optimizer, self._schedulers, self._milestones = _check_optimizer(self, optimizer), list(schedulers), list(milestones)
        self.last_epoch = last_epoch + 1
        # Creating them has moved the rates, so this puts them back.
        for group in optimizer.param_groups:
            _put_rate(group, group['initial_lr'])
        for scheduler in schedulers:
            scheduler.last_epoch -= 1
        schedulers[0]._initial_step()
        self._last_lr = schedulers[0].get_last_lr()

    def step(self, epoch=None):
        """Advances by one step."""
        _steps.before_schedule(self)
        if epoch is not None:
            raise TypeError('[SequentialLR] step() takes no epoch')
        self.last_epoch += 1
        at = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[at]
        if at and self._milestones[at - 1] == self.last_epoch:
            scheduler.step(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()

    def state_dict(self):
        return _state_of_many(self)

    def load_state_dict(self, state_dict):
        _load_many(self, state_dict)


class ChainedScheduler(LRScheduler):
    """Several schedules that all advance at each step."""

    def __init__(self, schedulers, optimizer=None):
        if not schedulers:
            raise ValueError('[ChainedScheduler] needs at least one schedule')
        optimizer = optimizer or schedulers[0].optimizer
        _check_same('ChainedScheduler', optimizer, schedulers)
        self.optimizer, self._schedulers = optimizer, list(schedulers)
        self._last_lr = _rates(optimizer)

    def step(self, epoch=None):
        """Advances by one step."""
        _steps.before_schedule(self)
        if epoch is not None:
            raise TypeError('[ChainedScheduler] step() takes no epoch')
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = _rates(self.optimizer)

    def state_dict(self):
        return _state_of_many(self)

    def load_state_dict(self, state_dict):
        _load_many(self, state_dict)


def _check_same(name, optimizer, schedulers):
    for i, scheduler in enumerate(schedulers):
        if not hasattr(scheduler, 'optimizer'):
            raise TypeError(f'[{name}] schedule {i} is {type(scheduler).__name__}, which has no optimizer')
        if isinstance(scheduler, ReduceLROnPlateau):
            raise ValueError(f'[{name}] schedule {i} is ReduceLROnPlateau, whose steps take a metric')
        if scheduler.optimizer is not optimizer:
            raise ValueError(f'[{name}] schedule {i} belongs to another optimizer')


def _state_of_many(scheduler):
    plain = {key: value for key, value in scheduler.__dict__.items() if key not in ('optimizer', '_schedulers')}
    return {**plain, '_schedulers': [each.state_dict() for each in scheduler._schedulers]}


def _load_many(scheduler, state_dict):
    scheduler.__dict__.update({key: value for key, value in state_dict.items() if key != '_schedulers'})
    for each, state in zip(scheduler._schedulers, state_dict['_schedulers']):
        each.load_state_dict(state)


class ReduceLROnPlateau(LRScheduler):
    """Multiplies by factor when step(metric) has seen no improvement for more than `patience` steps."""

    def __init__(self, optimizer, mode='min', factor=0.1, patience=10, threshold=1e-4, threshold_mode='rel', cooldown=0, min_lr=0, eps=1e-8):
        if factor >= 1:
            raise ValueError(f'[ReduceLROnPlateau] factor is {factor}, must be below 1')
        if mode not in ('min', 'max') or threshold_mode not in ('rel', 'abs'):
            raise ValueError(f"[ReduceLROnPlateau] mode {mode!r} must be 'min' or 'max', threshold_mode {threshold_mode!r} 'rel' or 'abs'")
        self.optimizer = _check_optimizer(self, optimizer)
        groups = len(optimizer.param_groups)
        if isinstance(min_lr, (list, tuple)) and len(min_lr) != groups:
            raise ValueError(f'[ReduceLROnPlateau] {len(min_lr)} rates in min_lr for {groups} groups')
        # In the order of PyTorch's state_dict().
        self.factor, self.default_min_lr = factor, None if isinstance(min_lr, (list, tuple)) else min_lr
        self.min_lrs = list(min_lr) if isinstance(min_lr, (list, tuple)) else [min_lr] * groups
        self.patience, self.cooldown, self.eps, self.last_epoch = patience, cooldown, eps, 0
        self._last_lr = _rates(optimizer)
        self.mode_worse, self.mode = math.inf if mode == 'min' else -math.inf, mode
        self.threshold, self.threshold_mode = threshold, threshold_mode
        self.best, self.cooldown_counter, self.num_bad_epochs = self.mode_worse, 0, 0

    @property
    def in_cooldown(self):
        """Whether bad epochs are still ignored."""
        return self.cooldown_counter > 0

    def is_better(self, value, best):
        """Whether value beats best by the threshold."""
        sign = -1 if self.mode == 'min' else 1
        bound = best * (1 + sign * self.threshold) if self.threshold_mode == 'rel' else best + sign * self.threshold
        return value < bound if self.mode == 'min' else value > bound

    def step(self, metrics, epoch=None):  # pyright: ignore[reportIncompatibleMethodOverride]
        """Advances by one step, for which the metric has a value."""
        _steps.before_schedule(self)
        value = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.is_better(value, self.best):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown_counter - 1, 0
        if self.num_bad_epochs > self.patience:
            for group, least in zip(self.optimizer.param_groups, self.min_lrs):
                rate = max(float(group['lr']) * self.factor, least)
                if float(group['lr']) - rate > self.eps:
                    _put_rate(group, rate)
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = _rates(self.optimizer)


def _key_of_momentum(name, optimizer):
    """The option of the groups that is the momentum."""
    key = next((key for key in ('betas', 'momentum') if key in optimizer.defaults), None)
    if key is None:
        raise ValueError(f'[{name}] cycle_momentum=True needs an optimizer with momentum or betas: give cycle_momentum=False')
    return key


def _momentum_of(group, key):
    return group['betas'][0] if key == 'betas' else group['momentum']


def _set_momentum(group, key, value):
    group[key] = (value, *group['betas'][1:]) if key == 'betas' else value


def _of_groups(name, what, value, groups):
    values = list(value) if isinstance(value, (list, tuple)) else [value] * groups
    if len(values) != groups:
        raise ValueError(f'[{name}] {len(values)} values of {what} for {groups} groups')
    return values


_SCALES = {'triangular': ('cycle', lambda self, x: 1.0), 'triangular2': ('cycle', lambda self, x: 1 / 2.0 ** (x - 1)),
           'exp_range': ('iterations', lambda self, x: self.gamma ** x)}


class CyclicLR(LRScheduler):
    """Up and down between base_lr and max_lr (Smith 2017), with momentum the other way; mode says how the height of the cycles
    falls."""

    def __init__(self, optimizer, base_lr, max_lr, step_size_up=2000, step_size_down=None, mode='triangular', gamma=1.0, scale_fn=None,
                 scale_mode='cycle', cycle_momentum=True, base_momentum=0.8, max_momentum=0.9, last_epoch=-1):
        groups = _check_optimizer(self, optimizer).param_groups
        if mode not in _SCALES and scale_fn is None:
            raise ValueError(f"[CyclicLR] mode must be one of {', '.join(_SCALES)}, or scale_fn be given, not {mode!r}")
        self.max_lrs = _of_groups('CyclicLR', 'max_lr', max_lr, len(groups))
        for group, rate in zip(groups, _of_groups('CyclicLR', 'base_lr', base_lr, len(groups))):
            if last_epoch == -1:
                _put_rate(group, rate)
        self.total_size = float(step_size_up + (step_size_up if step_size_down is None else step_size_down))
        self.step_ratio = step_size_up / self.total_size
        self.mode, self.gamma, self._scale_fn_custom, self.cycle_momentum = mode, gamma, scale_fn, cycle_momentum
        self.scale_mode = scale_mode if scale_fn is not None else _SCALES[mode][0]
        if cycle_momentum:
            self._key = _key_of_momentum('CyclicLR', optimizer)
            self.use_beta1 = 'betas' in optimizer.defaults
            self.base_momentums = _of_groups('CyclicLR', 'base_momentum', base_momentum, len(groups))
            self.max_momentums = _of_groups('CyclicLR', 'max_momentum', max_momentum, len(groups))
            for group, low, high in zip(groups, self.base_momentums, self.max_momentums):
                if last_epoch == -1:
                    _set_momentum(group, self._key, high)
                group['base_momentum'], group['max_momentum'] = low, high
        if last_epoch == -1:
            for group in groups:
                group['initial_lr'] = group['lr']
        super().__init__(optimizer, last_epoch)

    def _scaled(self, cycle):
        x = cycle if self.scale_mode == 'cycle' else self.last_epoch
        return self._scale_fn_custom(x) if self._scale_fn_custom is not None else _SCALES[self.mode][1](self, x)

    def get_lr(self):
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1 + self.last_epoch / self.total_size - cycle
        height = (x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)) * self._scaled(cycle)
        if self.cycle_momentum:
            for group, low, high in zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums):
                _set_momentum(group, self._key, high - (high - low) * height)
        return [base + (high - base) * height for base, high in zip(self.base_lrs, self.max_lrs)]

    def state_dict(self):
        """As for all schedules; of scale_fn only the attributes of an object are kept."""
        found = super().state_dict()
        if isinstance(self._scale_fn_custom, types.FunctionType):
            found['_scale_fn_custom'] = None
        elif self._scale_fn_custom is not None:
            found['_scale_fn_custom'] = dict(self._scale_fn_custom.__dict__)
        return found

    def load_state_dict(self, state_dict):
        kept = state_dict.get('_scale_fn_custom')
        super().load_state_dict({key: value for key, value in state_dict.items() if key != '_scale_fn_custom'})
        if kept is not None:
            self._scale_fn_custom.__dict__.update(kept)


_RATES, _MOMENTA = ('initial_lr', 'max_lr', 'min_lr'), ('max_momentum', 'base_momentum')


class OneCycleLR(LRScheduler):
    """Once up to max_lr and down to almost nothing, with momentum the other way (Smith & Topin 2019)."""

    def __init__(self, optimizer, max_lr, total_steps=None, epochs=None, steps_per_epoch=None, pct_start=0.3, anneal_strategy='cos',
                 cycle_momentum=True, base_momentum=0.85, max_momentum=0.95, div_factor=25.0, final_div_factor=1e4, three_phase=False,
                 last_epoch=-1):
        groups = _check_optimizer(self, optimizer).param_groups
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ValueError('[OneCycleLR] give total_steps, or epochs and steps_per_epoch')
            total_steps = epochs * steps_per_epoch
        if not isinstance(total_steps, int) or total_steps <= 0:
            raise ValueError(f'[OneCycleLR] the number of steps is {total_steps!r}, must be an int above 0')
        if not 0 <= pct_start <= 1:
            raise ValueError(f'[OneCycleLR] pct_start is {pct_start}, must be from 0 to 1')
        if anneal_strategy not in ('cos', 'linear'):
            raise ValueError(f"[OneCycleLR] anneal_strategy must be 'cos' or 'linear', not {anneal_strategy!r}")
        self.total_steps, self._anneal_func_type, self.cycle_momentum = total_steps, anneal_strategy, cycle_momentum
        up = pct_start * total_steps - 1
        # For each phase its end, and the indices of _RATES and _MOMENTA from which and to which it goes.
        self._phases = [(up, 0, 1, 0, 1), (total_steps - 1, 1, 2, 1, 0)]
        if three_phase:
            self._phases = [(up, 0, 1, 0, 1), (2 * up, 1, 0, 1, 0), (total_steps - 1, 0, 2, 0, 0)]
        if last_epoch == -1:
            for group, rate in zip(groups, _of_groups('OneCycleLR', 'max_lr', max_lr, len(groups))):
                group['max_lr'], group['initial_lr'] = rate, rate / div_factor
                group['min_lr'] = group['initial_lr'] / final_div_factor
        if cycle_momentum:
            self._key = _key_of_momentum('OneCycleLR', optimizer)
            self.use_beta1 = 'betas' in optimizer.defaults
            lows = _of_groups('OneCycleLR', 'base_momentum', base_momentum, len(groups))
            highs = _of_groups('OneCycleLR', 'max_momentum', max_momentum, len(groups))
            if last_epoch == -1:
                for group, low, high in zip(groups, lows, highs):
                    _set_momentum(group, self._key, high)
                    group['max_momentum'], group['base_momentum'] = high, low
        super().__init__(optimizer, last_epoch)

    def _between(self, start, end, share):
        if self._anneal_func_type == 'linear':
            return start + (end - start) * share
        return end + (start - end) / 2 * (1 + math.cos(math.pi * share))

    def get_lr(self):
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f'[OneCycleLR] step {step} of a schedule of {self.total_steps} steps')
        ends = [phase[0] for phase in self._phases]
        at = min(bisect_left(ends, step), len(ends) - 1)
        end, rate_from, rate_to, momentum_from, momentum_to = self._phases[at]
        begin = ends[at - 1] if at else 0.0
        share = (step - begin) / (end - begin) if end != begin else 1.0  # a phase of one step is at its end
        found = []
        for group in self.optimizer.param_groups:
            found.append(self._between(group[_RATES[rate_from]], group[_RATES[rate_to]], share))
            if self.cycle_momentum:
                _set_momentum(group, self._key, self._between(group[_MOMENTA[momentum_from]], group[_MOMENTA[momentum_to]], share))
        return found
