"""Elementwise functions of two or more operands, with PyTorch's promotion of dtypes."""
import builtins
import math

from .. import _core
from .._core import ops
from .._errors import DtypeError, InvalidArgumentError, UnsupportedDtypeError
from ._backward_names import named
from ._common import Tensor, cast, check, differentiated, into, number_dtype, promoted, rank, result_type, somewhere, to_tensors
from ._shortcuts import short

_where, _add = ops['where'], ops['add']


def _binary(name, other_name=None, numbers='other'):
    """The op of that name as a function of (input, other); numbers: which of them may be a number."""
    op = ops[name]

    def call(input, other, *, out=None):
        if not isinstance(input, Tensor) and numbers != 'both' or not isinstance(other, Tensor) and not numbers:
            raise TypeError(f'[{call.__name__}] needs Tensors, not {type(input).__name__} and {type(other).__name__}')
        return into(out, op(*promoted(input, other)))
    call.__name__ = call.__qualname__ = other_name or name
    call.__doc__ = f'The op `{name}`, with the dtypes of PyTorch.'
    return short(call)


mul = _binary('mul')
maximum, minimum, logical_and, logical_or, logical_xor = (
    _binary(name, numbers='') for name in ('maximum', 'minimum', 'logical_and', 'logical_or', 'logical_xor'))
bitwise_and, bitwise_or, bitwise_xor, bitwise_left_shift, bitwise_right_shift = map(_binary, (
    'bitwise_and', 'bitwise_or', 'bitwise_xor', 'bitwise_left_shift', 'bitwise_right_shift'))
eq, ne, lt, le, gt, ge = (_binary(name, short) for name, short in (
    ('equal', 'eq'), ('not_equal', 'ne'), ('less', 'lt'), ('less_equal', 'le'), ('greater', 'gt'), ('greater_equal', 'ge')))
atan2, hypot, _logaddexp = (_binary(name, numbers='') for name in ('atan2', 'hypot', 'logaddexp'))
copysign = _binary('copysign')
nextafter = _binary('nextafter', numbers='')
multiply, not_equal, less, less_equal, greater, greater_equal, arctan2 = mul, ne, lt, le, gt, ge, atan2
_div, _remainder, _pow = (_binary(name, numbers='both') for name in ('div', 'remainder', 'pow'))


def check_divisor(name, input, other):
    """Refuses integers divided by 0. Devices other than the host do not look, as in PyTorch."""
    if rank(result_type(input, other)) < 2 and (_core._has_zero(other) if isinstance(other, Tensor) else other == 0):
        raise InvalidArgumentError(f'[{name}] ZeroDivisionError: an integer divided by 0')


def _alpha(name, alpha, *operands):
    if isinstance(alpha, bool) and any(isinstance(x, Tensor) and x.dtype is not _core.bool for x in operands):
        raise TypeError(f'[{name}] a bool alpha is for bools')
    if not isinstance(alpha, Tensor) and rank(number_dtype(alpha)) > max(rank(result_type(*operands)), 1):
        raise DtypeError(f'[{name}] alpha {alpha} does not fit operands of dtype {result_type(*operands)}')
    return alpha


def _refuse_bools(*operands):
    """The error for subtraction from or of bools, whose text is PyTorch's."""
    bools = [x.dtype is _core.bool if isinstance(x, Tensor) else isinstance(x, bool) for x in operands]
    if all(bools):
        raise UnsupportedDtypeError('[sub] Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` '
                                    'operator instead.')
    if any(bools):
        raise UnsupportedDtypeError('[sub] Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, '
                                    'use the `~` or `logical_not()` operator instead.')


def _sum(name, doc, judge=None):
    """add() or sub(); judge(input, other) raises an error for dtypes that do not go."""
    op = ops[name]

    def call(input, other, *, alpha=1, out=None):
        if judge:
            judge(input, other)
        if alpha is not True and alpha != 1:
            other = other * _alpha(name, alpha, input, other)
        return into(out, op(*promoted(input, other)))
    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    return short(call)


add = _sum('add', 'input + alpha · other.')
sub = _sum('sub', 'input - alpha · other.', _refuse_bools)


def rsub(input, other, *, alpha=1):
    """other - alpha · input."""
    return named(sub(other, check(input), alpha=alpha), f'RsubBackward{int(not isinstance(other, Tensor))}', input, *_tensors(other))


@short
def div(input, other, *, rounding_mode=None, out=None):
    """input / other; rounding_mode 'trunc' rounds the quotient towards 0, 'floor' down, and integers stay integers."""
    if rounding_mode is None:
        return _div(input, other, out=out)
    if rounding_mode not in ('trunc', 'floor'):
        raise InvalidArgumentError(f"[div] rounding_mode is None, 'trunc' or 'floor', not {rounding_mode!r}")
    dtype = result_type(input, other)
    if rank(dtype) == 3:
        raise InvalidArgumentError('[div] complex quotients are not rounded')
    if rounding_mode == 'floor':
        return floor_divide(input, other, out=out)
    if rank(dtype) == 2:
        return into(out, ops['trunc'](_div(input, other)))
    check_divisor('div', input, other)
    input, other = to_tensors(input, other)
    down = ops['floor_divide'](input, other)
    return into(out, cast(down + cast((down < 0) & (down * other != input), down.dtype), dtype))


divide = div


def true_divide(input, other, *, out=None):
    """input / other."""
    return _div(input, other, out=out)


def floor_divide(input, other, *, out=None):
    """The quotient rounded down."""
    input, other = promoted(input, other)
    check_divisor('floor_divide', input, other)
    return into(out, ops['floor_divide'](input, other))


@short
def remainder(input, other, *, out=None):
    """The remainder after subtracting other from input a whole number of times; it has other's sign."""
    if isinstance(input, Tensor) or isinstance(other, Tensor):
        check_divisor('remainder', input, other)
    return _remainder(input, other, out=out)


def fmod(input, other, *, out=None):
    """The remainder after subtracting other from input a whole number of times; it has input's sign."""
    if type(other) not in (int, float) or rank(check(input).dtype) != 2:
        input, other = to_tensors(check(input), other)
    if rank(input.dtype) == 3:
        raise UnsupportedDtypeError('[fmod] is not defined for complex numbers')
    if rank(input.dtype) < 2:
        return into(out, input - div(input, other, rounding_mode='trunc') * other)
    return into(out, named(ops['remainder'](input, ops['copysign'](other, input)), f'FmodBackward{int(isinstance(other, Tensor))}', *_tensors(input, other)))  # which has the divisor's sign


@short
def pow(input, exponent, *, out=None):
    """input to the power of exponent."""
    return _pow(input, exponent, out=out)


def float_power(input, exponent, *, out=None):
    """input to the power of exponent, in float64 or complex128."""
    dtype = _core.complex128 if rank(result_type(input, exponent)) == 3 else _core.float64
    if not isinstance(input, Tensor) and not isinstance(exponent, Tensor):
        raise TypeError('[float_power] one operand at least must be a Tensor')
    args = [cast(x, dtype) if isinstance(x, Tensor) else x for x in (input, exponent)]
    return into(out, ops['pow'](*args))


def _nan_aware(name):
    op, reaches = ops[name], ops['greater_equal' if name == 'maximum' else 'less_equal']

    def call(input, other, *, out=None):
        given, (input, other) = (input, other), to_tensors(check(input), check(other))
        if rank(input.dtype) == 3:
            raise UnsupportedDtypeError(f'[{call.__name__}] is not defined for complex numbers')
        if rank(input.dtype) < 2:
            return into(out, op(input, other))
        if differentiated(input, other):  # equal operands share the gradient
            found = op(_where(ops['isnan'](input), other, input), _where(ops['isnan'](other), input, other))
        else:
            found = _where(reaches(input, other) | ops['isnan'](other), input, other)
        return named(into(out, found), f'{call.__name__.capitalize()}Backward0', *given)
    return call


fmax, fmin = _nan_aware('maximum'), _nan_aware('minimum')
fmax.__name__ = fmax.__qualname__ = 'fmax'
fmin.__name__ = fmin.__qualname__ = 'fmin'
fmax.__doc__ = 'The larger of two; a NaN gives way to the other.'
fmin.__doc__ = 'The smaller of two; a NaN gives way to the other.'


def logaddexp(input, other, *, out=None):
    """log(exp(input) + exp(other)), without overflow."""
    if rank(result_type(check(input), check(other))) < 3:
        return _logaddexp(input, other, out=out)
    input, other = to_tensors(input, other)
    swap = ops['real'](input) < ops['real'](other)
    high, low = _where(swap, other, input), _where(swap, input, other)
    return into(out, high + ops['log'](1 + ops['exp'](low - high)))


def logaddexp2(input, other, *, out=None):
    """log2(2^input + 2^other)."""
    input, other = to_tensors(input, other)
    dtype = result_type(input, other)
    half = dtype in (_core.float16, _core.bfloat16)
    if half:  # the factors would have too few bits
        input, other = cast(input, _core.float32), cast(other, _core.float32)
    found = ops['logaddexp'](input * math.log(2), other * math.log(2)) / math.log(2)
    return into(out, cast(found, dtype) if half else found)


def ldexp(input, other, *, out=None):
    """input · 2^other; by integers it rounds once, and no power that is used for it overflows."""
    if rank(check(input).dtype) != 2 or rank(check(other).dtype) >= 2:
        return named(into(out, mul(input, pow(2.0, other))), 'LdexpBackward0', input, other)
    if other.dtype is _core.bool:
        raise UnsupportedDtypeError('[ldexp] the exponent must not be bool')
    half = ops['floor_divide'](cast(other, _core.float64), 2)
    found = cast(input, _core.float64) * ops['pow'](2.0, half) * ops['pow'](2.0, other - half)
    return named(into(out, cast(found, input.dtype)), 'LdexpBackward0', input)


def xlogy(input, other, *, out=None):
    """input · log(other), or 0 where input is 0."""
    which = 1 if not isinstance(input, Tensor) else 0 if isinstance(other, Tensor) else 2
    return named(into(out, _x_times(input, other, 0)), f'XlogyBackward{which}', *_tensors(input, other))


def _tensors(*operands):
    return [x for x in operands if isinstance(x, Tensor)]


def _x_times(input, other, shift):
    """input · log(other + shift), 0 where input is 0, NaN where other is."""
    input, other = to_tensors(input, other)
    dtype = result_type(input, 1.0)
    input, other = cast(input, dtype), cast(other, dtype)
    if not differentiated(input, other):
        found = input * ops['log1p' if shift else 'log'](other)
        return _where((input == 0) & (other == other), 0, found)
    # Where the logarithm is infinite or undefined; elsewhere this is the gradient of an input of 0.
    zero = (input == 0) & ((other <= -shift) | ops['isinf'](other))
    log = ops['log1p' if shift else 'log'](_where(zero, 1 - shift, other))
    return _where(zero, input * 0, input * log)


def heaviside(input, values, *, out=None):
    """0 below 0, 1 above, `values` at 0."""
    if check(input).dtype is not check(values).dtype or rank(input.dtype) == 3:
        raise InvalidArgumentError('[heaviside] needs two real tensors of one dtype')
    return into(out, _where(input == 0, values, cast(input > 0, input.dtype)))


def _integers(name, input, other):
    input, other = to_tensors(check(input), check(other))
    if rank(input.dtype) != 1:
        raise UnsupportedDtypeError(f'[{name}] needs integers, not {input.dtype}')
    return input, other


def gcd(input, other, *, out=None):
    """The greatest common divisor of integers."""
    a, b = (ops['abs'](x) for x in _integers('gcd', input, other))
    a, b = a + b * 0, b + a * 0
    while somewhere(b != 0):  # Euclid; where b is already 0, a stays
        zero = b == 0
        a, b = _where(zero, a, b), _where(zero, b, ops['remainder'](a, _where(zero, 1, b)))
    return into(out, a)


def lcm(input, other, *, out=None):
    """The least common multiple of integers."""
    a, b = _integers('lcm', input, other)
    common = gcd(a, b)
    return into(out, ops['abs'](ops['floor_divide'](a, _where(common == 0, 1, common)) * b))


def lerp(input, end, weight, *, out=None):
    """input + weight · (end - input); a weight of rank 0 may have another dtype."""
    if rank(check(input).dtype) < 2:
        raise UnsupportedDtypeError(f'[lerp] needs floating numbers, not {input.dtype}')
    if isinstance(weight, builtins.complex) and rank(input.dtype) == 2:
        raise InvalidArgumentError('[lerp] weight of a real input must be real')
    if isinstance(weight, Tensor) and not weight.ndim and rank(weight.dtype) <= rank(input.dtype):
        weight = cast(weight, input.dtype)
    for name, part in ('end', end), ('weight', weight):
        if isinstance(part, Tensor) and part.dtype is not input.dtype and (part.ndim or part is end):
            raise InvalidArgumentError(f'[lerp] {name} has dtype {part.dtype}, input {input.dtype}')
    return into(out, ops['lerp'](input, end, weight))


def _alike(value, *operands):
    """Whether operands are floating tensors of one dtype, and value a number that does not change it."""
    return type(value) in (int, float) and all(isinstance(x, Tensor) and x.dtype is operands[0].dtype for x in operands) \
        and rank(operands[0].dtype) == 2


def addcmul(input, tensor1, tensor2, *, value=1, out=None):
    """input + value · tensor1 · tensor2."""
    if _alike(value, input, tensor1, tensor2):
        return into(out, ops['addcmul'](input, tensor1, tensor2, value))
    product = mul(tensor1, tensor2)
    return into(out, add(input, product if isinstance(value, int) and value == 1 else mul(product, _alpha('addcmul', value, input, product))))


def addcdiv(input, tensor1, tensor2, *, value=1, out=None):
    """input + value · tensor1 / tensor2."""
    if _alike(value, input, tensor1, tensor2):
        return into(out, ops['addcdiv'](input, tensor1, tensor2, value))
    if rank(result_type(tensor1, tensor2)) < 2:
        raise InvalidArgumentError('[addcdiv] integers are not divided: cast them to a floating dtype first')
    return into(out, add(input, mul(div(tensor1, tensor2), value)))


@short
def clamp(input, min=None, max=None, *, out=None):
    """input limited by two bounds, numbers or tensors; NaN stays."""
    if min is None and max is None:
        raise InvalidArgumentError('[clamp] needs min or max')
    if rank(check(input).dtype) == 3:
        raise UnsupportedDtypeError('[clamp] is not defined for complex numbers')
    if not isinstance(min, Tensor) and not isinstance(max, Tensor):
        if rank(input.dtype) < 2:
            input = cast(input, result_type(input, *(each for each in (min, max) if each is not None)))
        return into(out, ops['clamp'](input, min, max))
    found = input
    for bound, op in ((min, ops['maximum']), (max, ops['minimum'])):
        if bound is not None:
            found = op(*promoted(found, bound))
    return into(out, found)


def clamp_min(input, min, *, out=None):
    """input, at least min."""
    return named(clamp(input, min, out=out), f'ClampMinBackward{int(isinstance(min, Tensor))}', input, *_tensors(min))


def clamp_max(input, max, *, out=None):
    """input, at most max."""
    return named(clamp(input, None, max, out=out), f'ClampMaxBackward{int(isinstance(max, Tensor))}', input, *_tensors(max))


clip = clamp


@short
def where(condition, input=None, other=None, *, out=None):
    """input where condition is true, other elsewhere; with condition alone, the indices of its nonzero elements."""
    if input is None and other is None:
        from .index import nonzero
        return nonzero(condition, as_tuple=True)
    if check(condition).dtype.name not in ('bool', 'uint8'):
        raise DtypeError(f'[where] condition has dtype {condition.dtype}, must be bool')
    dtype = result_type(input, other)
    made = [cast(x, dtype) if isinstance(x, Tensor) else ops['full']((), x, dtype, condition.device) for x in (input, other)]
    return into(out, _where(cast(condition, _core.bool), *made))


def isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Where |input - other| ≤ atol + rtol · |other|."""
    if check(input).dtype is not check(other).dtype:
        raise DtypeError(f'[isclose] dtypes {input.dtype} and {other.dtype} differ')
    if rtol < 0 or atol < 0:
        raise InvalidArgumentError(f'[isclose] rtol {rtol} and atol {atol} must not be negative')
    close = input == other
    if equal_nan and rank(input.dtype) >= 2:
        close = close | (ops['isnan'](input) & ops['isnan'](other))
    if rtol == 0 and atol == 0:
        return close
    if rank(input.dtype) < 2:
        input, other = cast(input, _core.float64), cast(other, _core.float64)
    gap = ops['abs'](input - other)
    return close | (ops['isfinite'](gap) & (gap <= atol + ops['abs'](rtol * other)))


def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether all elements are close: a bool."""
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


def equal(input, other):
    """Whether two tensors have the same shape and elements: a bool."""
    if check(input).shape != check(other).shape:
        return False
    return bool((input == other).all())


def complex(real, imag, *, out=None):
    """Complex numbers made of their parts."""
    if check(real).dtype is not check(imag).dtype or rank(real.dtype) != 2:
        raise DtypeError('[complex] needs two floating tensors of one dtype')
    return into(out, ops['complex'](real, imag), True)


def polar(abs, angle, *, out=None):
    """Complex numbers made of absolute values and angles."""
    if check(abs).dtype is not check(angle).dtype or rank(abs.dtype) != 2:
        raise DtypeError('[polar] needs two floating tensors of one dtype')
    return into(out, ops['complex'](abs * ops['cos'](angle), abs * ops['sin'](angle)))


def dist(input, other, p=2):
    """The p-norm of input - other."""
    from .reduce import norm
    return named(norm(input - other, p), 'DistBackward0', input, *_tensors(other))


subtract = sub
