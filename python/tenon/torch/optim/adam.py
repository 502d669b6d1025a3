"""Adam and its kin."""
import math

from ..._core import ops
from .optimizer import WAYS, Optimizer, check, column, decayed, zeros_like

_adam_step = ops['adam_step']


class Adam(Optimizer):
    """Kingma & Ba 2015; amsgrad by Reddi et al. 2018; decoupled_weight_decay: AdamW."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, *, foreach=None, maximize=False,
                 capturable=False, differentiable=False, fused=None, decoupled_weight_decay=False):
        check(type(self).__name__, lr=lr, least_0=[('eps', eps), ('weight_decay', weight_decay)], betas=betas)
        super().__init__(params, {'lr': lr, 'betas': betas, 'eps': eps, 'weight_decay': weight_decay, 'amsgrad': amsgrad,
                                  'maximize': maximize, 'foreach': foreach, 'capturable': capturable, 'differentiable': differentiable,
                                  'fused': fused, 'decoupled_weight_decay': decoupled_weight_decay})

    def _first_state(self, group, x):
        keys = ['exp_avg', 'exp_avg_sq'] + ['max_exp_avg_sq'] * bool(group['amsgrad'])
        return {'step': 0, **{key: zeros_like(x) for key in keys}}

    def _update(self, group, params, grads, states):
        _adam_step(params, grads, column(states, 'exp_avg'), column(states, 'exp_avg_sq'),
                   column(states, 'max_exp_avg_sq') if group['amsgrad'] else [], states[0]['step'], float(group['lr']),
                   *map(float, group['betas']), group['eps'], group['weight_decay'], group['decoupled_weight_decay'])


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov & Hutter 2019)."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, *, maximize=False, foreach=None,
                 capturable=False, differentiable=False, fused=None):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
                         differentiable=differentiable, fused=fused, decoupled_weight_decay=True)


def _averaged(state, grad, betas):
    """The running means of gradients and of their squares, with grad in them."""
    first, second = state['exp_avg'], state['exp_avg_sq']
    first.mul_(betas[0]).add_(grad * (1 - betas[0]))
    second.mul_(betas[1]).add_(grad * grad * (1 - betas[1]))
    return first, second


class Adamax(Optimizer):
    """Adam with the largest gradient in place of the mean square (Kingma & Ba 2015, algorithm 2)."""

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, foreach=None, *, maximize=False, differentiable=False,
                 capturable=False):
        check('Adamax', lr=lr, least_0=[('eps', eps), ('weight_decay', weight_decay)], betas=betas)
        super().__init__(params, {'lr': lr, 'betas': betas, 'eps': eps, 'weight_decay': weight_decay, **WAYS, 'foreach': foreach,
                                  'maximize': maximize, 'differentiable': differentiable, 'capturable': capturable})

    def _first_state(self, group, x):
        return {'step': 0, 'exp_avg': zeros_like(x), 'exp_inf': zeros_like(x)}

    def _update(self, group, params, grads, states):
        beta1, beta2 = group['betas']
        for x, grad, state in zip(params, grads, states):
            grad, mean = decayed(group, x, grad), state['exp_avg']
            mean.mul_(beta1).add_(grad * (1 - beta1))
            state['exp_inf'] = ops['maximum'](state['exp_inf'] * beta2, ops['abs'](grad) + group['eps'])
            x.sub_(mean / state['exp_inf'] * (float(group['lr']) / (1 - beta1 ** state['step'])))


class NAdam(Optimizer):
    """Adam with Nesterov's momentum (Dozat 2016)."""

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, momentum_decay=4e-3, decoupled_weight_decay=False, *,
                 foreach=None, maximize=False, capturable=False, differentiable=False):
        check('NAdam', lr=lr, least_0=[('eps', eps), ('weight_decay', weight_decay), ('momentum_decay', momentum_decay)], betas=betas)
        super().__init__(params, {'lr': lr, 'betas': betas, 'eps': eps, 'weight_decay': weight_decay, 'momentum_decay': momentum_decay,
                                  'decoupled_weight_decay': decoupled_weight_decay, **WAYS, 'maximize': maximize, 'foreach': foreach,
                                  'capturable': capturable, 'differentiable': differentiable})

    def _first_state(self, group, x):
        return {'step': 0, 'mu_product': 1.0, 'exp_avg': zeros_like(x), 'exp_avg_sq': zeros_like(x)}

    def _update(self, group, params, grads, states):
        lr, (beta1, beta2) = float(group['lr']), group['betas']
        for x, grad, state in zip(params, grads, states):
            step = state['step']
            mu, next_mu = (beta1 * (1 - 0.5 * 0.96 ** (at * group['momentum_decay'])) for at in (step, step + 1))
            product = state['mu_product'] = float(state['mu_product']) * mu
            grad = decayed(group, x, grad)
            mean, squares = _averaged(state, grad, (beta1, beta2))
            size = ops['sqrt'](squares / (1 - beta2 ** step)) + group['eps']
            x.sub_((grad * (lr * (1 - mu) / (1 - product)) + mean * (lr * next_mu / (1 - product * next_mu))) / size)


class RAdam(Optimizer):
    """Adam that adapts only when enough gradients tell their variance (Liu et al. 2020, algorithm 2)."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled_weight_decay=False, *, foreach=None,
                 maximize=False, capturable=False, differentiable=False):
        check('RAdam', lr=lr, least_0=[('eps', eps), ('weight_decay', weight_decay)], betas=betas)
        super().__init__(params, {'lr': lr, 'betas': betas, 'eps': eps, 'weight_decay': weight_decay, 'maximize': maximize,
                                  'foreach': foreach, 'capturable': capturable, 'decoupled_weight_decay': decoupled_weight_decay,
                                  'differentiable': differentiable})

    def _first_state(self, group, x):
        return {'step': 0, 'exp_avg': zeros_like(x), 'exp_avg_sq': zeros_like(x)}

    def _update(self, group, params, grads, states):
        beta1, beta2 = group['betas']
        step = states[0]['step']
        whole = 1 - beta2 ** step
        most = 2 / (1 - beta2) - 1
        length = most - 2 * step * beta2 ** step / whole
        rate = float(group['lr']) / (1 - beta1 ** step)
        if length > 5:
            rate *= math.sqrt((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length) * whole)
        for x, grad, state in zip(params, grads, states):
            mean, squares = _averaged(state, decayed(group, x, grad), (beta1, beta2))
            x.sub_(mean * rate / (ops['sqrt'](squares) + group['eps']) if length > 5 else mean * rate)
