"""torch.optim.swa_utils: averages of a model's weights, and the schedule that goes with them (Izmailov et al. 2018)."""
import copy
import math
from typing import Any

import tenon

from ..._core import ops
from ...nn import Module
from .lr_scheduler import LRScheduler

__all__ = ['AveragedModel', 'SWALR', 'get_ema_avg_fn', 'get_ema_multi_avg_fn', 'get_swa_avg_fn', 'get_swa_multi_avg_fn', 'update_bn']


def _check_decay(decay):
    if not 0 <= decay <= 1:
        raise ValueError(f'[swa_utils] decay is {decay}, must be from 0 to 1')


def get_ema_avg_fn(decay=0.999):
    """average · decay + weight · (1 - decay), one tensor at a time."""
    _check_decay(decay)
    return lambda average, weight, count: average * decay + weight * (1 - decay)


def get_swa_avg_fn():
    """The mean of all weights so far, one tensor at a time."""
    return lambda average, weight, count: average + (weight - average) / (int(count) + 1)


def _multi(make):
    @tenon.no_grad()
    def update(averages, weights, count):
        for average, weight in zip(averages, weights):
            average[...] = make(average, weight, count) if average.dtype.is_floating_point else weight
    return update


def get_ema_multi_avg_fn(decay=0.999):
    """get_ema_avg_fn() over lists, in place."""
    return _multi(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn():
    """get_swa_avg_fn() over lists, in place."""
    return _multi(get_swa_avg_fn())


class AveragedModel(Module):
    """A copy of a model whose weights are averages of everything update_parameters() has seen, or follow avg_fn or multi_avg_fn."""

    n_averaged: Any

    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise ValueError('[AveragedModel] avg_fn and multi_avg_fn exclude each other')
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module.to(device)
        self.register_buffer('n_averaged', ops['full']((), 0, tenon.int64, device))
        self.use_buffers, self._average = use_buffers, multi_avg_fn or _multi(avg_fn or get_swa_avg_fn())

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    def _averaged(self, module):
        return [*module.parameters(), *(module.buffers() if self.use_buffers else ())]

    def update_parameters(self, model):
        """Adds the weights of model to the averages; buffers are copied, or averaged with use_buffers."""
        own, other = self._averaged(self.module), self._averaged(model)
        with tenon.no_grad():
            if not self.n_averaged.item():
                for x, y in zip(own, other):
                    x[...] = y.detach()
            else:
                self._average([x.detach() for x in own], [y.detach() for y in other], self.n_averaged)
            if not self.use_buffers:
                for x, y in zip(self.module.buffers(), model.buffers()):
                    x[...] = y
            self.n_averaged[...] = self.n_averaged + 1


def update_bn(loader, model, device=None):
    """Computes the running statistics of model's batch norms anew, by one pass over loader."""
    norms = {module: module.momentum for module in model.modules() if hasattr(module, 'running_mean') and module.running_mean is not None}
    if not norms:
        return
    training = model.training
    model.train()
    with tenon.no_grad():
        for count, batch in enumerate(loader, 1):
            for module in norms:
                module.momentum = 1 / count  # the mean of all batches
            x = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(x if device is None else x.to(device))
    for module, momentum in norms.items():
        module.momentum = momentum
    model.train(training)


class SWALR(LRScheduler):
    """From the current rate to swa_lr in anneal_epochs steps, along a cosine or a line."""

    def __init__(self, optimizer, swa_lr, anneal_epochs=10, anneal_strategy='cos', last_epoch=-1):
        if anneal_strategy not in ('cos', 'linear'):
            raise ValueError(f"[SWALR] anneal_strategy must be 'cos' or 'linear', not {anneal_strategy!r}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f'[SWALR] anneal_epochs is {anneal_epochs}, must be an int of at least 0')
        rates = swa_lr if isinstance(swa_lr, (list, tuple)) else [swa_lr] * len(optimizer.param_groups)
        if len(rates) != len(optimizer.param_groups):
            raise ValueError(f'[SWALR] {len(rates)} rates for {len(optimizer.param_groups)} groups')
        for group, rate in zip(optimizer.param_groups, rates):
            group['swa_lr'] = rate
        self.anneal_epochs, self._anneal_strategy = anneal_epochs, anneal_strategy
        super().__init__(optimizer, last_epoch)

    def _share(self, step):
        """The share of the way, 0 to 1, that is done after that many steps."""
        t = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return t if self._anneal_strategy == 'linear' else (1 - math.cos(math.pi * t)) / 2

    def get_lr(self):
        step = self._step_count - (self.anneal_epochs != 0)
        found = []
        for group in self.optimizer.param_groups:
            if not self.anneal_epochs:
                step = max(1, step)
            before = self._share(max(0, step - 1))
            # Where the way began, computed from the current rate.
            start = group['swa_lr'] if before == 1 else (group['lr'] - before * group['swa_lr']) / (1 - before)
            share = self._share(step)
            found.append(group['swa_lr'] * share + start * (1 - share))
        return found
