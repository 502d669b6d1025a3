"""PyTorch's names for the history of an op, such as AddBackward0 for add, and the object that represents it."""
import functools
import gc
import weakref
from typing import Any

from .._core import Tensor, ops

raw_grad_fn, raw_requires_grad = (Tensor.__dict__[name].__get__ for name in ('grad_fn', 'requires_grad'))
# By the numbers of steps, which belong to them as long as they live; a leaf that moves gets another number.
_NODES: Any = weakref.WeakValueDictionary()
_LEAVES: Any = weakref.WeakValueDictionary()

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
    if op == 'leaf':
        return 'AccumulateGrad'
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
    if op == 'linear' and x.ndim == 2 and len(x._places()) == 3:  # without a bias
        op = 'matmul'
    if kept is not None and kept[0]() is x and kept[1] == x.version:
        return kept[2]
    if op == 'pow' and len(x._places()) == 3:  # with a tensor as exponent
        return 'PowBackward1'
    return backward_name(op, x.ndim)


class Node(str):
    """A step of a tensor's history: the name of the op that made it, with PyTorch's name and format. A step has one Node at a time."""

    __slots__ = ('_place', 'metadata', '__weakref__')

    def name(self):
        """PyTorch's name of the step, such as AddBackward0."""
        return type(self).__name__

    @property
    def next_functions(self):
        """For each tensor that the step took: its own step and which of that step's results it is; (None, 0) where no gradient flows."""
        taken = [(None, 0) if x is None else (step_of(x), x._step()[1]) for x in self._place._places()[1:]]
        if str.__eq__(self, 'linear') and type(self).__name__ in ('AddmmBackward0', 'MmBackward0'):
            step, which = taken.pop(1)  # PyTorch multiplies by the transposed weight, and takes the bias first
            taken = [*taken[1:], taken[0], (step, which) if step is None else (TBackward0.of(step, which), 0)]
        return tuple(taken)

    def register_prehook(self, fn):
        """Calls fn with a tuple of the gradient that arrives here, as register_hook() of the tensor does."""
        def hook(gradient):
            found = fn((gradient,))
            return found[0] if isinstance(found, tuple) else found
        return self._place.register_hook(hook)

    def __eq__(self, other):
        return self is other if isinstance(other, Node) else str.__eq__(self, other)

    def __ne__(self, other):
        return not self == other

    __hash__ = object.__hash__

    def __repr__(self):
        return f'<{type(self).__name__} object at {id(self):#x}>'

    __str__ = __repr__

    def __format__(self, spec):
        return format(repr(self), spec)

    def __getattr__(self, name):
        if name == 'register_hook' or name.startswith('_saved_') or name == 'saved_tensors':
            raise AttributeError(f'[grad_fn.{name}] is not offered here: the history belongs to the core; tensors have register_hook()')
        raise AttributeError(f'{type(self).__name__!r} object has no attribute {name!r}')


class TBackward0(Node):
    """The transposition of a weight within a step of ours."""

    __slots__ = ('_taken',)

    @property
    def next_functions(self):
        """The step of the weight."""
        return (self._taken,)

    @classmethod
    def of(cls, step, which):
        made: Any = cls('transpose')
        made._taken = step, which
        return made


class AccumulateGrad(Node):
    """The end of a history: a leaf, whose gradient is collected."""

    __slots__ = ()

    def name(self):
        return 'torch::autograd::AccumulateGrad'

    @property
    def variable(self):
        """The leaf: the parameter of a module or the element of a list or a dict, otherwise another object of the same tensor."""
        if raw_grad_fn(self._place) is not None:
            raise RuntimeError('[AccumulateGrad] its leaf is gone: hold the tensor as long as its history')
        return _known_object(self._place)

    def register_hook(self, fn):
        """Calls fn((), (gradient,)) once the leaf has its gradient."""
        return self._place.register_post_accumulate_grad_hook(lambda x: fn((), (x.grad,)) and None)


def _known_object(leaf):
    """The program's object of a leaf, as far as containers hold it: the collector knows no others."""
    step = leaf._step()
    found = _LEAVES.get(step)
    if found is None or not raw_requires_grad(found) or found._step() != step:
        for held in gc.get_objects():
            if issubclass(type(held), (dict, list, tuple)):
                for each in list(held.values() if issubclass(type(held), dict) else held):
                    if issubclass(type(each), Tensor) and raw_requires_grad(each) and raw_grad_fn(each) is None:
                        _LEAVES[each._step()] = each
        found = _LEAVES.setdefault(step, leaf)
    return found


@functools.cache
def _kind(name):
    return AccumulateGrad if name == 'AccumulateGrad' else type(name, (Node,), {'__slots__': ()})


def step_of(x):
    """The Node of the step that made x, which requires a gradient; of a leaf, too."""
    step = x._step()[0]
    found = _NODES.get(step)
    if found is None or found._place._step()[0] != step:
        op = raw_grad_fn(x) or 'leaf'
        found = _NODES[step] = _kind(name_of(x, op))(op)
        found._place, found.metadata = x._places()[0], {}
    return found


def node(op, x):
    """The Node of x, the result of an op; None for None."""
    return None if op is None else step_of(x)
