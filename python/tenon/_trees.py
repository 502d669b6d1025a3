"""Trees of tensors: tuples, lists, dicts, dataclasses and registered containers of them, apart into their structure and the tensors."""
import collections
import dataclasses
from typing import Any, NamedTuple

from . import _core

LEAF = object()  # marks the place of a tensor


# By type: (flatten, unflatten) of other containers, as PyTorch's pytree has them. flatten(x) gives (parts, what else to keep), and
# unflatten(parts, kept) a container.
containers: dict[type, tuple[Any, Any]] = {}


class _Fields(NamedTuple):
    """Marks the attributes of a dataclass, or of an object that was made in a trace."""

    kind: type


class _Registered(NamedTuple):
    """Marks one of `containers`."""

    kind: type


def shape_of(value, tensors):
    """The structure of value apart from its tensors, which are appended to `tensors`; comparable and, if its leaves are, hashable."""
    return _core._tree_shape(value, tensors)


def _other_shape(value, tensors):
    """The same for what is neither a tensor, a tuple, a list, a plain dict, nor a number or text, for which it is written in C++."""
    if type(value) is collections.OrderedDict:
        return type(value), tuple(value), tuple([shape_of(one, tensors) for one in value.values()])
    if dataclasses.is_dataclass(value) and not isinstance(value, (type, dict)):
        own = vars(value) if hasattr(value, '__dict__') else {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return _Fields(type(value)), tuple(own), tuple([shape_of(one, tensors) for one in own.values()])
    if type(value) in containers:
        parts, kept = containers[type(value)][0](value)
        return _Registered(type(value)), tuple([shape_of(one, tensors) for one in (kept, *parts)])
    made = _shape_of_object(value, tensors) if _core._trace_active() else None
    if made is not None:
        return made
    # 1, 1.0 and True compare equal, and so do 0.0 and -0.0, but they compute different things.
    return None, value, type(value), repr(value) if isinstance(value, (float, complex)) else None


def _shape_of_object(value, tensors):
    """The structure of a plain object that holds tensors of a trace: it was made in the trace, and each run makes another."""
    kind = type(value)
    if kind.__new__ is not object.__new__ or hasattr(kind, 'named_parameters') or not getattr(value, '__dict__', None) or any(
            vars(base).get('__slots__') for base in kind.__mro__):
        return None
    first = len(tensors)
    try:
        parts = tuple([shape_of(one, tensors) for one in vars(value).values()])
        if any(_core._traced(x) for x in tensors[first:]):
            return _Fields(kind), tuple(vars(value)), parts
    except RecursionError:  # it holds itself
        pass
    del tensors[first:]
    return None


def leaves(shape):
    """What a structure holds besides tensors."""
    if shape is LEAF:
        return []
    if shape[0] is None:
        return [shape[1]]
    return [value for part in shape[-1] for value in leaves(part)]


def taken_apart(value):
    """Its structure and its tensors."""
    tensors = []
    return shape_of(value, tensors), tensors


def flat_shape(tensors):
    """The structure of a list of arguments that are tensors."""
    return tuple, (LEAF,) * len(tensors)


def rebuilt(shape, tensors) -> Any:
    """The value of a structure, with the next of `tensors`, an iterator, at its leaves."""
    return _core._tree_value(shape, tensors)


def _other_value(shape, tensors):
    """The same for what _other_shape and subclasses of tuple and list gave."""
    kind, *rest = shape
    if isinstance(kind, _Fields):
        made = object.__new__(kind.kind)
        for name, one in zip(rest[0], rest[1]):
            object.__setattr__(made, name, rebuilt(one, tensors))
        return made
    if isinstance(kind, _Registered):
        kept, *parts = [rebuilt(one, tensors) for one in rest[0]]
        return containers[kind.kind][1](parts, kept)
    if kind is collections.OrderedDict:
        return kind(zip(rest[0], [rebuilt(one, tensors) for one in rest[1]]))
    made = [rebuilt(one, tensors) for one in rest[0]]
    return kind(*made) if hasattr(kind, '_fields') else kind(made)


_core._set_trees(LEAF, _other_shape, _other_value)
