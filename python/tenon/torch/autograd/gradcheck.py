"""Compares gradients, and derivatives of forward mode, with central differences, using tenon.testing."""
from functools import partial

from ... import testing
from ..._core import Tensor, ops
from ..._errors import InvalidArgumentError
from ..._forward import Level
from ...func import vmap
from .gradients import as_tuple, grad

__all__ = ['GradcheckError', 'gradcheck', 'gradgradcheck']


class GradcheckError(RuntimeError, AssertionError):
    """A gradient differs from central differences."""


def _real_parts(func, inputs):
    """func as a function of real tensors with real results, and its arguments; a complex tensor becomes two."""
    places, given = [], []
    for x in inputs:
        is_complex = isinstance(x, Tensor) and x.dtype.is_complex
        places.append(is_complex)
        # Differences write to the elements under test, so these must not be part of something else.
        parts = [ops[part](x.detach()).clone().requires_grad_(x.requires_grad) for part in ('real', 'imag')] if is_complex else [x]
        given.extend(parts)

    def real(*values):
        left = iter(values)
        outputs = func(*[ops['complex'](next(left), next(left)) if is_complex else next(left) for is_complex in places])
        found = []
        for y in (outputs,) if isinstance(outputs, Tensor) else outputs:
            found.extend([ops['real'](y), ops['imag'](y)] if isinstance(y, Tensor) and y.dtype.is_complex else [y])
        return tuple(y for y in found if isinstance(y, Tensor) and y.dtype.is_floating_point)
    return real, tuple(given)


def _forward_check(func, inputs, eps, atol, rtol, batched=False):
    """Whether forward mode, in the direction of each element, agrees with central differences; batched: by one vmap over them."""
    inputs = list(inputs)
    for number, x in enumerate(inputs):
        if not isinstance(x, Tensor) or not x.requires_grad:
            continue

        def pushed(tangent, x=x, number=number):
            with Level() as level:
                found = testing._outputs(func, [*inputs[:number], level.dual(x, tangent), *inputs[number + 1:]])
                tangents = [level.tangent(y) for y in found]
                return tuple(ops['full_like'](y, 0) if t is None else level.primal(t) for y, t in zip(found, tangents))
        units = ops['reshape'](ops['eye'](x.size, x.size, 0, x.dtype, x.device), (x.size, *x.shape))
        found = list(zip(*vmap(pushed)(units))) if batched else [pushed(ops['select'](units, 0, i)) for i in range(x.size)]
        for i, (tangents, differences) in enumerate(zip(found, testing._numeric(func, tuple(inputs), x, eps))):
            for k, (t, column) in enumerate(zip(tangents, differences)):
                for got, wanted in zip(ops['reshape'](t.detach(), (t.size,)).tolist(), column):
                    if not abs(got - wanted) <= atol + rtol * abs(wanted):
                        raise AssertionError(f'[gradcheck] output {k} by element {i} of input {number}: forward mode gives {got:.6g}, '
                                             f'differences {wanted:.6g}')
    return True


def _run(check, func, inputs, options, raise_exception):
    func, inputs = _real_parts(func, (inputs,) if isinstance(inputs, Tensor) else tuple(inputs))
    try:
        return check(func, inputs, **options)
    except AssertionError as error:
        if raise_exception:
            raise GradcheckError(str(error)) from None
        return False


def gradcheck(func, inputs, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, nondet_tol=0.0, check_undefined_grad=True,
              check_grad_dtypes=False, check_batched_grad=False, check_batched_forward_grad=False, check_forward_ad=False,
              check_backward_ad=True, fast_mode=False, masked=None):
    """Whether the gradients of func(*inputs) agree with central differences and are the same in two backward passes.

    check_forward_ad also checks forward mode; check_batched_forward_grad, forward mode inside vmap. Inputs that require a gradient must be float64 or complex128. Raises GradcheckError (a RuntimeError) with the element where they
    differ, or returns False. fast_mode has no effect: every element is checked.
    """
    if check_batched_forward_grad and not check_forward_ad:
        raise InvalidArgumentError('[gradcheck] check_batched_forward_grad needs check_forward_ad=True')
    options = dict(eps=eps, atol=atol, rtol=rtol)
    checks = [partial(_forward_check, batched=batched) for batched, asked in ((False, check_forward_ad), (True, check_batched_forward_grad)) if asked]
    for check in [testing.gradcheck] * check_backward_ad + checks:
        if not _run(check, func, inputs, options, raise_exception):
            return False
    if not check_backward_ad:
        return True
    problem = _unlike(func, (inputs,) if isinstance(inputs, Tensor) else tuple(inputs), nondet_tol, check_undefined_grad)
    if problem and raise_exception:
        raise GradcheckError(problem)
    return not problem


def _unlike(func, inputs, nondet_tol, check_undefined_grad):
    """What is wrong with backward besides its values: passes that differ, or unused results that stop it."""
    checked = [x for x in inputs if isinstance(x, Tensor) and x.requires_grad]
    outputs = [y for y in as_tuple('gradcheck', func(*inputs)) if y.requires_grad]
    seeds = [ops['full'](y.shape, 1, y.dtype, y.device) for y in outputs]
    first, second = (grad(outputs, checked, seeds, retain_graph=True, materialize_grads=True) for _ in range(2))
    for i, (a, b) in enumerate(zip(first, second)):
        if a.numel() and ops['max'](ops['abs'](a - b)).item() > nondet_tol:
            return f'[gradcheck] two backward passes differ by more than nondet_tol={nondet_tol} at input {i}'
    for y, seed in zip(outputs, seeds) if check_undefined_grad else ():
        try:
            grad(y, checked, seed, retain_graph=True, allow_unused=True)
        except Exception as error:
            return f'[gradcheck] backward fails where another result is not used: {error}'
    return None


def gradgradcheck(func, inputs, grad_outputs=None, *, eps=1e-6, atol=1e-5, rtol=1e-3, gen_non_contig_grad_outputs=False,
                  raise_exception=True, nondet_tol=0.0, check_undefined_grad=True, check_grad_dtypes=False, check_batched_grad=False,
                  check_fwd_over_rev=False, check_rev_over_rev=True, fast_mode=False, masked=False):
    """Whether the gradients of the gradients of func(*inputs) agree with central differences."""
    inputs, options = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs), dict(eps=eps, atol=atol, rtol=rtol)
    if grad_outputs is None and not check_fwd_over_rev:
        return _run(testing.gradgradcheck, func, inputs, options, raise_exception)
    if grad_outputs is None:  # weights that differ from one another
        rows = [(y, ops['linspace'](0.5, 1.5, y.size, True, None, y.device)) for y in as_tuple('gradgradcheck', func(*inputs))]
        grad_outputs = [ops['reshape'](ops['cast'](row, y.dtype), y.shape).requires_grad_() for y, row in rows]
    seeds = as_tuple('gradgradcheck', grad_outputs)
    checked = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]

    def first(*values):
        given = values[:len(inputs)]
        return grad(as_tuple('gradgradcheck', func(*given)), [given[i] for i in checked], values[len(inputs):], create_graph=True,
                    materialize_grads=True)
    checks = [testing.gradcheck] * check_rev_over_rev + [_forward_check] * check_fwd_over_rev
    return all(_run(check, first, (*inputs, *seeds), options, raise_exception) for check in checks)
