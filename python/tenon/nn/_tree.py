"""The contents of a module: its parameters, buffers and parts, by name and by path."""
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any

from .._core import Tensor
from .._errors import InvalidArgumentError
from .parameter import Parameter


class NoSuchPart(AttributeError, ValueError):
    """A path that leads to nothing, or to something of another kind."""


class BadName(KeyError, ValueError):
    """A name that is taken or not allowed."""

    __str__ = Exception.__str__


class _Names(MutableMapping):
    """The parameters, buffers or parts of one module as a dict; writes to it change the module."""

    def __init__(self, module, kind):
        self._module, self._kind = module, kind

    def _now(self):
        return self._module._named(self._kind)

    def __getitem__(self, name):
        return self._now()[name]

    def __setitem__(self, name, value):
        module = self._module
        if self._kind == 'modules' and value is not None:
            module._replace_part(name, value)
        elif name in self or value is not None and self._kind == 'parameters':
            module._set(name, value)
        else:
            register = {'parameters': module.register_parameter, 'buffers': module.register_buffer, 'modules': module.add_module}
            register[self._kind](name, value)

    def __delitem__(self, name):
        self[name]
        delattr(self._module, name)

    def __iter__(self):
        return iter(self._now())

    def __len__(self):
        return len(self._now())

    def __repr__(self):
        return repr(self._now())


class Tree:
    """The part of Module that finds things.

    A module keeps its contents among its attributes. It also keeps the names of its buffers, of those that are not saved, and of
    parameters that are still None.
    """

    _buffer_names = ()
    _unsaved_names = ()
    _empty_names = ()

    if TYPE_CHECKING:  # added by register_buffer() and its like
        def __getattr__(self, name: str) -> Any: ...

    def _set(self, name, value):
        """Puts in place a tensor or module that already has this name."""
        object.__setattr__(self, name, value)

    def _forget(self, name):
        """Removes a name from the lists of names."""
        for names in ('_buffer_names', '_unsaved_names', '_empty_names'):
            if name in getattr(self, names):
                object.__setattr__(self, names, tuple(each for each in getattr(self, names) if each != name))

    def _own(self):
        """(name, tensor, is a buffer) of this module alone; parameters first."""
        own = self.__dict__
        found = [(name, x, False) for name, x in own.items() if isinstance(x, Parameter)]
        found += [(name, own[name], True) for name in self._buffer_names if own.get(name) is not None]
        return found

    def _own_parts(self):
        """(name, module) of the parts; one with two names comes under both."""
        return [(name, part) for name, part in self.__dict__.items() if isinstance(part, Tree)]

    def _named(self, kind):
        """{name: value} of this module alone, including those that are None; kind is 'parameters', 'buffers' or 'modules'."""
        own = self.__dict__
        if kind == 'modules':
            return dict(self._own_parts())
        if kind == 'buffers':
            return {name: own.get(name) for name in self._buffer_names}
        return {name: x for name, x in own.items() if isinstance(x, Parameter) or (x is None and name in self._empty_names)}

    _parameters = property(lambda self: _Names(self, 'parameters'))
    _buffers = property(lambda self: _Names(self, 'buffers'))
    _modules = property(lambda self: _Names(self, 'modules'))
    _non_persistent_buffers_set = property(lambda self: set(self._unsaved_names))

    # Adding ------------------------------------------------------------------------------------------------------------------

    def _check_name(self, name, kind):
        """Checks that a name is free, or belongs to something of the same kind."""
        where = type(self).__name__
        if not isinstance(name, str):
            raise TypeError(f'[{where}] a name is a str, not {type(name).__name__}')
        if not name or '.' in name:
            raise BadName(f'[{where}] "{name}" cannot be a name: it is empty or has a dot')
        if hasattr(self, name) and name not in self._named(kind):
            raise BadName(f'[{where}] "{name}" is taken already')

    def register_parameter(self, name, param):
        """The same as assigning a Parameter to an attribute; None reserves the name for a later Parameter."""
        self._check_name(name, 'parameters')
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f'[{type(self).__name__}] "{name}" must be a Parameter or None, not {type(param).__name__}')
        if param is None and name not in self._empty_names:
            object.__setattr__(self, '_empty_names', (*self._empty_names, name))
        setattr(self, name, param)

    def register_buffer(self, name, tensor, persistent=True):
        """Adds a tensor that is moved with the module but not trained, such as running statistics; None keeps the name.

        `persistent`: whether it is saved.
        """
        self._check_name(name, 'buffers')
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f'[{type(self).__name__}] "{name}" must be a Tensor or None, not {type(tensor).__name__}')
        self._forget(name)
        object.__setattr__(self, '_buffer_names', (*self._buffer_names, name))
        if not persistent:
            object.__setattr__(self, '_unsaved_names', (*self._unsaved_names, name))
        object.__setattr__(self, name, tensor)

    def add_module(self, name, module):
        """The same as assigning a Module to an attribute."""
        self._check_name(name, 'modules')
        if module is not None and not isinstance(module, Tree):
            raise TypeError(f'[{type(self).__name__}] "{name}" must be a Module or None, not {type(module).__name__}')
        setattr(self, name, module)

    def register_module(self, name, module):
        """The same as add_module()."""
        self.add_module(name, module)

    # Walking -----------------------------------------------------------------------------------------------------------------

    def named_children(self):
        """(name, module) of the parts, without their own parts; a shared part comes once."""
        seen = set()
        for name, part in self._own_parts():
            if id(part) not in seen:
                seen.add(id(part))
                yield name, part

    def children(self):
        """The parts, without their own parts."""
        for _, part in self.named_children():
            yield part

    def named_modules(self, memo=None, prefix='', remove_duplicate=True):
        """(path, module) of this module and all within it, each once, or with remove_duplicate=False under all its names.

        `memo` is a set of modules to leave out; those that are returned are added to it.
        """
        seen = set() if memo is None else memo
        for path, module in self._walk(prefix):
            if module not in seen or not remove_duplicate:
                seen.add(module)
                yield path, module

    def modules(self, remove_duplicate=True):
        """This module and all within it, each once, or with remove_duplicate=False as often as it occurs."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def _walk(self, path=''):
        """(path, module) of this module and all within it; a shared module comes under each of its names."""
        yield path, self
        for name, part in self._own_parts():
            yield from part._walk(f'{path}.{name}' if path else name)

    def _tensors(self, buffers, prefix, recurse, once):
        seen = set()
        for path, module in self._walk(prefix) if recurse else ((prefix, self),):
            for name, x, is_buffer in module._own():
                if is_buffer == buffers and not (once and id(x) in seen):
                    seen.add(id(x))
                    yield (f'{path}.{name}' if path else name), x

    def named_parameters(self, prefix='', recurse=True, remove_duplicate=True):
        """(path, Parameter) of everything that is trained; a shared parameter comes once unless remove_duplicate=False.

        `recurse=False` looks at this module alone.
        """
        return self._tensors(False, prefix, recurse, remove_duplicate)

    def parameters(self, recurse=True):
        """Everything that is trained, for an optimizer; a shared parameter comes once."""
        for _, x in self.named_parameters(recurse=recurse):
            yield x

    def named_buffers(self, prefix='', recurse=True, remove_duplicate=True):
        """(path, Tensor) of everything that moves with the module but is not trained."""
        return self._tensors(True, prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        """Everything that moves with the module but is not trained."""
        for _, x in self.named_buffers(recurse=recurse):
            yield x

    def parameter_count(self):
        """The number of trained values."""
        return sum(x.size for x in self.parameters())

    # Paths -------------------------------------------------------------------------------------------------------------------

    def _check_path(self, target):
        if not isinstance(target, str):
            raise TypeError(f'[{type(self).__name__}] a path is a str, not {type(target).__name__}')

    def _owner(self, target):
        """(the module that holds the last name of a path, that name)."""
        self._check_path(target)
        path, _, name = target.rpartition('.')
        return self.get_submodule(path), name

    def get_submodule(self, target):
        """The module at a path such as "layers.0"; "" is this module."""
        self._check_path(target)
        where, found = type(self).__name__, self
        for name in target.split('.') if target else ():
            parts = dict(found._own_parts())
            if name not in parts:
                raise NoSuchPart(f'[{where}] no module "{target}": {type(found).__name__} has ' + (', '.join(parts) or 'no parts'))
            found = parts[name]
        return found

    def set_submodule(self, target, module, strict=False):
        """Puts a module at a path such as "layers.0"; with `strict` there must be one already."""
        if not isinstance(module, Tree):
            raise InvalidArgumentError(f'[{type(self).__name__}] "{target}" must be a Module, not {type(module).__name__}')
        if not target:
            raise InvalidArgumentError(f'[{type(self).__name__}] the path of a module to replace must not be empty')
        owner, name = self._owner(target)
        there = owner._named('modules')
        if name not in there and (strict or hasattr(owner, name)):
            raise NoSuchPart(f'[{type(self).__name__}] "{target}" is not a module')
        if name in there:
            owner._replace_part(name, module)
        else:
            owner.add_module(name, module)

    def _replace_part(self, name, module):
        setattr(self, name, module)

    def _find(self, target, kind):
        owner, name = self._owner(target)
        found = owner._named(kind)
        if name not in found or kind == 'parameters' and found[name] is None:
            raise NoSuchPart(f'[{type(self).__name__}] "{target}" is not among the {kind}')
        return found[name]

    def get_parameter(self, target):
        """The Parameter at a path such as "layers.0.weight"."""
        return self._find(target, 'parameters')

    def get_buffer(self, target):
        """The buffer at a path such as "norm.running_mean"."""
        return self._find(target, 'buffers')
