"""One number for several dimensions."""
from collections.abc import Iterable


def _tuple_of(count):
    def parse(value):
        return tuple(value) if isinstance(value, Iterable) else (value,) * count
    parse.__name__ = parse.__qualname__ = 'parse'
    parse.__doc__ = f'A number {count} times, or what was given as a tuple.'
    return parse


_single, _pair, _triple, _quadruple = map(_tuple_of, (1, 2, 3, 4))
_ntuple = _tuple_of
