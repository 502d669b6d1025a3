"""What sparse tensors of all layouts share: properties, conversions, and the functions of torch that accept them."""
import functools

from ..._core import Tensor, ops
from ..._errors import InvalidArgumentError

# By name, the functions of torch that accept sparse tensors; filled by the other files.
FUNCTIONS = {}


def computes(*names):
    """Registers a function as torch.NAME for sparse tensors."""
    def add(function):
        for name in names:
            FUNCTIONS[name] = function
        return function
    return add


def is_sparse(x):
    """Whether x is a sparse tensor."""
    return isinstance(x, SparseTensor)


class SparseTensor:
    """A tensor of which only some elements are stored; the others are 0. Gradients flow to its values, and to what they came from.

    It is a separate type, built on dense tensors of indices and values: isinstance(x, torch.Tensor) is False. Functions that do not
    support sparse tensors say so; to_dense() returns an ordinary tensor.
    """

    layout = ''
    is_sparse = is_sparse_csr = is_quantized = False
    _data: Tensor
    shape: tuple

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        found = FUNCTIONS.get(func.__name__)
        if found is None:
            raise TypeError(f'[{func.__name__}] does not support sparse tensors: use to_dense()')
        return found(*args, **(kwargs or {}))

    # Properties -------------------------------------------------------------------------------------------------------------

    dtype = property(lambda self: self._data.dtype)
    device = property(lambda self: self._data.device)
    requires_grad = property(lambda self: self._data.requires_grad)
    is_leaf = property(lambda self: self._data.is_leaf)
    grad_fn = property(lambda self: self._data.grad_fn)
    ndim = property(lambda self: len(self.shape))
    is_cuda = property(lambda self: self._data.is_cuda)
    is_cpu = property(lambda self: self._data.is_cpu)

    @property
    def grad(self):
        """The gradient of a leaf: sparse, with the same pattern."""
        found = self._data.grad
        return None if found is None else self._gradient(found)

    def _gradient(self, values):
        return self._with(values)

    def size(self, dim=None):
        return self.shape if dim is None else self.shape[dim]

    def dim(self):
        return len(self.shape)

    def numel(self):
        count = 1
        for size in self.shape:
            count *= size
        return count

    def is_floating_point(self):
        return self.dtype.is_floating_point

    def is_complex(self):
        return self.dtype.is_complex

    def __len__(self):
        return self.shape[0]

    def __bool__(self):
        raise TypeError('[bool] of a sparse tensor: use to_dense()')

    def __repr__(self):
        from ..printing import elements_text, history, is_usual, joined
        parts = []
        for name, part in self._parts():
            head = f'{name}=tensor('
            size = '' if part.numel() else f', size={tuple(part.shape)}'
            parts.append(f'{head}{elements_text(part, len("tensor(" + head))}{size})')
        told = [f'size={tuple(self.shape)}', f'nnz={self._nnz()}', *([] if is_usual(self.dtype) else [f'dtype=torch.{self.dtype.name}']),
                f'layout={self.layout}', *history(self._data)]
        return joined('tensor(' + ',\n       '.join(parts), told, len('tensor('), apart=self.is_sparse)

    # Conversions ------------------------------------------------------------------------------------------------------------

    def _with(self, values):
        """The same pattern with other values."""
        raise NotImplementedError

    def _parts(self):
        raise NotImplementedError

    def to(self, *args, **kwargs):
        """In another dtype, or on another device."""
        values = self._data.to(*args, **kwargs)
        return self._with(values) if values.device == self.device else self._moved(values)

    def _moved(self, values):
        raise NotImplementedError

    def _map(self, name):
        return self._with(getattr(self._data, name)())

    def requires_grad_(self, requires_grad=True):
        self._data.requires_grad_(requires_grad)
        return self

    def retain_grad(self):
        self._data.retain_grad()

    def type(self, dtype):
        return self.to(dtype)

    def cpu(self):
        return self.to('cpu')

    def cuda(self, device=None):
        return self.to('cuda' if device is None else device)

    # Arithmetic: each is the function of torch -------------------------------------------------------------------------------

    def __add__(self, other):
        return FUNCTIONS['add'](self, other)

    def __radd__(self, other):
        return FUNCTIONS['add'](other, self)

    def __sub__(self, other):
        return FUNCTIONS['sub'](self, other)

    def __rsub__(self, other):
        return FUNCTIONS['sub'](other, self)

    def __mul__(self, other):
        return FUNCTIONS['mul'](self, other)

    __rmul__ = __mul__

    def __truediv__(self, other):
        return FUNCTIONS['div'](self, other)

    def __neg__(self):
        return FUNCTIONS['neg'](self)

    def __abs__(self):
        return FUNCTIONS['abs'](self)

    def __pow__(self, exponent):
        return FUNCTIONS['pow'](self, exponent)

    def __matmul__(self, other):
        return FUNCTIONS['matmul'](self, other)

    def __rmatmul__(self, other):
        return FUNCTIONS['matmul'](other, self)

    @property
    def T(self):
        return FUNCTIONS['t'](self)

    def __getattr__(self, name):
        if name in FUNCTIONS and not name.startswith('_'):
            return functools.partial(FUNCTIONS[name], self)
        raise AttributeError(f'a sparse tensor has no {name!r}: use to_dense()')


for _name in 'float double half bfloat16 clone detach'.split():
    setattr(SparseTensor, _name, functools.partialmethod(SparseTensor._map, _name))


# Functions that map 0 to 0, so that the pattern stays.
def _zero_stays(name):
    def function(input, *args, **kwargs):
        import tenon.torch as torch
        x = input.coalesce() if input.is_sparse else input
        return x._with(getattr(torch, name)(x._data, *args, **kwargs))
    function.__name__ = name
    computes(name)(function)


for _name in '''abs neg sqrt square sin sinh asin asinh tan tanh atan atanh expm1 log1p erf erfinv relu floor ceil round trunc sign sgn
        deg2rad rad2deg frac isnan isinf nan_to_num'''.split():
    _zero_stays(_name)


@computes('pow')
def power(input, exponent):
    if not isinstance(exponent, (int, float)) or exponent <= 0:
        raise InvalidArgumentError(f'[pow] the exponent of a sparse tensor is a positive number, not {exponent!r}')
    x = input.coalesce() if input.is_sparse else input
    return x._with(ops['pow'](x._data, exponent))


FUNCTIONS.update({
    'clone': lambda input, **_: input._map('clone'), 'detach': lambda input: input._map('detach'),
    'conj': lambda input: input._with(ops['conj'](input._data)), 'is_complex': SparseTensor.is_complex,
    'is_floating_point': SparseTensor.is_floating_point, 'is_tensor': lambda obj: True, 'numel': SparseTensor.numel,
})
