"""PyTorch's names for the history of an op, such as AddBackward0 for add, and the object that represents it."""
import functools
import gc
import itertools
import weakref
from typing import Any

from .._core import Tensor, ops
from .._methods import HookHandle

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
# Operands that have no edge in PyTorch: masks, indices and targets. Without a number here, an op's first is kept alone.
_SILENT = {'where': 0, 'gather': 1, 'index_select': 1, 'masked_select': 1, 'embedding': 1, 'softmax_cross_entropy': 1, 'nll_loss': 1,
           'index_add': 1, 'index_copy': 1, 'scatter': 1, 'scatter_add': 1, 'index': None, 'ctc_loss': None, 'where_between': None}
# Steps with as many edges as this, None for those that an optional operand or a number lacks.
_EDGES = {**dict.fromkeys(('add', 'sub', 'mul', 'div'), 2),
          **dict.fromkeys(('conv', 'conv_backward_input', 'batch_norm', 'layer_norm', 'group_norm'), 3)}
# PyTorch's names for what a step keeps: those of all ops, and of some by themselves. Other arguments and results keep the names of the op.
_SAVED = {'x': 'self', 'y': 'other', 'xs': 'tensors', '': 'result'}
_SAVED_BY = {**dict.fromkeys(('conv', 'batch_norm', 'layer_norm', 'group_norm'), {'x': 'input'}), 'pow': {'y': 'exponent'},
             'linear': {'x': 'mat1'}, 'matmul': {'y': 'mat2'}}
_WHOLE = {'leaf': 'AccumulateGrad', 'as_strided_scatter': 'CopySlices'}  # the latter after a write through a view
# By the result's number of dimensions.
_PRODUCTS = {0: 'Dot', 1: 'Mv', 2: 'Mm'}
_REDUCED = {'sum': 'Sum', 'mean': 'Mean', 'prod': 'Prod', 'max': 'Max', 'min': 'Min'}


def backward_name(op, ndim):
    """PyTorch's name for the history of a result of an op that has `ndim` dimensions."""
    if op in _WHOLE:
        return _WHOLE[op]
    if op in ('matmul', 'linear'):
        return ('Addmm' if op == 'linear' and ndim == 2 else _PRODUCTS.get(ndim, 'UnsafeView')) + 'Backward0'
    if op in _REDUCED and (ndim == 0 or op in ('sum', 'mean', 'prod')):
        return _REDUCED[op] + f'Backward{int((ndim > 0) != (op in ("max", "min")))}'
    if op not in ops and '.' not in op:  # a Function of the program
        return op + 'Backward'
    name = _NAMES.get(op) or ''.join(part[:1].upper() + part[1:] for part in op.replace('.', '_').split('_'))
    return f'{name}Backward{_NUMBERED.get(op, 0)}'


_NAMED = {}  # by id, results of functions that are several ops here: (weak reference, writes so far, PyTorch's name, steps of operands)


def named(x, name, *operands):
    """x, the result of a function that is one step of a history in PyTorch: its grad_fn is called `name` until x is written to, and leads to
    the steps of the operands, where they are given.
    """
    return _named(x, name, [_step(operand) for operand in operands]) if x.requires_grad and not x.is_leaf else x


def _named(x, name, ends):
    key = id(x)
    _NAMED[key] = weakref.ref(x, lambda _: _NAMED.pop(key, None)), x.version, name, ends
    return x


def _step(x):
    """The step that made x, as a value; None where no gradient flows."""
    return x._step() if x is not None and x.requires_grad else None


def named_as(value, write, operands):
    """write(), which gives a tensor the elements of value: its history is called as that of value and leads to the operands' present steps."""
    if not value.requires_grad or value.is_leaf:
        return write()
    name, ends = name_of(value, raw_grad_fn(value))[0], [_step(operand) for operand in operands]
    return _named(write(), name, ends)


def name_of(x, op):
    """PyTorch's name for the last step of x's history, which is an op, and the steps that it leads to where several ops stand between."""
    kept = _NAMED.get(id(x))
    if op == 'linear' and x.ndim == 2 and len(x._places()) == 3:  # without a bias
        op = 'matmul'
    if kept is not None and kept[0]() is x and kept[1] == x.version:
        return kept[2:]
    if op in ('pow', 'remainder') and len(x._places()) == 3:  # of two tensors
        return backward_name(op, x.ndim)[:-1] + '1', []
    if op == 'nll_loss' and x._places()[1].ndim > 2:
        return 'NllLoss2DBackward0', []
    return backward_name(op, x.ndim), []


def _between(x, ends):
    """The operands whose steps are `ends`, found in the history of x; None where an end is None or is not reached."""
    found, seen, waiting = {}, set(), [x]
    while waiting:
        for operand in waiting.pop()._places()[1:]:
            step = None if operand is None else operand._step()
            if step in ends:
                found.setdefault(step, operand)
            elif step is not None and step not in seen:
                seen.add(step)
                waiting.append(operand)
    return [found.get(step) for step in ends]


def _edges(op, operands):
    """The operands of an op that have an edge in PyTorch, in its order."""
    if op in _SILENT:
        silent = _SILENT[op]
        operands = operands[:1] if silent is None else operands[:silent] + operands[silent + 1:]
    count = _EDGES.get(op)
    return operands if count is None else (*operands, None, None)[:count]


def _next_saved(place, numbers):
    return place._saved(next(numbers))


class Node(str):
    """A step of a tensor's history: the name of the op that made it, with PyTorch's name and format. A step has one Node at a time."""

    __slots__ = ('_ends', '_place', 'metadata', '__weakref__')

    def name(self):
        """PyTorch's name of the step, such as AddBackward0."""
        name = type(self).__name__
        return f'torch::autograd::{name}' if name in _WHOLE.values() else name

    def _is_linear(self):
        """Whether it is a product with a weight, which PyTorch transposes in a step of its own, and takes behind the bias."""
        return str.__eq__(self, 'linear') and type(self).__name__ in ('AddmmBackward0', 'MmBackward0')

    def _kept(self):
        """What the step keeps for its gradient, by PyTorch's names; an entry of a list has its number behind the name."""
        if self._ends:
            return {}
        op, found = str.__str__(self), {}
        for name, entry, x in iter(functools.partial(_next_saved, self._place, itertools.count()), None):
            if self._is_linear() and name == 'weight':
                name, x = 'mat2', x.mT
            found['_saved_' + _SAVED_BY.get(op, {}).get(name, _SAVED.get(name, name)) + (f'_{entry}' if entry else '')] = x
        return found

    def register_hook(self, fn):
        """Calls fn(grad_inputs, grad_outputs) after each run of the step backwards, with gradients in the order of next_functions; a tuple
        that it returns takes the place of grad_inputs.
        """
        if self._ends:
            raise RuntimeError(f'[{self.name()}.register_hook] this is several steps here: use register_hook() of tensors, or register_prehook()')
        order: Any = _edges(str.__str__(self), tuple(range(len(self._place._places()) - 1)))
        if self._is_linear():
            order = *order[2:], order[0], order[1]
        weight = order[-1] if self._is_linear() else None

        def hook(passed, arrived):
            passed = tuple(x if x is None or i != weight else x.mT for i, x in enumerate(passed))
            found = fn(tuple(None if i is None else passed[i] for i in order), arrived)
            if found is None:
                return None
            found = found if isinstance(found, tuple) else (found,)
            if len(found) != len(order):
                raise RuntimeError(f'[{self.name()}.register_hook] the hook returned {len(found)} gradients for {len(order)} inputs')
            replaced: list = [None] * len(passed)
            for i, x in zip(order, found):
                if i is not None:
                    replaced[i] = x.mT if i == weight and x is not None else x
            return replaced
        return HookHandle(self._place, self._place._add_step_hook(hook))

    @property
    def next_functions(self):
        """For each tensor that the step took: its own step and which of that step's results it is; (None, 0) where no gradient flows."""
        operands = _between(self._place, self._ends) if self._ends else _edges(str.__str__(self), self._place._places()[1:])
        taken = [(None, 0) if x is None else (step_of(x), x._step()[1]) for x in operands]
        if self._is_linear():
            weight = taken.pop(1)
            taken = [*taken[1:], taken[0], _Within.of('TBackward0', 'transpose', weight)]
        if str.__eq__(self, 'softmax_cross_entropy') and not self._ends:
            taken[0] = _Within.of('LogSoftmaxBackward0', 'log_softmax', taken[0])
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

    def __dir__(self):
        try:
            kept = self._kept()
        except RuntimeError:  # freed, or changed in place
            kept = {}
        return [*object.__dir__(self), *kept]

    def __getattr__(self, name):
        if name.startswith('_saved_'):
            kept = self._kept()
            if name in kept:
                return kept[name]
            raise AttributeError(f'[{self.name()}.{name}] the step keeps {", ".join(kept) or "nothing that can be read"}')
        if name.startswith('_raw_saved_') or name == 'saved_tensors':
            raise AttributeError(f'[grad_fn.{name}] is not offered here: use torch.autograd.graph.saved_tensors_hooks')
        raise AttributeError(f'{type(self).__name__!r} object has no attribute {name!r}')


class _Within(Node):
    """A step of PyTorch's that is part of one of ours, such as the transposition of a weight."""

    __slots__ = ('_taken',)

    @property
    def next_functions(self):
        """The step of its operand."""
        return (self._taken,)

    @classmethod
    def of(cls, name, op, taken):
        """The edge to a part that takes one operand; what it takes itself where no gradient flows."""
        if taken[0] is None:
            return taken
        made: Any = type(name, (cls,), {'__slots__': ()})(op)
        made._taken = taken
        return made, 0


class AccumulateGrad(Node):
    """The end of a history: a leaf, whose gradient is collected."""

    __slots__ = ()

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
        name, ends = name_of(x, op)
        found = _NODES[step] = _kind(name)(op)
        found._place, found._ends, found.metadata = x._places()[0], ends, {}
    return found


def node(op, x):
    """The Node of x, the result of an op; None for None."""
    return None if op is None else step_of(x)
