"""Modules made of modules."""
from .module import Module, Parameter


class _Container(Module):
    """Parts in a dict of their own, in order; names that are no identifiers, such as "0", are reached by indexing."""

    def __init__(self):
        super().__init__()
        self._set('_parts', {})

    def named_children(self):
        yield from self._parts.items()
        yield from super().named_children()

    def _put(self, name, module):
        if not isinstance(module, Module):
            raise TypeError(f'[{type(self).__name__}] "{name}" must be a Module, not {type(module).__name__}')
        self._parts[name] = module

    def add_module(self, name, module):
        """Appends a part under a name."""
        self._check_name(name)
        self._put(name, module)

    def _name_of(self, index):
        if not isinstance(index, int):
            raise TypeError(f'[{type(self).__name__}] an index is an int or a slice, not {type(index).__name__}')
        if not -len(self._parts) <= index < len(self._parts):
            raise IndexError(f'[{type(self).__name__}] index {index} out of range for {len(self._parts)} parts')
        return list(self._parts)[index]

    def __getattr__(self, name):
        parts = self.__dict__.get('_parts', {})
        if name in parts:
            return parts[name]
        raise AttributeError(f'{type(self).__name__!r} object has no attribute {name!r}')

    def __len__(self):
        return len(self._parts)

    def __iter__(self):
        return iter(list(self._parts.values()))


class _List(_Container):
    def __init__(self, modules=()):
        super().__init__()
        self.extend(modules)

    @classmethod
    def _of(cls, parts):
        return cls(parts)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return self._of(list(self)[index])
        return self._parts[self._name_of(index)]

    def __setitem__(self, index, module):
        self._put(self._name_of(index), module)

    def append(self, module):
        """Adds a part at the end, and returns the container."""
        self._put(str(len(self._parts)), module)
        return self

    def extend(self, modules):
        """Adds parts at the end, and returns the container."""
        for module in modules:
            self.append(module)
        return self


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

    def __init__(self, *parts):
        super().__init__()
        if len(parts) == 1 and isinstance(parts[0], dict):
            for name, part in parts[0].items():
                self.add_module(name, part)
        else:
            self.extend(parts)

    @classmethod
    def _of(cls, parts):
        return cls(*parts)

    def forward(self, x):
        for part in self._parts.values():
            x = part(x)
        return x


class ModuleList(_List):
    """A list of parts, used as its owner likes.

    >>> layers = tenon.nn.ModuleList([tenon.nn.Linear(2, 2) for _ in range(3)])
    >>> len(layers), len(list(layers.parameters()))
    (3, 6)
    """


class ModuleDict(_Container):
    """Parts by name, used as their owner likes."""

    def __init__(self, modules=()):
        super().__init__()
        self.update(modules)

    def update(self, modules):
        """Adds or replaces parts from a dict."""
        for name, module in dict(modules).items():
            self[name] = module

    def __getitem__(self, name):
        return self._parts[name]

    def __setitem__(self, name, module):
        if name not in self._parts:
            self._check_name(name)
        self._put(name, module)

    def __delitem__(self, name):
        del self._parts[name]

    def __contains__(self, name):
        return name in self._parts

    def __iter__(self):
        return iter(list(self._parts))

    def keys(self):
        """The names."""
        return self._parts.keys()

    def values(self):
        """The parts."""
        return self._parts.values()

    def items(self):
        """(name, part)."""
        return self._parts.items()


class ParameterList(Module):
    """A list of parameters, used as its owner likes; their names are "0", "1", …"""

    _count: int

    def __init__(self, parameters=()):
        super().__init__()
        self._set('_count', 0)
        for parameter in parameters:
            self.append(parameter)

    def append(self, parameter):
        """Adds a Parameter, or a Tensor that becomes one, and returns the list."""
        self.register_parameter(str(self._count), parameter if isinstance(parameter, Parameter) else Parameter(parameter))
        self._set('_count', self._count + 1)
        return self

    def __len__(self):
        return self._count

    def __getitem__(self, index):
        if not -self._count <= index < self._count:
            raise IndexError(f'[ParameterList] index {index} out of range for {self._count} parameters')
        return self.__dict__[str(index % self._count)]

    def __iter__(self):
        return (self[i] for i in range(self._count))
