"""The base of every optimizer: groups of parameters with their own options, state by parameter, hooks, saving and loading."""
import copy
import itertools
import warnings
from collections import OrderedDict, defaultdict
from typing import Any

import tenon

from ... import _steps
from ..._core import Tensor, ops
from ...nn._hooks import RemovableHandle
from .state import SCALARS, States, kept_of

# Options for how a step is computed that change no result; here one way serves all.
WAYS = {'foreach': None, 'capturable': False, 'differentiable': False}


class _Required:
    """Stands for an option that has no default."""

    def __repr__(self):
        return '<required parameter>'


required = _Required()
_OF_ALL = {'pre': OrderedDict(), 'post': OrderedDict()}  # hooks of every optimizer's steps


def register_optimizer_step_pre_hook(hook):
    """Calls hook(optimizer, args, kwargs) before each step of every optimizer, ahead of the optimizer's own hooks."""
    return RemovableHandle(_OF_ALL['pre'], hook)


def register_optimizer_step_post_hook(hook):
    """Calls hook(optimizer, args, kwargs) after each step of every optimizer, behind the optimizer's own hooks."""
    return RemovableHandle(_OF_ALL['post'], hook)


def _rounds(params):
    """The parameters in lists without duplicates: those that are there twice are updated twice, one step after the other."""
    left = params
    while left:
        once = {id(x): x for x in left}
        yield list(once.values())
        left = [x for x in left if once.pop(id(x), None) is None]


class Optimizer:
    """The base of optimizers: a subclass calls __init__(params, defaults) and defines step(), or _update() for matching parameters.

    params: parameters, (name, parameter) pairs, or dicts of "params" and options. `param_groups` holds "params" and the options of
    each group, which may be changed between steps; `state` a dict for each parameter.
    """

    def __init__(self, params, defaults):
        if isinstance(params, Tensor):
            raise TypeError(f'[{type(self).__name__}] params must be a list of parameters, not one Tensor: give [parameter]')
        if callable(getattr(params, 'parameters', None)):
            raise TypeError(f'[{type(self).__name__}] params must be a list of parameters, not a module: give model.parameters()')
        if defaults.get('differentiable'):
            raise ValueError(f'[{type(self).__name__}] differentiable=True is not offered: steps are not recorded')
        self.defaults, self._kept, self.param_groups = defaults, defaultdict(dict), []
        self._shown = None
        self._hooks = defaultdict(OrderedDict)
        self._opt_called = False
        groups = list(params)
        if not groups:
            raise ValueError('[optim] optimizer got an empty parameter list: no parameters, or an iterator that was used up')
        if not isinstance(groups[0], dict):
            groups = [{'params': groups}]
        for group in groups:
            self.add_param_group(group)

    @property
    def state(self):
        """A dict for each parameter; counts of steps in it are tensors. An optimizer with its own step() finds there what it put there."""
        if type(self)._update is Optimizer._update:
            return self._kept
        if self._shown is None:
            self._shown = States(self._kept)
        return self._shown

    @state.setter
    def state(self, states):
        own = type(self)._update is Optimizer._update
        self._kept = states if own else kept_of(states)
        self._shown = states if isinstance(states, States) and not own else None  # of another optimizer: shared

    def __setstate__(self, state):
        """What a copy begins with; a subclass may add to it."""
        self.__dict__.update(state)

    def _meet(self):
        if self._shown is not None:
            self._shown.meet()

    def add_param_group(self, param_group):
        """Adds a dict with "params" and options that differ from the defaults."""
        name = type(self).__name__
        if not isinstance(param_group, dict):
            raise TypeError(f'[{name}] a group must be a dict, not {type(param_group).__name__}')
        given = param_group['params']
        if isinstance(given, set):
            raise TypeError(f'[{name}] parameters must have an order: give a list, not a set')
        given = [given] if isinstance(given, Tensor) else list(given)
        pairs = [each if isinstance(each, tuple) else (None, each) for each in given]
        group = {**param_group, 'params': [x for _, x in pairs]}
        if any(key is not None for key, _ in pairs):
            group['param_names'] = [key for key, _ in pairs]
        known = {id(x) for other in self.param_groups for x in other['params']}
        for x in group['params']:
            if not isinstance(x, Tensor):
                raise TypeError(f'[{name}] parameters must be Tensors, not {type(x).__name__}')
            if not x.is_leaf:
                raise ValueError(f'[{name}] a parameter is not a leaf: {str.__str__(x.grad_fn or "")} made it')
            if id(x) in known:
                raise ValueError(f'[{name}] some parameters appear in more than one parameter group')
        if len({id(x) for x in group['params']}) != len(group['params']):
            warnings.warn(f'[{name}] optimizer contains a parameter group with duplicate parameters: each step changes them several times', stacklevel=3)
        for key, default in self.defaults.items():
            group.setdefault(key, default)
        self.param_groups.append(group)

    def zero_grad(self, set_to_none=True):
        """Drops the gradients, or fills them with zeros."""
        _steps.before_zero_grad()
        for group in self.param_groups:
            for x in group['params']:
                if set_to_none:
                    x.grad = None
                elif x.grad is not None:
                    x.grad = ops['full_like'](x.grad.detach(), 0) if isinstance(x.grad, Tensor) else x.grad.zeroed()

    def step(self, closure=None):
        """One step with the current gradients. closure, if given, computes the loss and gradients first; its result is returned."""
        self._meet()
        self._tell('pre', closure)
        loss = self._loss_of(closure)
        _steps.before(self)
        with tenon.no_grad():
            for group in self.param_groups:
                for params, grads, states in (bucket for once in _rounds(group['params']) for bucket in self._buckets(group, once)):
                    update = self._update_complex if params[0].dtype.is_complex else self._update
                    if not isinstance(grads[0], Tensor):
                        update = self._update_sparse
                    update(group, params, grads, states)
        self._meet()
        self._tell('post', closure)
        return loss

    def _tell(self, when, closure):
        """Calls the hooks of a step, 'pre' or 'post'."""
        self._opt_called = True
        args = (self, closure) if closure else (self,)
        own, every = self._hooks[when].values(), _OF_ALL[when].values()
        for hook in (*every, *own) if when == 'pre' else (*own, *every):
            hook(self, args, {})

    @staticmethod
    def _loss_of(closure) -> Any:
        if closure is None:
            return None
        with tenon.enable_grad():
            return closure()

    def _first_state(self, group, x) -> dict[str, Any]:
        """The state of a parameter before its first step; "step" counts them."""
        return {'step': 0}

    def _alike(self, state, x):
        """Counts a step of parameter x; returns what its state must share with those updated together."""
        state['step'] += 1
        return state['step']

    def _update(self, group, params, grads, states):
        """A step of parameters of one dtype and device whose states match."""
        raise NotImplementedError(f'[{type(self).__name__}] defines neither step() nor _update()')

    def _update_sparse(self, group, params, grads, states) -> None:
        """_update() for sparse gradients."""
        raise RuntimeError(f'[{type(self).__name__}] does not support sparse gradients: SGD, Adagrad and SparseAdam do')

    def _update_complex(self, group, params, grads, states):
        """_update() for complex parameters: real and imaginary parts are separate elements, in the states as well."""
        pairs, parts = [as_real(x) for x in params], [{key: as_real(value) for key, value in state.items()} for state in states]
        self._update(group, pairs, [as_real(x) for x in grads], parts)
        for x, pair, state, part in zip(params, pairs, states, parts):
            x[...] = as_complex(pair)
            state.update((key, as_complex(value) if isinstance(value, Tensor) and value.shape == pair.shape else value) for key, value in part.items())

    def _buckets(self, group, params):
        """(parameters, gradients, states) that match in dtype, device and number of steps."""
        buckets, maximize = {}, group.get('maximize', False)
        for x in params:
            grad = x.grad
            if grad is None:
                continue
            state = self._kept.get(x) or {}
            if not state and (fresh := self._first_state(group, x)):
                _steps.before_memory()
                state = self._kept[x]
                state.update(fresh)
            kind = x.dtype.name, x.device.id, self._alike(state, x), isinstance(grad, Tensor)
            bucket = buckets.setdefault(kind, ([], [], []))
            bucket[0].append(x)
            bucket[1].append(-grad if maximize else grad)
            bucket[2].append(state)
        return buckets.values()

    # Called for a graph of a training step (tenon/_steps.py)
    # -----------------------------------------------------------------------------

    def _states(self):
        return [self._kept[x] for group in self.param_groups for x in group['params'] if x in self._kept]

    def _prepare(self):
        pass

    def _counts(self):
        self._meet()
        return [state['step'] for state in self._states() if 'step' in state]

    def _set_counts(self, counts):
        for state, count in zip([state for state in self._states() if 'step' in state], counts):
            state['step'] = count

    def _memory(self):
        for number, state in enumerate(self._states()):
            yield from ((f'state.{number}.{key}', value) for key, value in state.items() if isinstance(value, Tensor))

    def _memory_identity(self):
        return id(self._kept), len(self._kept)

    def _memory_holders(self):
        return [self._kept]

    def _numbers_beside(self):
        return self._states()

    # Hooks ------------------------------------------------------------------------------------------------------------------------

    def register_step_pre_hook(self, hook):
        """Calls hook(optimizer, args, kwargs) before each step; args are the optimizer and the closure, if there is one."""
        return RemovableHandle(self._hooks['pre'], hook)

    def register_step_post_hook(self, hook):
        """Calls hook(optimizer, args, kwargs) after each step."""
        return RemovableHandle(self._hooks['post'], hook)

    def register_state_dict_pre_hook(self, hook, prepend=False):
        """Calls hook(optimizer) before state_dict()."""
        return self._registered('state_dict_pre', hook, prepend)

    def register_state_dict_post_hook(self, hook, prepend=False):
        """Calls hook(optimizer, state_dict) after state_dict(); what it returns, if not None, replaces the result."""
        return self._registered('state_dict_post', hook, prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend=False):
        """Calls hook(optimizer, state_dict) before load_state_dict(); what it returns, if not None, is loaded."""
        return self._registered('load_pre', hook, prepend)

    def register_load_state_dict_post_hook(self, hook, prepend=False):
        """Calls hook(optimizer) after load_state_dict()."""
        return self._registered('load_post', hook, prepend)

    def _registered(self, kind, hook, prepend):
        hooks = self._hooks[kind]
        handle = RemovableHandle(hooks, hook)
        if prepend:
            hooks.move_to_end(next(reversed(hooks)), last=False)
        return handle

    # Saving -----------------------------------------------------------------------------------------------------------------------

    def state_dict(self):
        """{'state': {number of a parameter: its state}, 'param_groups': [options, and numbers as "params"]}, as PyTorch's."""
        for hook in list(self._hooks['state_dict_pre'].values()):
            hook(self)
        self._meet()
        numbers, groups = {}, []
        for group in self.param_groups:
            for x in group['params']:
                numbers.setdefault(id(x), len(numbers))
            groups.append({**{key: value for key, value in group.items() if key != 'params'},
                           'params': [numbers[id(x)] for x in group['params']]})
        found = {'state': {numbers[id(x)]: {key: self._saved(key, value) for key, value in state.items()} for x, state in self._kept.items()},
                 'param_groups': groups}
        for hook in list(self._hooks['state_dict_post'].values()):
            found = hook(self, found) or found
        return found

    def load_state_dict(self, state_dict):
        """Loads what state_dict() returned, PyTorch's or ours; state gets the dtypes and devices of the parameters."""
        for hook in list(self._hooks['load_pre'].values()):
            state_dict = hook(self, state_dict) or state_dict
        saved = state_dict['param_groups']
        own = [len(group['params']) for group in self.param_groups]
        if len(own) != len(saved):
            raise ValueError(f'[load_state_dict] loaded state dict has a different number of parameter groups: {len(saved)}, not {len(own)}')
        if own != [len(group['params']) for group in saved]:
            raise ValueError("[load_state_dict] loaded state dict contains a parameter group that doesn't match the size of optimizer's group: groups of "
                             f'{[len(group["params"]) for group in saved]} parameters for {own}')
        params = dict(zip(itertools.chain.from_iterable(group['params'] for group in saved),
                          itertools.chain.from_iterable(group['params'] for group in self.param_groups)))
        state = defaultdict(dict)
        for number, entry in state_dict['state'].items():
            if number in params:
                state[params[number]] = {key: self._loaded(params[number], key, value) for key, value in entry.items()}
        for group, other in zip(self.param_groups, saved):
            names = group.get('param_names')
            group.update({key: copy.deepcopy(value) for key, value in other.items() if key not in ('params', 'param_names')})
            if names is not None:
                group['param_names'] = names
        self._kept, self._shown = state, None
        for hook in list(self._hooks['load_post'].values()):
            hook(self)

    def _is_scalar(self, key):
        """Whether an entry of the state is one of SCALARS. An optimizer with its own step() handles its state itself."""
        return key in SCALARS and type(self)._update is not Optimizer._update

    def _saved(self, key, value):
        return tenon.full((), float(value), dtype=tenon.float32) if self._is_scalar(key) else value

    def _loaded(self, x, key, value):
        if self._is_scalar(key):
            return SCALARS[key](value)
        if not isinstance(value, Tensor):
            return copy.deepcopy(value)
        value = ops['to'](value, x.device)
        return ops['clone'](ops['cast'](value, x.dtype) if x.dtype.is_floating_point and value.dtype.is_floating_point else value)

    def __repr__(self):
        lines = [f'{type(self).__name__} (']
        for number, group in enumerate(self.param_groups):
            lines += [f'Parameter Group {number}', *(f'    {key}: {group[key]}' for key in sorted(group) if key != 'params'), '']
        return '\n'.join(lines).rstrip('\n') + '\n)'


def zeros_like(x):
    """Zeros for the state of a parameter."""
    _steps.before_memory()
    return ops['full_like'](x.detach(), 0)


def as_real(x) -> Any:
    """Complex numbers as pairs of real ones in a new last dimension; anything else unchanged."""
    return ops['stack']([ops['real'](x), ops['imag'](x)], -1) if isinstance(x, Tensor) and x.dtype.is_complex else x


def as_complex(pairs):
    """The inverse of as_real()."""
    return ops['complex'](*(ops['select'](pairs, -1, part) for part in (0, 1)))


def both_parts(x, value):
    """value in the shape of x, in both parts of complex numbers."""
    return ops['full_like'](x.detach(), complex(value, value) if x.dtype.is_complex else value)


def column(states, key):
    """One entry of all states."""
    return [state[key] for state in states]


def check(name, *, lr=None, least_0=(), betas=None):
    """Checks the ranges that most options share; raises ValueError outside of them."""
    if lr is not None and not (float(lr) >= 0):
        raise ValueError(f'[{name}] Invalid learning rate: {lr}, lr must be at least 0')
    for key, value in least_0:
        if not value >= 0:
            word = {'eps': 'epsilon'}.get(key, key)
            raise ValueError(f'[{name}] Invalid {word} value: {value}, {key} must be at least 0')
    for i, beta in enumerate(betas or ()):
        if not 0 <= float(beta) < 1:
            raise ValueError(f'[{name}] Invalid beta parameter at index {i}: {beta}, it must be at least 0 and below 1')


def rows_of(name, group, x, grad):
    """(rows, their gradients) of a sparse gradient, each row once."""
    if group.get('weight_decay'):
        raise RuntimeError(f'[{name}] weight_decay is not for sparse gradients')
    if grad.sparse_dim() != 1:
        raise RuntimeError(f'[{name}] a gradient of {grad.sparse_dim()} sparse dimensions: those of rows are supported')
    found = grad.coalesce()
    return found._indices()[0], found._values()


def add_to_rows(x, rows, values):
    """x with values added to some of its rows, each of which comes once."""
    x[rows] = ops['index_select'](x.detach(), 0, rows) + values


def decayed(group, x, grad):
    """The gradient with weight decay as in L2 regularisation, or, if decoupled, the parameter made smaller."""
    if not group['weight_decay']:
        return grad
    if group.get('decoupled_weight_decay'):
        x.mul_(1 - float(group['lr']) * group['weight_decay'])
        return grad
    return grad + x * group['weight_decay']
