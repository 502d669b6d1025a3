"""torch.library: ops of one's own, in Python.

>>> import tenon.torch as torch
>>> @torch.library.custom_op('mine::twice', mutates_args=())
... def twice(x: torch.Tensor) -> torch.Tensor:
...     return x * 2
>>> torch.ops.mine.twice(torch.ones(2))
tensor([2., 2.])
"""
import contextlib

from .check import OpCheckError, opcheck
from .op import REGISTERED, CustomOpDef
from .schema import infer_schema
from .._common import absent

__all__ = ['CustomOpDef', 'Library', 'OpCheckError', 'custom_op', 'define', 'impl', 'impl_abstract', 'infer_schema', 'opcheck', 'register_autocast',
           'register_autograd', 'register_fake', 'register_kernel', 'register_vmap']

_KINDS = {'CPU': 'cpu', 'CUDA': 'cuda', 'default': None, 'CompositeExplicitAutograd': None}  # of devices, by PyTorch's keys


def custom_op(name, fn=None, /, *, mutates_args, device_types=None, schema=None, tags=None):
    """Makes a function an op named 'namespace::name'. mutates_args: the names of arguments that it writes to; schema: what its annotations
    say otherwise."""
    def make(fn):
        op = CustomOpDef(_checked(name), infer_schema(fn, mutates_args=mutates_args) if schema is None else schema)
        op.register_kernel(device_types, fn)
        return op
    return make if fn is None else make(fn)


def _checked(name):
    if name.count('::') != 1 or not all(part.replace('.', '_').isidentifier() for part in name.split('::')):
        raise ValueError(f'[library] {name!r} is not the name of an op: write namespace::name')
    return name


def _op(op):
    if isinstance(op, CustomOpDef):
        return op
    if op not in REGISTERED:
        raise RuntimeError(f'[library] there is no op {op!r}: custom_op() or define() adds it')
    return REGISTERED[op]


def define(qualname, schema, *, lib=None, tags=()):
    """Declares an op by its schema; impl() gives it kernels."""
    CustomOpDef(_checked(qualname), schema)


def impl(qualname, types, func=None, *, lib=None):
    """Sets the kernel of an op for kinds of devices: 'cpu', 'cuda', …, or 'default' for all."""
    return register_kernel(qualname, None if types == 'default' else types, func)


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """As CustomOpDef.register_kernel()."""
    return _op(op).register_kernel(device_types, func)


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=False):
    """As CustomOpDef.register_fake()."""
    return _op(op).register_fake if func is None else _op(op).register_fake(func)


impl_abstract = register_fake  # its older name


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """As CustomOpDef.register_autograd()."""
    _op(op).register_autograd(backward, setup_context=setup_context)


def register_vmap(op, func=None, /, *, lib=None):
    """As CustomOpDef.register_vmap()."""
    return _op(op).register_vmap(func)


def register_autocast(op, device_type, cast_inputs, /, *, lib=None):
    """As CustomOpDef.register_autocast()."""
    _op(op).register_autocast(device_type, cast_inputs)


class Library:
    """A namespace whose ops are declared by define() and implemented by impl()."""

    def __init__(self, ns, kind, dispatch_key=''):
        if kind not in ('DEF', 'IMPL', 'FRAGMENT'):
            raise ValueError(f"Unsupported kind: {kind}: it is 'DEF', 'IMPL' or 'FRAGMENT'")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._names = []

    def define(self, schema, alias_analysis='', *, tags=()):
        """Declares 'name(Tensor x) -> Tensor'; returns the name."""
        name, bracket, rest = schema.partition('(')
        define(f'{self.ns}::{name.strip()}', bracket + rest)
        self._names.append(f'{self.ns}::{name.strip()}')
        return name.strip()

    def impl(self, op_name, fn, dispatch_key='', *, with_keyset=False, allow_override=False):
        """Sets the kernel for a key: CPU, CUDA, Meta, CompositeExplicitAutograd; without one the function is recorded as it is written."""
        op = _op(op_name if isinstance(op_name, CustomOpDef) else f'{self.ns}::{op_name.removeprefix(self.ns + "::")}')
        key = dispatch_key or self.dispatch_key
        if key in _KINDS:
            op.register_kernel(_KINDS[key], fn)
        elif key == 'Meta':
            op.register_fake(fn)
        elif key.startswith('Autocast'):
            op._autocast[key.removeprefix('Autocast').lower()] = fn
        elif key in ('', 'CompositeImplicitAutograd') or key.startswith('Autograd'):
            op._recorded = fn
        else:
            raise RuntimeError(f'[Library.impl] key {key!r} is not offered: CPU, CUDA, Meta, Autograd, Autocast, CompositeExplicitAutograd and '
                               'CompositeImplicitAutograd are')

    def _destroy(self):
        for name in self._names:
            REGISTERED.pop(name, None)


@contextlib.contextmanager
def _scoped_library(ns, kind, dispatch_key=''):
    made = Library(ns, kind, dispatch_key)
    try:
        yield made
    finally:
        made._destroy()


__getattr__ = absent(__name__, {})
