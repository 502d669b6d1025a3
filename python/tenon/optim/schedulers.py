"""Schedules of the learning rate. Call step() after each epoch or batch, whichever the schedule counts."""
import bisect
import math

from .. import _steps
from ..nn._check import check_between, check_one_of, check_part, check_positive, check_size
from .optimizer import Optimizer


def _check_optimizer(where, optimizer):
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f'[{where}] wants an optimizer, not {type(optimizer).__name__}')
    return optimizer


def _check_state(where, state, keys):
    for key in keys:
        if key not in state:
            raise ValueError(f'[{where}] the state has no "{key}"')


class LRScheduler:
    """Sets the rate of every group as a function of the number of steps and of the rate before any schedule."""

    _starts_changed = False

    def __init__(self, optimizer):
        self.optimizer = _check_optimizer(type(self).__name__, optimizer)
        # The first schedule keeps the rate that it found for later ones.
        self.base_lrs = [group.setdefault('initial_lr', group['lr']) for group in optimizer.param_groups]
        self.last_epoch = 0
        if self._starts_changed:
            self._set(0)

    def _rate(self, base, epoch):
        raise NotImplementedError(f'[{type(self).__name__}] has no schedule: define _rate(base, epoch)')

    def _set(self, epoch):
        self.last_epoch = epoch
        for group, base in zip(self.optimizer.param_groups, self.base_lrs):
            group['lr'] = self._rate(base, epoch)

    def step(self):
        """Advances by one step."""
        _steps.before_schedule(self)
        self._set(self.last_epoch + 1)

    def get_last_lr(self):
        """The rates of all groups."""
        return [group['lr'] for group in self.optimizer.param_groups]

    def state_dict(self):
        """Numbers by name, the same as in C++."""
        return {'last_epoch': float(self.last_epoch), **{f'base_lrs.{g}': base for g, base in enumerate(self.base_lrs)}}

    def load_state_dict(self, state_dict):
        """Continues where state_dict() was taken."""
        bases = [f'base_lrs.{g}' for g in range(len(self.base_lrs))]
        _check_state(type(self).__name__, state_dict, [*bases, 'last_epoch'])
        self.base_lrs = [float(state_dict[key]) for key in bases]
        self._set(int(state_dict['last_epoch']))


class StepLR(LRScheduler):
    """Multiplies the rate by gamma every `step_size` steps.

    >>> optimizer = tenon.optim.SGD([tenon.nn.Parameter(tenon.zeros(1))], lr=1.0)
    >>> schedule = tenon.optim.StepLR(optimizer, 2, gamma=0.5)
    >>> for _ in range(3): schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer, step_size, gamma=0.1):
        self.step_size, self.gamma = check_size('StepLR', 'step_size', step_size, 1), gamma
        super().__init__(optimizer)

    def _rate(self, base, epoch):
        return base * self.gamma ** (epoch // self.step_size)


class MultiStepLR(LRScheduler):
    """Times gamma at each milestone."""

    def __init__(self, optimizer, milestones, gamma=0.1):
        self.milestones, self.gamma = sorted(milestones), gamma
        super().__init__(optimizer)

    def _rate(self, base, epoch):
        return base * self.gamma ** sum(m <= epoch for m in self.milestones)


class ExponentialLR(LRScheduler):
    """Times gamma every step."""

    def __init__(self, optimizer, gamma):
        self.gamma = gamma
        super().__init__(optimizer)

    def _rate(self, base, epoch):
        return base * self.gamma ** epoch


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the first rate to `eta_min` over `T_max` steps, and back."""

    def __init__(self, optimizer, T_max, eta_min=0.0):
        self.T_max, self.eta_min = check_size('CosineAnnealingLR', 'T_max', T_max, 1), eta_min
        super().__init__(optimizer)

    def _rate(self, base, epoch):
        return self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * epoch / self.T_max)) / 2


class LinearLR(LRScheduler):
    """From `start_factor` times the rate to `end_factor` times it in `total_iters` steps: a warm-up."""

    _starts_changed = True

    def __init__(self, optimizer, start_factor=1 / 3, end_factor=1.0, total_iters=5):
        self.end_factor = check_part('LinearLR', 'end_factor', end_factor)
        self.total_iters = check_size('LinearLR', 'total_iters', total_iters, 1)
        if not 0 < start_factor <= 1:
            raise ValueError(f'[LinearLR] start_factor is {start_factor}, must be above 0 and at most 1')
        self.start_factor = start_factor
        super().__init__(optimizer)

    def _rate(self, base, epoch):
        done = min(epoch, self.total_iters) / self.total_iters
        return base * (self.start_factor + (self.end_factor - self.start_factor) * done)


class LambdaLR(LRScheduler):
    """Times lr_lambda(steps)."""

    _starts_changed = True

    def __init__(self, optimizer, lr_lambda):
        if not callable(lr_lambda):
            raise TypeError(f'[LambdaLR] lr_lambda must be callable, not {type(lr_lambda).__name__}')
        self.lr_lambda = lr_lambda
        super().__init__(optimizer)

    def _rate(self, base, epoch):
        return base * self.lr_lambda(epoch)


class OneCycleLR(LRScheduler):
    """Rises to `max_lr` and falls far below its first value, both along cosines (Smith & Topin 2018).

    `pct_start` is the share of the steps in which the rate rises; it begins at max_lr / div_factor and ends at that / final_div_factor.
    """

    _starts_changed = True

    def __init__(self, optimizer, max_lr, total_steps, pct_start=0.3, div_factor=25.0, final_div_factor=1e4):
        self.max_lr, self.total_steps = max_lr, check_size('OneCycleLR', 'total_steps', total_steps, 2)
        self.pct_start = check_between('OneCycleLR', 'pct_start', pct_start)
        self.div_factor = check_positive('OneCycleLR', 'div_factor', div_factor)
        self.final_div_factor = check_positive('OneCycleLR', 'final_div_factor', final_div_factor)
        super().__init__(optimizer)

    @staticmethod
    def _between(start, end, part):
        return end + (start - end) * (1 + math.cos(math.pi * part)) / 2

    def _rate(self, base, epoch):
        first = self.max_lr / self.div_factor
        total = self.total_steps - 1
        top = max(self.pct_start * self.total_steps - 1, 1e-9)
        at = min(epoch, total)
        if at <= top:
            return self._between(first, self.max_lr, at / top)
        return self._between(self.max_lr, first / self.final_div_factor, (at - top) / (total - top))


class SequentialLR(LRScheduler):
    """One schedule after another, each from its beginning: schedule i + 1 takes over at milestones[i].

    >>> optimizer = tenon.optim.SGD([tenon.nn.Parameter(tenon.zeros(1))], lr=1.0)
    >>> warm_up = tenon.optim.LinearLR(optimizer, start_factor=0.5, total_iters=2)
    >>> cosine = tenon.optim.CosineAnnealingLR(optimizer, T_max=2)
    >>> schedule, rates = tenon.optim.SequentialLR(optimizer, [warm_up, cosine], milestones=[2]), []
    >>> for _ in range(5):
    ...     rates.append(round(schedule.get_last_lr()[0], 2))
    ...     schedule.step()
    >>> rates
    [0.5, 0.75, 1.0, 0.5, 0.0]
    """

    _starts_changed = True

    def __init__(self, optimizer, schedulers, milestones):
        self.schedulers, self.milestones = list(schedulers), tuple(milestones)
        for scheduler in self.schedulers:
            if not isinstance(scheduler, LRScheduler):
                raise TypeError(f'[SequentialLR] wants schedulers, not {type(scheduler).__name__}')
        if len(self.milestones) + 1 != len(self.schedulers):
            raise ValueError(f'[SequentialLR] schedulers are {len(self.schedulers)} and milestones {len(self.milestones)}: '
                             'give one milestone less than schedulers')
        if any(later <= earlier for earlier, later in zip((0, *self.milestones), self.milestones)):
            raise ValueError(f'[SequentialLR] milestones is {self.milestones}, must rise from above 0')
        if any(scheduler.optimizer is not optimizer for scheduler in self.schedulers):
            raise ValueError('[SequentialLR] a scheduler is of another optimizer')
        super().__init__(optimizer)

    def _set(self, epoch):
        self.last_epoch = epoch
        past = bisect.bisect_right(self.milestones, epoch)
        self.schedulers[past]._set(epoch - self.milestones[past - 1] if past else epoch)

    def state_dict(self):
        """Numbers by name, including those of its schedules."""
        return super().state_dict() | {f'schedulers.{i}.{key}': value for i, scheduler in enumerate(self.schedulers)
                                       for key, value in scheduler.state_dict().items()}

    def load_state_dict(self, state_dict):
        """Continues where state_dict() was taken."""
        for i, scheduler in enumerate(self.schedulers):
            prefix = f'schedulers.{i}.'
            scheduler.load_state_dict({key[len(prefix):]: x for key, x in state_dict.items() if key.startswith(prefix)})
        super().load_state_dict(state_dict)


class ReduceLROnPlateau:
    """Lowers the rate when a value stops improving: call step(value) after each epoch.

    `mode`: "min" or "max"; `patience`: steps without a better value before the rate falls; `threshold`: how much better, relative to
    the best or, with `threshold_mode` "abs", in absolute terms; `cooldown`: steps after a fall during which nothing is counted. A fall
    of less than `eps` is omitted.
    """

    def __init__(self, optimizer, mode='min', factor=0.1, patience=10, threshold=1e-4, threshold_mode='rel', cooldown=0,
                 min_lr=0.0, eps=1e-8):
        where = 'ReduceLROnPlateau'
        self.optimizer = _check_optimizer(where, optimizer)
        self.mode = check_one_of(where, 'mode', mode, ('min', 'max'))
        self.factor, self.patience = check_between(where, 'factor', factor), patience
        self.threshold, self.cooldown, self.min_lr, self.eps = threshold, cooldown, min_lr, eps
        self.threshold_mode = check_one_of(where, 'threshold_mode', threshold_mode, ('rel', 'abs'))
        self.best = self._worst = math.inf if mode == 'min' else -math.inf
        self.num_bad_epochs = self.cooldown_counter = self.last_epoch = 0

    def _is_better(self, value):
        if self.best == self._worst:
            return value != self._worst and not math.isnan(value)
        margin = self.threshold * (abs(self.best) if self.threshold_mode == 'rel' else 1)
        return value > self.best + margin if self.mode == 'max' else value < self.best - margin

    def step(self, metrics):
        """`metrics` is this epoch's value, such as the validation loss."""
        value = float(metrics)
        self.last_epoch += 1
        if self._is_better(value):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs <= self.patience:
            return
        for group in self.optimizer.param_groups:
            rate = max(group['lr'] * self.factor, self.min_lr)
            if group['lr'] - rate > self.eps:
                group['lr'] = rate
        self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0

    def get_last_lr(self):
        """The rates of all groups."""
        return [group['lr'] for group in self.optimizer.param_groups]

    def state_dict(self):
        """Numbers by name, the same as in C++."""
        return {'best': self.best, 'num_bad_epochs': float(self.num_bad_epochs),
                'cooldown_counter': float(self.cooldown_counter), 'last_epoch': float(self.last_epoch)}

    def load_state_dict(self, state_dict):
        """Continues where state_dict() was taken."""
        _check_state('ReduceLROnPlateau', state_dict, ('best', 'num_bad_epochs', 'cooldown_counter', 'last_epoch'))
        self.best, self.num_bad_epochs = float(state_dict['best']), int(state_dict['num_bad_epochs'])
        self.cooldown_counter, self.last_epoch = int(state_dict['cooldown_counter']), int(state_dict['last_epoch'])
