"""Elementwise functions of one operand."""
import math
from builtins import abs as builtin_abs

from .. import _core
from .._core import Shortcut, ops
from .._errors import DtypeError, InvalidArgumentError, UnsupportedDtypeError
from ._common import Tensor, cast, check, differentiated, floating, into, op_of_one, rank, unary
from ._backward_names import named
from ._shortcuts import ONE, SHORT, short
from .bits import part, parts
from .return_types import returned

_where = ops['where']
_FrExp = returned('frexp')

# Where PyTorch's meaning is that of the table, the function is the op itself; with `out=` it is a shortcut to the op.
isnan, isinf, isfinite, relu, selu = (ops[name] for name in ('isnan', 'isinf', 'isfinite', 'relu', 'selu'))


def _shortcuts(names):
    return [Shortcut(op_of_one(name, __name__), *SHORT[name], ONE) for name in names.split()]


abs, exp, exp2, expm1, log, log2, log10, log1p, sqrt, rsqrt, square = _shortcuts('abs exp exp2 expm1 log log2 log10 log1p sqrt rsqrt square')
sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, asinh, acosh, atanh = _shortcuts(
    'sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh')
floor, ceil, trunc, neg, reciprocal, erf, erfc, erfinv, lgamma, digamma = _shortcuts(
    'floor ceil trunc neg reciprocal erf erfc erfinv lgamma digamma')
signbit, logical_not, bitwise_not, conj_physical = _shortcuts('signbit logical_not bitwise_not conj_physical')


@short
def clone(input, *, memory_format=None):
    """A copy of the elements."""
    return ops['clone'](input)


absolute, arcsin, arccos, arctan, arcsinh, arccosh, arctanh = abs, asin, acos, atan, asinh, acosh, atanh
negative, fix = neg, trunc


def sign(input, *, out=None):
    """-1, 0 or 1; for real numbers only."""
    if rank(check(input).dtype) == 3:
        raise UnsupportedDtypeError('[sign] is not defined for complex numbers: use sgn')
    return into(out, ops['sign'](input))


@short
def sigmoid(input, *, out=None):
    """1 / (1 + exp(-x))."""
    if rank(check(input).dtype) == 3:
        return into(out, 1 / (1 + ops['exp'](-input)))
    return into(out, ops['sigmoid'](input))


@unary
def sgn(input):
    """x / |x|, and 0 for 0."""
    if rank(check(input).dtype) < 3:
        return ops['sign'](input)
    size = ops['abs'](input)
    return input / _where(size == 0, 1, size)


@unary
def positive(input):
    """Returns input."""
    if check(input).dtype is _core.bool:
        raise TypeError('[positive] is not defined for bool')
    return input


def conj(input):
    """The complex conjugate; real tensors are returned as they are."""
    return ops['conj'](input) if rank(check(input).dtype) == 3 else input


def resolve_conj(input):
    """Returns input: conjugates are computed at once."""
    return check(input)


resolve_neg = resolve_conj


def real(input):
    """The real part; a view, unless input requires a gradient."""
    return part(input, 'real') if rank(check(input).dtype) == 3 else input


def imag(input):
    """The imaginary part of complex numbers; a view, unless input requires a gradient."""
    if rank(check(input).dtype) < 3:
        raise DtypeError('[imag] needs complex numbers')
    return part(input, 'imag')


@unary
def angle(input):
    """The angle of complex numbers; for real ones 0, or π if they are negative."""
    if rank(check(input).dtype) == 3:
        return ops['atan2'](ops['imag'](input), ops['real'](input))
    x = floating(input)
    return _where(ops['isnan'](x), x, _where(x < 0, math.pi, ops['full_like'](x, 0)))


def round(input, *, decimals=0, out=None):
    """Rounds to the nearest integer, halves to the even one; or to a number of decimals, which may be negative."""
    if rank(check(input).dtype) < 2 and decimals:
        raise InvalidArgumentError('[round] decimals are for floating numbers')
    if not decimals:
        return into(out, ops['round'](input))
    scale = 10.0 ** builtin_abs(decimals)
    x = ops['round'](input * scale) / scale if decimals > 0 else ops['round'](input / scale) * scale
    return into(out, x)


@unary
def frac(input):
    """input - trunc(input)."""
    if rank(check(input).dtype) != 2:
        raise UnsupportedDtypeError('[frac] needs floating numbers')
    return ops['frac'](input)


@unary
def deg2rad(input):
    """Degrees as radians."""
    return _real(input, 'deg2rad') * (math.pi / 180)


@unary
def rad2deg(input):
    """Radians as degrees."""
    return _real(input, 'rad2deg') * (180 / math.pi)


def _real(x, name):
    if rank(check(x).dtype) == 3:
        raise UnsupportedDtypeError(f'[{name}] is not defined for complex numbers')
    return floating(x)


@unary
def sinc(input):
    """sin(πx) / (πx), and 1 at 0."""
    x = floating(input)
    if x.dtype.itemsize == 2:  # π has too few digits there
        return cast(sinc(cast(x, _core.float32)), x.dtype)
    x = x * math.pi
    zero = x == 0
    safe = _where(zero, 1, x)
    return named(_where(zero, 1 + 0 * x if differentiated(x) else 1, ops['sin'](safe) / safe), 'SincBackward0', input)


def logit(input, eps=None, *, out=None):
    """log(x / (1 - x)); with eps, x is first limited to [eps, 1 - eps]."""
    x = _real(input, 'logit')
    if eps is not None:
        x = _where(x < eps, eps, _where(x > 1 - eps, 1 - eps, x))
    return named(into(out, ops['log'](x / (1 - x))), 'LogitBackward0', input)


def nan_to_num(input, nan=0.0, posinf=None, neginf=None, *, out=None):
    """Replaces NaN, ∞ and -∞; by default the infinities become the largest finite numbers."""
    if rank(check(input).dtype) < 2:
        return into(out, ops['clone'](input))
    if rank(input.dtype) == 3:
        return into(out, ops['complex'](*(nan_to_num(ops[name](input), nan, posinf, neginf) for name in ('real', 'imag'))))
    return into(out, ops['nan_to_num'](input, 0.0 if nan is None else nan, posinf, neginf))


@unary
def isposinf(input):
    """Where elements are ∞."""
    return _real_compare(input, math.inf)


@unary
def isneginf(input):
    """Where elements are -∞."""
    return _real_compare(input, -math.inf)


def _real_compare(x, value):
    if rank(check(x).dtype) == 3:
        raise UnsupportedDtypeError('[isposinf] is not defined for complex numbers')
    return x == value if rank(x.dtype) == 2 else ops['full'](x.shape, False, _core.bool, x.device)


def isreal(input):
    """Where the imaginary part is 0."""
    if rank(check(input).dtype) == 3:
        return ops['imag'](input) == 0
    return ops['full'](input.shape, True, _core.bool, input.device)


def frexp(input, *, out=None):
    """(mantissa, exponent) with |mantissa| in [0.5, 1) and input = mantissa · 2^exponent."""
    if rank(check(input).dtype) != 2:
        raise UnsupportedDtypeError('[frexp] needs floating numbers')
    plain = ops['isfinite'](input) & (input != 0)
    size = _where(plain, ops['abs'](input.detach()), 1)
    exponent = ops['floor'](ops['log2'](size)) + 1
    # The logarithm may round across a power of two; splitting the factor keeps 2^exponent finite in half precision.
    for _ in range(2):
        mantissa = _scaled(size, -exponent)
        exponent = exponent + cast(mantissa >= 1, exponent.dtype) - cast(mantissa < 0.5, exponent.dtype)
    exponent = _where(plain, exponent, 0)
    made = _FrExp(_scaled(input, -exponent), cast(exponent, _core.int32))
    return made if out is None else into(out, made)


def _scaled(x, exponent):
    half = ops['floor'](exponent / 2)
    return x * ops['exp2'](half) * ops['exp2'](exponent - half)


def view_as_real(input):
    """Complex numbers as pairs of real ones, (…, 2); a view, unless input requires a gradient."""
    if rank(check(input).dtype) != 3:
        raise DtypeError('[view_as_real] needs complex numbers')
    shared = parts(input)
    return shared if shared is not None else named(ops['stack']([ops['real'](input), ops['imag'](input)], -1), 'ViewAsRealBackward0', input)


def view_as_complex(input):
    """Pairs of real numbers, (…, 2), as complex ones; a view, unless input requires a gradient or its strides forbid it."""
    if rank(check(input).dtype) != 2 or not input.ndim or input.shape[-1] != 2:
        raise UnsupportedDtypeError('[view_as_complex] needs floating numbers of shape (…, 2)')
    shared = parts(input)
    return shared if shared is not None else ops['complex'](ops['select'](input, -1, 0), ops['select'](input, -1, 1))


def is_tensor(obj):
    """Whether obj is a Tensor, or a sparse one."""
    return isinstance(obj, Tensor) or hasattr(type(obj), 'is_sparse')


def is_floating_point(input):
    """Whether the dtype is a floating one."""
    return check(input).dtype.is_floating_point


def is_complex(input):
    """Whether the dtype is a complex one."""
    return check(input).dtype.is_complex


def is_nonzero(input):
    """Whether the only element is not 0."""
    if check(input).size != 1:
        raise InvalidArgumentError(f'[is_nonzero] needs one element, not {input.size}')
    return bool(input.item() != 0)


def numel(input):
    """Number of elements."""
    return check(input).size


__all__ = ['abs', 'absolute', 'acos', 'acosh', 'angle', 'arccos', 'arccosh', 'arcsin', 'arcsinh', 'arctan', 'arctanh', 'asin', 'asinh',
           'atan', 'atanh', 'bitwise_not', 'ceil', 'clone', 'conj', 'conj_physical', 'cos', 'cosh', 'deg2rad', 'digamma', 'erf', 'erfc',
           'erfinv', 'exp', 'exp2', 'expm1', 'fix', 'floor', 'frac', 'frexp', 'imag', 'is_complex', 'is_floating_point', 'is_nonzero',
           'is_tensor', 'isfinite', 'isinf', 'isnan', 'isneginf', 'isposinf', 'isreal', 'lgamma', 'log', 'log10', 'log1p', 'log2',
           'logical_not', 'logit', 'nan_to_num', 'neg', 'negative', 'numel', 'positive', 'rad2deg', 'real', 'reciprocal', 'relu',
           'resolve_conj', 'resolve_neg', 'round', 'rsqrt', 'selu', 'sgn', 'sigmoid', 'sign', 'signbit', 'sin', 'sinc', 'sinh', 'sqrt',
           'square', 'tan', 'tanh', 'trunc', 'view_as_complex', 'view_as_real']
