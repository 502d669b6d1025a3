"""Methods that give a tensor other memory or another shape: the object becomes the result of the function without the underscore."""
import functools
import math
import warnings
from typing import Any

import tenon

from ... import _core, _steps
from ..._core import ops
from ..._errors import InvalidArgumentError
from .._common import check, shape_of
from ..shape import as_strided, reshape, squeeze, t, transpose, unsqueeze


def assigned(x, value, name='data'):
    """The leaf x with the elements, shape and dtype of value, without history; whether it requires a gradient stays."""
    check(value, name)
    if _core._inside_vmap():
        raise InvalidArgumentError(f'[{name}] tensors keep their memory within vmap: write the values with x.copy_(values)')
    _without_hooks(x, name)
    if not x.is_leaf:
        raise InvalidArgumentError(f'[{name}] a result keeps its elements: write x = values')
    if x.grad is not None and (x.grad.shape, x.grad.dtype) != (value.shape, value.dtype):
        raise InvalidArgumentError(f'[{name}] x.grad has shape {x.grad.shape} and dtype {x.grad.dtype}, the new elements {value.shape} and '
                                   f'{value.dtype}: write x.grad = None first')
    made = value.detach().requires_grad_(x.requires_grad)
    if x.grad is not None:
        made.grad = x.grad
    x._become(made)
    _steps.moved()
    return x


def _without_hooks(x, name):
    """Hooks belong to the tensor that an object showed before."""
    if x._has_hooks():
        raise InvalidArgumentError(f'[{name}] a tensor with hooks keeps its memory: remove them first')


def became(x, value, name):
    """x, which shows value from now on and has its history."""
    _without_hooks(x, name)
    x._become(value)
    return x


def _reshaping(function):
    """The method that gives the tensor the shape of a view of it, which is recorded like the view."""
    name = function.__name__ + '_'

    @functools.wraps(function)
    def method(self: Any, *args, **kwargs):
        if not self.is_leaf:
            with tenon.enable_grad():  # the history continues in either mode
                return became(self, function(self, *args, **kwargs), name)
        if self.requires_grad and tenon.is_grad_enabled():
            raise InvalidArgumentError(f'[{name}] a leaf that requires a gradient keeps its shape: write it in torch.no_grad()')
        return assigned(self, function(self.detach(), *args, **kwargs), name)
    method.__name__ = method.__qualname__ = name
    method.__module__ = 'tenon.torch'  # where it is a function too
    method.__doc__ = f'{function.__name__}(), which the tensor itself becomes.'
    return method


def _resized(name, x, shape):
    """x in another shape: the same memory if it suffices, otherwise new memory, where new elements are 0."""
    if x.requires_grad:
        raise InvalidArgumentError(f'[{name}] a tensor that requires a gradient keeps its size: use reshape')
    if min(shape, default=0) < 0:
        raise InvalidArgumentError(f'[{name}] sizes of {shape} must not be negative')
    if x.shape == shape:
        return x
    count, flat = math.prod(shape), reshape(x, (-1,))
    if count > x.numel():
        flat = ops['concat']([flat, ops['full']((count - x.numel(),), 0, x.dtype, x.device)], 0)
    return assigned(x, reshape(ops['slice'](flat, 0, 0, count), shape), name)


def resize_output(out, shape):
    """Gives the tensor of `out=` the shape of a result; with a warning if it has elements, as those are lost."""
    if any(n > 1 and step == 0 for n, step in zip(out.shape, out.strides)):
        raise InvalidArgumentError(f'[out] of shape {tuple(out.shape)} shows elements of its memory more than once: it is not resized')
    if out.numel():
        warnings.warn(f'[out] was resized from shape {tuple(out.shape)} to the result\'s, {tuple(shape)}: give a tensor of that shape, or let it go '
                      'first with out.resize_(0)', stacklevel=4)
    with tenon.no_grad():
        _resized('out', out, shape)


class Memory:
    """Methods by name."""

    as_strided_, squeeze_, t_, transpose_, unsqueeze_ = map(_reshaping, (as_strided, squeeze, t, transpose, unsqueeze))
    swapaxes_ = swapdims_ = transpose_

    def detach_(self: Any):
        """Returns itself without history: a leaf that requires no gradient."""
        if not self.is_leaf:
            _without_hooks(self, 'detach_')
            self._become(self.detach())
        return self.requires_grad_(False)

    def resize_(self: Any, *sizes, memory_format=None):
        """Changes the shape, using the same memory, or new memory if that is too small: elements stay, new ones are 0."""
        return _resized('resize_', self, shape_of(sizes))

    def resize_as_(self: Any, the_template, memory_format=None):
        """resize_() to the shape of another tensor."""
        return _resized('resize_as_', self, check(the_template).shape)

    def set_(self: Any, source: Any = None, storage_offset=0, size=None, stride=None):
        """Makes this tensor use the memory of source, or a part of it given by size and stride."""
        if source is None:
            source = ops['full']((0,), 0, self.dtype, self.device)
        if hasattr(source, 'untyped'):
            from ..storage import elements
            source = elements(source, self.dtype)
        if check(source, 'set_').dtype is not self.dtype:
            raise InvalidArgumentError(f'[set_] source has dtype {source.dtype}, the tensor {self.dtype}')
        if size is not None:
            size = shape_of((size,)) if isinstance(size, (tuple, list)) else (size,)
            steps = [math.prod(size[i + 1:]) for i in range(len(size))] if stride is None else stride
            source = as_strided(source, size, steps, storage_offset)
        elif storage_offset or stride is not None:
            raise InvalidArgumentError('[set_] an offset and strides need a size')
        return assigned(self, source, 'set_')

    def share_memory_(self: Any):
        """Moves the elements into memory that processes share; views made before keep the old memory. On devices it does nothing."""
        if self.device.type != 'cpu' or self.is_shared():
            return self
        from ..shared import share
        return assigned(self, share(self), 'share_memory_')
