"""Functions that a module calls before and after its forward and backward passes."""
import itertools
import types

from .._core import Tensor, ops
from .._methods import HookHandle
from ..autograd import Function, is_grad_enabled
from ._tree import Tree

_NONE = types.MappingProxyType({})


class RemovableHandle(HookHandle):
    """Returned when a hook is registered; `remove()` removes the hook, and so does leaving its scope."""

    _numbers = itertools.count()

    def __init__(self, hooks, hook, prepend=False):
        self._hooks, self.id = hooks, next(self._numbers)
        later = dict(hooks) if prepend else {}
        if prepend:
            hooks.clear()
        hooks[self.id] = hook
        hooks.update(later)

    def remove(self):
        """Removes the hook; a second call does nothing."""
        self._hooks.pop(self.id, None)


EVERYWHERE = {kind: {} for kind in ('_forward_hooks', '_forward_pre_hooks', '_backward_hooks', '_backward_pre_hooks')}  # hooks of all modules
_OPTIONS: dict[int, frozenset[str]] = {}  # number of such a hook: what it was registered with


class _HandleEverywhere(RemovableHandle):
    def remove(self):
        super().remove()
        _note_everywhere()


def _note_everywhere():
    Hooks._hooked = Hooks._hooked_with_options = any(EVERYWHERE.values())


def register_everywhere(kind, hook, **options):
    """Adds a hook that every module calls, before those of its own."""
    handle = _HandleEverywhere(EVERYWHERE[kind], hook)
    _OPTIONS[handle.id] = frozenset(name for name, on in options.items() if on)
    _note_everywhere()
    return handle


def _as_tuple(value):
    return value if isinstance(value, tuple) else (value,)


class BackwardHookFunction(Function):
    """Passes tensors through, and their gradients through a function."""

    @staticmethod
    def forward(ctx, seen, *tensors):
        ctx.seen = seen
        return tensors

    @staticmethod
    def backward(ctx, *gradients):
        return None, *ctx.seen(gradients)


def _through(seen, values):
    """values, a tuple, such that `seen` receives the gradients of those that have one, and whether any has.

    It receives 0 for other tensors, and None for values that are no tensors.
    """
    if not is_grad_enabled():
        return values, False
    at = [i for i, x in enumerate(values) if isinstance(x, Tensor) and x.requires_grad]
    others = [(i, x.detach()) for i, x in enumerate(values) if isinstance(x, Tensor) and not x.requires_grad]

    def spread(gradients):
        whole: list = [None] * len(values)
        for i, x in others:
            whole[i] = ops['full_like'](x, 0)
        for i, gradient in zip(at, gradients):
            whole[i] = gradient
        changed = seen(tuple(whole))
        return [changed[i] for i in at]
    passed = list(values)
    for i, x in zip(at, BackwardHookFunction.apply(spread, *(values[i] for i in at)) if at else ()):
        passed[i] = x
    return tuple(passed), bool(at)


class _BackwardCall:
    """One forward pass of a module with backward hooks: gradients of its results, then those of its arguments."""

    def __init__(self, module):
        self.module, self.of_outputs, self.inputs_recorded, self.count = module, None, False, 0

    def inputs(self, args):
        self.count = len(args)
        args, self.inputs_recorded = _through(self._at_inputs, args)
        return args

    def outputs(self, result):
        values = tuple(result) if isinstance(result, (tuple, list)) else (result,)
        values, _ = _through(self._at_outputs, values)
        if not isinstance(result, (tuple, list)):
            return values[0]
        return type(result)(*values) if hasattr(result, '_fields') else type(result)(values)

    def _at_outputs(self, gradients):
        for _, hook in self.module._hooks_of('_backward_pre_hooks'):
            gradients = self._changed(gradients, hook(self.module, gradients))
        self.of_outputs = gradients
        if not self.inputs_recorded:
            self._at_inputs((None,) * self.count)
        return gradients

    def _at_inputs(self, gradients):
        for _, hook in self.module._hooks_of('_backward_hooks'):
            gradients = self._changed(gradients, hook(self.module, gradients, self.of_outputs))
        return gradients

    def _changed(self, gradients, changed):
        if changed is None:
            return gradients
        changed = _as_tuple(changed)
        if len(changed) != len(gradients):
            raise RuntimeError(f'[{type(self.module).__name__}] a backward hook returned {len(changed)} gradients for {len(gradients)}')
        return changed


class Hooks(Tree):
    """The part of Module that calls hooks; a module without any only checks one flag.

    The second flag is for backward hooks and hooks that were registered with options.
    """

    _hooked = _hooked_with_options = False
    _forward_hooks = _forward_pre_hooks = _backward_hooks = _backward_pre_hooks = _NONE
    _state_hooks = _state_pre_hooks = _load_hooks = _load_pre_hooks = _NONE
    _hook_options = _NONE  # by the number of a hook, its options

    def _register(self, kind, hook, prepend=False, **options):
        if not callable(hook):
            raise TypeError(f'[{type(self).__name__}] a hook must be callable, not {type(hook).__name__}')
        for name in (kind, '_hook_options'):
            if name not in self.__dict__:
                object.__setattr__(self, name, {})
        handle = RemovableHandle(getattr(self, kind), hook, prepend)
        if any(options.values()):
            self._hook_options[handle.id] = frozenset(name for name, on in options.items() if on)  # pyright: ignore[reportIndexIssue]
        self._note_hooks()
        return handle

    def _note_hooks(self):
        """Sets the two flags; those of the class are left to hooks of all modules."""
        forward, backward = {**self._forward_hooks, **self._forward_pre_hooks}, self._backward_hooks or self._backward_pre_hooks
        for flag, on in (('_hooked', forward or backward), ('_hooked_with_options', backward or forward.keys() & self._hook_options.keys())):
            if on:
                object.__setattr__(self, flag, True)
            else:
                self.__dict__.pop(flag, None)

    def _has(self, number, option):
        return option in (self._hook_options.get(number) or _OPTIONS.get(number, ()))

    def _hooks_of(self, kind):
        """Hooks of a kind with their numbers, first those of all modules."""
        return [*EVERYWHERE[kind].items(), *getattr(self, kind).items()]

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """Calls hook(module, args, output) after forward; what it returns, if not None, replaces the output.

        with_kwargs: hook(module, args, kwargs, output). prepend: before the existing hooks. always_call: even if forward raised an
        error, with output None.
        """
        return self._register('_forward_hooks', hook, prepend, with_kwargs=with_kwargs, always_call=always_call)

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Calls hook(module, args) before forward; what it returns, if not None, replaces the arguments.

        with_kwargs: hook(module, args, kwargs), which returns None or (args, kwargs). prepend: before the existing hooks.
        """
        return self._register('_forward_pre_hooks', hook, prepend, with_kwargs=with_kwargs)

    def register_full_backward_hook(self, hook, prepend=False):
        """Calls hook(module, grad_input, grad_output) when the gradients of forward's positional arguments are known.

        Both are tuples with None for values that are no tensors or have no gradient; what the hook returns, if not None, replaces
        grad_input.
        """
        return self._register('_backward_hooks', hook, prepend)

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """Calls hook(module, grad_output) before the backward pass of the module; a result, if not None, replaces grad_output."""
        return self._register('_backward_pre_hooks', hook, prepend)

    def register_backward_hook(self, hook):
        """Not offered: its gradients depend on what the last op of forward is."""
        raise NotImplementedError(f'[{type(self).__name__}] register_backward_hook is not offered: use register_full_backward_hook')

    def _call_with_hooks(self, args, kwargs):
        if self._hooked_with_options:
            return self._call_with_options(args, kwargs)
        for hook in list(self._forward_pre_hooks.values()):
            changed = hook(self, args)
            if changed is not None:
                args = _as_tuple(changed)
        result = self.forward(*args, **kwargs)
        for hook in list(self._forward_hooks.values()):
            changed = hook(self, args, result)
            if changed is not None:
                result = changed
        return result

    def _call_with_options(self, args, kwargs):
        """The same with backward hooks and with hooks that were registered with options."""
        called = set()
        try:
            return self._with_hooks(args, kwargs, called)
        except Exception:
            for number, hook in self._hooks_of('_forward_hooks'):
                if self._has(number, 'always_call') and number not in called:
                    self._after(number, hook, args, kwargs, None)
            raise

    def _with_hooks(self, args, kwargs, called):
        for number, hook in self._hooks_of('_forward_pre_hooks'):
            args, kwargs = self._before(number, hook, args, kwargs)
        backward = _BackwardCall(self) if self._hooks_of('_backward_hooks') or self._hooks_of('_backward_pre_hooks') else None
        result = self.forward(*(backward.inputs(args) if backward else args), **kwargs)
        for number, hook in self._hooks_of('_forward_hooks'):
            called.add(number)
            changed = self._after(number, hook, args, kwargs, result)
            result = result if changed is None else changed
        return backward.outputs(result) if backward else result

    def _before(self, number, hook, args, kwargs):
        if not self._has(number, 'with_kwargs'):
            changed = hook(self, args)
            return args if changed is None else _as_tuple(changed), kwargs
        changed = hook(self, args, kwargs)
        if changed is None:
            return args, kwargs
        if not (isinstance(changed, tuple) and len(changed) == 2):
            raise RuntimeError(f'[{type(self).__name__}] a forward pre-hook with kwargs returns None or (args, kwargs), not {changed!r}')
        return _as_tuple(changed[0]), changed[1]

    def _after(self, number, hook, args, kwargs, result):
        return hook(self, args, kwargs, result) if self._has(number, 'with_kwargs') else hook(self, args, result)
