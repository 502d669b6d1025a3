"""Transformations of functions: gradients, Jacobians and batches, for functions of tensors without side effects.

grad, value_and_grad, vjp, jacrev and hessian run backward passes; jvp and jacfwd compute derivatives along with the values, in forward
mode; vmap calls the function once, with tensors that stand for all entries of a batch, and ops compute on the whole batch. A tensor
that the function closes over is a constant, unless it is an argument of an outer transformation.
"""
import contextlib
import functools
import threading

import tenon
from . import _forward, _vmap
from ._core import Tensor, default_generator, ops
from ._levels import ended


def _positions(where, argnums, count):
    wanted = argnums if isinstance(argnums, (tuple, list)) else (argnums,)
    for n in wanted:
        if not isinstance(n, int) or isinstance(n, bool):
            raise TypeError(f'[{where}] argnums is an int or a tuple of them, not {type(n).__name__}')
        if not -count <= n < count:
            raise IndexError(f'[{where}] argnums {n} out of range for {count} arguments')
    return [n % count for n in wanted]


def _check_function(where, fn):
    if not callable(fn):
        raise TypeError(f'[{where}] wants a function, not {type(fn).__name__}')


def _leaf(where, x, number):
    """A tensor with the elements of x for asking a gradient of; keeps the history of x for outer gradients."""
    _check_differentiable(where, x, number)
    return _vmap.leaf(x)


def _check_differentiable(where, x, number):
    if not isinstance(x, Tensor):
        raise TypeError(f'[{where}] argument {number} must be a Tensor, not {type(x).__name__}: use tenon.tensor(...)')
    if not (x.dtype.is_floating_point or x.dtype.is_complex):
        raise TypeError(f'[{where}] argument {number} has dtype {x.dtype}: gradients need a floating-point one')


def _gradients(outputs, inputs, seeds, create):
    """One gradient per input, zeros where nothing depends on it."""
    pairs = [(y, s) for y, s in zip(outputs, seeds) if y.requires_grad]
    found = [None] * len(inputs)
    if pairs:
        found = _vmap.gradient([y for y, _ in pairs], list(inputs), [s for _, s in pairs], True, create, True)
    return [g if g is not None else tenon.zeros_like(x) for g, x in zip(found, inputs)]


_level = threading.local()


@contextlib.contextmanager
def _recording():
    """The scope in which a transformation runs its function; `_level.depth` counts those of this thread."""
    _level.depth = getattr(_level, 'depth', 0) + 1
    try:
        with tenon.enable_grad():
            yield
    finally:
        _level.depth -= 1


def _is_nested(args):
    """Whether results need a history, because something around this call may ask for their gradients."""
    if not tenon.is_grad_enabled():
        return False
    return getattr(_level, 'depth', 0) > 0 or any(isinstance(x, Tensor) and x.requires_grad for x in args)


def _tensors(where, result):
    """(list of tensors, function that rebuilds the structure of the result from as many tensors)."""
    if isinstance(result, Tensor):
        return [result], lambda values: values[0]
    if isinstance(result, (tuple, list)) and all(isinstance(y, Tensor) for y in result):
        return list(result), tuple
    raise TypeError(f'[{where}] the function must return a Tensor or a tuple of them, not {type(result).__name__}')


def value_and_grad(fn, argnums=0, has_aux=False):
    """A function that returns (value, gradient) of fn, whose result is one number, with respect to the arguments `argnums`.

    `has_aux`: fn returns (number, anything), and the value is that pair.

    >>> tenon.func.value_and_grad(lambda x: (x ** 2).sum())(tenon.tensor([1.0, 3.0]))[1].tolist()
    [2.0, 6.0]
    """
    _check_function('value_and_grad', fn)

    @functools.wraps(fn)
    def wrapped(*args, **kwargs):
        where = _positions('grad', argnums, len(args))
        create = _is_nested([*args, *kwargs.values()])
        args = list(args)
        with _recording():
            for n in where:
                args[n] = _leaf('grad', args[n], n)
            result = fn(*args, **kwargs)
            if has_aux and not (isinstance(result, tuple) and len(result) == 2):
                raise TypeError('[grad] with has_aux the function must return (number, anything)')
            value = result[0] if has_aux else result
            if not isinstance(value, Tensor) or value.size != 1:
                what = f'shape {value.shape}' if isinstance(value, Tensor) else type(value).__name__
                raise ValueError(f'[grad] the function must return one number, not {what}: use sum(), or jacobian')
            grads = _gradients([value], [args[n] for n in where], [tenon.ones_like(value.detach())], create)
        if not create:
            value, grads = ended(value), [ended(g) for g in grads]
        found = tuple(grads) if isinstance(argnums, (tuple, list)) else grads[0]
        return ((value, result[1]) if has_aux else value), found
    return wrapped


def grad(fn, argnums=0, has_aux=False):
    """A function that returns the gradient of fn, whose result is one number, with respect to the arguments `argnums`.

    >>> tenon.func.grad(lambda x: (x ** 3).sum())(tenon.tensor(2.0)).item()
    12.0
    >>> tenon.func.grad(tenon.func.grad(lambda x: x ** 3))(tenon.tensor(2.0)).item()
    12.0
    """
    both = value_and_grad(fn, argnums, has_aux)

    @functools.wraps(fn)
    def wrapped(*args, **kwargs):
        value, found = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found
    return wrapped


def vjp(fn, *primals):
    """(fn(*primals), a function from a cotangent, in the shape of the result, to the gradients of the primals).

    >>> y, pull = tenon.func.vjp(lambda x: x * 2, tenon.tensor([1.0, 2.0]))
    >>> pull(tenon.tensor([1.0, 10.0]))[0].tolist()
    [2.0, 20.0]
    """
    _check_function('vjp', fn)
    create = _is_nested(primals)
    with _recording():
        leaves = [_leaf('vjp', x, n) for n, x in enumerate(primals)]
        outputs, pack = _tensors('vjp', fn(*leaves))

    def pull(*cotangents):
        given = cotangents[0] if len(cotangents) == 1 and isinstance(cotangents[0], (tuple, list)) else cotangents
        if len(given) != len(outputs):
            raise ValueError(f'[vjp] {len(given)} cotangents for {len(outputs)} results')
        for y, v in zip(outputs, given):
            if not isinstance(v, Tensor) or v.shape != y.shape:
                raise ValueError(f'[vjp] a cotangent of shape {getattr(v, "shape", None)} for a result of shape {y.shape}')
        nested = create or _is_nested(given)
        with tenon.enable_grad():
            found = _gradients(outputs, leaves, given, nested)
        return tuple(found if nested else [ended(g) for g in found])
    return (pack(outputs) if create else pack([ended(y) for y in outputs])), pull


def jvp(fn, primals, tangents):
    """(fn(*primals), its derivative in the direction of the tangents), computed along with the values, in forward mode.

    >>> tenon.func.jvp(lambda x: x ** 2, (tenon.tensor(3.0),), (tenon.tensor(1.0),))[1].item()
    6.0
    """
    _check_function('jvp', fn)
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError('[jvp] primals and tangents are tuples: jvp(fn, (x,), (v,))')
    if len(primals) != len(tangents):
        raise ValueError(f'[jvp] {len(tangents)} tangents for {len(primals)} primals')
    for n, (x, v) in enumerate(zip(primals, tangents)):
        _check_differentiable('jvp', x, n)
        if not isinstance(v, Tensor) or v.shape != x.shape:
            raise ValueError(f'[jvp] a tangent of shape {getattr(v, "shape", None)} for a primal of shape {x.shape}')
    outputs, found, pack = _pushed(fn, primals, tangents)
    return pack(outputs), pack([tenon.zeros_like(y) if t is None else t for y, t in zip(outputs, found)])


def _pushed(fn, primals, tangents):
    """(outputs, their tangents or None, function that packs them) in forward mode, or by two backward passes where that does not
    reach."""
    create = _is_nested([*primals, *tangents])

    def forward():
        with _forward.Level() as level:
            outputs, pack = _tensors('jvp', fn(*(level.dual(x, v) for x, v in zip(primals, tangents))))
            found = [level.tangent(y) for y in outputs]
            outputs = [level.primal(y) for y in outputs]
        if not create:
            outputs, found = [ended(y) for y in outputs], [None if t is None else ended(t) for t in found]
        return outputs, found, pack
    return _forward_or(forward, lambda: _pushed_by_two_backward_passes(fn, primals, tangents, create))


def _forward_or(first, second):
    """first(), or second() if a gradient inside it involves what an older vmap maps over."""
    state = default_generator().get_state()
    try:
        return first()
    except _forward.UnderBatch:
        default_generator().set_state(state)
        return second()


def _pushed_by_two_backward_passes(fn, primals, tangents, create):
    with _recording():
        leaves = [_leaf('jvp', x, n) for n, x in enumerate(primals)]
        outputs, pack = _tensors('jvp', fn(*leaves))
        # g(w) = Jᵀw is linear in w, so its derivative with respect to w in the direction v is J·v.
        weights = [_vmap.leaf(tenon.zeros_like(y.detach())) for y in outputs]
        pulled = _gradients(outputs, leaves, weights, True)
        found = _gradients(pulled, weights, list(tangents), create)
    if not create:
        outputs, found = [ended(y) for y in outputs], [ended(y) for y in found]
    return outputs, found, pack


def jacrev(fn, argnums=0, chunk_size=None):
    """A function that returns the Jacobian of fn, with shape (…of the result, …of the argument).

    One backward pass starts from all elements of the result at once, or from chunk_size of them, which needs less memory.

    >>> tenon.func.jacobian(lambda x: x ** 2)(tenon.tensor([1.0, 3.0])).tolist()
    [[2.0, 0.0], [0.0, 6.0]]
    """
    _check_function('jacobian', fn)

    @functools.wraps(fn)
    def wrapped(*args, **kwargs):
        where = _positions('jacobian', argnums, len(args))
        create = _is_nested([*args, *kwargs.values()])
        args = list(args)
        with _recording():
            for n in where:
                args[n] = _leaf('jacobian', args[n], n)
            outputs, pack = _tensors('jacobian', fn(*args, **kwargs))
            found = [_jacobian_of(y, [args[n] for n in where], create, chunk_size) for y in outputs]
        if not isinstance(argnums, (tuple, list)):
            found = [rows[0] for rows in found]
        return pack(found)
    return wrapped


jacobian = jacrev


def _jacobian_of(y, inputs, create, chunk=None):
    """The Jacobian of y with respect to each input: a backward pass for all rows, or for `chunk` of them at a time."""
    n = y.numel()
    if not (n and y.requires_grad):
        return tuple(tenon.zeros((*y.shape, *x.shape), dtype=x.dtype, device=x.device) for x in inputs)
    parts = [_rows(y, inputs, first, min(first + (chunk or n), n), create) for first in range(0, n, chunk or n)]
    whole = [ops['reshape'](ops['concat'](list(rows)), (*y.shape, *x.shape)) for rows, x in zip(zip(*parts), inputs)]
    return tuple(whole if create else [ended(x) for x in whole])


def _rows(y, inputs, first, last, create):
    found = _vmap.gradients_of_rows([y], inputs, [_vmap.unit_rows(y, first, last)], True, create, True)
    return [tenon.zeros((last - first, *x.shape), dtype=x.dtype, device=x.device) if rows is None else rows
            for rows, x in zip(found, inputs)]


def hessian(fn, argnums=0):
    """A function that returns the second derivatives of fn, whose result is one number, with shape (…of the argument, …of the
    argument).

    >>> tenon.func.hessian(lambda x: (x ** 3).sum())(tenon.tensor([1.0, 2.0])).tolist()
    [[6.0, 0.0], [0.0, 12.0]]
    """
    return jacrev(grad(fn, argnums), argnums)


def _front(x, dim):
    return _vmap.moved(x, dim % x.ndim, 0)


def _placed(y, dim):
    if not -y.ndim <= dim < y.ndim:
        raise IndexError(f'[vmap] out_dims {dim} out of range for results of rank {y.ndim}')
    return _vmap.moved(y, 0, dim % y.ndim)


def vmap(fn, in_dims=0, out_dims=0):
    """A function over batches: fn for each entry along `in_dims` of its arguments, results stacked at `out_dims`.

    Where `in_dims` is None, an argument stays whole. fn runs once: its tensors stand for all entries and have the shape of one, but no
    elements to read or branch on; `x.item()` raises. An op without a rule for batches runs entry by entry, with a warning. Random
    numbers differ between entries.

    >>> tenon.func.vmap(lambda x, y: (x * y).sum(), in_dims=(0, None))(tenon.ones((3, 2)), tenon.tensor([1.0, 2.0])).tolist()
    [3.0, 3.0, 3.0]
    """
    _check_function('vmap', fn)

    @functools.wraps(fn)
    def wrapped(*args):
        dims = tuple(in_dims) if isinstance(in_dims, (tuple, list)) else (in_dims,) * len(args)
        if len(dims) != len(args):
            raise ValueError(f'[vmap] in_dims has {len(dims)} entries for {len(args)} arguments')
        sizes = {}
        for n, (x, dim) in enumerate(zip(args, dims)):
            if dim is None:
                continue
            if not isinstance(x, Tensor):
                raise TypeError(f'[vmap] argument {n} must be a Tensor, not {type(x).__name__}; None in in_dims leaves it whole')
            if not -x.ndim <= dim < x.ndim:
                raise IndexError(f'[vmap] in_dims {dim} out of range for argument {n} of rank {x.ndim}')
            sizes[n] = x.shape[dim]
        if not sizes:
            raise ValueError('[vmap] in_dims names no argument to map over')
        count = next(iter(sizes.values()))
        if any(size != count for size in sizes.values()):
            raise ValueError('[vmap] the arguments have different sizes to map over: '
                             + ', '.join(f'argument {n}: {size}' for n, size in sizes.items()))
        if count == 0:
            raise ValueError('[vmap] nothing to map over: size 0')
        level = _vmap.Level(count, 'different')
        with level:
            found, pack = _tensors('vmap', fn(*(x if dim is None else level.entry(_front(x, dim)) for x, dim in zip(args, dims))))
            wholes = [level.whole(y) for y in found]
        places = tuple(out_dims) if isinstance(out_dims, (tuple, list)) else (out_dims,) * len(wholes)
        if len(places) != len(wholes):
            raise ValueError(f'[vmap] out_dims has {len(places)} entries for {len(wholes)} results')
        return pack([_placed(y, place) for y, place in zip(wholes, places)])
    return wrapped
