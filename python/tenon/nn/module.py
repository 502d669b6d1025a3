"""What every network is made of: Module and Parameter."""
import itertools
from collections import namedtuple

import tenon
from .._core import Tensor


class Parameter(Tensor):
    """A tensor that a Module trains: an attribute of this type is found by `Module.parameters()`.

    Shares the elements of `data` and begins without history.

    >>> weight = tenon.nn.Parameter(tenon.zeros((2, 3)))
    >>> weight.requires_grad
    True
    """

    def __new__(cls, data, requires_grad=True):
        if not isinstance(data, Tensor):
            raise TypeError(f'[Parameter] data must be a Tensor, not {type(data).__name__}: use tenon.tensor(...)')
        self = Tensor.__new__(cls, data.detach())
        if requires_grad:
            self.requires_grad_(True)
        return self

    def __init__(self, data, requires_grad=True):
        super().__init__()

    def __deepcopy__(self, memo):
        with tenon.no_grad():
            copy = Parameter(self.detach().clone(), self.requires_grad)
        memo[id(self)] = copy
        return copy

    def __reduce_ex__(self, protocol):
        return Parameter, (self.detach(), self.requires_grad)

    def __repr__(self):
        return 'Parameter containing:\n' + repr(self.detach())


class RemovableHandle:
    """What registering a hook returns; `remove()` takes the hook out again."""

    _numbers = itertools.count()

    def __init__(self, hooks, hook):
        self._hooks, self._number = hooks, next(self._numbers)
        hooks[self._number] = hook

    def remove(self):
        """Takes the hook out; a second call does nothing."""
        self._hooks.pop(self._number, None)


class StateError(ValueError, RuntimeError):
    """A state that does not fit a module: a RuntimeError for programs of PyTorch."""


class PathError(ValueError, AttributeError):
    """A path that leads nowhere in a module: an AttributeError for programs of PyTorch."""


IncompatibleKeys = namedtuple('IncompatibleKeys', 'missing_keys unexpected_keys')


def _name_layer(error, module):
    """Adds to an error's message in which layer it arose: its path within the outermost module that was called."""
    if not (isinstance(error, tenon.Error) or type(error) in (IndexError, RuntimeError, TypeError, ValueError)):
        return
    if len(error.args) != 1 or not isinstance(error.args[0], str):
        return
    # What was found on the way up: the message as it was, the layer's text, its path so far, the module that path begins at.
    text, layer, path, last = error.__dict__.get('_layer', (error.args[0], None, '', None))
    if last is None:
        kind, extra = type(module).__name__, module.extra_repr()
        layer = f'{kind}({extra})' if extra else kind
    elif last is not module:
        name = next((name for name, part in module.named_modules() if part is last), '')
        path = '.'.join(filter(None, (name, path)))
    error.__dict__['_layer'] = text, layer, path, module
    if path:
        error.args = (f'{text}\n  in layer {path}: {layer}',)


def _shape(x):
    return '(' + ', '.join(map(str, x.shape)) + (',)' if len(x.shape) == 1 else ')')


class Module:
    """A network, or a part of one.

    Assign parameters and other modules to attributes, and write `forward`:

    >>> class Net(tenon.nn.Module):
    ...     def __init__(self):
    ...         self.hidden = tenon.nn.Linear(4, 8)
    ...         self.out = tenon.nn.Linear(8, 2)
    ...     def forward(self, x):
    ...         return self.out(tenon.nn.functional.relu(self.hidden(x)))
    >>> Net()(tenon.ones((3, 4))).shape
    (3, 2)

    What it has is found among its attributes: a Parameter is trained, a buffer (`register_buffer`) is saved and moved with it,
    a Module is a part. Names are paths such as "hidden.weight".
    """

    training = True
    _buffer_names = ()
    _unsaved_names = ()  # buffers that the state leaves out
    _may_be_missing = ()  # buffers that a strict load leaves as they are where the state lacks them
    _forward_hooks = None
    _forward_pre_hooks = None

    def forward(self, *args, **kwargs):
        """What the module computes; every subclass writes its own."""
        raise NotImplementedError(f'[{type(self).__name__}] has no forward: define forward(self, x) in the class')

    def __call__(self, *args, **kwargs):
        try:
            if self._forward_pre_hooks or self._forward_hooks:
                return self._call_with_hooks(args, kwargs)
            return self.forward(*args, **kwargs)
        except Exception as error:
            _name_layer(error, self)
            raise

    def _call_with_hooks(self, args, kwargs):
        for hook in list((self._forward_pre_hooks or {}).values()):
            changed = hook(self, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
        result = self.forward(*args, **kwargs)
        for hook in list((self._forward_hooks or {}).values()):
            changed = hook(self, args, result)
            if changed is not None:
                result = changed
        return result

    def __setattr__(self, name, value):
        old = self.__dict__.get(name)
        if isinstance(old, Parameter) and value is not None and not isinstance(value, Parameter):
            raise TypeError(f'[{type(self).__name__}] {name} is a parameter: assign a Parameter or None, not '
                            f'{type(value).__name__}')
        if name in self._buffer_names and value is not None and not isinstance(value, Tensor):
            raise TypeError(f'[{type(self).__name__}] {name} is a buffer: assign a Tensor or None, not {type(value).__name__}')
        object.__setattr__(self, name, value)

    # What there is -----------------------------------------------------------------------------------------------------------

    def _set(self, name, value):
        """Puts a tensor or module that has this name already in its place."""
        object.__setattr__(self, name, value)

    def _own(self):
        """(name, tensor, is a buffer) of this module alone; parameters first."""
        own = self.__dict__
        found = [(name, x, False) for name, x in own.items() if isinstance(x, Parameter)]
        found += [(name, own[name], True) for name in self._buffer_names if own.get(name) is not None]
        return found

    def _check_name(self, name):
        if not isinstance(name, str):
            raise TypeError(f'[{type(self).__name__}] a name is a str, not {type(name).__name__}')
        if not name or '.' in name:
            raise ValueError(f'[{type(self).__name__}] "{name}" is no name: it is empty or has a dot')
        if name in self.__dict__ or any(name == taken for taken, _ in self.named_children()):
            raise KeyError(f'[{type(self).__name__}] "{name}" is taken already')

    def register_parameter(self, name, parameter):
        """The same as assigning a Parameter to an attribute; None keeps the name for none."""
        self._check_name(name)
        if parameter is not None and not isinstance(parameter, Parameter):
            raise TypeError(f'[{type(self).__name__}] "{name}" must be a Parameter or None, not {type(parameter).__name__}')
        setattr(self, name, parameter)

    def register_buffer(self, name, tensor, persistent=True):
        """Adds a tensor that is moved with the module, and saved unless persistent=False, but not trained, such as running statistics."""
        self._check_name(name)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f'[{type(self).__name__}] "{name}" must be a Tensor or None, not {type(tensor).__name__}')
        object.__setattr__(self, '_buffer_names', (*self._buffer_names, name))
        if not persistent:
            object.__setattr__(self, '_unsaved_names', (*self._unsaved_names, name))
        object.__setattr__(self, name, tensor)

    def add_module(self, name, module):
        """The same as assigning a Module to an attribute."""
        self._check_name(name)
        if not isinstance(module, Module):
            raise TypeError(f'[{type(self).__name__}] "{name}" must be a Module, not {type(module).__name__}')
        setattr(self, name, module)

    def register_module(self, name, module):
        """The same as add_module()."""
        self.add_module(name, module)

    def named_children(self):
        """(name, module) of the parts, without their parts."""
        for name, part in list(self.__dict__.items()):
            if isinstance(part, Module):
                yield name, part

    def children(self):
        """The parts, without their parts."""
        for _, part in self.named_children():
            yield part

    def named_modules(self, memo=None, prefix='', remove_duplicate=True):
        """(path, module) of this module and all within it, each once unless told otherwise; memo: a set of those to leave out."""
        seen = set() if memo is None else memo
        for path, module in self._walk(prefix):
            if module not in seen:
                if remove_duplicate:
                    seen.add(module)
                yield path, module

    def modules(self):
        """This module and all within it, each once."""
        for _, module in self.named_modules():
            yield module

    def _walk(self, path=''):
        """(path, module) of this module and all within it; a module that is shared comes under each of its names."""
        yield path, self
        for name, part in self.named_children():
            yield from part._walk(f'{path}.{name}' if path else name)

    def _tensors(self, buffers, prefix, recurse, once):
        seen = set()
        for path, module in self._walk(prefix) if recurse else [(prefix, self)]:
            for name, x, is_buffer in module._own():
                if is_buffer == buffers and not (once and id(x) in seen):
                    seen.add(id(x))
                    yield (f'{path}.{name}' if path else name), x

    def named_parameters(self, prefix='', recurse=True, remove_duplicate=True):
        """(path, Parameter) of all that is trained; one that is shared comes once. recurse=False: of this module alone."""
        return self._tensors(False, prefix, recurse, remove_duplicate)

    def parameters(self, recurse=True):
        """All that is trained, for an optimizer; one that is shared comes once."""
        for _, x in self.named_parameters(recurse=recurse):
            yield x

    def named_buffers(self, prefix='', recurse=True, remove_duplicate=True):
        """(path, Tensor) of all that is moved along but not trained."""
        return self._tensors(True, prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        """All that is moved along but not trained."""
        for _, x in self.named_buffers(recurse=recurse):
            yield x

    def parameter_count(self):
        """Number of trained values."""
        return sum(x.size for x in self.parameters())

    def get_submodule(self, path):
        """The module of a path such as "layers.0"; "" is this one."""
        if not isinstance(path, str):
            raise TypeError(f'[{type(self).__name__}] a path is a str, not {type(path).__name__}')
        found = self
        for name in path.split('.') if path else ():
            parts = dict(found.named_children())
            if name not in parts:
                raise PathError(f'[{type(self).__name__}] no module "{path}": {type(found).__name__} has '
                                     + (', '.join(parts) or 'no parts'))
            found = parts[name]
        return found

    def _owner(self, path):
        """(module, name there) of a path."""
        if not isinstance(path, str):
            raise TypeError(f'[{type(self).__name__}] a path is a str, not {type(path).__name__}')
        owner, _, name = path.rpartition('.')
        return self.get_submodule(owner), name

    def set_submodule(self, path, module):
        """Puts a module in the place of the one at a path."""
        found, name = self._owner(path)
        if not name:
            raise ValueError(f'[{type(self).__name__}] the path is empty: a module does not replace itself')
        if not isinstance(module, Module):
            raise TypeError(f'[{type(self).__name__}] "{path}" must be a Module, not {type(module).__name__}')
        self.get_submodule(path)
        if name in found.__dict__:
            setattr(found, name, module)
        else:
            found[name if name in getattr(found, 'keys', tuple)() else int(name)] = module  # pyright: ignore[reportIndexIssue]

    def _tensor_at(self, path, kind, buffers):
        module, name = self._owner(path)
        for own, x, is_buffer in module._own():
            if own == name and is_buffer == buffers:
                return x
        raise PathError(f'[{type(self).__name__}] no {kind} "{path}"')

    def get_parameter(self, path):
        """The Parameter of a path such as "layers.0.weight"."""
        return self._tensor_at(path, 'parameter', False)

    def get_buffer(self, path):
        """The buffer of a path."""
        return self._tensor_at(path, 'buffer', True)

    # Modes -------------------------------------------------------------------------------------------------------------------

    def train(self, mode=True):
        """Switches layers that behave otherwise while training, such as Dropout; returns the module."""
        if not isinstance(mode, bool):
            raise TypeError(f'[train] mode is True or False, not {type(mode).__name__}')
        for module in self.modules():
            module._set('training', mode)
        return self

    def eval(self):
        """The same as train(False)."""
        return self.train(False)

    def requires_grad_(self, on=True):
        """Whether gradients flow to the parameters; returns the module."""
        for x in self.parameters():
            x.requires_grad_(on)
        return self

    def zero_grad(self, set_to_none=True):
        """Drops the gradients of all parameters, or writes zeros into them."""
        for x in self.parameters():
            x.grad = None if set_to_none or x.grad is None else tenon.zeros_like(x.grad.detach())

    def apply(self, fn):
        """Calls fn(module) for the parts, innermost first, then for this module, and returns it."""
        for part in self.children():
            part.apply(fn)
        fn(self)
        return self

    def to(self, *args, device=None, dtype=None, non_blocking=False, memory_format=None):
        """Moves to a device, or casts floating-point tensors to a dtype, or does both as a tensor lies; returns the module.

        non_blocking and memory_format change nothing.

        Parameters that change become new ones: make optimizers afterwards.

        >>> net = tenon.nn.Linear(2, 2).to(tenon.float64)
        >>> net.weight.dtype
        tenon.float64
        """
        for given in args:
            if isinstance(given, tenon.dtype):
                dtype = given
            elif isinstance(given, (str, tenon.Device)):
                device = given
            elif isinstance(given, Tensor):
                device, dtype = given.device, given.dtype
            elif given is not None and not isinstance(given, bool):  # the third that PyTorch takes is non_blocking
                raise TypeError(f'[Module.to] wants a device or a dtype, not {type(given).__name__}')
        if dtype is not None:
            dtype = tenon._core.as_dtype(dtype)
            if not (dtype.is_floating_point or dtype.is_complex):
                raise TypeError(f'[Module.to] {dtype} is no floating-point dtype')
        if device is not None:
            device = tenon.device(device) if isinstance(device, str) else device
        cast, move = tenon._core.ops['cast'], tenon._core.ops['to']

        def change(x):
            if dtype is not None and x.dtype != dtype and x.dtype.is_floating_point:
                x = cast(x, dtype)
            return move(x, device) if device is not None and x.device != device else x

        return self._replace(change)

    def _replace(self, fn):
        done = {}  # shared tensors stay shared
        with tenon.no_grad():
            for module in self.modules():
                for name, x, is_buffer in module._own():
                    if id(x) not in done:
                        done[id(x)] = self._changed(x, fn, is_buffer)
                    module._set(name, done[id(x)])
        return self

    @staticmethod
    def _changed(x, fn, is_buffer):
        plain = x if is_buffer else x.detach()
        new = fn(plain)
        if new is plain:
            return x
        if is_buffer:
            return new
        new = Parameter(new, x.requires_grad)
        if x.grad is not None:
            new.grad = fn(x.grad)
        return new

    def float(self):
        """Casts floating-point tensors to float32."""
        return self.to(tenon.float32)

    def double(self):
        """Casts floating-point tensors to float64."""
        return self.to(tenon.float64)

    def half(self):
        """Casts floating-point tensors to float16."""
        return self.to(tenon.float16)

    def bfloat16(self):
        """Casts floating-point tensors to bfloat16."""
        return self.to(tenon.bfloat16)

    def type(self, dtype):
        """Casts floating-point tensors to a dtype."""
        return self.to(dtype=dtype)

    def cpu(self):
        """Moves to the host."""
        return self.to('cpu')

    def cuda(self, device=None):
        """Moves to the first CUDA device, or the one of a number."""
        return self.to('cuda' if device is None else f'cuda:{device}' if isinstance(device, int) else device)

    def to_empty(self, *, device, recurse=True):
        """Moves to a device; what the elements are afterwards is not promised."""
        return self.to(device)

    def share_memory(self):
        """Itself: processes of a DataLoader are forked, and see the same memory."""
        return self

    # Saving ------------------------------------------------------------------------------------------------------------------

    def state_dict(self, *, destination=None, prefix='', keep_vars=False):
        """Parameters and saved buffers by path, sharing their elements; into `destination` where it is given.

        keep_vars: the parameters themselves, with their history.

        >>> list(tenon.nn.Linear(2, 3).state_dict())
        ['weight', 'bias']
        """
        found = {} if destination is None else destination
        for path, _, _, x in self._saved():
            found[prefix + path] = x if keep_vars else x.detach()
        return found

    def _saved(self):
        """(path, module, name there, tensor) of all that the state holds."""
        for path, module in self._walk():
            for name, x, is_buffer in module._own():
                if not (is_buffer and name in module._unsaved_names):
                    yield (f'{path}.{name}' if path else name), module, name, x

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Copies tensors by path into the parameters and buffers; everything is checked before anything is copied.

        `strict`: the names must be the same. Returns (missing_keys, unexpected_keys). assign: the tensors themselves take the places.
        """
        if not hasattr(state_dict, 'keys'):
            raise TypeError(f'[load_state_dict] wants a dict of tensors by name, not {type(state_dict).__name__}')
        own, given, names = self.state_dict(), {}, state_dict.keys()
        missing = [name for name in own if name not in names]
        unexpected = [name for name in names if name not in own]
        problems = []
        if strict:
            may_lack = {f'{path}.{name}' if path else name for path, module in self._walk() for name in module._may_be_missing}
            problems += [f'"{name}" is missing' for name in missing if name not in may_lack]
            problems += [f'"{name}" is unknown' for name in unexpected]
        for name, x in own.items():
            if name in state_dict:
                value = given[name] = tenon.asarray(state_dict[name])
                if value.shape != x.shape:
                    problems.append(f'"{name}" has shape {_shape(value)}, expected {_shape(x)}')
        if problems:
            raise StateError(f'[load_state_dict] {type(self).__name__}: ' + '; '.join(problems))
        if assign:
            for path, module, name, x in list(self._saved()):
                if path in given:
                    module._set(name, Parameter(given[path], x.requires_grad) if isinstance(x, Parameter) else given[path])
        else:
            with tenon.no_grad():
                for name, value in given.items():
                    own[name][...] = tenon._core.ops['cast'](value, own[name].dtype)
        return IncompatibleKeys(missing, unexpected)

    # Hooks -------------------------------------------------------------------------------------------------------------------

    def _register(self, kind, hook):
        if not callable(hook):
            raise TypeError(f'[{type(self).__name__}] a hook must be callable, not {type(hook).__name__}')
        if getattr(self, kind) is None:
            object.__setattr__(self, kind, {})
        return RemovableHandle(getattr(self, kind), hook)

    def register_forward_hook(self, hook):
        """Calls hook(module, args, output) after forward; what it returns, if not None, replaces the output."""
        return self._register('_forward_hooks', hook)

    def register_forward_pre_hook(self, hook):
        """Calls hook(module, args) before forward; what it returns, if not None, replaces the arguments."""
        return self._register('_forward_pre_hooks', hook)

    # For people --------------------------------------------------------------------------------------------------------------

    def extra_repr(self) -> str:
        """What stands in the parentheses of a module without parts."""
        return ''

    def __repr__(self):
        extra = self.extra_repr()
        parts = [f'({name}): ' + repr(part).replace('\n', '\n  ') for name, part in self.named_children()]
        if not parts:
            return f'{type(self).__name__}({extra})'
        return f'{type(self).__name__}(\n  ' + '\n  '.join(([extra] if extra else []) + parts) + '\n)'
