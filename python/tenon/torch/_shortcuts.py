"""Functions whose plain calls are a single op and bypass Python.

A call that fits one of a name's patterns goes straight to the op, any other to the function. Patterns have a letter for each operand: T
a tensor, F a floating one, E one with elements, M a matrix, N one that is not of bools, all of one dtype; b a tensor of bools; n a number that keeps their dtype; l
a list of tensors of one dtype; i a dimension, also as dim=, u one of size 1; x indices in the first tensor's shape except along that
dimension, r a vector of them; * the remaining arguments, integers.
"""
import copyreg
import sys
from typing import Any

from .._core import Shortcut, Tensor, ops

_PATTERNS = {pattern: names.split() for pattern, names in {
    'FF Fn': 'remainder',  # integers are divided by what may be 0
    'NN Nn': 'sub',
    'FF': 'logaddexp',
    'TT Tn': '''add mul div pow copysign eq ne lt le gt ge bitwise_and bitwise_or bitwise_xor bitwise_left_shift
        bitwise_right_shift''',
    'TT': 'maximum minimum atan2 hypot nextafter logical_and logical_or logical_xor matmul',
    'MM': 'mm',
    'TM TMT': 'linear',
    'bTT': 'where',
    'Fbn': 'masked_fill',
    'Fnn': 'clamp',
    'F': 'sigmoid relu gelu silu',
    'T': '''abs exp exp2 expm1 log log2 log10 log1p sqrt rsqrt square sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh floor ceil trunc
        neg reciprocal erf erfc erfinv lgamma digamma signbit logical_not bitwise_not conj_physical clone''',
    'F Fi': 'sum mean prod',
    'Fi': 'argmax argmin softmax log_softmax cumsum logsumexp',
    'E Fi': 'amax amin',
    'E': 'max min',
    'T Tu': 'squeeze',
    'M Ti Tii': 'flatten',
    'Tix': 'gather',
    'Tir': 'index_select',
    'Tii': 'transpose',
    'T*': 'permute expand',  # permute as a method
    'l li': 'cat stack',
}.items()}
_OPS = {'eq': 'equal', 'ne': 'not_equal', 'lt': 'less', 'le': 'less_equal', 'gt': 'greater', 'ge': 'greater_equal', 'amax': 'max', 'amin': 'min',
        'mm': 'matmul', 'cat': 'concat', 'conj_physical': 'conj'}
SHORT = {name: (ops[_OPS.get(name, name)], pattern) for pattern, names in _PATTERNS.items() for name in names}


# NumPy's names of arguments, which PyTorch's functions accept too.
_NUMPYS = {'axis': 'dim', 'keepdims': 'keepdim', 'x': 'input', 'a': 'input', 'x1': 'input', 'x2': 'other'}
ONE = {'x': 'input', 'a': 'input', 'x1': 'input'}  # of a function of one tensor


def _renames(function):
    code = function.__code__
    names = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]
    return {other: own for other, own in _NUMPYS.items() if own in names and other not in names}


def short(function) -> Any:
    """The function with the shortcut for its name, if there is one."""
    found = SHORT.get(function.__name__)
    return function if found is None else Shortcut(function, *found, _renames(function))


_known = {}


def numpys(function) -> Any:
    """The function, which also accepts its arguments by NumPy's names."""
    if function.__class__ is Shortcut or not hasattr(function, '__code__'):
        return function
    if function not in _known:
        renames = _renames(function)
        _known[function] = Shortcut(function, None, '', renames) if renames else function
    return _known[function]


def _at(module, name):
    """What a module has under a name, or under one such as Tensor.add: pickles of functions call this."""
    from importlib import import_module
    from operator import attrgetter
    return attrgetter(name)(import_module(module))


def _pickled(function):
    """A function is pickled by its name: in its own module, where it is public, or as a method."""
    modules = function.__module__, 'tenon.torch', 'tenon.torch.nn.functional', 'tenon.torch.linalg'
    for module, prefix, holder in (*((name, '', sys.modules.get(name)) for name in modules), ('tenon', 'Tensor.', Tensor)):
        name = next((name for name, found in vars(holder).items() if found is function), None) if holder else None
        if name:
            return _at, (module, prefix + name)
    from pickle import PicklingError
    raise PicklingError(f'[pickle] no module names the function {function.__module__}.{function.__qualname__}')


copyreg.pickle(Shortcut, _pickled)
