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


def consume_prefix_in_state_dict_if_present(state_dict, prefix):
    """Removes a prefix such as "module." from the keys of a state_dict, in place."""
    for key in [key for key in state_dict if key.startswith(prefix)]:
        state_dict[key[len(prefix):]] = state_dict.pop(key)
    metadata = getattr(state_dict, '_metadata', None) or {}
    for key in [key for key in metadata if key == prefix.rstrip('.') or key.startswith(prefix)]:
        metadata[key[len(prefix):]] = metadata.pop(key)


def _reverse_repeat_tuple(t, n):
    """The numbers from the last to the first, each n times: padding of nn.functional.pad() from that of a convolution."""
    return tuple(x for x in reversed(t) for _ in range(n))
