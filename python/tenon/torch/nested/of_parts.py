"""The type of nested tensors, and the functions of torch that accept them."""
import functools
from typing import Any

from ..._core import Tensor, ops, promote_types
from ..._overriding import look_for_types
from .._common import dim_of
from ..create import layout, strided
from ..modes import Size
from ..sizes import SymInt

jagged = layout('torch.jagged')
look_for_types()

# Functions of each element, and others that see one part at a time, whatever its size.
_ELEMENTWISE = '''abs add bfloat16 bool ceil celu clamp clone contiguous cos detach div dropout elu eq erf exp float floor ge gelu gt half
    double hardswish hardtanh le leaky_relu log log1p logical_and logical_not logical_or lt masked_fill maximum minimum mish mul nan_to_num ne
    neg pow reciprocal relu relu6 round rsqrt rsub sgn sigmoid sign silu sin softplus sqrt square sub tan tanh threshold to true_divide
    type where'''.split()
_LAST = 'embedding layer_norm linear rms_norm scaled_dot_product_attention'.split()
_ALONG = 'all amax amin any argmax argmin cumsum flip log_softmax logsumexp mean normalize norm prod softmax sum unsqueeze squeeze'.split()
_REDUCE = 'all amax amin any max mean min prod sum'.split()
_TWO_DIMS = 'transpose swapaxes swapdims flatten'.split()
_PIECES = 'chunk split tensor_split'.split()


class Ragged(SymInt):
    """A size that differs between the parts of a jagged tensor; equal to that of another tensor whose parts have these sizes."""

    _known: dict = {}

    def __init__(self, sizes):
        self._sizes = sizes
        self._number = self._known.setdefault(sizes, len(self._known) + 1)

    def __eq__(self, other):
        return isinstance(other, Ragged) and self._sizes == other._sizes

    def __hash__(self):
        return hash(self._sizes)

    def __repr__(self):
        return f'j{self._number}'

    def __index__(self):
        raise RuntimeError(f'[size] {self} differs between the parts: {self._sizes}')

    __int__ = __index__


class NestedTensor:
    """A batch of tensors, its parts, that differ in some sizes. Gradients flow through the parts.

    It is a separate type: isinstance(x, torch.Tensor) is False. Functions work part by part, along any dimension but the first; those
    that do not support nested tensors say so. to_padded_tensor() and unbind() return ordinary tensors.
    """

    is_nested, is_sparse, is_quantized = True, False, False

    def __init__(self, parts, layout=strided):
        if any(x.ndim != parts[0].ndim for x in parts):
            raise RuntimeError(f'[nested] all parts must have one number of dimensions, not {sorted({x.ndim for x in parts})}')
        if layout is jagged and any(x.shape[1:] != parts[0].shape[1:] for x in parts):
            raise RuntimeError('[nested] parts of a jagged tensor differ in their first size alone')
        dtype = functools.reduce(promote_types, (x.dtype for x in parts)) if parts else None
        self._parts, self.layout = [x.to(dtype) for x in parts], layout

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        found = FUNCTIONS.get(func.__name__)
        if found is None:
            raise TypeError(f'[{func.__name__}] does not support nested tensors: use to_padded_tensor() or unbind()')
        return found(func, *args, **(kwargs or {}))

    # Properties -------------------------------------------------------------------------------------------------------------

    dtype = property(lambda self: self._first.dtype)
    device = property(lambda self: self._first.device)
    requires_grad = property(lambda self: any(x.requires_grad for x in self._parts))
    is_leaf = property(lambda self: all(x.is_leaf for x in self._parts))
    ndim = property(lambda self: self._first.ndim + 1)

    @property
    def _first(self):
        if not self._parts:
            raise RuntimeError('[nested] there are no parts')
        return self._parts[0]

    @property
    def shape(self):
        if self.layout is not jagged:
            raise RuntimeError('[shape] sizes differ between the parts: size(dim) gives one that does not')
        return Size(self.size(dim) for dim in range(self.ndim))

    @property
    def grad(self):
        """The gradients of the parts of a leaf."""
        found = [x.grad for x in self._parts]
        return None if all(x is None for x in found) else NestedTensor([ops['full_like'](x.detach(), 0) if g is None else g for x, g in zip(self._parts, found)], self.layout)

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Accumulates gradients into the leaves behind the parts; `gradient` is nested, too."""
        from ..autograd.gradients import backward
        if gradient is None:
            raise RuntimeError('[backward] a nested tensor needs a gradient, which is nested')
        if len(gradient) != len(self):
            raise RuntimeError(f'[backward] a gradient of {len(gradient)} parts for {len(self)}')
        pairs = [(x, g) for x, g in zip(self._parts, gradient) if x.requires_grad]
        if not pairs:
            raise RuntimeError('[backward] the nested tensor does not require a gradient')
        backward([x for x, _ in pairs], [g for _, g in pairs], retain_graph, create_graph, inputs=inputs)

    def size(self, dim=None):
        if dim is None:
            return self.shape
        dim = dim_of(dim, self.ndim)
        sizes = (len(self._parts),) if dim == 0 else tuple(x.shape[dim - 1] for x in self._parts)
        if len(set(sizes)) == 1:
            return sizes[0]
        if self.layout is jagged:
            return Ragged(sizes)
        raise RuntimeError(f'[size] Given dimension {dim} is irregular and does not have a size.')

    def dim(self):
        return self.ndim

    def numel(self):
        return sum(x.numel() for x in self._parts)

    def is_contiguous(self):
        return all(x.is_contiguous() for x in self._parts)

    def is_floating_point(self):
        return self.dtype.is_floating_point

    def __len__(self):
        return len(self._parts)

    def __iter__(self):
        return iter(self._parts)

    def __getitem__(self, index):
        if not hasattr(index, '__index__'):
            raise TypeError('[nested] an index is the number of a part')
        return self._parts[index]

    def __repr__(self):
        if self.layout is jagged:
            return f'NestedTensor(size=({len(self)}, *, {", ".join(map(str, self._first.shape[1:]))}), offsets={self.offsets()})'
        lines = ',\n'.join(repr(x.detach()) for x in self._parts)
        return 'nested_tensor([\n' + '\n'.join('  ' + line for line in lines.split('\n')) + '\n])'

    # Conversions ------------------------------------------------------------------------------------------------------------

    def unbind(self, dim=0):
        """The parts."""
        if dim != 0:
            raise RuntimeError(f'[unbind] dim {dim}: only the first is supported')
        return tuple(self._parts)

    def values(self):
        """All elements: the parts of a jagged tensor behind each other, otherwise flat."""
        return ops['concat']([x if self.layout is jagged else ops['reshape'](x, (-1,)) for x in self._parts], 0)

    def offsets(self):
        """Where each part of a jagged tensor begins in values(), and where the last ends."""
        from ..create import tensor
        ends = [0]
        for x in self._parts:
            ends.append(ends[-1] + x.shape[0])
        return tensor(ends, device=self.device)

    def to_padded_tensor(self, padding, output_size=None):
        """A dense tensor with `padding` behind each part."""
        sizes = [max(x.shape[d] for x in self._parts) for d in range(self._first.ndim)]
        if output_size is not None:
            if len(output_size) != self.ndim or output_size[0] != len(self) or any(n < own for n, own in zip(output_size[1:], sizes)):
                raise RuntimeError(f'[to_padded_tensor] output_size {tuple(output_size)} must be at least {(len(self), *sizes)}')
            sizes = list(output_size[1:])
        padded = [_padded(x, sizes, padding) for x in self._parts]
        return ops['stack'](padded, 0)

    def requires_grad_(self, requires_grad=True):
        for x in self._parts:
            x.requires_grad_(requires_grad)
        return self

    def cpu(self):
        return self.to('cpu')

    def cuda(self, device=None):
        return self.to('cuda' if device is None else device)

    def __getattr__(self, name):
        if name in FUNCTIONS and not name.startswith('_'):
            return functools.partial(FUNCTIONS[name], _own(name), self)
        raise AttributeError(f'a nested tensor has no {name!r}: use to_padded_tensor() or unbind()')


def _padded(x, sizes, padding):
    widths = [(0, n - own) for n, own in zip(sizes, x.shape)]
    return ops['pad'](x, [w for pair in reversed(widths) for w in pair], 'constant', padding) if any(after for _, after in widths) else x


# Functions of torch
# -----------------------------------------------------------------------------

def _own(name):
    """The function of that name for one part: a method, or of torch or torch.nn.functional."""
    import tenon.torch as torch
    found = (getattr(holder, name, None) for holder in (Tensor, torch, torch.nn.functional))
    return next(each for each in found if callable(each))


def _nested(args):
    return next(x for x in args if isinstance(x, NestedTensor))


def _part(value, i, like, broadcast):
    """What the i-th part meets: the part of a nested operand, the matching entry of a dense one of as many dimensions, or the operand."""
    if isinstance(value, NestedTensor):
        if len(value) != len(like):
            raise RuntimeError(f'[nested] {len(like)} and {len(value)} parts do not match')
        return value._parts[i]
    if broadcast and isinstance(value, Tensor) and value.ndim == like.ndim:
        return value[0 if value.shape[0] == 1 else i]
    return value


def _each(function, args, kwargs, broadcast=False):
    like = _nested((*args, *kwargs.values()))
    found = [function(*(_part(x, i, like, broadcast) for x in args), **{key: _part(x, i, like, broadcast) for key, x in kwargs.items()})
             for i in range(len(like))]
    if isinstance(found[0], tuple):
        results = [_laid_out(list(parts), like) for parts in zip(*found)]
        return type(found[0])(*results) if hasattr(found[0], '_fields') else tuple(results)
    return _laid_out(found, like)


def _laid_out(parts, like):
    keeps = like.layout is jagged and parts[0].ndim and all(x.shape[1:] == parts[0].shape[1:] for x in parts)
    return NestedTensor(parts, jagged if keeps else strided)


def _inner(name, dim, ndim):
    """A dimension of the batch as one of a part."""
    dim = dim_of(dim, ndim)
    if dim == 0:
        raise RuntimeError(f'[{name}] of a nested tensor along its first dimension is not supported: use unbind()')
    return dim - 1


def _elementwise(function, input, *args, **kwargs):
    return _each(function, (input, *args), kwargs, broadcast=True)


def _last(function, input, *args, **kwargs):
    return _each(function, (input, *args), kwargs)


def _along(function, input, *args, **kwargs):
    name = function.__name__
    if 'dim' not in kwargs and not args:
        if name in _REDUCE:
            return function(ops['concat']([ops['reshape'](x, (-1,)) for x in input._parts], 0), **kwargs)
        raise TypeError(f'[{name}] of a nested tensor needs dim')
    at = next((i for i, x in enumerate(args) if isinstance(x, (int, tuple, list)) and not isinstance(x, bool)), None)
    dim: Any = kwargs.pop('dim') if 'dim' in kwargs else args[at or 0]
    ndim = input.ndim + (name == 'unsqueeze')
    inner = tuple(_inner(name, d, ndim) for d in dim) if isinstance(dim, (tuple, list)) else _inner(name, dim, ndim)
    rest = args if at is None or args[at] is not dim else (*args[:at], *args[at + 1:])
    found = _each(function, (input, *rest), {**kwargs, ('dims' if name == 'flip' else 'dim'): inner})
    if input.layout is jagged and name in _REDUCE and isinstance(found, NestedTensor) and 0 in (inner if isinstance(inner, tuple) else (inner,)):
        return ops['stack'](found._parts, 0)  # nothing irregular is left
    return found


def _two_dims(function, input, dim0=0, dim1=-1):
    return _each(function, (input, _inner(function.__name__, dim0, input.ndim), _inner(function.__name__, dim1, input.ndim)), {})


def _pieces(function, input, count, dim=0):
    return _each(function, (input, count, _inner(function.__name__, dim, input.ndim)), {})


def _unflatten(function, input, dim, sizes):
    return _each(function, (input, _inner(function.__name__, dim, input.ndim), sizes), {})


def _matmul(function, input, other):
    like = _nested((input, other))
    return _each(function, (input, other), {}, broadcast=like.ndim > 2)


def _cat(function, tensors, dim=0):
    dim = dim_of(dim, tensors[0].ndim)
    if dim == 0:
        return NestedTensor([part for x in tensors for part in x.unbind()], tensors[0].layout)
    return _laid_out([ops['concat'](list(parts), dim - 1) for parts in zip(*(x.unbind() for x in tensors))], tensors[0])


def _alike(function, input, **kwargs):
    return _each(function, (input,), kwargs)


def _to_padded(function, input, padding, output_size=None):
    return input.to_padded_tensor(padding, output_size)


FUNCTIONS = {name: function for function, names in {
    _elementwise: _ELEMENTWISE, _last: _LAST, _along: [*_ALONG, *_REDUCE], _two_dims: _TWO_DIMS, _pieces: _PIECES, _unflatten: ['unflatten'],
    _matmul: ['matmul', 'bmm'], _cat: ['cat', 'concat'], _alike: ['zeros_like', 'ones_like', 'empty_like', 'rand_like', 'randn_like'],
    _to_padded: ['to_padded_tensor'],
}.items() for name in names}


def _operator(name, swapped=False):
    def method(self, other):
        return FUNCTIONS[name](_own(name), *((other, self) if swapped else (self, other)))
    return method


for _name in 'add sub mul pow matmul eq ne lt le gt ge'.split():
    setattr(NestedTensor, f'__{_name}__', _operator(_name))
for _name in 'add mul matmul'.split():
    setattr(NestedTensor, f'__r{_name}__', _operator(_name, swapped=True))
setattr(NestedTensor, '__truediv__', _operator('div'))
setattr(NestedTensor, '__rsub__', _operator('rsub'))
setattr(NestedTensor, '__neg__', lambda self: FUNCTIONS['neg'](_own('neg'), self))
setattr(NestedTensor, '__hash__', object.__hash__)
