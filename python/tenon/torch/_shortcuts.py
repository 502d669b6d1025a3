"""Functions whose plain calls are one op, without a way through Python.

A call that fits one of a name's patterns goes to the op at once, any other to the function. A letter for each operand: T a tensor,
F a floating one, E one with elements, M a matrix, all of one dtype; b a tensor of bools; n a number that keeps their dtype; l a list of
tensors of one dtype; i a dimension, also as dim=, u one of size 1; x indices in the first tensor's shape but along it, r a row of them;
* the rest, integers.
"""
from .._core import Shortcut, ops

_PATTERNS = {pattern: names.split() for pattern, names in {
    'TT Tn': '''add sub mul div pow remainder copysign eq ne lt le gt ge bitwise_and bitwise_or bitwise_xor bitwise_left_shift
        bitwise_right_shift''',
    'TT': 'maximum minimum atan2 hypot logical_and logical_or logical_xor matmul',
    'MM': 'mm',
    'TM TMT': 'linear',
    'bTT': 'where',
    'Fbn': 'masked_fill',
    'Fnn': 'clamp',
    'F': 'sigmoid relu gelu silu',
    'F Fi': 'sum mean prod',
    'Fi': 'amax amin argmax argmin softmax log_softmax cumsum logsumexp',
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
        'mm': 'matmul', 'cat': 'concat'}
_SHORT = {name: (ops[_OPS.get(name, name)], pattern) for pattern, names in _PATTERNS.items() for name in names}


def short(function):
    """The function with the short way of its name, if there is one."""
    found = _SHORT.get(function.__name__)
    return function if found is None else Shortcut(function, *found)
