"""Parameters, including those whose shape the first input determines."""
from typing import Any

import tenon

from ...nn.parameter import Buffer, Parameter
from ..._core import Tensor
from ..._overriding import disabled
from .._common import defaults

__all__ = ['Buffer', 'Parameter', 'UninitializedBuffer', 'UninitializedParameter', 'is_lazy']


def is_lazy(x):
    """Whether a parameter or buffer still waits for its shape."""
    return isinstance(x, _Waiting)


class _Waiting(Tensor):
    """A tensor without a shape until materialize(): a parameter stays this object, a buffer is replaced in its module."""

    __torch_function__ = disabled
    _owner: Any = None  # (module, name) while a module infers its shapes

    @property
    def shape(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Not yet known."""
        raise RuntimeError(f'[{type(self).__name__}] has no shape yet: call the module once, or materialize(shape)')

    size: Any = shape

    def _made(self, data):
        raise NotImplementedError

    def materialize(self, shape, device=None, dtype=None):
        """Makes the tensor of a shape, which this one becomes or which replaces it; its values are undefined."""
        made = self._made(tenon.empty(tuple(shape), dtype=dtype or self.dtype, device=device or self.device))
        if self._owner is not None:
            module, name = self._owner
            module._set(name, made)
        return made

    def _like(self, data):
        return _again(type(self), self.requires_grad, data.device, data.dtype)

    def __deepcopy__(self, memo):
        memo[id(self)] = copy = _again(type(self), self.requires_grad, self.device, self.dtype)
        return copy

    def __reduce_ex__(self, protocol):
        return _again, (type(self), self.requires_grad, self.device, self.dtype)

    def __repr__(self):
        return f'<{type(self).__name__}>'


def _again(kind: Any, *given) -> Any:
    return kind(*given)


def _nothing(device, dtype):
    dtype, device = defaults.settle(dtype, device)
    return tenon.empty((0,), dtype=dtype, device=device)


class UninitializedParameter(_Waiting, Parameter):  # pyright: ignore[reportIncompatibleVariableOverride]
    """A Parameter whose shape the first input determines, as in lazy modules."""

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        return Parameter.__new__(cls, _nothing(device, dtype), requires_grad)

    def __init__(self, requires_grad=True, device=None, dtype=None):
        Tensor.__init__(self)

    def _made(self, data):
        self._become(Parameter(data, self.requires_grad))
        setattr(self, '__class__', Parameter)
        return self


class UninitializedBuffer(_Waiting):
    """A buffer whose shape the first input determines, as in lazy modules."""

    def __new__(cls, requires_grad=False, device=None, dtype=None):
        return Tensor.__new__(cls, _nothing(device, dtype))

    def __init__(self, requires_grad=False, device=None, dtype=None):
        Tensor.__init__(self)

    def _made(self, data):
        return data
