"""Custom ops: functions of tensors under a name, with kernels by kind of device, gradients and rules for vmap."""
import contextlib

from ..._core import Tensor
from ..._errors import UnimplementedError
from ..._function import Function
from ...autograd import no_grad
from .schema import Schema

REGISTERED: 'dict[str, CustomOpDef]' = {}


class CustomOpDef:
    """An op that is called as its function is. Made by custom_op(), and found as torch.ops.NAMESPACE.NAME."""

    def __init__(self, name, schema):
        self._qualname, self._schema = name, Schema(name, schema)
        self._kernels = {}  # by kind of device; None: any
        self._recorded = self._fake = self._backward = self._setup = None
        self._casts = {}  # by kind of device, the dtype under autocast
        self._autocast = {}  # by kind of device, the function that is called instead under autocast
        self._function = _function_of(self)
        REGISTERED[name] = self

    def __repr__(self):
        return f'<CustomOpDef({self._qualname})>'

    def __call__(self, *args, **kwargs):
        args = self._schema.bind(args, kwargs)
        instead = self._under_autocast() if self._autocast else None
        if instead is not None:
            return self._instead(instead, args)
        if self._recorded is not None:  # written in ops that have gradients
            return self._schema.call(self._recorded, args)
        args = self._cast(args)
        if self._schema.writes:
            return self._run(args)
        found = Flattening(args)
        return self._function.apply(found, *found.split(args))

    def _under_autocast(self):
        from ..amp.autocast_mode import is_autocast_enabled
        return next((function for kind, function in self._autocast.items() if is_autocast_enabled(kind)), None)

    def _instead(self, function, args):
        """function(*args), which may call the op: that call is not replaced again."""
        from ..amp.autocast_mode import autocast
        with contextlib.ExitStack() as off:
            for kind in self._autocast:
                off.enter_context(autocast(kind, enabled=False))
            return self._schema.call(function, args)

    def _run(self, args):
        tensors = [x for x in Flattening(args).split(args) if isinstance(x, Tensor)]
        kind = tensors[0].device.type if tensors else 'cpu'
        kernel = self._kernels.get(kind) or (self._fake if kind == 'meta' else None) or self._kernels.get(None)
        if kernel is None:
            raise UnimplementedError(f'[{self._qualname}] has no kernel for {kind}: those of {sorted(map(str, self._kernels))} are registered, '
                                     'register_kernel() adds one')
        with no_grad():
            found = self._schema.call(kernel, args)
        for result in found if isinstance(found, (list, tuple)) else [found]:
            if isinstance(result, Tensor) and any(result is x or result.shares_memory(x) for x in tensors):
                raise RuntimeError(f'{self._qualname}: the output of this custom operator (1) must not also be an input to this custom operator and '
                                   '(2) may not alias any inputs to this custom operator or other returns. Return a clone() of it.')
        return found

    def _cast(self, args):
        """The arguments in the dtype that autocast has for this op."""
        if not self._casts:
            return args
        from ..amp.autocast_mode import is_autocast_enabled
        for kind, dtype in self._casts.items():
            if is_autocast_enabled(kind):
                def cast(x, kind=kind, dtype=dtype):
                    if isinstance(x, list):
                        return [cast(each) for each in x]
                    return x.to(dtype) if isinstance(x, Tensor) and x.is_floating_point() and x.device.type == kind else x
                return [cast(each) for each in args]
        return args

    def register_kernel(self, device_types, fn=None, /):
        """Sets the kernel for a kind of device, several, or None for all."""
        def register(fn):
            for kind in [device_types] if device_types is None or isinstance(device_types, str) else device_types:
                self._kernels[kind] = fn
            return fn
        return register if fn is None else register(fn)

    def register_fake(self, fn, /):
        """Sets the function that gives results of the right shapes and dtypes: for tensors without memory, and for opcheck()."""
        self._fake = fn
        return fn

    def register_autograd(self, backward, /, *, setup_context=None):
        """Sets backward(ctx, *gradients) -> a gradient, or None, for each argument, and setup_context(ctx, inputs, output)."""
        if self._schema.writes:
            raise RuntimeError(f'Cannot register autograd formula for non-functional operator {self} with schema {self._schema}. Please create a '
                               'functional operator and register an autograd formula for that.')
        self._backward, self._setup = backward, setup_context

    def register_vmap(self, func=None, /):
        """Sets func(info, in_dims, *args) -> (results, out_dims), which runs once for a whole batch."""
        def register(func):
            def rule(info, in_dims, shape, *leaves):
                return func(info, tuple(shape.join(in_dims[1:])), *shape.join(leaves))
            setattr(self._function, 'vmap', staticmethod(rule))  # the class says that it has none
            return func
        return register if func is None else register(func)

    def register_autocast(self, device_type, cast_inputs, /):
        """Sets the dtype that floating tensors have under autocast on a kind of device."""
        self._casts[device_type] = cast_inputs

    @property
    def default(self):
        """The op itself: its only overload."""
        return self


class Flattening:
    """How arguments, some of them lists, become a flat sequence, and back."""

    def __init__(self, args):
        self.lengths = [len(each) if isinstance(each, list) else None for each in args]

    def split(self, args):
        return [x for each, n in zip(args, self.lengths) for x in ([each] if n is None else [None] * n if each is None else each)]

    def join(self, leaves):
        rest = iter(leaves)
        return [next(rest) if n is None else [next(rest) for _ in range(n)] for n in self.lengths]


def _function_of(op):
    """The Function that records calls of an op."""
    class Generated(Function):
        @staticmethod
        def forward(shape, *leaves):  # pyright: ignore[reportIncompatibleMethodOverride]
            return op._run(shape.join(leaves))

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx._shape = inputs[0]
            if op._setup is not None:
                free, named = op._schema.parts(ctx._shape.join(inputs[1:]))
                if named:
                    _with_arguments(ctx, op._setup, inputs=free, keyword_only_inputs=named, output=output)
                else:
                    _with_arguments(ctx, op._setup, free, output)

        @staticmethod
        def backward(ctx, *gradients):
            if op._backward is None:
                raise RuntimeError(f'Trying to backward through {op._qualname.replace("::", ".")}.default but no autograd formula was registered. '
                                   'Please use register_autograd to add one.')
            found = _with_arguments(ctx, op._backward, *gradients)
            found = tuple(found) if isinstance(found, (list, tuple)) else (found,)
            found += (None,) * sum(each.keyword_only for each in op._schema.arguments)
            if len(found) != len(ctx._shape.lengths):
                raise RuntimeError(f'[{op._qualname}] backward gives {len(found)} gradients for {len(ctx._shape.lengths)} arguments')
            return None, *ctx._shape.split(found)

    Generated.__name__ = Generated.__qualname__ = f'GeneratedBackwardFor_{op._qualname.replace("::", "_")}_default'
    return Generated


def _with_arguments(ctx, function, *args, **named):
    """function(ctx, *args, **named), for which ctx.needs_input_grad has the shape of the op's arguments."""
    flat = ctx.needs_input_grad
    ctx.needs_input_grad = tuple(ctx._shape.join(flat[1:]))
    try:
        return function(ctx, *args, **named)
    finally:
        ctx.needs_input_grad = flat


class _Aten:
    """torch.ops.aten.NAME: torch.NAME, by itself or by the name of any overload. Inner ops of PyTorch are keys of tables alone."""

    def __init__(self, name, function):
        self.__name__, self._function = name, function

    def __call__(self, *args, **kwargs):
        if self._function is None:
            raise UnimplementedError(f'[torch.ops.aten.{self.__name__}] is not offered here: call a public function of torch')
        return self._function(*args, **kwargs)

    def __getattr__(self, name):
        if name[:1] == '_':
            raise AttributeError(name)
        return self

    def overloads(self):
        """['default']: one function takes all kinds of arguments."""
        return ['default']

    def __repr__(self):
        return f'aten.{self.__name__}'


def _aten(name):
    import tenon.torch as torch
    holders = torch, torch.nn.functional, torch.linalg, torch.special, torch.fft, Tensor
    return _Aten(name, next(filter(callable, (getattr(holder, name, None) for holder in holders)), None))


class _Namespace:
    def __init__(self, name):
        self._name = name

    def __getattr__(self, name):
        if name[:2] == '__':
            raise AttributeError(name)
        if self._name == 'aten':
            found = self.__dict__[name] = _aten(name)
            return found
        try:
            return REGISTERED[f'{self._name}::{name}']
        except KeyError:
            raise AttributeError(f"'_OpNamespace' '{self._name}' object has no attribute '{name}': torch.library.custom_op adds ops") from None


class _Ops:
    """torch.ops: custom ops by namespace and name."""

    def __getattr__(self, name):
        if name[:2] == '__':
            raise AttributeError(name)
        found = self.__dict__[name] = _Namespace(name)
        return found

    def load_library(self, path):
        """Loads the ops of a library, of which there are torchvision's; OSError for others."""
        import os
        folder, name = os.path.split(path)
        if os.path.basename(folder) == 'torchvision' and name.startswith('_C'):
            from . import vision
            return vision.__name__
        raise OSError(f'[torch.ops.load_library] {path} is built for PyTorch: a plugin of this library brings ops, see docs/sdk/')


ops = _Ops()
