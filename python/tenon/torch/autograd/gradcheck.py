"""Compares gradients with central differences, using tenon.testing."""
from ... import testing
from ..._core import Tensor, ops
from ..._errors import InvalidArgumentError
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


def _refuse(fast_mode=False, **asked):
    for name, value in asked.items():
        if value:
            raise InvalidArgumentError(f'[gradcheck] {name} must be False: derivatives in a direction are computed from backward passes')


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

    Inputs that require a gradient must be float64 or complex128. Raises GradcheckError (a RuntimeError) with the element where they
    differ, or returns False. fast_mode has no effect: every element is checked.
    """
    _refuse(check_batched_forward_grad=check_batched_forward_grad, check_forward_ad=check_forward_ad)
    if not _run(testing.gradcheck, func, inputs, dict(eps=eps, atol=atol, rtol=rtol), raise_exception):
        return False
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
    _refuse(check_fwd_over_rev=check_fwd_over_rev)
    if grad_outputs is None:
        return _run(testing.gradgradcheck, func, inputs, dict(eps=eps, atol=atol, rtol=rtol), raise_exception)
    inputs, seeds = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs), as_tuple('gradgradcheck', grad_outputs)
    checked = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]

    def first(*values):
        given = values[:len(inputs)]
        return grad(as_tuple('gradgradcheck', func(*given)), [given[i] for i in checked], values[len(inputs):], create_graph=True,
                    materialize_grads=True)
    return _run(testing.gradcheck, first, (*inputs, *seeds), dict(eps=eps, atol=atol, rtol=rtol), raise_exception)
