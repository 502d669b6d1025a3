"""The base of all optimizers: groups of parameters with their own options, state, saving and loading."""
from __future__ import annotations

from typing import Any

import tenon
from .. import _steps
from .._core import Tensor, ops
from ..nn._check import check_least, check_number


def _as_tensor(option):
    """An option as it is saved."""
    values = [float(value) for value in option] if isinstance(option, (tuple, list)) else float(option)
    return tenon.tensor(values, dtype=tenon.float64)


class _Bucket:
    """Parameters of one dtype, device and age with their state: the input of one multi-tensor op."""

    __slots__ = ('clock', 'numbers', 'params', 'state', 'step')

    def __init__(self, step, slots):
        self.numbers, self.params, self.state, self.step = [], [], [[] for _ in range(slots)], step
        self.clock: Any = None  # for optimizers whose captured steps count


class _Plan:
    """The buckets of a group, kept from step to step while the same parameters have gradients."""

    __slots__ = ('pattern', 'buckets', 'moves')
    pattern: list[bool]
    buckets: list[_Bucket]
    moves: int  # the value of _steps.moves when it was made


class Optimizer:
    """The base of optimizers. A subclass names its state, says which parts it needs, and runs one op on a bucket.

    `param_groups` is a list of dicts: "params" and the options, which may be changed between steps.
    """

    _defaults = {}
    _state_names = ()

    def __init__(self, params, options):
        self.param_groups = []
        self._state = {}  # by id of the parameter: [step, tensors]
        self._plans: list[_Plan | None] = []
        if isinstance(params, Tensor):
            raise TypeError('[optim] params is a list of parameters, not one Tensor: give [parameter]')
        params = self._list_of(params)
        if not params:
            raise ValueError('[optim] no parameters: is net.parameters() empty, or an iterator that was used up?')
        self._first_options = self._check_options(options)
        if isinstance(params[0], dict):
            for group in params:
                self.add_param_group(group)
        else:
            self.add_param_group({'params': params})

    @staticmethod
    def _list_of(params):
        if callable(getattr(params, 'parameters', None)):
            raise TypeError(f'[optim] params must be a list of parameters, not {type(params).__name__}: give model.parameters()')
        if isinstance(params, dict) or not hasattr(params, '__iter__'):
            raise TypeError(f'[optim] params must be a list of parameters, not {type(params).__name__}'
                            + (': give its values()' if isinstance(params, dict) else ''))
        return list(params)

    def _check_options(self, options):
        where = type(self).__name__
        if not isinstance(options, dict):
            raise TypeError(f'[{where}] options are a dict, not {type(options).__name__}')
        for name, value in options.items():
            if name not in self._defaults:
                raise TypeError(f'[{where}] no option is called {name!r}: ' + ', '.join(self._defaults))
            if isinstance(self._defaults[name], bool):
                if not isinstance(value, bool):
                    raise TypeError(f'[{where}] {name} is True or False, not {type(value).__name__}')
                continue
            if isinstance(self._defaults[name], tuple):
                self._check_pair(name, value)
            else:
                check_least(where, name, value, 0)
        return options

    def _check_pair(self, name, pair):
        where = type(self).__name__
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(f'[{where}] {name} is a pair of numbers, not {pair!r}')
        for i, value in enumerate(pair):
            if not 0 <= check_number(where, f'{name}[{i}]', value) < 1:
                raise ValueError(f'[{where}] {name}[{i}] is {value}, must be at least 0 and below 1')

    def _check_group(self, group):
        """Refuses options that do not go together."""

    def add_param_group(self, group):
        """Adds a group: a dict with "params" and the options that differ from the defaults."""
        if not isinstance(group, dict) or 'params' not in group:
            raise TypeError('[optim] a group is a dict with "params" and options')
        params = [group['params']] if isinstance(group['params'], Tensor) else self._list_of(group['params'])
        if not params:
            raise ValueError('[optim] a parameter group has no parameters')
        known = {id(x) for other in self.param_groups for x in other['params']}
        for x in params:
            if not isinstance(x, Tensor):
                raise TypeError(f'[optim] a parameter must be a Tensor, not {type(x).__name__}')
            if not x.is_leaf:
                raise ValueError(f'[optim] a parameter is not a leaf: {str.__str__(x.grad_fn or "")} made it')
            if id(x) in known:
                raise ValueError('[optim] a parameter is given twice')
            known.add(id(x))
        own = self._check_options({name: value for name, value in group.items() if name != 'params'})
        whole = {'params': params, **self._first_options, **own}
        self._check_group(whole)
        self.param_groups.append(whole)
        self._plans.append(None)

    def _needs_state(self, group, slot):
        return True

    def _first_state(self, group, slot, param):
        return ops['full_like'](param.detach(), 0)

    def _run(self, group, params, grads, state, step):
        raise NotImplementedError(f'[{type(self).__name__}] has no update rule: define _run')

    @property
    def state(self):
        """By parameter number: a dict of "step" and its tensors."""
        self._write_steps()
        found = {}
        for number, param in enumerate(x for group in self.param_groups for x in group['params']):
            if id(param) in self._state:
                step, tensors = self._state[id(param)]
                found[number] = {'step': step, **{n: x for n, x in zip(self._state_names, tensors) if x is not None}}
        return found

    def zero_grad(self):
        """Drops the gradients of all parameters."""
        _steps.before_zero_grad()
        for group in self.param_groups:
            for x in group['params']:
                x.grad = None

    def step(self, closure=None):
        """Takes one step; parameters without a gradient stay as they are.

        `closure`, if given, computes the loss and its gradients first, and its result is returned.
        """
        loss = closure() if closure is not None else None
        _steps.before(self)
        with tenon.no_grad():
            for g, group in enumerate(self.param_groups):
                self._step_group(g, group)
        return loss

    def _step_group(self, g, group):
        grads = [x.grad for x in group['params']]
        for bucket in self._plan_of(g, group, grads).buckets:
            self._step_bucket(g, group, bucket, [grads[i] for i in bucket.numbers])

    def _step_bucket(self, g, group, bucket, grads):
        bucket.step += 1
        self._run(group, bucket.params, grads, bucket.state, bucket.step)

    def _plan_of(self, g, group, grads):
        pattern = [grad is not None for grad in grads]
        plan = self._plans[g]
        if plan is None or plan.pattern != pattern or plan.moves != _steps.moves:
            plan = self._plans[g] = self._make_plan(group, pattern)
        return plan

    def _make_plan(self, group, pattern):
        self._write_steps()
        plan, buckets = _Plan(), {}
        for i, param in enumerate(group['params']):
            if not pattern[i]:
                continue
            own = self._state.get(id(param))
            if own is None:
                _steps.before_memory()
                own = self._state[id(param)] = [0, [
                    self._first_state(group, slot, param) if self._needs_state(group, slot) else None
                    for slot in range(len(self._state_names))]]
            key = param.dtype.name, str(param.device), own[0]
            bucket = buckets.setdefault(key, _Bucket(own[0], len(self._state_names)))
            bucket.numbers.append(i)
            bucket.params.append(param)
            for slot, x in enumerate(own[1]):
                if x is not None:
                    bucket.state[slot].append(x)
        plan.pattern, plan.buckets, plan.moves = pattern, list(buckets.values()), _steps.moves
        return plan

    def _write_steps(self):
        """The number of steps is kept in the buckets while there is a plan."""
        for plan in self._plans:
            for bucket in plan.buckets if plan is not None else ():
                for param in bucket.params:
                    self._state[id(param)][0] = bucket.step

    # Called for a graph of a training step (tenon/_steps.py).

    def _prepare(self):
        for g, group in enumerate(self.param_groups):
            self._plan_of(g, group, [x.grad for x in group['params']])

    def _counts(self):
        return [bucket.step for plan in self._plans if plan is not None for bucket in plan.buckets]

    def _set_counts(self, counts):
        buckets = [bucket for plan in self._plans if plan is not None for bucket in plan.buckets]
        for bucket, count in zip(buckets, counts):
            bucket.step = count

    def _memory(self):
        for number, param in enumerate(x for group in self.param_groups for x in group['params']):
            _, tensors = self._state.get(id(param), (0, ()))
            yield from ((f'state.{number}.{name}', x) for name, x in zip(self._state_names, tensors) if x is not None)

    def _memory_identity(self):
        return list(self._plans)

    def _memory_holders(self):
        return [self._plans]

    def _numbers_beside(self):
        return []

    def state_dict(self):
        """Options and state as tensors by name, the same as in C++ and suitable for a safetensors file."""
        self._write_steps()
        found, number = {}, 0
        for g, group in enumerate(self.param_groups):
            for name in self._defaults:
                found[f'group.{g}.{name}'] = _as_tensor(group[name])
            for param in group['params']:
                if id(param) in self._state:
                    step, tensors = self._state[id(param)]
                    found[f'state.{number}.step'] = tenon.tensor(step, dtype=tenon.int64)
                    for name, x in zip(self._state_names, tensors):
                        if x is not None:
                            found[f'state.{number}.{name}'] = x
                number += 1
        return found

    def load_state_dict(self, state_dict):
        """Takes options and state from what state_dict() gave; everything is checked before anything changes."""
        if not hasattr(state_dict, 'keys'):
            raise TypeError(f'[optim] wants a dict of tensors by name, not {type(state_dict).__name__}')
        left = dict(state_dict)
        options, state, number = [], {}, 0
        for g, group in enumerate(self.param_groups):
            own = {}
            for name, default in self._defaults.items():
                key = f'group.{g}.{name}'
                if key not in left:
                    raise ValueError(f'[optim] the state has no "{key}"')
                own[name] = type(default)(tenon.asarray(left.pop(key)).tolist())
            options.append(own)
            for param in group['params']:
                prefix = f'state.{number}.'
                number += 1
                if prefix + 'step' in left:
                    step = int(left.pop(prefix + 'step').item())
                    state[id(param)] = [step, [self._load(left, prefix + name, param) if self._needs_state(own, slot) else None
                                               for slot, name in enumerate(self._state_names)]]
        if left:
            raise ValueError(f'[optim] the state has {len(left)} entries that this optimizer does not know '
                             f'({min(left)}, …): other groups, parameters or kind')
        for group, own in zip(self.param_groups, options):
            group.update(own)
        self._state = state
        self._plans = [None] * len(self.param_groups)

    @staticmethod
    def _load(left, key, param):
        if key not in left:
            raise ValueError(f'[optim] "{key}" is missing')
        given = tenon.asarray(left.pop(key))
        if given.shape != param.shape:
            raise ValueError(f'[optim] "{key}" has shape {given.shape}, its parameter {param.shape}')
        with tenon.no_grad():
            own = ops['full_like'](param.detach(), 0)
            own[...] = ops['cast'](given, own.dtype)
        return own

    def __repr__(self):
        lines = [f'{type(self).__name__} (']
        for g, group in enumerate(self.param_groups):
            lines += [f'Parameter group {g}: {len(group["params"])} parameters']
            lines += [f'    {name}: {group[name]}' for name in self._defaults]
        return '\n'.join(lines) + '\n)'
