"""Adafactor and Muon, which treat parameters as matrices."""
import math

from ..._core import ops
from .. import bfloat16
from .._common import cast
from ..limits import finfo
from .optimizer import Optimizer, check, zeros_like


class Adafactor(Optimizer):
    """Approximates the mean squares of a matrix by products of those of its rows and columns (Shazeer & Stern 2018, algorithms 4-5)."""

    def __init__(self, params, lr=1e-2, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0, weight_decay=0.0, *, foreach=None, maximize=False):
        check('Adafactor', lr=lr, least_0=[('weight_decay', weight_decay), ('eps[0]', eps[0] or 0), ('eps[1]', eps[1])])
        if beta2_decay > 0:
            raise ValueError(f'[Adafactor] beta2_decay is {beta2_decay}, must be at most 0')
        if d < 1:
            raise ValueError(f'[Adafactor] d is {d}, must be at least 1')
        super().__init__(params, {'lr': lr, 'beta2_decay': beta2_decay, 'eps': eps, 'd': d, 'weight_decay': weight_decay,
                                  'foreach': foreach, 'maximize': maximize})

    def _first_state(self, group, x):
        if x.ndim < 2:
            return {'step': 0, 'variance': zeros_like(x)}
        return {'step': 0, 'row_var': ops['full']((*x.shape[:-1], 1), 0.0, x.dtype, x.device),
                'col_var': ops['full']((*x.shape[:-2], 1, x.shape[-1]), 0.0, x.dtype, x.device)}

    def _update(self, group, params, grads, states):
        lr, step, eps = float(group['lr']), states[0]['step'], group['eps']
        share = step ** group['beta2_decay']
        for x, grad, state in zip(params, grads, states):
            least = finfo(x.dtype).eps if eps[0] is None else eps[0]
            rate = max(eps[1], ops['norm'](x).item() / math.sqrt(x.numel())) * min(lr, 1 / math.sqrt(step))
            if group['weight_decay']:
                x.mul_(1 - lr * group['weight_decay'])
            squares = grad * grad
            if x.ndim > 1:
                rows, columns = state['row_var'], state['col_var']
                rows.mul_(1 - share).add_(ops['mean'](squares, -1, True) * share)
                columns.mul_(1 - share).add_(ops['mean'](squares, -2, True) * share)
                variance = rows * columns / ops['clamp'](ops['mean'](rows, -2, True), least)
            else:
                variance = state['variance']
                variance.mul_(1 - share).add_(squares * share)
            update = ops['rsqrt'](ops['clamp'](variance, least * least)) * grad
            x.sub_(update * (rate / max(1.0, ops['norm'](update).item() / (math.sqrt(x.numel()) * group['d']))))


class Muon(Optimizer):
    """Momentum made orthogonal by a few Newton-Schulz steps in bfloat16 (Jordan et al. 2024). For matrices only."""

    def __init__(self, params, lr=1e-3, weight_decay=0.1, momentum=0.95, nesterov=True, ns_coefficients=(3.4445, -4.775, 2.0315), eps=1e-7,
                 ns_steps=5, adjust_lr_fn=None):
        check('Muon', lr=lr, least_0=[('momentum', momentum), ('weight_decay', weight_decay)])
        if adjust_lr_fn not in (None, 'original', 'match_rms_adamw'):
            raise ValueError(f"[Muon] adjust_lr_fn must be None, 'original' or 'match_rms_adamw', not {adjust_lr_fn!r}")
        super().__init__(params, {'lr': lr, 'weight_decay': weight_decay, 'momentum': momentum, 'nesterov': nesterov,
                                  'ns_coefficients': ns_coefficients, 'eps': eps, 'ns_steps': ns_steps, 'adjust_lr_fn': adjust_lr_fn})
        for group in self.param_groups:
            for x in group['params']:
                if x.ndim != 2:
                    raise ValueError(f'[Muon] a parameter has shape {x.shape}, must be a matrix: give the others to AdamW')

    def _first_state(self, group, x):
        return {'momentum_buffer': zeros_like(x)}

    def _alike(self, state, x):
        return None

    def _update(self, group, params, grads, states):
        lr, momentum = float(group['lr']), group['momentum']
        for x, grad, state in zip(params, grads, states):
            mean = state['momentum_buffer']
            mean.mul_(momentum).add_(grad * (1 - momentum))
            update = _orthogonal(grad * (1 - momentum) + mean * momentum if group['nesterov'] else mean, group)
            rows, columns = x.shape
            scale = 0.2 * math.sqrt(max(rows, columns)) if group['adjust_lr_fn'] == 'match_rms_adamw' else math.sqrt(max(1, rows / columns))
            x.mul_(1 - lr * group['weight_decay'])
            x.sub_(ops['cast'](update, x.dtype) * (lr * scale))


def _orthogonal(x, group):
    """An orthogonal matrix near x, by an odd polynomial that pulls singular values towards 1."""
    a, b, c = group['ns_coefficients']
    wide = x.shape[0] <= x.shape[1]
    x = cast(x, bfloat16) if wide else ops['transpose'](cast(x, bfloat16), 0, 1)
    x = x / ops['clamp'](ops['norm'](x), group['eps'])
    for _ in range(group['ns_steps']):
        gram = ops['matmul'](x, ops['transpose'](x, 0, 1))
        x = x * a + ops['matmul'](gram * b + ops['matmul'](gram, gram) * c, x)
    return x if wide else ops['transpose'](x, 0, 1)
