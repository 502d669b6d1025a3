"""torch.autograd beside PyTorch: Function in all its forms, grad and backward, checks, and torch.autograd.functional."""
import gc
import pathlib
import sys
import weakref

import pytest

import tenon
import tenon.torch as ours

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from beside import same


def leaf(t, *numbers, dtype='float32'):
    return t.tensor(list(numbers), dtype=getattr(t, dtype), requires_grad=True)


# Functions ----------------------------------------------------------------------------------------------------------------

def exp_that_saves_its_result(t):
    class Exp(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = t.exp(x)
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            y, = ctx.saved_tensors
            return g * y
    return Exp.apply


def setup_context(t):
    class Scaled(t.autograd.Function):
        @staticmethod
        def forward(x, y, scale):
            return x * y * scale, x + y

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, y, ctx.scale = inputs
            ctx.save_for_backward(x, y, output[0])

        @staticmethod
        def backward(ctx, g, h):
            x, y, _ = ctx.saved_tensors
            return g * y * ctx.scale + h, g * x * ctx.scale + h, None
    return lambda x: sum(Scaled.apply(x, t.sin(x), 3.0))


def unused(t, materialize=True):
    class Two(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(materialize)
            return x * 2, t.cat([x, x])

        @staticmethod
        def backward(ctx, g, h):
            if materialize:
                return g * 2 + h[:len(h) // 2] + h[len(h) // 2:]
            assert h is None
            return g * 2
    return lambda x: Two.apply(x)[0] * x


def not_differentiable(t):
    class SortWithIndex(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            values, order = t.sort(x)
            rounded = t.round(values)
            ctx.mark_non_differentiable(order, rounded)
            ctx.save_for_backward(order)
            return values, order, rounded

        @staticmethod
        def backward(ctx, g, of_order, of_rounded):
            order, = ctx.saved_tensors
            assert of_rounded.shape == g.shape and not of_rounded.any()
            return t.zeros_like(g).scatter(0, order, g)

    def run(x):
        values, order, rounded = SortWithIndex.apply(x)
        assert not order.requires_grad and not rounded.requires_grad
        return values * values + rounded
    return run


def dirty(t):
    class Double_(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 2

    def run(x):
        y = x * x
        z = Double_.apply(y)
        assert z is y
        return y * 3
    return run


def other_arguments(t):
    class Pick(t.autograd.Function):
        @staticmethod
        def forward(ctx, x, options, flag=True):
            assert ctx.needs_input_grad == (True, False, False)
            ctx.power = options['power']
            ctx.save_for_backward(x, None)
            return x ** ctx.power

        @staticmethod
        def backward(ctx, g):
            x, nothing = ctx.saved_tensors
            assert nothing is None
            return ctx.power * x ** (ctx.power - 1) * g, None, None
    return lambda x: Pick.apply(x, {'power': 3}, False)


def other_results(t):
    class Named(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, 'name', None

        @staticmethod
        def backward(ctx, g, of_name, of_none):
            assert of_name is None and of_none is None
            return g * 2

    def run(x):
        y, name, nothing = Named.apply(x)
        assert name == 'name' and nothing is None
        return y
    return run


def returns_its_input(t):
    class Same(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x) if t is not ours else x

        @staticmethod
        def backward(ctx, g):
            return g * 5
    return Same.apply


FUNCTIONS = [exp_that_saves_its_result, setup_context, unused, lambda t: unused(t, False), not_differentiable, dirty, other_arguments, other_results,
             returns_its_input]


@pytest.mark.parametrize('make', FUNCTIONS)
def test_functions(torch, make):
    def run(t):
        x = leaf(t, 0.5, -1.5, 2.5)
        y = make(t)(x)
        first, = t.autograd.grad(y.sum(), x, create_graph=True)
        found = [y, first]
        if first.requires_grad:
            found.append(t.autograd.grad((first * first).sum(), x)[0])
        return found
    theirs = same(torch, run)
    assert not isinstance(theirs, Exception)


@pytest.mark.parametrize('make', [exp_that_saves_its_result, setup_context, other_arguments])
def test_gradients_of_gradients_through_saved_results(make):
    x = leaf(ours, 0.3, 0.7, dtype='float64')
    assert ours.autograd.gradcheck(make(ours), (x,)) and ours.autograd.gradgradcheck(make(ours), (x,))
    third = tenon.func.grad(tenon.func.grad(tenon.func.grad(make(ours))))(tenon.tensor(0.5, dtype=tenon.float64)) if make is other_arguments else None
    assert third is None or third.item() == pytest.approx(6)


def test_a_saved_tensor_that_is_changed_is_an_error(torch):
    def run(t):
        class Keep(t.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx, g):
                return 2 * g * ctx.saved_tensors[0]
        x = leaf(t, 1.0) * 2
        y = Keep.apply(x)
        x.mul_(3)
        y.sum().backward()
    assert isinstance(same(torch, run), RuntimeError)


def test_once_differentiable(torch):
    def run(t, twice=True):
        class Square(t.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            @t.autograd.function.once_differentiable
            def backward(ctx, g):
                return 2 * g * ctx.saved_tensors[0]
        x = leaf(t, 3.0)
        first, = t.autograd.grad((Square.apply(x) ** 2).sum(), x, create_graph=twice)
        return t.autograd.grad(first.sum(), x)[0] if twice else first
    assert isinstance(same(torch, run), RuntimeError)
    same(torch, lambda t: run(t, False))


def test_a_written_leaf_and_a_saved_written_argument_are_refused(torch):
    def run(t):
        class Double_(t.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.mark_dirty(x)
                return x.mul_(2)

            @staticmethod
            def backward(ctx, g):
                return g * 2
        return Double_.apply(leaf(t, 1.0))
    assert isinstance(same(torch, run), RuntimeError)

    class Keeps(ours.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            ctx.save_for_backward(x.exp_())
            return x

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]
    class Forgets(ours.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x * 2
    with pytest.raises(RuntimeError, match='must return each argument'):
        Forgets.apply(leaf(ours, 1.0) * 1)
    x = leaf(ours, 1.0)
    y = Keeps.apply(x * 1)
    assert ours.autograd.grad(y.sum(), x, retain_graph=True)[0].item() == pytest.approx(2.7182818)
    with pytest.raises(RuntimeError, match=r'save a clone\(\)'):
        ours.autograd.grad(y.sum(), x, create_graph=True)


def test_saving_something_else_is_an_error(torch):
    def run(t):
        class Keep(t.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(3)
                return x * 2
        return Keep.apply(leaf(t, 1.0))
    assert isinstance(same(torch, run), TypeError)


# grad and backward ----------------------------------------------------------------------------------------------------------

GRADS = {
    'plain': lambda t, x, y: t.autograd.grad((x * y).sum(), (x, y)), 'one input': lambda t, x, y: t.autograd.grad((x * y).sum(), x),
    'several outputs': lambda t, x, y: t.autograd.grad([(x * y).sum(), (x * x).sum()], [x, y]),
    'weights': lambda t, x, y: t.autograd.grad(x * y, x, t.tensor([1.0, 2.0])),
    'weights and none': lambda t, x, y: t.autograd.grad([x * y, x.sum()], x, [t.tensor([1.0, 2.0]), None]),
    'needs weights': lambda t, x, y: t.autograd.grad(x * y, x), 'bad weights': lambda t, x, y: t.autograd.grad(x * y, x, t.ones(3)),
    'unused': lambda t, x, y: t.autograd.grad(x.sum(), y), 'allow unused': lambda t, x, y: t.autograd.grad(x.sum(), (x, y), allow_unused=True),
    'materialize': lambda t, x, y: t.autograd.grad(x.sum(), (x, y), materialize_grads=True),
    'contradiction': lambda t, x, y: t.autograd.grad(x.sum(), (x, y), materialize_grads=True, allow_unused=False),
    'batched': lambda t, x, y: t.autograd.grad(x * y, (x, y), t.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 3.0]]), is_grads_batched=True),
    'dict': lambda t, x, y: list(t.autograd.grad((x * y).sum(), {'a': x, 'b': y}).values()),
    'second': lambda t, x, y: t.autograd.grad(t.autograd.grad((x ** 3 * y).sum(), x, create_graph=True)[0].sum(), (x, y)),
    'again': lambda t, x, y: [t.autograd.grad(z, x, retain_graph=True) + t.autograd.grad(z, x) for z in [(x * y).sum()]],
    'no history': lambda t, x, y: t.autograd.grad(x.detach().sum(), x),
}


@pytest.mark.parametrize('name', GRADS)
def test_grad(torch, name):
    same(torch, lambda t: GRADS[name](t, leaf(t, 1.0, 2.0), leaf(t, 3.0, 5.0)))


BACKWARDS = {
    'plain': lambda t, x, y: t.autograd.backward((x * y).sum()), 'several': lambda t, x, y: t.autograd.backward([x.sum(), (x * y).sum()]),
    'weights': lambda t, x, y: t.autograd.backward([x * y], [t.tensor([1.0, 2.0])]),
    'old name': lambda t, x, y: t.autograd.backward([x * y], grad_variables=[t.tensor([1.0, 2.0])]),
    'inputs': lambda t, x, y: t.autograd.backward((x * y).sum(), inputs=[x]), 'no inputs': lambda t, x, y: t.autograd.backward(x.sum(), inputs=[]),
    'inputs, twice': lambda t, x, y: [t.autograd.backward((x * y).sum(), inputs=x) for _ in range(2)],
    'needs weights': lambda t, x, y: t.autograd.backward(x * y),
}


@pytest.mark.parametrize('name', BACKWARDS)
def test_backward(torch, name):
    def run(t):
        x, y = leaf(t, 1.0, 2.0), leaf(t, 3.0, 5.0)
        BACKWARDS[name](t, x, y)
        return [x.grad, y.grad]
    same(torch, run)


# functional -----------------------------------------------------------------------------------------------------------------

ONE = {'square': lambda t, x: x * x, 'mixed': lambda t, x: t.sin(x[0]) * x, 'independent': lambda t, x: t.ones(2), 'linear': lambda t, x: 3 * x}
NUMBER = {'cubes': lambda t, x: (x ** 3).sum(), 'product': lambda t, x: t.exp(x[0]) * x[1] ** 2, 'shape (1,)': lambda t, x: (x ** 3).sum().reshape(1),
          'linear': lambda t, x: x.sum(), 'constant': lambda t, x: t.tensor(1.0), 'not a number': lambda t, x: x * x}
TWO = {'product': lambda t, x, y: (x * y.sum()).sum(), 'apart': lambda t, x, y: (x ** 2).sum() + (y ** 3).sum(), 'first alone': lambda t, x, y: (x ** 3).sum()}


@pytest.mark.parametrize('options', [{}, dict(create_graph=True), dict(strict=True)], ids=str)
@pytest.mark.parametrize('name', ONE)
def test_jacobian_and_products(torch, name, options):
    def run(call):
        return lambda t: call(t.autograd.functional, lambda x: ONE[name](t, x), leaf(t, 0.5, 1.5).detach(), t.tensor([1.0, -2.0]))
    same(torch, run(lambda f, fn, x, v: f.jacobian(fn, x, **options)))
    same(torch, run(lambda f, fn, x, v: f.vjp(fn, x, v, **options)))
    same(torch, run(lambda f, fn, x, v: f.jvp(fn, x, v, **options)))


@pytest.mark.parametrize('options', [{}, dict(create_graph=True), dict(strict=True), dict(vectorize=True)], ids=str)
@pytest.mark.parametrize('name', NUMBER)
def test_hessian_and_products(torch, name, options):
    def run(call):
        return lambda t: call(t.autograd.functional, lambda x: NUMBER[name](t, x), leaf(t, 0.5, 1.5).detach(), t.tensor([1.0, -2.0]))
    same(torch, run(lambda f, fn, x, v: f.hessian(fn, x, **options)))
    if 'vectorize' not in options:
        same(torch, run(lambda f, fn, x, v: f.vhp(fn, x, v, **options)))
        same(torch, run(lambda f, fn, x, v: f.hvp(fn, x, v, **options)))


@pytest.mark.parametrize('name', TWO)
def test_two_inputs(torch, name):
    for call in (lambda f, fn, x, v: f.jacobian(fn, x), lambda f, fn, x, v: f.hessian(fn, x), lambda f, fn, x, v: f.vjp(fn, x),
                 lambda f, fn, x, v: f.jvp(fn, x, v), lambda f, fn, x, v: f.vhp(fn, x, v), lambda f, fn, x, v: f.hvp(fn, x, v),
                 lambda f, fn, x, v: f.jacobian(lambda *z: (fn(*z), z[0]), x), lambda f, fn, x, v: f.jvp(fn, x, v[:1]), lambda f, fn, x, v: f.jvp(fn, x)):
        same(torch, lambda t: call(t.autograd.functional, lambda x, y: TWO[name](t, x, y), (t.tensor([1.0, 2.0]), t.tensor([3.0])),
                                   (t.tensor([1.0, -1.0]), t.tensor([2.0]))))


def test_results_with_create_graph_have_a_history(torch):
    def run(t):
        x = leaf(t, 0.5, 1.5)
        jacobian = t.autograd.functional.jacobian(lambda x: x ** 3, x, create_graph=True)
        value, product = t.autograd.functional.vhp(lambda x: (x ** 4).sum(), x, t.ones(2), create_graph=True)
        return t.autograd.grad(jacobian.sum(), x) + t.autograd.grad(product.sum(), x)
    same(torch, run)


@pytest.mark.parametrize('options', [dict(strategy='forward-mode'), dict(strict=True, vectorize=True),
                                     dict(strategy='forward-mode', vectorize=True)], ids=str)
def test_options_of_jacobian(torch, options):
    same(torch, lambda t: t.autograd.functional.jacobian(lambda x: x * x, t.ones(2), **options))


# Checks, modes and names ------------------------------------------------------------------------------------------------------

def wrong(t):
    class Wrong(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 3
    return Wrong.apply


def uneven(t):
    class Uneven(t.autograd.Function):
        count = 0

        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            Uneven.count += 1
            return g * 2 + Uneven.count * 1e-9
    return Uneven.apply


CHECKS = {'right': (lambda t: lambda x: t.sin(x) * x, 'float64'), 'wrong': (wrong, 'float64'), 'not twice the same': (uneven, 'float64'),
          'complex': (lambda t: lambda z: z * z.conj() + z * z, 'complex128'), 'absolute': (lambda t: lambda z: t.abs(z), 'complex128'),
          'two results': (lambda t: lambda x: (x * x, t.exp(x)), 'float64')}


@pytest.mark.parametrize('name', CHECKS)
def test_gradcheck(torch, name):
    make, dtype = CHECKS[name]
    for package in torch, ours:
        x = package.tensor([0.5, 1.5], dtype=getattr(package, dtype), requires_grad=True)
        good = name not in ('wrong', 'not twice the same')
        assert package.autograd.gradcheck(make(package), (x,), raise_exception=False) is good
        if good:
            assert package.autograd.gradgradcheck(make(package), (x,))
        else:
            with pytest.raises(RuntimeError):
                package.autograd.gradcheck(make(package), x)


def test_gradgradcheck_with_weights(torch):
    for package in torch, ours:
        x = package.tensor([0.5, 1.5], dtype=package.float64, requires_grad=True)
        weights = package.tensor([1.0, 2.0], dtype=package.float64, requires_grad=True)
        assert package.autograd.gradgradcheck(lambda x: x ** 3, (x,), weights)
    with pytest.raises(ValueError, match='check_forward_ad'):
        ours.autograd.gradcheck(lambda x: x, (x,), check_batched_forward_grad=True)


def wrong_forwards(t):
    class Off(t.autograd.Function):
        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, g):
            return 2 * ctx.saved_tensors[0] * g

        @staticmethod
        def jvp(ctx, v):
            return 3 * ctx.saved_tensors[0] * v
    return Off.apply


@pytest.mark.parametrize('name', ['right', 'complex', 'absolute', 'two results', 'wrong forwards'])
def test_gradcheck_of_forward_mode(torch, name):
    make, dtype = CHECKS.get(name, (wrong_forwards, 'float64'))
    for package in torch, ours:
        x, check = package.tensor([0.5, 1.5], dtype=getattr(package, dtype), requires_grad=True), package.autograd.gradcheck
        good = name != 'wrong forwards'
        assert check(make(package), (x,)) and check(make(package), (x,), check_forward_ad=True, raise_exception=False) is good
        assert check(make(package), (x,), check_forward_ad=True, check_backward_ad=False, raise_exception=False) is good
        if good:
            batched = package is ours or dtype == 'float64'  # PyTorch's complex views fail in vmap
            assert check(make(package), (x,), check_forward_ad=True, check_batched_forward_grad=batched)
            assert package.autograd.gradgradcheck(make(package), (x,), check_fwd_over_rev=True)
        else:
            with pytest.raises(RuntimeError):
                check(make(package), (x,), check_forward_ad=True)


def test_anomaly():
    def nan():
        x = leaf(ours, 0.0)
        return (ours.sqrt(x) * 0).sum()
    for scope in ours.autograd.detect_anomaly(), ours.autograd.detect_anomaly(True), ours.autograd.detect_anomaly(check_nan=True):
        with pytest.raises(RuntimeError, match='sqrt'), scope:
            nan().backward()
    with pytest.raises(ValueError, match='check_nan must be True'):
        ours.autograd.detect_anomaly(check_nan=False)
    nan().backward()
    ours.autograd.set_detect_anomaly(True)
    with pytest.raises(RuntimeError, match='sqrt'):
        nan().backward()
    with ours.autograd.set_detect_anomaly(False):
        nan().backward()
    with pytest.raises(RuntimeError, match='sqrt'):
        nan().backward()
    ours.autograd.set_detect_anomaly(False)
    nan().backward()


def test_arguments_that_pytorch_lets_pass():
    x = leaf(ours, 1.0, 2.0)
    with pytest.raises(RuntimeError, match='2 gradients for 1'):
        ours.autograd.grad(x * 2, x, [ours.ones(2), ours.ones(2)])
    with pytest.raises(ValueError, match='strategy'):
        ours.autograd.functional.jacobian(lambda x: x, x, strategy='x')


def test_variable():
    x = ours.autograd.Variable(ours.ones(2), requires_grad=True)
    assert x.requires_grad and isinstance(x, ours.autograd.Variable) and not isinstance(1, ours.autograd.Variable)
    assert not ours.autograd.Variable(x).requires_grad


def test_where_meanings_agree_it_is_the_same_object():
    autograd = ours.autograd
    assert autograd.no_grad is tenon.no_grad is ours.no_grad and autograd.enable_grad is tenon.enable_grad
    assert autograd.set_grad_enabled is ours.set_grad_enabled and issubclass(autograd.Function, tenon.autograd.Function)
    assert autograd.function.Function is autograd.Function and autograd.grad_mode.no_grad is tenon.no_grad


IMPORTED = set('DeviceType Mapping ProfilerActivity ProfilerConfig ProfilerEvent ProfilerState Sequence cast handle_torch_function overload '
               'has_torch_function is_tensor_like is_multithreading_enabled is_view_replay_enabled kineto_available torch warnings anomaly_mode fwAD '
               'Any Callable Generator Iterable Iterator Literal MutableMapping NamedTuple Optional RemovableHandle TYPE_CHECKING TorchDispatchMode '
               'TypeAlias Union WeakKeyDictionary WeakValueDictionary abc contextlib contextvars defaultdict deque functools log logging threading '
               'AUTOGRAD_FUNCTION_COUNTER Concatenate OrderedDict ParamSpec TypeVar '
               'deprecated hooks inspect itertools F Variable'.split())


@pytest.mark.parametrize('name', ['', 'functional', 'graph', 'grad_mode', 'function'])
def test_no_name_is_silently_missing(torch, name):
    theirs, mine = (getattr(package.autograd, name) if name else package.autograd for package in (torch, ours))
    for each in dir(theirs):
        if not each.startswith('_') and each not in IMPORTED and not hasattr(mine, each):
            with pytest.raises(AttributeError, match='not offered'):
                getattr(mine, each)


def hooked(t):
    x = t.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    y.retain_grad()
    first = y.register_hook(lambda gradient: gradient * 2)
    y.register_hook(lambda gradient: gradient + 1)
    y.sum().backward(retain_graph=True)
    first.remove()
    y.sum().backward()
    return x.grad, y.grad


def test_the_retained_gradient_is_what_hooks_returned(torch):
    same(torch, hooked)


def retained(t, change):
    x = t.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.retain_grad()
    assert y.retains_grad and not x.retains_grad and not (x * 1).retains_grad
    x.retain_grad()
    first = y.grad
    loss = (change(y) ** 2).sum() + y.sum()
    loss.backward(retain_graph=True)
    once = y.grad.clone()
    loss.backward()
    return first, once, y.grad, x.grad, y.is_leaf


@pytest.mark.parametrize('change', [lambda y: y, lambda y: y.exp(), lambda y: y[1:], lambda y: y.view(2, 1)])
def test_results_retain_gradients(torch, change):
    def plain(t):
        first, *found = retained(t, change)
        return (first is None, *found)
    same(torch, plain)


def test_a_gradient_can_be_set_for_a_result(torch):
    def run(t):
        y = t.tensor([1.0, 2.0], requires_grad=True) * 2
        y.grad = t.tensor([3.0, 4.0])
        found = [y.grad.clone()]
        y.sum().backward()
        found.append(y.grad)
        y.grad = None
        return found
    same(torch, run)


def test_a_retained_gradient_does_not_keep_its_tensor():
    x = ours.tensor([1.0], requires_grad=True)
    y = x * 2
    y.retain_grad()
    loss, gone = y.sum(), weakref.ref(y)
    del y
    gc.collect()
    assert gone() is None
    loss.backward()
    assert x.grad.tolist() == [2]


def test_hooks_after_accumulation(torch):
    """An optimizer inside the backward pass: each parameter is stepped once its gradient is there, and the gradient is dropped."""
    def run(t):
        w, b = t.tensor([1.0, 2.0], requires_grad=True), t.tensor(0.5, requires_grad=True)
        seen = []

        def step(parameter):
            seen.append(tuple(parameter.grad.shape))
            with t.no_grad():
                parameter -= 0.1 * parameter.grad
            parameter.grad = None
        handles = [x.register_post_accumulate_grad_hook(step) for x in (w, b)]
        for _ in range(3):
            ((w * w).sum() + w.sum() * b).backward()
        t.autograd.grad((w * b).sum(), [w, b])  # accumulates nothing
        first = sorted(seen)
        handles[0].remove()
        t.autograd.backward([(w * b).sum()])
        return len(first), first[0], len(seen), w.detach(), b.detach(), w.grad, b.grad is None
    same(torch, run)


def test_hooks_after_accumulating_into_inputs(torch):
    def run(t):
        w, b, seen = t.tensor([2.0, 3.0], requires_grad=True), t.tensor(1.0, requires_grad=True), []
        handles = [x.register_post_accumulate_grad_hook(lambda x: seen.append(x.grad.clone())) for x in (w, b)]
        (w * b).sum().backward(inputs=[w])
        (w * b).sum().backward(inputs=w)
        t.autograd.backward((w * b).sum(), inputs=(b, w))
        t.autograd.grad((w * b).sum(), [w, b])
        h = w * 2
        t.autograd.graph.register_multi_grad_hook((w, b), lambda grads: seen.append([g is None for g in grads]))
        (h * b).sum().backward(inputs=[b])
        handles[0].remove()
        (h * b).sum().backward(inputs=[w, b])
        return seen[:2], sorted(map(str, (x.tolist() if hasattr(x, 'tolist') else x for x in seen[2:]))), w.grad, b.grad
    same(torch, run)


def test_failing_hooks_after_accumulation():
    x = ours.ones(2, requires_grad=True)
    handle = x.register_post_accumulate_grad_hook(lambda leaf: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        (x * 2).sum().backward()
    handle.remove()
    (x * 2).sum().backward()
    assert x.grad.tolist() == [4, 4]
    with pytest.raises(RuntimeError, match='only of leaves'):
        (x * 2).register_post_accumulate_grad_hook(print)


@pytest.mark.parametrize('function', ['a / b', 'ours.nn.functional.normalize(a, dim=0)', '2 / b', 'ours.nn.functional.softsign(a)'])
def test_a_quotient_may_be_changed_in_place(function):
    a, b = (ours.tensor(values, dtype=ours.float64, requires_grad=True) for values in ([1.0, -2.0], [3.0, 4.0]))

    def tripled(a, b):
        y = eval(function, {'a': a, 'b': b, 'ours': ours})
        return y.mul_(3)
    assert ours.autograd.gradcheck(tripled, (a, b))


def test_gradients_of_chosen_inputs_share_no_memory():
    x, y = (ours.ones(2, 3, requires_grad=True) for _ in range(2))
    (x + y).sum().backward(inputs=[x, y])
    x.grad.zero_()
    assert y.grad.tolist() == [[1, 1, 1]] * 2
    ours.autograd.backward((x + y).sum(), inputs=[x, y])
    assert x.grad.tolist() == [[1, 1, 1]] * 2 and y.grad.tolist() == [[2, 2, 2]] * 2


@pytest.mark.parametrize('backward', [lambda y: y.backward(), ours.autograd.backward, lambda y: tenon.autograd.backward(y)])
def test_a_retained_gradient_is_that_of_the_changed_result(backward):
    x = ours.tensor([1.0, -2.0], requires_grad=True)
    y = x * 2
    y.retain_grad()
    ours.nn.functional.relu(y, inplace=True)
    backward((y * 5).sum())
    assert y.grad.tolist() == [5, 5] and x.grad.tolist() == [10, 0]
