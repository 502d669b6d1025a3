"""SGD, ASGD and Rprop."""
from ..._core import ops
from .optimizer import WAYS, Optimizer, add_to_rows, both_parts, check, column, decayed, rows_of, zeros_like

_sgd_step = ops['sgd_step']


class SGD(Optimizer):
    """Gradient descent, with momentum if it is not 0 (Sutskever et al. 2013)."""

    def __init__(self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *, maximize=False, foreach=None,
                 differentiable=False, fused=None):
        check('SGD', lr=lr, least_0=[('momentum', momentum), ('weight_decay', weight_decay)])
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError('[SGD] nesterov needs a momentum and no dampening')
        super().__init__(params, {'lr': lr, 'momentum': momentum, 'dampening': dampening, 'weight_decay': weight_decay, 'nesterov': nesterov,
                                  'maximize': maximize, 'foreach': foreach, 'differentiable': differentiable, 'fused': fused})

    def _first_state(self, group, x):
        return {'momentum_buffer': None} if group['momentum'] else {}

    def _alike(self, state, x=None):  # PyTorch's state does not count steps
        return state.get('momentum_buffer') is None

    def _update(self, group, params, grads, states):
        momentum, first = group['momentum'], self._alike(states[0])
        if momentum and first:
            for x, state in zip(params, states):
                state['momentum_buffer'] = zeros_like(x)
        _sgd_step(params, grads, column(states, 'momentum_buffer') if momentum else [], float(group['lr']), momentum, group['dampening'],
                  group['weight_decay'], group['nesterov'], first)

    def _update_sparse(self, group, params, grads, states):
        momentum = group['momentum']
        for x, grad, state in zip(params, grads, states):
            if momentum:
                before = state.get('momentum_buffer')
                buffer = grad.detach() if before is None else before * momentum + grad * (1 - group['dampening'])
                state['momentum_buffer'] = buffer
                grad = grad + buffer * momentum if group['nesterov'] else buffer
            rows, values = rows_of('SGD', group, x, grad)
            add_to_rows(x, rows, values * -float(group['lr']))


class ASGD(Optimizer):
    """Averaged stochastic gradient descent (Polyak & Juditsky 1992): state "ax" is the average."""

    def __init__(self, params, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0, foreach=None, maximize=False, differentiable=False,
                 capturable=False):
        check('ASGD', lr=lr, least_0=[('weight_decay', weight_decay)])
        super().__init__(params, {'lr': lr, 'lambd': lambd, 'alpha': alpha, 't0': t0, 'weight_decay': weight_decay, **WAYS,
                                  'foreach': foreach, 'maximize': maximize, 'differentiable': differentiable, 'capturable': capturable})

    def _first_state(self, group, x):
        return {'step': 0, 'eta': float(group['lr']), 'mu': 1.0, 'ax': zeros_like(x)}

    def _update(self, group, params, grads, states):
        lr, lambd = float(group['lr']), group['lambd']
        for x, grad, state in zip(params, grads, states):
            eta, mu, ax = float(state['eta']), float(state['mu']), state['ax']
            grad = decayed(group, x, grad)
            x.mul_(1 - lambd * eta)
            x.sub_(grad * eta)
            if mu == 1:
                ax[...] = x
            else:
                ax.add_((x - ax) * mu)
            step = state['step']
            state['eta'] = lr / (1 + lambd * lr * step) ** group['alpha']
            state['mu'] = 1 / max(1, step - group['t0'])


class Rprop(Optimizer):
    """Steps by the sign of the gradient; each element's step grows while the sign stays (Riedmiller & Braun 1993)."""

    def __init__(self, params, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), *, capturable=False, foreach=None, maximize=False,
                 differentiable=False):
        check('Rprop', lr=lr)
        if not 0 < etas[0] < 1 < etas[1]:
            raise ValueError(f'[Rprop] etas are {etas}, must be below and above 1')
        super().__init__(params, {'lr': lr, 'etas': etas, 'step_sizes': step_sizes, **WAYS, 'foreach': foreach, 'maximize': maximize,
                                  'differentiable': differentiable, 'capturable': capturable})

    def _first_state(self, group, x):
        return {'step': 0, 'prev': zeros_like(x), 'step_size': both_parts(x, float(group['lr']))}

    def _update(self, group, params, grads, states):
        (shorter, longer), bounds = group['etas'], group['step_sizes']
        for x, grad, state in zip(params, grads, states):
            agreement, size = grad * state['prev'], state['step_size']
            turned = agreement < 0
            size = ops['where'](turned, size * shorter, ops['where'](agreement > 0, size * longer, size))
            state['step_size'] = ops['clamp'](size, *bounds)
            grad = ops['where'](turned, 0.0, grad)
            x.sub_(ops['sign'](grad) * state['step_size'])
            state['prev'] = grad
