"""Schedules of the learning rate. Call step() after each epoch, or batch, as the schedule counts."""
import math

from .optimizer import Optimizer


class Scheduler:
    """Sets the rate of every group as a function of the number of steps and the rate it began with."""

    _starts_changed = False

    def __init__(self, optimizer):
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f'[{type(self).__name__}] wants an optimizer, not {type(optimizer).__name__}')
        self.optimizer = optimizer
        self.base_lrs = [group['lr'] for group in optimizer.param_groups]
        self.steps = 0
        if self._starts_changed:
            self._set(0)

    def _rate(self, base, steps):
        raise NotImplementedError(f'[{type(self).__name__}] has no schedule: define _rate(base, steps)')

    def _set(self, steps):
        self.steps = steps
        for group, base in zip(self.optimizer.param_groups, self.base_lrs):
            group['lr'] = self._rate(base, steps)

    def _require(self, condition, message):
        if not condition:
            raise ValueError(f'[{type(self).__name__}] {message}')

    def step(self):
        """Goes on by one step."""
        self._set(self.steps + 1)

    def get_last_lr(self):
        """The rates of all groups."""
        return [group['lr'] for group in self.optimizer.param_groups]

    def state_dict(self):
        """Numbers by name, the same as in C++."""
        return {'steps': float(self.steps), **{f'base.{g}': base for g, base in enumerate(self.base_lrs)}}

    def load_state_dict(self, state_dict):
        """Goes on where state_dict() was taken."""
        wanted = ['steps'] + [f'base.{g}' for g in range(len(self.base_lrs))]
        for key in wanted:
            self._require(key in state_dict, f'the state lacks "{key}"')
        self.base_lrs = [float(state_dict[key]) for key in wanted[1:]]
        self._set(int(state_dict['steps']))


class StepLR(Scheduler):
    """Times gamma every `step_size` steps.

    >>> optimizer = tenon.optim.SGD([tenon.nn.Parameter(tenon.zeros(1))], lr=1.0)
    >>> schedule = tenon.optim.StepLR(optimizer, 2, gamma=0.5)
    >>> for _ in range(3): schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer, step_size, gamma=0.1):
        self._require(step_size > 0, 'step_size must be positive')
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer)

    def _rate(self, base, steps):
        return base * self.gamma ** (steps // self.step_size)


class MultiStepLR(Scheduler):
    """Times gamma at each milestone."""

    def __init__(self, optimizer, milestones, gamma=0.1):
        self.milestones, self.gamma = sorted(milestones), gamma
        super().__init__(optimizer)

    def _rate(self, base, steps):
        return base * self.gamma ** sum(m <= steps for m in self.milestones)


class ExponentialLR(Scheduler):
    """Times gamma every step."""

    def __init__(self, optimizer, gamma):
        self.gamma = gamma
        super().__init__(optimizer)

    def _rate(self, base, steps):
        return base * self.gamma ** steps


class CosineAnnealingLR(Scheduler):
    """Half a cosine from the first rate to `eta_min` over `T_max` steps, and back."""

    def __init__(self, optimizer, T_max, eta_min=0.0):
        self._require(T_max > 0, 'T_max must be positive')
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer)

    def _rate(self, base, steps):
        return self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * steps / self.T_max)) / 2


class LinearLR(Scheduler):
    """From `start_factor` times the rate to `end_factor` times it in `total_iters` steps: a warm-up."""

    _starts_changed = True

    def __init__(self, optimizer, start_factor=1 / 3, end_factor=1.0, total_iters=5):
        self._require(total_iters > 0, 'total_iters must be positive')
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer)

    def _rate(self, base, steps):
        done = min(steps, self.total_iters) / self.total_iters
        return base * (self.start_factor + (self.end_factor - self.start_factor) * done)


class LambdaLR(Scheduler):
    """Times fn(steps)."""

    _starts_changed = True

    def __init__(self, optimizer, lr_lambda):
        if not callable(lr_lambda):
            raise TypeError(f'[LambdaLR] lr_lambda must be callable, not {type(lr_lambda).__name__}')
        self.lr_lambda = lr_lambda
        super().__init__(optimizer)

    def _rate(self, base, steps):
        return base * self.lr_lambda(steps)


class OneCycleLR(Scheduler):
    """Rises to `max_lr` and falls far below the beginning, both along cosines (Smith & Topin 2018).

    `pct_start` is the part of the steps in which the rate rises; it begins at max_lr / div_factor and ends at the beginning /
    final_div_factor.
    """

    _starts_changed = True

    def __init__(self, optimizer, max_lr, total_steps, pct_start=0.3, div_factor=25.0, final_div_factor=1e4):
        self._require(total_steps > 1, 'total_steps must be more than one')
        self._require(0 < pct_start < 1, 'pct_start must lie between 0 and 1')
        self.max_lr, self.total_steps, self.pct_start = max_lr, total_steps, pct_start
        self.div_factor, self.final_div_factor = div_factor, final_div_factor
        super().__init__(optimizer)

    @staticmethod
    def _between(start, end, part):
        return end + (start - end) * (1 + math.cos(math.pi * part)) / 2

    def _rate(self, base, steps):
        first = self.max_lr / self.div_factor
        total = self.total_steps - 1
        top = max(self.pct_start * self.total_steps - 1, 1e-9)
        at = min(steps, total)
        if at <= top:
            return self._between(first, self.max_lr, at / top)
        return self._between(self.max_lr, first / self.final_div_factor, (at - top) / (total - top))


class ReduceLROnPlateau:
    """Lowers the rate when a value stops getting better: step(value) after each epoch.

    `patience`: steps without a better value before the rate falls; `threshold`: how much better, relative to the best;
    `cooldown`: steps after a fall in which nothing is counted; `mode`: "min" or "max".
    """

    def __init__(self, optimizer, mode='min', factor=0.1, patience=10, threshold=1e-4, cooldown=0, min_lr=0.0):
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f'[ReduceLROnPlateau] wants an optimizer, not {type(optimizer).__name__}')
        if mode not in ('min', 'max'):
            raise ValueError(f'[ReduceLROnPlateau] mode is "min" or "max", not {mode!r}')
        if not 0 < factor < 1:
            raise ValueError('[ReduceLROnPlateau] factor must lie between 0 and 1')
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.cooldown, self.min_lr = threshold, cooldown, min_lr
        self.best = self._worst = math.inf if mode == 'min' else -math.inf
        self.bad = self.cooling = 0

    def _is_better(self, value):
        if self.best == self._worst:
            return value != self._worst and not math.isnan(value)
        margin = self.threshold * abs(self.best)
        return value > self.best + margin if self.mode == 'max' else value < self.best - margin

    def step(self, value):
        """`value` is what this epoch came to, such as the validation loss."""
        value = float(value)
        if self._is_better(value):
            self.best, self.bad = value, 0
        else:
            self.bad += 1
        if self.cooling > 0:
            self.cooling -= 1
            self.bad = 0
        if self.bad <= self.patience:
            return
        for group in self.optimizer.param_groups:
            group['lr'] = max(group['lr'] * self.factor, self.min_lr)
        self.cooling, self.bad = self.cooldown, 0

    def state_dict(self):
        """Numbers by name, the same as in C++."""
        return {'best': self.best, 'bad': float(self.bad), 'cooling': float(self.cooling)}

    def load_state_dict(self, state_dict):
        """Goes on where state_dict() was taken."""
        for key in ('best', 'bad', 'cooling'):
            if key not in state_dict:
                raise ValueError(f'[ReduceLROnPlateau] the state lacks "{key}"')
        self.best, self.bad, self.cooling = state_dict['best'], int(state_dict['bad']), int(state_dict['cooling'])
