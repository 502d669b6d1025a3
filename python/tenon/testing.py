"""Compares tensors, and checks gradients against differences."""
import math

import tenon
from . import _core
from ._core import Tensor, ops
from ._dtypes import FLOAT8

# (relative, absolute): roughly the rounding of a few operations in the dtype.
_TOLERANCES = {'float16': (1e-3, 1e-5), 'bfloat16': (1.6e-2, 1e-5), 'float32': (1.3e-6, 1e-5), 'float64': (1e-7, 1e-7),
               'complex64': (1.3e-6, 1e-5), 'complex128': (1e-7, 1e-7)}

_WIDENED = ('bool', *FLOAT8)


def _wide(x):
    """x in a dtype in which differences are exact enough."""
    x = x.detach().cpu()
    if x.dtype.is_complex:
        return ops['cast'](x, 'complex128')
    return ops['cast'](x, 'float64') if x.dtype.is_floating_point or x.dtype.name in _WIDENED else x


def _index_text(flat, shape):
    index = []
    for size in reversed(shape):
        flat, at = divmod(flat, size)
        index.append(str(at))
    return 'index (' + ', '.join(reversed(index)) + ')' if shape else 'the only element'


def _fail(text, msg):
    raise AssertionError(f'{msg}\n{text}' if msg else text)


def assert_close(actual, expected, rtol=None, atol=None, equal_nan=False, check_dtype=True, check_device=True, msg=None):
    """Raises AssertionError, naming the worst element, unless |actual - expected| ≤ atol + rtol·|expected| everywhere.

    Accepts tensors, NumPy arrays and numbers, or lists, tuples and dicts of them. Tolerances default to the dtype's precision (exact
    for integers and bools); shapes must be the same, and by default dtypes and devices too.

    >>> tenon.testing.assert_close(tenon.tensor([1.0, 2.0]), tenon.tensor([1.0, 2.0 + 1e-7]))
    >>> tenon.testing.assert_close(tenon.tensor([1.0, 2.0]), tenon.tensor([1.0, 2.5]))
    Traceback (most recent call last):
    AssertionError: 1 of 2 elements differ; the worst at index (1): 2.0, expected 2.5 (difference 0.5, allowed 1.325e-05)
    """
    options = dict(rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=check_dtype, check_device=check_device, msg=msg)
    if (rtol is None) != (atol is None):
        raise ValueError('[assert_close] give rtol and atol, or neither')
    if isinstance(expected, dict):
        if not isinstance(actual, dict) or set(actual) != set(expected):
            _fail(f'keys {sorted(map(str, actual))} are not {sorted(map(str, expected))}' if isinstance(actual, dict)
                  else f'a {type(actual).__name__} is no dict', msg)
        for key in expected:
            assert_close(actual[key], expected[key], **{**options, 'msg': f'{msg + ": " if msg else ""}at {key!r}'})
    elif isinstance(expected, (tuple, list)) and not _is_numbers(expected):
        if not isinstance(actual, (tuple, list)) or len(actual) != len(expected):
            _fail(f'{len(expected)} entries expected', msg)
        for i, (a, b) in enumerate(zip(actual, expected)):
            assert_close(a, b, **{**options, 'msg': f'{msg + ": " if msg else ""}at entry {i}'})
    else:
        loose = not (hasattr(actual, 'dtype') and hasattr(expected, 'dtype'))
        options['check_dtype'] = check_dtype and not loose
        _compare(tenon.asarray(actual), tenon.asarray(expected), **options)


def _is_numbers(values):
    return all(isinstance(v, (bool, int, float, complex)) or (isinstance(v, (tuple, list)) and _is_numbers(v)) for v in values)


def _compare(actual, expected, rtol, atol, equal_nan, check_dtype, check_device, msg):
    if tuple(actual.shape) != tuple(expected.shape):
        _fail(f'shape {tuple(actual.shape)} is not {tuple(expected.shape)}', msg)
    if check_dtype and actual.dtype != expected.dtype:
        _fail(f'dtype {actual.dtype} is not {expected.dtype}; check_dtype=False allows it', msg)
    if check_device and isinstance(actual, Tensor) and actual.device != expected.device:
        _fail(f'device {actual.device} is not {expected.device}; check_device=False allows it', msg)
    if rtol is None:
        pairs = [_TOLERANCES.get(x.dtype.name, (0.0, 0.0)) for x in (actual, expected)]
        rtol, atol = (max(pair[i] for pair in pairs) for i in (0, 1))
    if actual.size == 0:
        return
    with tenon.no_grad():
        a, b = _wide(actual), _wide(expected)
        wide = 'float64' if rtol or atol or a.dtype != b.dtype else None
        if wide and not (a.dtype.is_complex or b.dtype.is_complex):
            a, b = ops['cast'](a, wide), ops['cast'](b, wide)
        same = ops['equal'](a, b)
        if equal_nan:
            same = ops['logical_or'](same, ops['logical_and'](ops['isnan'](a), ops['isnan'](b)))
        if ops['all'](same).item():
            return
        difference = ops['abs'](ops['cast'](a, 'float64') - ops['cast'](b, 'float64')) if not a.dtype.is_complex \
            and not b.dtype.is_complex else ops['abs'](a - b)
        size = ops['abs'](b if b.dtype.is_complex else ops['cast'](b, 'float64'))
        allowed = atol + rtol * size
        finite = ops['logical_and'](ops['isfinite'](a), ops['isfinite'](b))
        good = same  # without tolerances only equality counts, because float64 does not hold every integer
        if rtol or atol:
            good = ops['logical_or'](same, ops['logical_and'](finite, ops['less_equal'](difference, allowed)))
        bad = ops['logical_not'](good)
        count = int(ops['count_nonzero'](bad).item())
        if count == 0:
            return
        excess = ops['where'](bad, ops['where'](finite, difference - allowed, tenon.tensor(math.inf, dtype=tenon.float64)),
                              tenon.tensor(-math.inf, dtype=tenon.float64))
        worst = int(ops['argmax'](excess).item())
    flat = [ops['reshape'](x, (x.size,))[worst].item() for x in (actual.detach(), expected.detach(), difference, allowed)]
    _fail(f'{count} of {actual.size} elements differ; the worst at {_index_text(worst, actual.shape)}: {flat[0]}, expected '
          f'{flat[1]} (difference {flat[2]:.4g}, allowed {flat[3]:.4g})', msg)


# Gradients ---------------------------------------------------------------------------------------------------------------------

def _as_tuple(value):
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _check_inputs(where, inputs):
    checked = [x for x in inputs if isinstance(x, Tensor) and x.requires_grad]
    if not checked:
        raise ValueError(f'[{where}] no input requires a gradient: use tenon.tensor(..., requires_grad=True)')
    for x in checked:
        if x.dtype.name != 'float64':
            raise ValueError(f'[{where}] needs float64 inputs, as differences of {x.dtype} are too coarse; '
                             f'use x.detach().double().requires_grad_()')
    return checked


def _outputs(fn, inputs):
    return [y for y in _as_tuple(fn(*inputs)) if isinstance(y, Tensor) and y.dtype.is_floating_point]


def _numeric(fn, inputs, x, eps):
    """d(outputs)/dx by central differences: for every element of x the changes of all outputs, as lists."""
    plain = [v.detach().clone() if isinstance(v, Tensor) else v for v in inputs]
    flat = plain[next(i for i, v in enumerate(inputs) if v is x)]
    columns = []
    for number in range(flat.size):
        index, rest = [], number
        for size in reversed(flat.shape):
            rest, at = divmod(rest, size)
            index.append(at)
        index = tuple(reversed(index)) or ...
        centre = flat[index].item()
        sides = []
        for step in (eps, -eps):
            with tenon.no_grad():
                flat[index] = centre + step
            given = [v.clone() if isinstance(v, Tensor) else v for v in plain]
            for v, original in zip(given, inputs):  # fn itself may differentiate
                if isinstance(v, Tensor) and original.requires_grad:
                    v.requires_grad_()
            sides.append([y.detach() for y in _outputs(fn, given)])
        with tenon.no_grad():
            flat[index] = centre
        columns.append([((a - b) / (2 * eps)).reshape((-1,)).tolist() for a, b in zip(*sides)])
    return columns


def gradcheck(fn, inputs, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True):
    """Whether the gradients of fn(*inputs) by backward agree with central differences.

    Inputs that require a gradient must be float64. Raises AssertionError with the element where they differ, or returns False.

    >>> x = tenon.tensor([0.3, 0.7], dtype=tenon.float64, requires_grad=True)
    >>> tenon.testing.gradcheck(lambda x: x.sin() * x, (x,))
    True
    """
    inputs = _as_tuple(inputs)
    checked = _check_inputs('gradcheck', inputs)
    try:
        outputs = _outputs(fn, inputs)
        if not any(y.requires_grad for y in outputs):
            raise AssertionError('[gradcheck] no output depends on the inputs through recorded ops')
        for x in checked:
            number = next(i for i, v in enumerate(inputs) if v is x)
            numeric = _numeric(fn, inputs, x, eps)
            for k, y in enumerate(outputs):
                _check_output(y, x, [column[k] for column in numeric], (k, number), atol, rtol)
    except AssertionError:
        if raise_exception:
            raise
        return False
    return True


def _check_output(y, x, numeric, numbers, atol, rtol):
    for row in range(y.size):
        analytic = [0.0] * x.size
        if y.requires_grad:
            seed = tenon.zeros((y.size,), dtype=y.dtype)
            seed[row] = 1
            found, = _core._gradient([y], [x], [seed.reshape(y.shape)], True, False, True)
            if found is not None:
                analytic = found.reshape((-1,)).tolist()
        for column, (a, n) in enumerate(zip(analytic, (values[row] for values in numeric))):
            if not abs(a - n) <= atol + rtol * abs(n):
                raise AssertionError(
                    f'[gradcheck] output {numbers[0]}, {_index_text(row, y.shape)}, by input {numbers[1]}, '
                    f'{_index_text(column, x.shape)}: the gradient is {a:.6g}, differences give {n:.6g}')


def gradgradcheck(fn, inputs, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True):
    """Whether the gradients of the gradients of fn(*inputs) agree with central differences.

    >>> x = tenon.tensor([0.3, 0.7], dtype=tenon.float64, requires_grad=True)
    >>> tenon.testing.gradgradcheck(lambda x: x ** 3, (x,))
    True
    """
    inputs = _as_tuple(inputs)
    where = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
    _check_inputs('gradgradcheck', inputs)
    # Weights that differ from one another and are the same in every call.
    seeds = [tenon.linspace(0.5, 1.5, y.size, dtype=y.dtype).reshape(y.shape).requires_grad_() for y in _outputs(fn, inputs)]

    def first(*values):
        given, weights = values[:len(inputs)], values[len(inputs):]
        outputs = _outputs(fn, given)
        pairs = [(y, w) for y, w in zip(outputs, weights) if y.requires_grad]
        found = _core._gradient([y for y, _ in pairs], [given[i] for i in where], [w for _, w in pairs], True, True, True)
        return tuple(g if g is not None else tenon.zeros_like(given[i]) for g, i in zip(found, where))
    return gradcheck(first, (*inputs, *seeds), eps, atol, rtol, raise_exception)
