"""Modules made of modules."""
import itertools
import operator
from collections.abc import Iterable, Mapping

from .._core import Tensor
from .._errors import InvalidArgumentError, OutOfRangeError
from .module import Module, Parameter


class _Container(Module):
    """Parts in a dict, in order, of which some may be None; those whose names are no identifiers, such as "0", are reached by indexing."""

    def __init__(self):
        super().__init__()
        self._set('_parts', {})

    def __setstate__(self, state):
        super().__setstate__({**state, '_modules': {}, '_parts': dict(state['_modules'])} if '_modules' in state else state)

    def _own_parts(self):
        return [*((name, part) for name, part in self.__dict__.get('_parts', {}).items() if part is not None), *super()._own_parts()]

    def _shown_parts(self):
        return [(name, repr(part)) for name, part in [*self._parts.items(), *Module._own_parts(self)]]

    def _set(self, name, value):
        if name in self.__dict__.get('_parts', ()):
            self._parts[name] = value
        else:
            super()._set(name, value)

    def _put(self, name, module):
        if module is not None and not isinstance(module, Module):
            raise TypeError(f'[{type(self).__name__}] "{name}" must be a Module, not {type(module).__name__}')
        self._parts[name] = module

    _replace_part = _put

    def add_module(self, name, module):
        """Appends a part under a name."""
        self._check_name(name, 'modules')
        self._put(name, module)

    def __getattr__(self, name):
        parts = self.__dict__.get('_parts', {})
        if name in parts:
            return parts[name]
        raise AttributeError(f'{type(self).__name__!r} object has no attribute {name!r}')

    def __setattr__(self, name, value):
        if name in self.__dict__.get('_parts', ()):
            self._put(name, value)
        else:
            super().__setattr__(name, value)

    def __delattr__(self, name):
        if name in self._parts:
            del self._parts[name]
        else:
            super().__delattr__(name)

    def __dir__(self):
        return [*super().__dir__(), *(name for name in self._parts if name.isidentifier())]

    def __len__(self):
        return len(self._parts)

    def __iter__(self):
        return iter(list(self._parts.values()))


def _place(kind, index, count, what):
    """An index counted from the front."""
    if not hasattr(index, '__index__') or isinstance(index, Tensor) and index.ndim:
        raise TypeError(f'[{kind}] an index is an int or a slice, not {type(index).__name__}')
    index = operator.index(index)
    if not -count <= index < count:
        raise OutOfRangeError(f'[{kind}] index {index} out of range for {count} {what}')
    return index % count


class _List(_Container):
    def __init__(self, modules=None):
        super().__init__()
        self.extend(() if modules is None else modules)

    @classmethod
    def _of(cls, parts):
        return cls(parts)

    def _name_of(self, index):
        return list(self._parts)[_place(type(self).__name__, index, len(self._parts), 'parts')]

    def _all(self, parts):
        """Replaces the parts by these, named by their positions."""
        self._set('_parts', {str(i): part for i, part in enumerate(parts)})

    def __getitem__(self, index):
        if isinstance(index, slice):
            return self._of(list(self)[index])
        return self._parts[self._name_of(index)]

    def __setitem__(self, index, module):
        self._put(self._name_of(index), module)

    def __delitem__(self, index):
        kept = list(self)
        del kept[index if isinstance(index, slice) else _place(type(self).__name__, index, len(kept), 'parts')]
        self._all(kept)

    def append(self, module):
        """Adds a part at the end and returns the container."""
        self.add_module(str(len(self._parts)), module)
        return self

    def extend(self, modules):
        """Adds parts at the end and returns the container."""
        if not isinstance(modules, Iterable):
            raise TypeError(f'[{type(self).__name__}] extend() wants an iterable of modules, not {type(modules).__name__}')
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index, module):
        """Inserts a part before the one at an index and returns the container."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f'[{type(self).__name__}] a part must be a Module, not {type(module).__name__}')
        count = len(self)
        if not -count <= index <= count:
            raise OutOfRangeError(f'[{type(self).__name__}] index {index} out of range for {count} parts')
        parts = list(self)
        parts.insert(index, module)
        self._all(parts)
        return self

    def pop(self, index=-1):
        """Removes a part and returns it."""
        part = self[index]
        del self[index]
        return part

    def __iadd__(self, other):
        return self.extend(other)

    def __add__(self, other):
        if not isinstance(other, (_List, list, tuple)):
            return NotImplemented
        return self._of([*self, *other])


class Sequential(_List):
    """One after another. Parts are named "0", "1", …, or as the keys of a dict say.

    >>> net = tenon.nn.Sequential(tenon.nn.Flatten(), tenon.nn.Linear(4, 2), tenon.nn.ReLU())
    >>> net(tenon.ones((3, 2, 2))).shape
    (3, 2)
    >>> net
    Sequential(
      (0): Flatten(start_dim=1, end_dim=-1)
      (1): Linear(in_features=4, out_features=2, bias=True)
      (2): ReLU()
    )
    """

    def __init__(self, *args):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], dict):
            for name, part in args[0].items():
                self.add_module(name, part)
        else:
            self.extend(args)

    @classmethod
    def _of(cls, parts):
        return cls(*parts)

    def __getitem__(self, index):
        if isinstance(index, slice):  # names stay
            return type(self)(dict(list(self._parts.items())[index]))
        return super().__getitem__(index)

    def __mul__(self, times):
        if not isinstance(times, int):
            return NotImplemented
        if times <= 0:
            raise InvalidArgumentError(f'[Sequential] {times} repetitions: must be at least 1')
        return type(self)(*itertools.chain.from_iterable([list(self)] * times))

    __rmul__ = __mul__

    def __imul__(self, times):
        return self.extend([*(self * times)][len(self):])

    def forward(self, input):
        for part in self._parts.values():
            input = part(input)
        return input


class ModuleList(_List):
    """A list of parts, to be used as its owner likes.

    >>> layers = tenon.nn.ModuleList([tenon.nn.Linear(2, 2) for _ in range(3)])
    >>> len(layers), len(list(layers.parameters()))
    (3, 6)
    """

    def _shown_parts(self):
        """Shows equal neighbours once."""
        shown, at = [], 0
        for text, equal in itertools.groupby(map(repr, self)):
            count = len(list(equal))
            shown.append((str(at), text) if count == 1 else (f'{at}-{at + count - 1}', f'{count} x {text}'))
            at += count
        return shown + [(name, repr(part)) for name, part in Module._own_parts(self)]


def _pairs(where, given):
    """(key, value) of a dict, of another such container, or of an iterable of pairs."""
    if isinstance(given, Mapping) or hasattr(given, 'keys') and hasattr(given, 'items'):
        return list(given.items())
    if not isinstance(given, Iterable) or isinstance(given, (str, Tensor)):
        raise TypeError(f'[{where}] wants a dict or an iterable of pairs, not {type(given).__name__}')
    pairs = []
    for i, pair in enumerate(given):
        if not isinstance(pair, Iterable) or isinstance(pair, Tensor):
            raise TypeError(f'[{where}] element {i} must be a pair, not {type(pair).__name__}')
        pair = tuple(pair)
        if len(pair) != 2:
            raise InvalidArgumentError(f'[{where}] element {i} has {len(pair)} entries, must be a pair')
        pairs.append(pair)
    return pairs


class ModuleDict(_Container):
    """Parts by name, to be used as their owner likes."""

    def __init__(self, modules=None):
        super().__init__()
        self.update(() if modules is None else modules)

    def update(self, modules):
        """Adds or replaces parts from a dict, or from an iterable of pairs."""
        for name, module in _pairs('ModuleDict', modules):
            self[name] = module

    def __getitem__(self, key):
        return self._parts[key]

    def __setitem__(self, key, module):
        self._check_name(key, 'modules')
        self._put(key, module)

    def __delitem__(self, key):
        del self._parts[key]

    def __contains__(self, key):
        return key in self._parts

    def __iter__(self):
        return iter(list(self._parts))

    def clear(self):
        """Removes all parts."""
        self._parts.clear()

    def pop(self, key):
        """Removes a part and returns it."""
        return self._parts.pop(key)

    def keys(self):
        """The names."""
        return self._parts.keys()

    def values(self):
        """The parts."""
        return self._parts.values()

    def items(self):
        """(name, part)."""
        return self._parts.items()


def _line(x, as_type=False):
    """The line shown for an entry of a list or dict of parameters."""
    if not isinstance(x, Tensor):
        return f'Object of type: {type(x).__name__}'
    kind = 'Parameter' if isinstance(x, Parameter) else 'Tensor'
    return f'{kind} containing: [{x.type() if as_type else x.dtype} of size {"x".join(map(str, x.shape))}{"" if x.device.type == "cpu" else f" ({x.device})"}]'


def _trained(x):
    """A Tensor as a Parameter; anything else as it is."""
    return Parameter(x) if isinstance(x, Tensor) and not isinstance(x, Parameter) else x


class ParameterList(Module):
    """A list of parameters, to be used as its owner likes; their names are "0", "1", …

    A Tensor becomes a Parameter; what is no Tensor is kept as it is and not saved.
    """

    _size: int

    def __init__(self, values=None):
        super().__init__()
        self._set('_size', 0)
        self.extend(() if values is None else values)

    def append(self, value):
        """Adds an entry and returns the list."""
        self._size += 1
        setattr(self, str(self._size - 1), _trained(value))
        return self

    def extend(self, values):
        """Adds entries and returns the list."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f'[ParameterList] extend() wants an iterable of tensors, not {type(values).__name__}')
        for value in list(values):
            self.append(value)
        return self

    __iadd__ = extend

    def __len__(self):
        return self._size

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)([self[i] for i in range(*index.indices(self._size))])
        return self.__dict__[str(_place('ParameterList', index, self._size, 'parameters'))]

    def __setitem__(self, index, value):
        setattr(self, str(_place('ParameterList', index, self._size, 'parameters')), _trained(value))

    def __iter__(self):
        return (self[i] for i in range(self._size))

    def __dir__(self):
        return [name for name in super().__dir__() if not name.isdigit()]

    def extra_repr(self):
        return '\n'.join(f'  ({i}): {_line(x)}' for i, x in enumerate(self))


class ParameterDict(Module):
    """Parameters by name, to be used as their owner likes.

    A Tensor becomes a Parameter; what is no Tensor is kept as it is and not saved.
    """

    _keys: dict

    def __init__(self, parameters=None):
        super().__init__()
        self._set('_keys', {})
        self.update(() if parameters is None else parameters)

    def __setitem__(self, key, value):
        if not isinstance(key, str):
            raise TypeError(f'[ParameterDict] a key is a str, not {type(key).__name__}')
        if key not in self._keys:
            self._check_name(key, 'parameters')
        self._keys[key] = None
        setattr(self, key, _trained(value))

    def __getitem__(self, key):
        if key not in self._keys:
            raise KeyError(key)
        return self.__dict__[key]

    def __delitem__(self, key):
        del self._keys[key]
        delattr(self, key)

    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(list(self._keys))

    def __reversed__(self):
        return reversed(list(self._keys))

    def __contains__(self, key):
        return key in self._keys

    def copy(self):
        """Another dict with the same parameters."""
        return type(self)(dict(self.items()))

    def setdefault(self, key, default=None):
        """The parameter of a key, set to `default` if there is none."""
        if key not in self._keys:
            self[key] = default
        return self[key]

    def clear(self):
        """Removes all parameters."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key):
        """Removes a parameter and returns it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self):
        """Removes the last (key, parameter) and returns it."""
        key = list(self._keys)[-1]
        return key, self.pop(key)

    def get(self, key, default=None):
        """The parameter of a key, or the default."""
        return self[key] if key in self._keys else default

    def fromkeys(self, keys, default=None):
        """A dict with one value for all keys."""
        return type(self)(dict.fromkeys(keys, default))

    def keys(self):
        """The keys."""
        return self._keys.keys()

    def values(self):
        """The parameters."""
        return [self[key] for key in self._keys]

    def items(self):
        """(key, parameter)."""
        return [(key, self[key]) for key in self._keys]

    def update(self, parameters):
        """Adds or replaces parameters from a dict, or from an iterable of pairs."""
        for key, value in _pairs('ParameterDict', parameters):
            self[key] = value

    def extra_repr(self):
        return '\n'.join(f'  ({key}): {_line(x, as_type=True)}' for key, x in self.items())

    def _or(self, *others):
        found = {}
        for other in others:
            found.update(dict(other.items()))
        return type(self)(found)

    def __or__(self, other):
        return self._or(self, other)

    def __ror__(self, other):
        return self._or(other, self)

    def __ior__(self, other):
        self.update(other)
        return self
