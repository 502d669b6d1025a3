"""Trees of tensors: tuples, lists, dicts and dataclasses of them, apart into their structure and the tensors."""
import collections
import dataclasses
from typing import Any, NamedTuple

from ._core import Tensor

LEAF = object()  # marks the place of a tensor
_DICTS = {dict, collections.OrderedDict}


class _Fields(NamedTuple):
    """Marks the attributes of a dataclass."""

    kind: type


def shape_of(value, tensors):
    """The structure of value apart from its tensors, which are appended to `tensors`; comparable and, if its leaves are, hashable."""
    if isinstance(value, Tensor):
        tensors.append(value)
        return LEAF
    if isinstance(value, (tuple, list)):
        return type(value), tuple([shape_of(one, tensors) for one in value])
    if type(value) in _DICTS:
        return type(value), tuple(value), tuple([shape_of(one, tensors) for one in value.values()])
    if dataclasses.is_dataclass(value) and not isinstance(value, (type, dict)):
        own = vars(value) if hasattr(value, '__dict__') else {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return _Fields(type(value)), tuple(own), tuple([shape_of(one, tensors) for one in own.values()])
    # 1, 1.0 and True compare equal, and so do 0.0 and -0.0, but they compute different things.
    return None, value, type(value), repr(value) if isinstance(value, (float, complex)) else None


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
    """The value of a structure, with the next of `tensors` at its leaves."""
    if shape is LEAF:
        return next(tensors)
    kind, *rest = shape
    if kind is None:
        return rest[0]
    if isinstance(kind, _Fields):
        made = object.__new__(kind.kind)
        for name, one in zip(rest[0], rest[1]):
            object.__setattr__(made, name, rebuilt(one, tensors))
        return made
    if kind in _DICTS:
        return kind(zip(rest[0], [rebuilt(one, tensors) for one in rest[1]]))
    made = [rebuilt(one, tensors) for one in rest[0]]
    return kind(*made) if hasattr(kind, '_fields') else kind(made)
