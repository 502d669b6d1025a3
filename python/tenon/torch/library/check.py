"""opcheck(): whether what is registered for an op fits together."""
from collections.abc import Callable

from ..._core import Tensor
from .op import REGISTERED, CustomOpDef, Flattening

_TESTS = 'test_schema', 'test_autograd_registration', 'test_faketensor', 'test_aot_dispatch_dynamic'


class OpCheckError(Exception):
    """A test of opcheck() failed."""


def opcheck(op, args, kwargs=None, *, test_utils=_TESTS, raise_exception=True, atol=None, rtol=None):
    """Tests an op with example arguments: its schema tells what it writes to, its gradients agree with differences, and the results of
    register_fake() have the right shapes and dtypes. Returns a dict of 'SUCCESS' or errors."""
    op = op if isinstance(op, CustomOpDef) else REGISTERED[op]
    tests = [test_utils] if isinstance(test_utils, str) else test_utils
    unknown = set(tests) - set(_TESTS)
    if unknown:
        raise ValueError(f'[opcheck] test_utils {sorted(unknown)} are unknown: {", ".join(_TESTS)} are offered')
    found = {}
    for name in tests:
        try:
            _RUN[name](op, op._schema.bind(args, kwargs or {}))
            found[name] = 'SUCCESS'
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f'opcheck(op, ...): {name} failed with {error} (scroll up for stack trace)') from error
            found[name] = error
    return found


def _tensors(args):
    return [x for each in args for x in (each if isinstance(each, (list, tuple)) else [each]) if isinstance(x, Tensor)]


def _copies(args):
    def copy(x):
        return [copy(each) for each in x] if isinstance(x, list) else x.detach().clone().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x
    return [copy(each) for each in args]


def _schema(op, args):
    given = _copies(args)
    op(*given)
    for argument, before, after in zip(op._schema.arguments, args, given):
        for x, y in zip(_tensors([before]), _tensors([after])):
            if not argument.is_written and not _equal(x, y):
                raise RuntimeError(f'Argument {argument.name} is not defined as mutable but was mutated')


def _equal(x, y):
    x, y = x.detach(), y.detach()
    return bool(((x == y) | ((x != x) & (y != y))).all())


def _autograd(op, args):
    if op._backward is None and op._recorded is None:
        return  # a call of backward() says so
    results = op(*_copies(args))
    if not any(x.requires_grad for x in _tensors(args)):
        return
    if not any(x.requires_grad for x in _tensors(results if isinstance(results, (list, tuple)) else [results])):
        raise RuntimeError(f'{op._qualname}: an argument requires a gradient and no result does')


def _fake(op, args):
    if op._fake is None:
        raise RuntimeError(f'There was no fake impl registered for {op}. This is necessary for torch.compile/export/fx tracing to work. Please use '
                           f'`{op._qualname}.register_fake` to add an fake impl.')
    real, fake = op(*_copies(args)), op._fake(*_copies(args))
    real, fake = (_tensors(each if isinstance(each, (list, tuple)) else [each]) for each in (real, fake))
    kinds = [[(tuple(x.shape), x.dtype) for x in each] for each in (real, fake)]
    if kinds[0] != kinds[1]:
        raise RuntimeError(f'the results are {kinds[0]}, and those of register_fake() {kinds[1]}')


def _gradients(op, args):
    """First gradients against differences, in double precision."""
    from ...testing import gradcheck
    if op._backward is None and op._recorded is None:
        return
    shape = Flattening(args)
    leaves = [x.detach().double().requires_grad_() if isinstance(x, Tensor) and x.requires_grad else x for x in shape.split(_copies(args))]
    at = [i for i, x in enumerate(leaves) if isinstance(x, Tensor) and x.requires_grad]

    def call(*inputs):
        given = list(leaves)
        for i, x in zip(at, inputs):
            given[i] = x
        return op(*shape.join(given))
    if at:
        gradcheck(call, tuple(leaves[i] for i in at))


_RUN: dict[str, Callable] = dict(zip(_TESTS, (_schema, _autograd, _fake, _gradients)))
