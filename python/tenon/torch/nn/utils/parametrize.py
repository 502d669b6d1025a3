"""Parameters that are computed: modules stand between the trained tensors and what a layer sees.

A module with parametrisations gets its own class, in which each such tensor is a property; `module.parametrizations` holds, by the
tensor's name, the trained tensors ("original", or "original0", …) and the modules that they go through.
"""
import contextlib
import copy

from .... import no_grad
from ...._core import Tensor
from ...._errors import InvalidArgumentError
from ....nn.container import ModuleDict, ModuleList
from ....nn.module import Parameter

__all__ = ['ParametrizationList', 'cached', 'is_parametrized', 'register_parametrization', 'remove_parametrizations',
           'transfer_parametrizations_and_params', 'type_before_parametrizations']

_cache = {}
_scopes = 0


@contextlib.contextmanager
def cached():
    """In this scope each parametrised tensor is computed only once, however often it is read."""
    global _scopes
    _scopes += 1
    try:
        yield
    finally:
        _scopes -= 1
        if not _scopes:
            _cache.clear()


def _as_list(value):
    return [value] if isinstance(value, Tensor) else list(value)


class ParametrizationList(ModuleList):
    """The trained tensors behind a tensor, and the modules that compute it from them, one after the other."""

    def __init__(self, modules, original, unsafe=False):
        modules = list(modules)
        if not modules:
            raise InvalidArgumentError('[ParametrizationList] needs at least one module')
        super().__init__(modules)
        self.unsafe = unsafe
        with no_grad():
            value = original.detach()
            for part in reversed(modules):
                value = self._inverse(part, value)
        self.is_tensor = isinstance(value, Tensor)
        given = _as_list(value)
        if not all(isinstance(x, Tensor) for x in given):
            raise InvalidArgumentError(f'[parametrize] right_inverse() must return a Tensor or several, not {type(value).__name__}')
        self.ntensors = len(given)
        for name, x in zip(self._names(), given):
            self._keep(name, x, original)
        if not unsafe:
            self._check(original)

    def _names(self):
        return ['original'] if self.is_tensor else [f'original{i}' for i in range(self.ntensors)]

    def _keep(self, name, x, original):
        """A trained tensor keeps its identity if shape and dtype stay."""
        if self.is_tensor and x.dtype is original.dtype and x.shape == original.shape:
            with no_grad():
                original.copy_(x.clone() if x.shares_memory(original) else x)  # it may be a reversed view
            x = original
        elif isinstance(original, Parameter):
            x = Parameter(x, original.requires_grad)
        if isinstance(x, Parameter):
            self.register_parameter(name, x)
        else:
            self.register_buffer(name, x)

    def _check(self, original):
        with no_grad():
            found = self()
        if not isinstance(found, Tensor):
            raise InvalidArgumentError(f'[parametrize] a parametrisation must return a Tensor, not {type(found).__name__}')
        if found.dtype is not original.dtype or found.shape != original.shape:
            raise InvalidArgumentError(f'[parametrize] a parametrisation must keep dtype and shape: {original.dtype} {original.shape} became '
                                       f'{found.dtype} {found.shape}; unsafe=True lets it')

    @staticmethod
    def _inverse(part, value):
        """The input for which part returns the value; the value itself if part cannot say."""
        try:
            return part.right_inverse(value) if hasattr(part, 'right_inverse') else value
        except NotImplementedError:
            return value

    def right_inverse(self, value):
        """Sets the trained tensors such that the tensor becomes `value`."""
        with no_grad():
            for part in reversed(list(self)):
                if not hasattr(part, 'right_inverse'):
                    raise RuntimeError(f'[parametrize] {type(part).__name__} has no right_inverse(): its tensor cannot be assigned')
                value = part.right_inverse(value)
            given = _as_list(value)
            if len(given) != self.ntensors:
                raise InvalidArgumentError(f'[parametrize] right_inverse() returned {len(given)} tensors for {self.ntensors}')
            for name, x in zip(self._names(), given):
                to = getattr(self, name)
                if x.shape != to.shape or x.dtype is not to.dtype:
                    raise InvalidArgumentError(f'[parametrize] {name} is {to.dtype} {to.shape}, the value {x.dtype} {x.shape}')
                to.copy_(x)

    def forward(self):
        parts = list(self)
        value = parts[0](*(getattr(self, name) for name in self._names()))
        for part in parts[1:]:
            value = part(value)
        return value


def _property(name):
    def read(self):
        if not _scopes:
            return self.parametrizations[name]()
        key = id(self), name
        if key not in _cache:
            _cache[key] = self.parametrizations[name]()
        return _cache[key]

    def write(self, value):
        self.parametrizations[name].right_inverse(value)
    return property(read, write, doc=f'What the parametrisations make of {name}.')


def _refuse(self):
    raise RuntimeError(f'[{type(self).__name__}] a module with parametrisations is saved by its state_dict()')


def _copied(self, memo):
    memo[id(self)] = made = object.__new__(type(self))
    made.__dict__ = copy.deepcopy(self.__dict__, memo)
    return made


def _set_class(module, names):
    """Gives the module a class with these properties, or its original class."""
    base = type_before_parametrizations(module)
    if not names:
        module.__class__ = base
        return
    module.__class__ = type(f'Parametrized{base.__name__}', (base,), {
        **{name: _property(name) for name in names}, '__module__': base.__module__, '_parametrized': True,
        '__getstate__': _refuse, '__deepcopy__': _copied})


def is_parametrized(module, tensor_name=None):
    """Whether a module, or this tensor of it, has parametrisations."""
    parts = module.__dict__.get('parametrizations')
    if not isinstance(parts, ModuleDict):
        return False
    return len(parts) > 0 if tensor_name is None else tensor_name in parts


def type_before_parametrizations(module):
    """The class that the module had before."""
    return type(module).__bases__[0] if '_parametrized' in vars(type(module)) else type(module)


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    """From now on module.<tensor_name> is parametrization(trained tensor); returns the module.

    A parametrisation may have right_inverse(value), which returns the trained tensor for a value. Each further one takes the result of
    the one before. unsafe: shape and dtype may change.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        _append(module, tensor_name, parametrization, unsafe)
    elif tensor_name in module._parameters or tensor_name in module._buffers:
        original = getattr(module, tensor_name)
        made = ParametrizationList([parametrization], original, unsafe)
        made.train(module.training)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            module.parametrizations = ModuleDict()
        module.parametrizations[tensor_name] = made
        _set_class(module, list(module.parametrizations))
    else:
        raise InvalidArgumentError(f'[register_parametrization] {type(module).__name__} has no parameter or buffer {tensor_name!r}')
    return module


def _append(module, name, parametrization, unsafe):
    """Adds a parametrisation after the existing ones; the trained tensors stay as they are."""
    parts = module.parametrizations[name]
    with no_grad():
        before = getattr(module, name)
        value = before
        if hasattr(parametrization, 'right_inverse'):
            value = parametrization.right_inverse(before)
        after = parametrization(value)
    if not unsafe:
        for x in (value, after):
            if not isinstance(x, Tensor) or x.shape != before.shape or x.dtype is not before.dtype:
                raise InvalidArgumentError(f'[register_parametrization] a parametrisation must keep dtype and shape: {before.dtype} {before.shape}; '
                                           'unsafe=True lets it')
    parts.append(parametrization)
    parts.unsafe |= unsafe


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    """Removes the parametrisations of a tensor, which keeps its value, or with leave_parametrized=False the trained one."""
    if not is_parametrized(module, tensor_name):
        raise InvalidArgumentError(f'[remove_parametrizations] {type(module).__name__} has no parametrisation of {tensor_name!r}')
    parts = module.parametrizations[tensor_name]
    if not leave_parametrized and not parts.is_tensor:
        raise InvalidArgumentError(f'[remove_parametrizations] {tensor_name!r} is made of {parts.ntensors} tensors: leave_parametrized must be True')
    first = getattr(parts, parts._names()[0])
    trained = first
    if leave_parametrized:
        with no_grad():
            value = getattr(module, tensor_name)
        trained = _with_value(first, value)
    del module.parametrizations[tensor_name]
    _set_class(module, list(module.parametrizations))
    if not is_parametrized(module):
        delattr(module, 'parametrizations')
    if isinstance(trained, Parameter):
        module.register_parameter(tensor_name, trained)
    else:
        module.register_buffer(tensor_name, trained)
    return module


def _with_value(x, value):
    """x with a value; the same object if the shape allows it."""
    if x.shape == value.shape and x.dtype is value.dtype:
        with no_grad():
            x.copy_(value)
        return x
    return Parameter(value, x.requires_grad) if isinstance(x, Parameter) else value.detach()


def transfer_parametrizations_and_params(from_module, to_module, tensor_name=None):
    """Copies parametrisations, of one tensor or all, and the trained tensors to another module, which is returned."""
    if not is_parametrized(from_module):
        return to_module
    for name in list(from_module.parametrizations) if tensor_name is None else [tensor_name]:
        parts = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach().clone()))
        for part in parts:
            register_parametrization(to_module, name, copy.deepcopy(part), unsafe=True)
        to_parts = to_module.parametrizations[name]
        for own in parts._names():
            setattr(to_parts, own, copy.deepcopy(getattr(parts, own)))
    return to_module


