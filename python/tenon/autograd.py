"""Gradients: modes, grad(), and functions with a custom backward."""
from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading

from . import _core
from ._core import Tensor, ops
from ._errors import InvalidArgumentError
from ._retained import retain_anew

TYPE_CHECKING = False  # so that `import tenon` stays light
if TYPE_CHECKING:
    from typing import Any

GRAD, INFERENCE, ANOMALY = 1, 2, 4


_GENERATOR = 0x20  # inspect.CO_GENERATOR


def _stepwise(function, kind):
    """A generator function whose body runs in the mode, while the code that iterates over it does not."""
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        generator = function(*args, **kwargs)
        resume = functools.partial(next, generator)
        while True:
            try:
                with kind():
                    item = resume()
            except StopIteration as end:
                return end.value
            try:
                resume = functools.partial(generator.send, (yield item))
            except GeneratorExit:
                with kind():
                    generator.close()
                raise
            except BaseException as error:
                resume = functools.partial(generator.throw, error)
    return wrapped


class _Mode:
    """Sets modes of the calling thread for a scope. Also a decorator, including for generators. One object may be entered many
    times."""
    _set = _clear = 0
    _before: list

    def __new__(cls, function=None) -> Any:
        made = super().__new__(cls)
        made._before = []
        return made if function is None else made(function)  # @no_grad works like @no_grad()

    def __enter__(self):
        self._before.append(_core._set_modes(self._set, self._clear))
        return self

    def __exit__(self, *_):
        _core._restore_modes(self._before.pop())

    def __call__(self, function):
        kind = type(self)
        if getattr(getattr(function, '__code__', None), 'co_flags', 0) & _GENERATOR:
            return _stepwise(function, kind)

        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with kind():
                return function(*args, **kwargs)
        return wrapped


class no_grad(_Mode):
    """A scope in which ops are not recorded."""
    _clear = GRAD


class enable_grad(_Mode):
    """A scope in which ops are recorded, even inside no_grad."""
    _set = GRAD


class inference_mode(_Mode):
    """A scope whose results can never join a graph; cheaper than no_grad."""
    _set, _clear = INFERENCE, GRAD


class anomaly_mode(_Mode):
    """In this scope backward() checks each gradient for NaN; the error names the op of the forward pass that made it and the line of
    the program that called that op. For debugging, because every op is slower."""
    _set = ANOMALY

    def __enter__(self):
        _core._anomaly_scopes(1)
        return super().__enter__()

    def __exit__(self, *exception):
        super().__exit__(*exception)
        _core._anomaly_scopes(-1)


_PACKAGE = os.path.dirname(__file__) + os.sep
_lines = threading.local()


def _note_line(x):
    """Called with each recorded result in anomaly mode: its hook runs just before the backward of the op that made it."""
    frame = sys._getframe(0)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    if frame is None:
        return
    where = f'{frame.f_code.co_filename}:{frame.f_lineno}, in {frame.f_code.co_name}'

    def remember(_):
        _lines.last = x_name, where
    x_name = x.grad_fn
    x._add_hook(remember)


def _with_line(message):
    """An error's message with the line of the op whose backward raised it."""
    name, where = getattr(_lines, 'last', (None, None))
    _lines.last = None, None
    return f'{message}\n  called at {where}' if name is not None and f'[{name}]' in message else message


@contextlib.contextmanager
def set_grad_enabled(on):
    """Switches recording on or off in a scope."""
    with enable_grad() if on else no_grad():
        yield


def is_grad_enabled():
    """Whether ops of this thread are recorded."""
    return bool(_core._get_modes() & GRAD)


def _as_list(tensors):
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _gradient(*args):
    """Like _core._gradient, but also works inside vmap."""
    if not _core._inside_vmap():
        return _core._gradient(*args)
    from . import _vmap
    return _vmap.gradient(*args)


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, allow_unused=False):
    """Gradients of the outputs with respect to the inputs, as a tuple; the leaves' own gradients stay as they are.

    allow_unused: an input that was not used gets None instead of an error.
    """
    given = None if grad_outputs is None else _as_list(grad_outputs)
    retain = create_graph if retain_graph is None else retain_graph
    return tuple(_gradient(_as_list(outputs), _as_list(inputs), given, retain, create_graph, allow_unused))


def _accumulate(outputs, inputs, grads, retain, create_graph):
    """Adds the gradients of the outputs to x.grad of the inputs alone, then runs what waits for them. Results of ops among the inputs
    keep their gradients from then on, as by retain_grad()."""
    if not inputs:
        raise InvalidArgumentError('[backward] inputs must not be empty')
    for x in inputs:
        if not x.is_leaf:
            x.retain_grad()

    def add():
        for x, found in zip(inputs, _gradient(outputs, inputs, grads, retain, create_graph, True)):
            if found is not None and x.is_leaf:
                found = found if create_graph else found.detach()
                x.grad = ops['clone'](found) if x.grad is None else x.grad + found  # other inputs may get the same tensor
    _core._accumulate(add)


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False):
    """Accumulates gradients of several outputs into the leaves."""
    retain_anew()
    given = None if grad_tensors is None else _as_list(grad_tensors)
    _core._backward(_as_list(tensors), given, create_graph if retain_graph is None else retain_graph, create_graph)


from ._function import Function, once_differentiable  # noqa: E402, F401 (it records by the functions above)
