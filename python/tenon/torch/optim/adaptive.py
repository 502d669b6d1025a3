"""Adagrad, Adadelta and RMSprop."""
from ..._core import ops
from .optimizer import WAYS, Optimizer, add_to_rows, both_parts, check, column, decayed, rows_of, zeros_like

_rmsprop_step, _adagrad_step = ops['rmsprop_step'], ops['adagrad_step']


class Adagrad(Optimizer):
    """Divides by the root of the sum of all squares (Duchi et al. 2011)."""

    def __init__(self, params, lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10, foreach=None, *, maximize=False,
                 differentiable=False, fused=None):
        check('Adagrad', lr=lr, least_0=[('lr_decay', lr_decay), ('weight_decay', weight_decay), ('eps', eps),
                                         ('initial_accumulator_value', initial_accumulator_value)])
        super().__init__(params, {'lr': lr, 'lr_decay': lr_decay, 'eps': eps, 'weight_decay': weight_decay,
                                  'initial_accumulator_value': initial_accumulator_value, 'foreach': foreach, 'maximize': maximize,
                                  'differentiable': differentiable, 'fused': fused})
        for group in self.param_groups:  # PyTorch's state exists from the start
            for x in group['params']:
                self._kept[x].update(self._first_state(group, x))

    def _first_state(self, group, x):
        return {'step': 0, 'sum': both_parts(x, group['initial_accumulator_value'])}

    def _update(self, group, params, grads, states):
        _adagrad_step(params, grads, column(states, 'sum'), states[0]['step'], float(group['lr']), group['lr_decay'], group['eps'],
                      group['weight_decay'])

    def _update_sparse(self, group, params, grads, states):
        for x, grad, state in zip(params, grads, states):
            rate = float(group['lr']) / (1 + (state['step'] - 1) * group['lr_decay'])
            rows, values = rows_of('Adagrad', group, x, grad)
            add_to_rows(state['sum'], rows, values * values)
            add_to_rows(x, rows, values / (ops['sqrt'](ops['index_select'](state['sum'], 0, rows)) + group['eps']) * -rate)


class RMSprop(Optimizer):
    """Divides by a running root of the mean square, or if centered by a running deviation (Hinton 2012; Graves 2013, eq. 38-45)."""

    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False, capturable=False, foreach=None,
                 maximize=False, differentiable=False):
        check('RMSprop', lr=lr, least_0=[('eps', eps), ('momentum', momentum), ('weight_decay', weight_decay), ('alpha', alpha)])
        super().__init__(params, {'lr': lr, 'momentum': momentum, 'alpha': alpha, 'eps': eps, 'centered': centered, **WAYS,
                                  'weight_decay': weight_decay, 'capturable': capturable, 'foreach': foreach, 'maximize': maximize,
                                  'differentiable': differentiable})

    def _first_state(self, group, x):
        return {'step': 0, 'square_avg': zeros_like(x), **({'momentum_buffer': zeros_like(x)} if group['momentum'] else {}),
                **({'grad_avg': zeros_like(x)} if group['centered'] else {})}

    def _update(self, group, params, grads, states):
        _rmsprop_step(params, grads, column(states, 'square_avg'), column(states, 'grad_avg') if group['centered'] else [],
                      column(states, 'momentum_buffer') if group['momentum'] else [], float(group['lr']), group['alpha'], group['eps'],
                      group['weight_decay'], group['momentum'])


class Adadelta(Optimizer):
    """Steps in units of the parameter, from running means of squared gradients and steps (Zeiler 2012, algorithm 1)."""

    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, *, capturable=False, maximize=False,
                 differentiable=False):
        check('Adadelta', lr=lr, least_0=[('eps', eps), ('weight_decay', weight_decay)])
        if not 0 <= rho <= 1:
            raise ValueError(f'[Adadelta] rho is {rho}, must be from 0 to 1')
        super().__init__(params, {'lr': lr, 'rho': rho, 'eps': eps, 'weight_decay': weight_decay, **WAYS, 'maximize': maximize,
                                  'capturable': capturable, 'foreach': foreach, 'differentiable': differentiable})

    def _first_state(self, group, x):
        return {'step': 0, 'square_avg': zeros_like(x), 'acc_delta': zeros_like(x)}

    def _update(self, group, params, grads, states):
        lr, rho, eps = float(group['lr']), group['rho'], group['eps']
        for x, grad, state in zip(params, grads, states):
            grad, squares, deltas = decayed(group, x, grad), state['square_avg'], state['acc_delta']
            squares.mul_(rho).add_(grad * grad * (1 - rho))
            delta = ops['sqrt'](deltas + eps) / ops['sqrt'](squares + eps) * grad
            deltas.mul_(rho).add_(delta * delta * (1 - rho))
            x.sub_(delta * lr)
