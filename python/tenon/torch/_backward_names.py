"""PyTorch's names for the history of an op, such as AddBackward0 for add, and the object that represents it."""
import functools
import weakref

from .._core import ops

# Names other than the op's name in camel case followed by Backward0.
_NAMES = {op: name for name, ops in {
    'Cat': 'concat', 'ToCopy': 'cast', 'View': 'reshape flatten', 'Convolution': 'conv conv_backward_input', 'Pow': 'square',
    'NativeBatchNorm': 'batch_norm', 'NativeLayerNorm': 'layer_norm', 'NativeGroupNorm': 'group_norm', 'NllLoss': 'softmax_cross_entropy',
    'MaxPool2DWithIndices': 'max_pool', 'AvgPool2D': 'avg_pool', 'AdaptiveAvgPool2D': 'adaptive_avg_pool', 'AdaptiveMaxPool2D': 'adaptive_max_pool',
    'UpsampleNearest2D': 'interpolate', 'GridSampler2D': 'grid_sample', 'ConstantPadNd': 'pad', 'LinalgVectorNorm': 'norm', 'Log1P': 'log1p',
    'LogSigmoid': 'log_sigmoid', 'Amax': 'max', 'Amin': 'min', 'LinalgCholeskyEx': 'linalg.cholesky', 'LinalgInvEx': 'linalg.inv',
    'LinalgSolveEx': 'linalg.solve', 'FftC2C': 'fft.c2c', 'FftR2C': 'fft.r2c', 'FftC2R': 'fft.c2r',
    'ScaledDotProductFlashAttentionForCpu': 'attention', 'PreluKernel': 'prelu', 'Threshold': 'where_between', 'LinalgSvd': 'linalg.svdvals',
}.items() for op in ops.split()}
_NUMBERED = {'clamp': 1, 'squeeze': 1}
# By the result's number of dimensions.
_PRODUCTS = {0: 'Dot', 1: 'Mv', 2: 'Mm'}
_REDUCED = {'sum': 'Sum', 'mean': 'Mean', 'prod': 'Prod', 'max': 'Max', 'min': 'Min'}


def backward_name(op, ndim):
    """PyTorch's name for the history of a result of an op that has `ndim` dimensions."""
    if op in ('matmul', 'linear'):
        return ('Addmm' if op == 'linear' and ndim == 2 else _PRODUCTS.get(ndim, 'UnsafeView')) + 'Backward0'
    if op in _REDUCED and (ndim == 0 or op in ('sum', 'mean', 'prod')):
        return _REDUCED[op] + f'Backward{int((ndim > 0) != (op in ("max", "min")))}'
    if op not in ops and '.' not in op:  # a Function of the program
        return op + 'Backward'
    name = _NAMES.get(op) or ''.join(part[:1].upper() + part[1:] for part in op.replace('.', '_').split('_'))
    return f'{name}Backward{_NUMBERED.get(op, 0)}'


_NAMED = {}  # by id, results of functions that are several ops here: (weak reference, writes so far, PyTorch's name)


def named(x, name):
    """x, the result of a function that is one step of a history in PyTorch: its grad_fn is called `name` until x is written to."""
    if x.requires_grad and not x.is_leaf:
        key = id(x)
        _NAMED[key] = weakref.ref(x, lambda _: _NAMED.pop(key, None)), x.version, name
    return x


def name_of(x, op):
    """PyTorch's name for the last step of x's history, which is an op."""
    kept = _NAMED.get(id(x))
    return kept[2] if kept is not None and kept[0]() is x and kept[1] == x.version else backward_name(op, x.ndim)


class Node(str):
    """The last step of a tensor's history: the name of the op that made it, with PyTorch's name and format."""

    __slots__ = ()

    def name(self):
        """PyTorch's name of the step, such as AddBackward0."""
        return type(self).__name__

    def __repr__(self):
        return f'<{type(self).__name__} object at {id(self):#x}>'

    __str__ = __repr__

    def __format__(self, spec):
        return format(repr(self), spec)

    def __getattr__(self, name):
        if name in ('next_functions', 'register_hook', 'register_prehook', 'metadata') or name.startswith('_saved_'):
            raise AttributeError(f'[grad_fn.{name}] is not offered here: the history belongs to the core; tensors have register_hook()')
        raise AttributeError(f'{type(self).__name__!r} object has no attribute {name!r}')


@functools.cache
def _kind(name):
    return type(name, (Node,), {'__slots__': ()})


def node(op, x):
    """The Node of x, the result of an op; None for None."""
    return None if op is None else _kind(name_of(x, op))(op)
