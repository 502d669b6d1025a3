"""Proxy: what stands for a value while a program is recorded."""
import dis
import operator
import sys
from typing import Any

from .naming import BINARY, COMPARED, UNARY


class TraceError(ValueError):
    """A program asks for a value that is not known while it is recorded."""


class Proxy:
    """Stands for the result of a node: what is done with it becomes a node of the same graph."""

    __getitem__: Any  # and the operators, set below

    def __init__(self, node, tracer=None):
        if tracer is None:
            from .tracer import GraphAppendingTracer
            tracer = GraphAppendingTracer(node.graph)
        self.tracer, self.node = tracer, node

    def __repr__(self):
        return f'Proxy({self.node.name})'

    def __getattr__(self, name):
        if name[:2] == '__':  # Python asks for what an object is
            raise AttributeError(name)
        return Attribute(self, name)

    def __getstate__(self):
        return self.__dict__

    def __deepcopy__(self, memo):
        raise TypeError('[Proxy] cannot be copied while a program is recorded')

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy('call_method', '__call__', (self, *args), kwargs)

    def __iter__(self):
        frame = sys._getframe(1)
        instruction = next((each for each in dis.get_instructions(frame.f_code) if each.offset == frame.f_lasti), None)
        if instruction is not None and instruction.opname == 'UNPACK_SEQUENCE':
            return (self.__getitem__(i) for i in range(instruction.argval))
        return self.tracer.iter(self)

    def __bool__(self):
        return self.tracer.to_bool(self)

    def __len__(self):
        raise RuntimeError("'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call torch.fx.wrap('len') "
                           'at module scope')

    def keys(self):
        return self.tracer.keys(self)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        from ..overrides import is_tensor_method_or_property
        tracer = proxy_in((args, kwargs)).tracer
        if is_tensor_method_or_property(func):
            return tracer.create_proxy('call_method', func.__name__, args, kwargs or {})
        return tracer.create_proxy('call_function', func, args, kwargs or {})


class Attribute(Proxy):
    """An attribute of a Proxy: a node if it is used, unless it is called as a method."""

    def __init__(self, root, attr):
        self.root, self.attr, self.tracer, self._node = root, attr, root.tracer, None

    @property
    def node(self):
        if self._node is None:
            self._node = self.tracer.create_proxy('call_function', getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy('call_method', self.attr, (self.root, *args), kwargs)


def proxy_in(value) -> Any:
    """A Proxy within tuples, lists, dicts and slices; None if there is none."""
    if isinstance(value, Proxy):
        return value
    if isinstance(value, slice):
        value = value.start, value.stop, value.step
    elif isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (tuple, list)):
        return None
    return next((found for found in map(proxy_in, value) if found is not None), None)


def _operator(function, reflected=False):
    def method(self, *others):
        args = (*others, self) if reflected else (self, *others)
        return self.tracer.create_proxy('call_function', function, args, {})
    return method


for _name in (*BINARY, *COMPARED, *UNARY, 'getitem', 'abs'):
    setattr(Proxy, f'__{_name.strip("_")}__', _operator(getattr(operator, _name)))
for _name in BINARY:
    setattr(Proxy, f'__r{_name.strip("_")}__', _operator(getattr(operator, _name), reflected=True))
Proxy.__hash__ = object.__hash__  # pyright: ignore[reportAttributeAccessIssue]


def __getattr__(name):
    if name not in ('GraphAppendingTracer', 'TracerBase'):
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    from . import tracer  # it needs this module first
    return getattr(tracer, name.replace('TracerBase', 'Tracer'))
