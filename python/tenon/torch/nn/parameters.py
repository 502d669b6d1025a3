"""Buffer and ParameterDict."""
from ..._core import Tensor
from ...nn import Module, Parameter

__all__ = ['Buffer', 'ParameterDict']


class Buffer:
    """Not offered: an attribute of a module becomes a buffer by register_buffer(name, tensor, persistent)."""

    def __new__(cls, data=None, *, persistent=True):
        raise TypeError('[Buffer] is not offered: write self.register_buffer(name, tensor, persistent) in the module')


class ParameterDict(Module):
    """Parameters by name, used as their owner likes."""

    _names: dict

    def __init__(self, parameters=None):
        super().__init__()
        self._set('_names', {})
        if parameters is not None:
            self.update(parameters)

    def __setitem__(self, name, value):
        value = Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value
        if name not in self._names:
            self._check_name(name)
        self._names[name] = None
        self._set(name, value)

    def __getitem__(self, name):
        if name not in self._names:
            raise KeyError(name)
        return self.__dict__[name]

    def __delitem__(self, name):
        del self._names[name]
        del self.__dict__[name]

    def __len__(self):
        return len(self._names)

    def __iter__(self):
        return iter(list(self._names))

    def __contains__(self, name):
        return name in self._names

    def keys(self):
        """The names."""
        return self._names.keys()

    def values(self):
        """The parameters."""
        return [self[name] for name in self._names]

    def items(self):
        """(name, parameter)."""
        return [(name, self[name]) for name in self._names]

    def get(self, name, default=None):
        """The parameter of a name, or default."""
        return self[name] if name in self._names else default

    def setdefault(self, name, default=None):
        """The parameter of a name, which becomes default where there is none."""
        if name not in self._names:
            self[name] = default
        return self[name]

    def pop(self, name):
        """Takes a parameter out, and returns it."""
        found = self[name]
        del self[name]
        return found

    def clear(self):
        """Takes all out."""
        for name in list(self._names):
            del self[name]

    def update(self, parameters):
        """Adds or replaces parameters from a dict or pairs."""
        for name, value in (parameters.items() if hasattr(parameters, 'items') else parameters):
            self[name] = value

    def extra_repr(self):
        return ', '.join(f'{name}: {tuple(x.shape)}' if isinstance(x, Tensor) else f'{name}: {x!r}' for name, x in self.items())
