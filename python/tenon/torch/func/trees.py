"""Converts nested dicts, lists and tuples of tensors to flat lists and back."""
import collections
from typing import Any

from ..._core import Tensor
from ..._errors import InvalidArgumentError


def _is_named(value):
    return isinstance(value, tuple) and hasattr(value, '_fields')


def children(value) -> Any:
    """The parts of a container, or None for a leaf."""
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, (list, tuple)) else None


def rebuilt(value, parts):
    """A container like value with other parts."""
    if isinstance(value, collections.defaultdict):
        return collections.defaultdict(value.default_factory, zip(value, parts))
    if isinstance(value, dict):
        return type(value)(zip(value, parts))
    return type(value)(*parts) if _is_named(value) else type(value)(parts)


def tree_map(fn, value):
    """value with fn(leaf) in place of each of its leaves."""
    parts = children(value)
    return fn(value) if parts is None else rebuilt(value, [tree_map(fn, part) for part in parts])


def leaves_of(value) -> list[Any]:
    """All leaves, in order."""
    parts = children(value)
    return [value] if parts is None else [leaf for part in parts for leaf in leaves_of(part)]


def filled(value, leaves):
    """value with each of its leaves replaced by the next of `leaves`, an iterator."""
    return tree_map(lambda _: next(leaves), value)


def tensors_of(value):
    """The leaves that are tensors."""
    return [leaf for leaf in leaves_of(value) if isinstance(leaf, Tensor)]


def with_tensors(value, tensors):
    """value with each tensor replaced by the next of `tensors`, an iterator; other leaves stay."""
    return tree_map(lambda leaf: next(tensors) if isinstance(leaf, Tensor) else leaf, value)


def spread(prefix, value):
    """For each leaf of value the number, or None, that prefix has for it; one may stand for a whole subtree. ValueError if it does
    not fit."""
    if prefix is None or isinstance(prefix, int):
        return [prefix] * len(leaves_of(value))
    if isinstance(value, dict) and isinstance(prefix, dict) and prefix.keys() == value.keys():
        below = [prefix[key] for key in value]
    elif isinstance(value, (list, tuple)) and isinstance(prefix, (list, tuple)) and len(prefix) == len(value):
        below = prefix
    else:
        raise InvalidArgumentError(f'{prefix!r} has not the structure of a {type(value).__name__}')
    return [entry for part, entries in zip(children(value), below) for entry in spread(entries, part)]
