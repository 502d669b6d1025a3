"""Methods of Tensor: every op whose first argument is a tensor, ops in place, and what Python expects of an array."""
import functools
import itertools

from . import _core
from ._array_api.shapes import dim_of
from ._core import Tensor, ops
from ._creation import _place
from ._errors import NotFoundError, OutOfRangeError
from ._in_place import IN_PLACE
from ._names import both_names

for _name, _op in ops.items():
    _parameters = _op.parameters
    if _parameters and _parameters[0][1] == 'Tensor' and not hasattr(Tensor, _name):
        setattr(Tensor, _name, _op)
for _name in IN_PLACE:
    setattr(Tensor, _name + '_', _core.op(_name, True))

_clone_into, _full_into = _core.op('clone'), _core.op('full_like')
_uniform, _normal = ops['uniform'], ops['normal']


def to(self, *args, dtype=None, device=None, copy=False):
    """to(dtype), to(device), to(device, dtype), to(other tensor): itself where it has both already."""
    for given in args:
        if isinstance(given, Tensor):
            dtype, device = given.dtype, given.device
        elif isinstance(given, _core.Device) or (isinstance(given, str) and not _is_dtype(given)):
            device = given
        elif given is not None:
            dtype = given
    x = _place(self, dtype, device)
    return ops['clone'](x) if copy and x is self else x


def _is_dtype(name):
    try:
        _core.as_dtype(name)
    except ValueError:
        return False
    return True


def to_device(self, device, /, *, stream=None):
    """On a device; itself where it lies there already."""
    if stream is not None:
        raise ValueError('[to_device] stream must be None: copies are ordered by the library')
    return _place(self, None, device)


def cpu(self):
    """On the host; itself where it lies there already."""
    return _place(self, None, 'cpu')


def copy(self):
    """A new tensor of the same elements; gradients flow through."""
    return ops['clone'](self)


def numpy(self):
    """A NumPy array that shares the memory of a tensor on the host, read-only where the tensor is; bfloat16 and 8-bit floats, which
    NumPy lacks, must be cast first.
    """
    import numpy as np
    x = self
    if x.requires_grad:
        raise _core_error('[numpy] of a tensor that requires a gradient: use detach()')
    if x.data_ptr is None and x.size:
        x = x.cpu()
    try:
        return np.asarray(memoryview(x))
    except BufferError as error:
        raise TypeError(f'[numpy] {error}') from None


def _core_error(text):
    from ._errors import PreconditionError
    return PreconditionError(text)


def __array__(self, dtype=None, copy=None):
    import numpy as np
    array = self.detach().numpy()
    if dtype is not None and array.dtype != np.dtype(dtype):
        if copy is False:
            raise ValueError('[__array__] copy=False, but another dtype was asked for')
        return array.astype(dtype)
    return array.copy() if copy else array


def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
    x = self
    if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
        if tuple(dl_device) != (1, 0) or copy is False:
            raise BufferError(f'[__dlpack__] cannot export from {self.device} to DLPack device {tuple(dl_device)}')
        x = x.cpu()
    elif copy:
        x = ops['clone'](x)
    if stream is not None and stream != -1:
        x.device.synchronize()
    return x._to_capsule(max_version is not None and tuple(max_version) >= (1, 0))


_DLPACK_TYPES = {'cpu': 1, 'cuda': 2, 'vulkan': 7, 'rocm': 10}


def __dlpack_device__(self):
    device = self.device
    return _DLPACK_TYPES.get(device.type, 12), device.index


def copy_(self, source):
    """Writes source, broadcast and cast, into this tensor."""
    self[...] = source
    return self


def fill_(self, value):
    """Writes one value everywhere."""
    return _full_into(self, value, self.dtype, out=self)


def zero_(self):
    """Writes 0 everywhere."""
    return _full_into(self, 0, self.dtype, out=self)


def uniform_(self, low=0.0, high=1.0, generator=None):
    """Writes uniform numbers."""
    return _uniform(self.shape, low, high, self.dtype, self.device, generator, out=self)


def normal_(self, mean=0.0, std=1.0, generator=None):
    """Writes normal numbers."""
    return _normal(self.shape, mean, std, self.dtype, self.device, generator, out=self)


class HookHandle:
    """Removes a hook again, by remove() or as a context manager."""

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


def register_hook(self, hook):
    """Calls hook(gradient) when the gradient of this tensor is complete; a Tensor that it returns replaces it."""
    return HookHandle(self, self._add_hook(hook))


def __len__(self):
    return self.shape[0]


def __iter__(self):
    if self.ndim == 0:
        raise TypeError('iteration over a tensor of rank 0')
    return map(functools.partial(ops['select'], self, 0), range(self.shape[0]))


def __contains__(self, value):
    found = self == value
    return isinstance(found, Tensor) and bool(found.any())


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
    """What a pickle calls: plain data becomes a tensor. Nothing of the file is run."""
    x = _core._from_bytes(data, dtype, shape)
    if device != 'cpu':
        try:
            x = _place(x, None, device)
        except NotFoundError:
            pass  # made where there was such a device; here the host has it
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


def view(self, *shape):
    """reshape that never copies."""
    out = ops['reshape'](self, *shape)
    if self.size and not out.shares_memory(self):
        raise ValueError('[view] the strides do not allow this shape without a copy: use reshape')
    return out


def _cuts(sizes, total, dim):
    """Where parts of these sizes begin and end."""
    if any(isinstance(size, bool) or not hasattr(size, '__index__') for size in sizes):
        raise TypeError(f'[split] sizes {sizes} are not all ints')
    if any(size < 0 for size in sizes) or sum(sizes) != total:
        raise ValueError(f'[split] sizes {sizes} add up to {sum(sizes)}, but dim {dim} has {total} entries')
    ends = list(itertools.accumulate(sizes))
    return zip([0, *ends], ends)


def split(self, size, dim=0):
    """Parts of `size` entries along a dimension, of which the last may be smaller; or of the sizes in a list."""
    at = dim_of(dim, self.ndim, 'split', 'dim')
    total, cut = self.shape[at], ops['slice']
    if isinstance(size, (list, tuple)):
        return [cut(self, at, begin, end) for begin, end in _cuts(list(size), total, dim)]
    if isinstance(size, bool) or not hasattr(size, '__index__'):
        raise TypeError(f'[split] size must be an int or a list of ints, not {type(size).__name__}')
    if size <= 0:
        raise ValueError(f'[split] size {size} is not positive')
    return [cut(self, at, begin, min(begin + size, total)) for begin in range(0, total, size)] or [self]


def chunk(self, chunks, dim=0):
    """At most `chunks` parts along a dimension."""
    at = dim_of(dim, self.ndim, 'chunk', 'dim')
    if isinstance(chunks, bool) or not hasattr(chunks, '__index__'):
        raise TypeError(f'[chunk] chunks must be an int, not {type(chunks).__name__}')
    if chunks <= 0:
        raise ValueError(f'[chunk] {chunks} chunks')
    return split(self, max(1, -(-self.shape[at] // chunks)), at)


def unbind(self, dim=0):
    """The entries along a dimension."""
    at = dim_of(dim, self.ndim, 'unbind', 'dim')
    return [ops['select'](self, at, i) for i in range(self.shape[at])]


def narrow(self, dim, start, length):
    """`length` entries from `start` along a dimension; a view."""
    at = dim_of(dim, self.ndim, 'narrow', 'dim')
    size = self.shape[at]
    for name, value in (('start', start), ('length', length)):
        if isinstance(value, bool) or not hasattr(value, '__index__'):
            raise TypeError(f'[narrow] {name} must be an int, not {type(value).__name__}')
    first = start + size if start < 0 else start
    if first < 0 or length < 0 or length > size - first:
        raise OutOfRangeError(f'[narrow] {length} entries from {start} on do not fit into dim {dim} of size {size}')
    return ops['slice'](self, at, first, first + length)


def get_data(self):
    """The same elements without history, as detach() gives them."""
    return self.detach()


def set_data(self, value):
    if self._same_elements(value):  # x.data -= y has written into them already
        return
    raise _core_error("[data] a tensor keeps its memory: write the values with `with tenon.no_grad(): x.copy_(values)`, or give "
                      "the module another parameter with `module.name = tenon.nn.Parameter(values)`")


def numel(self):
    """Number of elements."""
    return self.size


def dim(self):
    """Number of dimensions."""
    return self.ndim


def float(self):
    """As float32."""
    return _place(self, _core.float32, None)


def double(self):
    """As float64."""
    return _place(self, _core.float64, None)


def long(self):
    """As int64."""
    return _place(self, _core.int64, None)


for _function in (to, to_device, cpu, copy, numpy, __array__, __dlpack__, __dlpack_device__, copy_, fill_, zero_,
                  uniform_, normal_, register_hook, __iter__, __contains__, __deepcopy__, __copy__, __reduce__, view,
                  split, chunk, unbind, narrow, numel, dim, float, double, long):
    setattr(Tensor, _function.__name__, _function)

for _name in ('split', 'chunk', 'unbind', 'narrow'):
    setattr(Tensor, _name, both_names(getattr(Tensor, _name)))
setattr(Tensor, 'data', property(get_data, set_data))

# NumPy leaves its operators to ours, which name tenon.asarray in their error.
setattr(Tensor, '__array_ufunc__', None)
