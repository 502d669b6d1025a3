"""Adam and its variants."""
import math
from typing import NoReturn

from ..._capture import Clock, captured, graph_of, tell
from ..._core import ops
from ..._errors import PreconditionError
from .optimizer import WAYS, Optimizer, check, column, decayed, zeros_like

_adam_step, _adam_step_counted = ops['adam_step'], ops['adam_step_counted']


class Adam(Optimizer):
    """Kingma & Ba 2015; amsgrad by Reddi et al. 2018; decoupled_weight_decay: AdamW."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay: float = 0, amsgrad=False, *, foreach=None, maximize=False,
                 capturable=False, differentiable=False, fused=None, decoupled_weight_decay=False):
        check(type(self).__name__, lr=lr, least_0=[('eps', eps), ('weight_decay', weight_decay)], betas=betas)
        super().__init__(params, {'lr': lr, 'betas': betas, 'eps': eps, 'weight_decay': weight_decay, 'amsgrad': amsgrad,
                                  'maximize': maximize, 'foreach': foreach, 'capturable': capturable, 'differentiable': differentiable,
                                  'fused': fused, 'decoupled_weight_decay': decoupled_weight_decay})
        self._clocks: dict[tuple, Clock] = {}  # for captured steps
        tell(self)

    def _first_state(self, group, x):
        if graph_of(x) is not None:
            self._refuse_first()
        keys = ['exp_avg', 'exp_avg_sq'] + ['max_exp_avg_sq'] * bool(group['amsgrad'])
        return {'step': 0, **{key: zeros_like(x) for key in keys}}

    def _refuse_first(self) -> NoReturn:
        raise PreconditionError(f'[{type(self).__name__}] the first step of these parameters makes its memory: take one as usual before the capture')

    def _before_capture(self, device):
        """A clock for each list of parameters that a captured step may update together."""
        if captured() is None:  # otherwise the capture will be refused
            alike = {(id(group), x.dtype.name, self._kept[x]['step']) for group in self.param_groups for x in group['params']
                     if x in self._kept and str(x.device) == str(device)}
            self._clocks = {key: Clock(device) for key in alike}

    def _alike(self, state, x):
        return state['step'] if graph_of(x) is not None else super()._alike(state, x)  # each replay counts

    def _update(self, group, params, grads, states):
        lists = (params, grads, column(states, 'exp_avg'), column(states, 'exp_avg_sq'),
                 column(states, 'max_exp_avg_sq') if group['amsgrad'] else [])
        numbers = (*map(float, group['betas']), group['eps'], group['weight_decay'], group['decoupled_weight_decay'])
        if (graph := graph_of(params[0])) is None:
            _adam_step(*lists, states[0]['step'], float(group['lr']), *numbers)
            return
        if (clock := self._clocks.get((id(group), params[0].dtype.name, states[0]['step']))) is None:
            self._refuse_first()
        _adam_step_counted(*lists, clock.step, clock.rate, *numbers)
        graph._before.append(lambda: self._before_replay(group, params, states, clock))

    def _before_replay(self, group, params, states, clock):
        own = [self._kept.get(x) for x in params]
        step = states[0]['step']
        if any(mine is not state or state['step'] != step for mine, state in zip(own, states)):
            raise PreconditionError(f'[{type(self).__name__}] its state was loaded, or steps of other parameters were taken, since its step was '
                                    'captured: capture it again')
        clock.set(step, float(group['lr']))
        for state in states:
            state['step'] += 1


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov & Hutter 2019)."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, *, maximize=False, foreach=None,
                 capturable=False, differentiable=False, fused=None):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
                         differentiable=differentiable, fused=fused, decoupled_weight_decay=True)


def _averaged(state, grad, betas):
    """The running means of gradients and of their squares, updated with grad."""
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
    """Adam that adapts only once enough gradients determine their variance (Liu et al. 2020, algorithm 2)."""

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
