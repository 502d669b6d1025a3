"""SGD, Adam, AdamW, RMSprop and Adagrad: whole lists of parameters in one call."""
from .._capture import Clock, captured, graph_of, tell
from .._core import ops
from .._errors import PreconditionError
from .optimizer import Optimizer

_sgd_step, _adam_step, _adam_step_counted = ops['sgd_step'], ops['adam_step'], ops['adam_step_counted']
_rmsprop_step, _adagrad_step = ops['rmsprop_step'], ops['adagrad_step']


class SGD(Optimizer):
    """Gradient descent, with momentum if it is not 0. `params`: parameters, or dicts of "params" and options.

    >>> w = tenon.nn.Parameter(tenon.tensor([1.0]))
    >>> optimizer = tenon.optim.SGD([w], lr=0.25)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.tolist()
    [0.5]
    """

    _defaults = {'lr': 1e-3, 'momentum': 0.0, 'dampening': 0.0, 'weight_decay': 0.0, 'nesterov': False}
    _state_names = ('momentum_buffer',)

    def __init__(self, params, lr=1e-3, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
        super().__init__(params, {'lr': lr, 'momentum': momentum, 'dampening': dampening, 'weight_decay': weight_decay,
                                  'nesterov': nesterov})

    def _check_group(self, group):
        if group['nesterov'] and (group['momentum'] == 0 or group['dampening'] != 0):
            raise ValueError('[SGD] nesterov needs a momentum and no dampening')

    def _needs_state(self, group, slot):
        return group['momentum'] != 0

    def _run(self, group, params, grads, state, step):
        _sgd_step(params, grads, state[0], group['lr'], group['momentum'], group['dampening'], group['weight_decay'],
                  group['nesterov'], step == 1)


class Adam(Optimizer):
    """Kingma & Ba 2015; amsgrad by Reddi et al. 2018."""

    _defaults = {'lr': 1e-3, 'betas': (0.9, 0.999), 'eps': 1e-8, 'weight_decay': 0.0, 'amsgrad': False}
    _state_names = ('exp_avg', 'exp_avg_sq', 'max_exp_avg_sq')
    _decoupled = False

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, amsgrad=False):
        super().__init__(params, {'lr': lr, 'betas': betas, 'eps': eps, 'weight_decay': weight_decay, 'amsgrad': amsgrad})

    def _needs_state(self, group, slot):
        return slot < 2 or group['amsgrad']

    def _run(self, group, params, grads, state, step):
        _adam_step(params, grads, state[0], state[1], state[2], step, group['lr'], *group['betas'], group['eps'],
                   group['weight_decay'], self._decoupled)

    def _make_plan(self, group, pattern):
        if any(graph_of(x) is not None for x in group['params']):
            raise PreconditionError(f'[{type(self).__name__}] the first step of these parameters makes its memory: take one as usual before the '
                                    'capture')
        tell(self)
        return super()._make_plan(group, pattern)

    def _before_capture(self, device):
        if captured() is not None:
            return  # the capture will be refused
        for plan in self._plans:
            for bucket in plan.buckets if plan is not None else ():
                if bucket.clock is None and str(bucket.params[0].device) == str(device):
                    bucket.clock = Clock(device)

    def _step_bucket(self, g, group, bucket, grads):
        if (graph := graph_of(bucket.params[0])) is None:
            super()._step_bucket(g, group, bucket, grads)
            return
        _adam_step_counted(bucket.params, grads, *bucket.state, bucket.clock.step, bucket.clock.rate, *group['betas'], group['eps'],
                           group['weight_decay'], self._decoupled)
        graph._before.append(lambda: self._before_replay(g, group, bucket))

    def _before_replay(self, g, group, bucket):
        """The device counts by itself; this tells it of steps taken outside the graph, and of a new rate."""
        plan = self._plans[g]
        if plan is None or all(bucket is not other for other in plan.buckets):
            raise PreconditionError(f'[{type(self).__name__}] other parameters have gradients than when its step was captured, or its state '
                                    'was loaded: capture it again')
        bucket.clock.set(bucket.step, group['lr'])
        bucket.step += 1


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov & Hutter 2019)."""

    _defaults = {**Adam._defaults, 'weight_decay': 1e-2}
    _decoupled = True

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad)


class RMSprop(Optimizer):
    """Divides by a running root of the mean square, or with `centered` by a running deviation."""

    _defaults = {'lr': 1e-2, 'alpha': 0.99, 'eps': 1e-8, 'weight_decay': 0.0, 'momentum': 0.0, 'centered': False}
    _state_names = ('square_avg', 'grad_avg', 'momentum_buffer')

    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0.0, momentum=0.0, centered=False):
        super().__init__(params, {'lr': lr, 'alpha': alpha, 'eps': eps, 'weight_decay': weight_decay, 'momentum': momentum,
                                  'centered': centered})

    def _needs_state(self, group, slot):
        return slot == 0 or (group['centered'] if slot == 1 else group['momentum'] != 0)

    def _run(self, group, params, grads, state, step):
        _rmsprop_step(params, grads, state[0], state[1], state[2], group['lr'], group['alpha'], group['eps'],
                      group['weight_decay'], group['momentum'])


class Adagrad(Optimizer):
    """Divides by the root of the sum of all squares (Duchi et al. 2011)."""

    _defaults = {'lr': 1e-2, 'lr_decay': 0.0, 'weight_decay': 0.0, 'initial_accumulator_value': 0.0, 'eps': 1e-10}
    _state_names = ('sum',)

    def __init__(self, params, lr=1e-2, lr_decay=0.0, weight_decay=0.0, initial_accumulator_value=0.0, eps=1e-10):
        super().__init__(params, {'lr': lr, 'lr_decay': lr_decay, 'weight_decay': weight_decay,
                                  'initial_accumulator_value': initial_accumulator_value, 'eps': eps})

    def _first_state(self, group, slot, param):
        return ops['full_like'](param.detach(), group['initial_accumulator_value'])

    def _run(self, group, params, grads, state, step):
        _adagrad_step(params, grads, state[0], step, group['lr'], group['lr_decay'], group['eps'], group['weight_decay'])
