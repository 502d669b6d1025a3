"""Methods of Tensor: Python's protocols, every op with PyTorch's meaning, and access to PyTorch's other methods."""
import functools
import threading

from . import _core
from ._core import Tensor, ops
from ._creation import _place
from ._errors import InvalidArgumentError, NotFoundError, UnimplementedError
from ._op_facts import IN_PLACE
from ._method_names import LATER, NOT_OFFERED
from ._retained import RETAINING, retain_anew

for _name, _op in ops.items():
    _parameters = _op.parameters
    if _parameters and _parameters[0][1] == 'Tensor' and not hasattr(Tensor, _name):
        setattr(Tensor, _name, _op)
for _name in IN_PLACE:
    setattr(Tensor, _name + '_', _core.op(_name, True))

_clone, _contiguous, _full_into, _uniform, _normal = (ops[name] for name in ('clone', 'contiguous', 'full_like', 'uniform', 'normal'))
_count, _address, _is_contiguous, _backward, _requires_grad = (
    Tensor.__dict__[name] for name in ('size', 'data_ptr', 'is_contiguous', 'backward', 'requires_grad_'))


def to(self, *args, dtype=None, device=None, non_blocking=False, copy=False, memory_format=None):
    """to(dtype), to(device), to(device, dtype) or to(other tensor), each optionally followed by non_blocking and copy. Returns the
    tensor itself if it already has the dtype and device.

    A copy to a device does not wait, and a copy to the host waits for the device, whatever non_blocking says.
    """
    flags = []  # non_blocking, copy
    for given in args:
        if isinstance(given, Tensor):
            dtype, device = given.dtype, given.device
        elif given is True or given is False:
            flags.append(given)
        elif isinstance(given, int):
            device = f'cuda:{given}'
        elif isinstance(given, _core.Device) or (isinstance(given, str) and not _is_dtype(given)):
            device = given
        elif given is not None:
            dtype = given
    copy = copy or flags[1:] == [True]
    x = _place(self, dtype, f'cuda:{device}' if isinstance(device, int) else device)
    x = x if memory_format is None else _laid_out(x, memory_format)
    return _clone(x) if copy and x is self else x


def _is_dtype(name):
    try:
        _core.as_dtype(name)
    except ValueError:
        return False
    return True


def to_device(self, device, /, *, stream=None):
    """This tensor on a device; itself if it is already there."""
    if stream is not None:
        raise InvalidArgumentError('[to_device] stream must be None: copies are ordered by the library')
    return _place(self, None, device)


def _laid_out(x, memory_format):
    """x in one of PyTorch's memory formats, which only tenon.torch knows."""
    laid_out = later().facts.laid_out
    return laid_out(x, memory_format)


def cpu(self, memory_format=None):
    """This tensor on the host; itself if it is already there."""
    x = _place(self, None, 'cpu')
    return x if memory_format is None else _laid_out(x, memory_format)


def _caster(name, dtype):
    def method(self, memory_format=None):
        x = _place(self, dtype, None)
        return x if memory_format is None else _laid_out(x, memory_format)
    method.__name__ = method.__qualname__ = name
    method.__doc__ = f'As {dtype.name}; itself where it is that already.'
    return method


CASTS = {'float': 'float32', 'double': 'float64', 'half': 'float16', 'bfloat16': 'bfloat16', 'long': 'int64', 'int': 'int32', 'short': 'int16',
         'char': 'int8', 'byte': 'uint8', 'bool': 'bool', 'cfloat': 'complex64', 'cdouble': 'complex128'}
for _name, _dtype in CASTS.items():
    setattr(Tensor, _name, _caster(_name, getattr(_core, _dtype)))


def clone(self, *, memory_format=None):
    """A new tensor of the same elements; gradients flow through."""
    x = _clone(self)
    return x if memory_format is None else _laid_out(x, memory_format)


def contiguous(self, memory_format=None):
    """A contiguous tensor with the same elements, itself if it is contiguous; row-major by default."""
    if memory_format is not None:
        return _laid_out(self, memory_format)
    return self if _is_contiguous(self) else _contiguous(self)


def is_contiguous(self, memory_format=None):
    """Whether the tensor is contiguous in memory; row-major by default."""
    if memory_format is not None:
        arranged = later().facts.arranged
        self = arranged(self, memory_format)
    return _is_contiguous(self)


def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    """Accumulates gradients into the leaves, or only into `inputs`. retain_graph (default: create_graph) keeps the graph."""
    retain_graph = create_graph if retain_graph is None else retain_graph
    retain_anew()
    if inputs is None:
        _backward(self, gradient, retain_graph, create_graph)
        return
    from .autograd import _accumulate
    inputs = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    _accumulate([self], inputs, None if gradient is None else [gradient], retain_graph, create_graph)


def requires_grad_(self, requires_grad=True):
    """Sets whether a leaf collects gradients, and returns the leaf."""
    return _requires_grad(self, requires_grad)


def copy(self):
    """A new tensor of the same elements; gradients flow through."""
    return ops['clone'](self)


def numpy(self, *, force=False):
    """A NumPy array that shares the memory of a tensor on the host, read-only if the tensor is; bfloat16 and 8-bit floats, which NumPy
    lacks, must be cast first. With force, any tensor is accepted and copied if necessary.
    """
    import numpy as np
    x = self.detach() if force else self
    if x.requires_grad:
        raise _core_error('[numpy] of a tensor that requires a gradient: use detach()')
    if _address.__get__(x) is None and x.size and x.device.type != 'meta':
        x = x.cpu()
        if _address.__get__(x) is None:
            x.tobytes()  # a traced tensor, which refuses: its error tells where
    _core._trace_read(x)
    try:
        return np.asarray(memoryview(x))
    except BufferError as error:
        raise TypeError(f"[numpy] {str(error).removeprefix('[buffer] ')}") from None


def _core_error(text):
    from ._errors import PreconditionError
    return PreconditionError(text)


def __array__(self, dtype=None, copy=None):
    import numpy as np
    array = self.detach().numpy()
    if dtype is not None and array.dtype != np.dtype(dtype):
        if copy is False:
            raise InvalidArgumentError('[__array__] copy=False, but another dtype was asked for')
        return array.astype(dtype)
    return array.copy() if copy else array


def __array_wrap__(self, array, context=None, return_scalar=False):
    from ._creation import asarray
    if any(isinstance(x, Tensor) and x.requires_grad for x in (self, *(context[1] if context else ()))):
        raise _core_error('[numpy] of a tensor that requires a gradient: use detach()')
    return asarray(array)


def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
    x = self
    if dl_device is not None and tuple(dl_device) == (1, 0) and self.device.type != 'cpu':
        if copy is False:
            raise BufferError(f'[__dlpack__] copy=False, but {self.device} is not the host')
        x = x.cpu()
    elif dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
        raise BufferError(f'[__dlpack__] cannot export from {self.device} to DLPack device {tuple(dl_device)}')
    elif copy:
        x = ops['clone'](x)
    capsule = x._to_capsule(max_version is not None and tuple(max_version) >= (1, 0))
    if stream != -1 and x.device.type != 'cpu':
        _core._dlpack_precede(x.device, stream)
    return capsule


def __dlpack_device__(self):
    code = _core._dlpack_device(self.device)
    if code is None:
        raise UnimplementedError(f'[__dlpack_device__] {self.device} has no DLPack code, so other libraries cannot use its memory; copy to the '
                                 'host first, with cpu()')
    return code


def copy_(self, other, non_blocking=False):
    """Writes another tensor, broadcast and cast, into this one; gradients flow to it."""
    self[...] = other
    return self


def fill_(self, value):
    """Sets every element to a value, a number or a tensor of rank 0."""
    if isinstance(value, Tensor):
        if value.ndim:
            raise _core_error(f'[fill_] value has rank {value.ndim}, must be a number or of rank 0')
        return copy_(self, value)
    return _filled(self, value)


def zero_(self):
    """Sets every element to 0."""
    return _filled(self, 0)


def _filled(x, value):
    """x with every element set; those that expand() repeats are written once."""
    try:
        return _full_into(x, value, x.dtype, out=x)
    except InvalidArgumentError:
        repeated = [d for d, (size, step) in enumerate(zip(x.shape, x.strides)) if size > 1 and step == 0]
        if not repeated:
            raise
        once = x
        for d in repeated:
            once = ops['slice'](once, d, 0, 1)
        _filled(once, value)
        return x


def uniform_(self, low=0.0, high=1.0, generator=None):
    """Fills the tensor with uniform random numbers."""
    return _uniform(self.shape, low, high, self.dtype, self.device, generator, out=self)


def normal_(self, mean=0.0, std=1.0, generator=None):
    """Fills the tensor with normally distributed random numbers."""
    return _normal(self.shape, mean, std, self.dtype, self.device, generator, out=self)


class HookHandle:
    """Removes a hook, by remove() or as a context manager."""

    def __init__(self, tensor, number):
        self._tensor, self._number = tensor, number

    def remove(self):
        if self._tensor is not None:
            self._tensor._remove_hook(self._number)
            self._tensor = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()


_importing = threading.RLock()


def later():
    """Threads import tenon.torch.methods one after the other, because it and tenon.torch import each other."""
    with _importing:
        from .torch import methods
        return methods


def register_hook(self, hook):
    """Calls hook(gradient) when the gradient of this tensor is complete; a Tensor that it returns replaces it."""
    handle = HookHandle(self, self._add_hook(hook))
    if (kept := RETAINING.get(id(self))) is not None:  # keeps what all hooks left
        self._remove_hook(kept[1])
        kept[1] = self._add_hook(kept[2])
    return handle


def __len__(self):
    return self.shape[0]


def __iter__(self):
    if self.ndim == 0:
        raise TypeError('iteration over a tensor of rank 0')
    return map(functools.partial(ops['select'], self, 0), range(self.shape[0]))


def __reversed__(self):
    return ops['flip'](self, 0) if self.ndim else self


def __contains__(self, value):
    found = self == value
    return isinstance(found, Tensor) and bool(ops['any'](found))


def __deepcopy__(self, memo):
    if not self.is_leaf:
        raise _core_error('[deepcopy] only of leaves: a copy of a graph has no meaning; use detach()')
    made = type(self).__new__(type(self), ops['clone'](self.detach()))
    if self.requires_grad:
        made.requires_grad_()
    if self.grad is not None:
        made.grad = self.grad.copy()
    if extra := getattr(self, '__dict__', None):
        from copy import deepcopy
        getattr(made, '__dict__').update(deepcopy(extra, memo))
    memo[id(self)] = made
    return made


def __copy__(self):
    return type(self).__new__(type(self), self)


def _rebuild(kind, data, dtype, shape, device, requires_grad, state=None):
    """Called by a pickle to make a tensor from plain data. Runs no code from the file."""
    x = _core._from_bytes(data, dtype, shape)
    if device != 'cpu':
        try:
            x = _place(x, None, device)
        except NotFoundError:
            pass  # it was made where that device existed; here the host has it
    if kind is not Tensor:
        x = kind.__new__(kind, x)
    if requires_grad:
        x.requires_grad_()
    if state:
        x.__dict__.update(state)
    return x


def __reduce__(self):
    if not self.is_leaf:
        raise _core_error('[pickle] only of leaves: a graph cannot be stored; use detach()')
    device = self.device
    where = 'cpu' if device.type == 'cpu' else device.id
    return _rebuild, (type(self), self.tobytes(), self.dtype.name, self.shape, where, self.requires_grad,
                      getattr(self, '__dict__', None) or None)


def get_data(self):
    """The same elements without history, as detach() returns them."""
    return self.detach()


def set_data(self, value):
    if isinstance(value, Tensor) and self._same_elements(value):  # x.data -= y has already written into them
        return
    later().memory.assigned(self, value)


class Count(int):
    """The number of elements, an int. When called, the sizes of the dimensions, as PyTorch's size() and size(dim)."""

    _shape = ()

    def __call__(self, dim=None):
        return self._shape if dim is None else self._shape[dim]

    def __reduce__(self):
        return int, (int(self),)


class Address(int):
    """The address of the first element, an int. When called, the same, as PyTorch's data_ptr()."""

    def __call__(self):
        return int(self)


def size(self):
    """Number of elements; size() and size(dim) are the sizes of the dimensions."""
    count = Count(_count.__get__(self))
    count._shape = self.shape
    return count


def data_ptr(self):
    """Address of the first element, of which the host can read only its own; 0 on meta; data_ptr() returns it, too."""
    return Address(0 if self.device.type == 'meta' else sum(self._place()))


def numel(self):
    """Number of elements."""
    return _count.__get__(self)


def dim(self):
    """Number of dimensions."""
    return self.ndim


for _function in (to, to_device, cpu, clone, contiguous, is_contiguous, backward, requires_grad_, copy, numpy, __array__, __array_wrap__, __dlpack__, __dlpack_device__, copy_, fill_, zero_,
                  uniform_, normal_, register_hook, __iter__, __reversed__, __contains__, __deepcopy__, __copy__, __reduce__, numel, dim):
    setattr(Tensor, _function.__name__, _function)
for _function in (size, data_ptr):
    setattr(Tensor, _function.__name__, property(_function))
setattr(Tensor, 'data', property(get_data, set_data))
setattr(Tensor, '_version', property(lambda self: self.version, doc='How often the memory of the tensor was written to in place.'))

# NumPy's functions return tensors for tensors; its operators leave an array left of a tensor to ours, whose error names tenon.asarray.
setattr(Tensor, '__array_priority__', 1000)


class Later:
    """Stands for a method of PyTorch: the first access imports tenon.torch and replaces this by the method."""

    __slots__ = ('name',)

    def __init__(self, name):
        self.name = name

    def _method(self):
        from ._overriding import seen
        method = seen(later().find(self.name))
        setattr(Tensor, self.name, method)
        return method

    def __get__(self, instance, owner=None):
        return self._method().__get__(instance, owner)

    def __set__(self, instance, value):
        self._method()
        object.__setattr__(instance, self.name, value)


class NotOffered:
    """Stands for a method of PyTorch that is not offered: the error says what to use instead."""

    __slots__ = ('name',)

    def __init__(self, name):
        self.name = name

    def __get__(self, instance, owner=None):
        raise AttributeError(f'[Tensor.{self.name}] is not offered here: {NOT_OFFERED[self.name]}')


for _names in LATER.values():
    for _name in _names:
        setattr(Tensor, _name, Later(_name))
for _name in NOT_OFFERED:
    setattr(Tensor, _name, NotOffered(_name))
