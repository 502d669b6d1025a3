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


def _reverse_repeat_tuple(t, n):
    """The numbers from the last to the first, each n times: padding of nn.functional.pad() from that of a convolution."""
    return tuple(x for x in reversed(t) for _ in range(n))
