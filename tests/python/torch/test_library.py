"""Custom ops beside PyTorch: the same programs, and what they give."""
import itertools
import sys
import typing
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import tenon
import tenon.torch as ours

sys.path.insert(0, str(Path(__file__).parent))
from beside import plain, same, simple

maybe = typing.Optional.__getitem__
NAMES = map('case{}'.format, itertools.count())


def power(t):
    """An op with a default, and its gradient."""
    @t.library.custom_op(f'{next(NAMES)}::power', mutates_args=())
    def op(x: t.Tensor, n: int = 2) -> t.Tensor:
        return t.from_numpy(x.detach().numpy() ** n)

    def setup(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.n = inputs[1]
    op.register_autograd(lambda ctx, g: (g * ctx.n * ctx.saved_tensors[0] ** (ctx.n - 1), None), setup_context=setup)
    op.register_fake(lambda x, n=2: t.empty_like(x))
    return op


def gradient(t):
    op, x = power(t), t.tensor([1.0, 2.0, -3.0], requires_grad=True)
    y = op(x, n=3)
    y.sum().backward()
    return y, x.grad, op(x).requires_grad, op(x.detach()).requires_grad, type(op).__name__


def from_torch_ops(t):
    op = power(t)
    space, name = op._qualname.split('::')
    found = getattr(getattr(t.ops, space), name)
    return found(t.ones(2), 3), found.default(t.full((2,), 2.0))


def lists(t):
    """Lists of tensors, optional arguments, several results."""
    @t.library.custom_op(f'{next(NAMES)}::lists', mutates_args=())
    def op(xs: list[t.Tensor], scale: float, extra: maybe(t.Tensor) = None) -> tuple[t.Tensor, t.Tensor]:
        total = sum(x.detach() for x in xs) * scale
        return total + (0 if extra is None else extra), total * 2
    seen = []

    def setup(ctx, inputs, output):
        ctx.scale, ctx.count = inputs[1], len(inputs[0])

    def backward(ctx, first, second):
        seen.append(ctx.needs_input_grad)
        return [(first + 2 * second) * ctx.scale] * ctx.count, None, first
    op.register_autograd(backward, setup_context=setup)
    a, b, c = (t.tensor([float(i), 2.0], requires_grad=i != 1) for i in range(3))
    first, second = op([a, b], 0.5, c)
    (first * 3 + second).sum().backward()
    return first, second, a.grad, b.grad, c.grad, str(op([a], 1.0)[1].tolist())


def writes(t):
    @t.library.custom_op(f'{next(NAMES)}::writes', mutates_args={'out'})
    def op(x: t.Tensor, out: t.Tensor) -> None:
        out.copy_(x * 2)
    out = t.zeros(3)
    return op(t.ones(3), out), out


def declared(t):
    """The older way: a schema, and kernels by key."""
    space = next(NAMES)
    library = t.library.Library(space, 'DEF')
    library.define('scaled(Tensor x, float by=2.0, *, bool twice=False) -> Tensor')
    library.impl('scaled', lambda x, by=2.0, twice=False: x * by * (2 if twice else 1), 'CPU')
    library.define('recorded(Tensor x) -> Tensor')
    library.impl('recorded', lambda x: x * x, 'CompositeImplicitAutograd')
    ops, x = getattr(t.ops, space), t.tensor([3.0], requires_grad=True)
    ops.recorded(x).backward()
    return ops.scaled(t.ones(2)), ops.scaled(t.ones(2), 3.0, twice=True), x.grad


def functions(t):
    """define(), impl() and register_*() by name."""
    name = f'{next(NAMES)}::cube'
    t.library.define(name, '(Tensor x) -> Tensor')

    @t.library.impl(name, 'default')
    def kernel(x):
        return x ** 3

    @t.library.register_fake(name)
    def fake(x):
        return t.empty_like(x)
    t.library.register_autograd(name, lambda ctx, g: g * 3 * ctx.x ** 2, setup_context=lambda ctx, inputs, output: setattr(ctx, 'x', inputs[0]))
    space, short = name.split('::')
    x = t.tensor([2.0, -1.0], requires_grad=True)
    getattr(getattr(t.ops, space), short)(x).sum().backward()
    return x.grad


def batched(t):
    op = power(t)

    @op.register_vmap
    def rule(info, in_dims, x, n=2):
        return op(x.movedim(in_dims[0], 0), n), 0
    return t.vmap(lambda x: op(x, 3), in_dims=1)(t.arange(6.0).reshape(2, 3)), t.vmap(op)(t.ones(2, 3))


def schemas(t):
    def f(x: t.Tensor, y: maybe(t.Tensor), z: Sequence[t.Tensor], n: int = 1, p: float = 0.5, *, name: str = 'a', flag: bool = True) -> tuple[t.Tensor, int]:
        raise AssertionError
    return t.library.infer_schema(f, mutates_args=()), t.library.infer_schema(f, mutates_args={'x', 'z'})


def checks(t):
    op = power(t)
    return t.library.opcheck(op, (t.randn(3, requires_grad=True), 2), test_utils=('test_schema', 'test_autograd_registration', 'test_faketensor'))


PROGRAMS = [gradient, from_torch_ops, lists, writes, declared, functions, batched, schemas, checks]


@pytest.mark.pytorch
@pytest.mark.parametrize('program', PROGRAMS, ids=lambda program: program.__name__)
def test_programs(torch, program):
    assert simple(program(ours)) == plain(program(torch))


def not_annotated(t):
    @t.library.custom_op(f'{next(NAMES)}::f', mutates_args=())
    def op(x, n: int) -> t.Tensor:
        return x


def no_results(t):
    @t.library.custom_op(f'{next(NAMES)}::f', mutates_args=())
    def op(x: t.Tensor):
        return x


def other_types(t):
    @t.library.custom_op(f'{next(NAMES)}::f', mutates_args=())
    def op(x: dict) -> t.Tensor:
        return x


def no_namespace(t):
    t.library.custom_op('f', lambda x: x, mutates_args=(), schema='(Tensor x) -> Tensor')


def aliases(t):
    @t.library.custom_op(f'{next(NAMES)}::f', mutates_args=())
    def op(x: t.Tensor) -> t.Tensor:
        return x.view(-1)
    op(t.ones(2))


def no_gradient(t):
    @t.library.custom_op(f'{next(NAMES)}::f', mutates_args=())
    def op(x: t.Tensor) -> t.Tensor:
        return x * 2
    op(t.ones(2, requires_grad=True)).sum().backward()


def gradient_of_writes(t):
    @t.library.custom_op(f'{next(NAMES)}::f', mutates_args={'x'})
    def op(x: t.Tensor) -> None:
        x.add_(1)
    op.register_autograd(lambda ctx, g: g)


def no_kernel(t):
    @t.library.custom_op(f'{next(NAMES)}::f', mutates_args=(), device_types='cuda')
    def op(x: t.Tensor) -> t.Tensor:
        return x * 2
    op(t.ones(2))


def wrong_type(t):
    power(t)(3)


def wrong_integer(t):
    power(t)(t.ones(2), 'a')


def too_many(t):
    power(t)(t.ones(2), 1, 2)


def missing(t):
    power(t)()


def unknown_op(t):
    t.ops.nowhere.f(1)


def written_argument(t):
    name, other, x, out = next(NAMES), next(NAMES), t.ones(2), t.zeros(2)
    t.library.define(f'{name}::f', '(Tensor x, float y=2.0, *, Tensor! out) -> ()')

    @t.library.impl(f'{name}::f', 'cpu')
    def kernel(x, y=2.0, *, out):
        out.copy_(x * y)
    getattr(t.ops, name).f(x, out=out)
    library = t.library.Library(other, 'DEF')
    return out, [library.define(each) for each in ('a(Tensor(a!) x, Tensor(b)[] y) -> Tensor(a!)', 'b(Tensor(a!)[] xs) -> ()', 'c(Tensor(a -> *) x) -> Tensor(a)[]')]


def named_alone(t):
    @t.library.custom_op(f'{next(NAMES)}::f', mutates_args=())
    def op(x: t.Tensor, *, scale: float = 2.0) -> t.Tensor:
        return x * scale

    def setup(ctx, inputs, keyword_only_inputs, output):
        ctx.scale = keyword_only_inputs['scale']
    op.register_autograd(lambda ctx, g: g * ctx.scale, setup_context=setup)
    x = t.ones(2, requires_grad=True)
    y = op(x) + op(x, scale=3.0)
    y.sum().backward()
    return y, x.grad


@pytest.mark.pytorch
@pytest.mark.parametrize('program', [written_argument, named_alone], ids=lambda program: program.__name__)
def test_schemas(torch, program):
    same(torch, program)


def undeclared_write(t):
    @t.library.custom_op(f'{next(NAMES)}::f', mutates_args=())
    def op(x: t.Tensor) -> t.Tensor:
        x.add_(1)
        return x * 2
    t.library.opcheck(op, (t.ones(2),), test_utils='test_schema')


def wrong_fake(t):
    op = power(t)
    op.register_fake(lambda x, n=2: x.new_empty(7))
    t.library.opcheck(op, (t.ones(2),), test_utils='test_faketensor')


ERRORS = [not_annotated, no_results, other_types, no_namespace, aliases, no_gradient, gradient_of_writes, no_kernel, wrong_type, wrong_integer, too_many,
          missing, unknown_op, undeclared_write, wrong_fake]


@pytest.mark.pytorch
@pytest.mark.parametrize('program', ERRORS, ids=lambda program: program.__name__)
def test_errors_are_of_the_same_kind(torch, program):
    with pytest.raises(Exception) as theirs:
        program(torch)
    with pytest.raises(Exception) as mine:
        program(ours)
    wanted = next(kind for kind in type(theirs.value).__mro__ if kind.__module__ == 'builtins') if 'torch' in type(theirs.value).__module__ else type(theirs.value)
    assert isinstance(mine.value, wanted), (mine.value, theirs.value)


def test_what_is_captured():
    op = power(ours)
    op.register_kernel('cpu', lambda x, n=2: x ** n)
    assert np.allclose(tenon.compile(lambda x: op(x, 3) + 1)(ours.full((3,), 2.0)).numpy(), 9.0)


@pytest.mark.parametrize('schema', ['Tensor x -> Tensor', '(Tensor x', '(Tensor) -> Tensor', '(x) -> Tensor'])
def test_text_that_is_no_schema(schema):
    with pytest.raises(RuntimeError, match='library'):
        ours.library.define(f'{next(NAMES)}::f', schema)
