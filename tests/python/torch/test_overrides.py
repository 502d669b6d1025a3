"""Subclasses of Tensor and __torch_function__ beside PyTorch: types that survive functions, types and modes that take functions over."""
import copy
import inspect
import pathlib
import pickle
import sys

import pytest

import tenon
import tenon.torch as ours

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from scenarios import same


class Kept(ours.Tensor):
    pass


def kinds(value):
    """The names of types within a result."""
    return [kinds(each) for each in value] if isinstance(value, (tuple, list)) else type(value).__name__


CALLS = ['x + 1', '1 + x', '1 - x', '2 / x', '2 ** x', '2 // x', 'x // 2', 'x % 2', '-x', 'abs(x)', 'x == 1', '1 < x', 'x @ x.T', 'x.T', 'x.mT',
         'x[0]', 'x[:, 1:]', 'x.sum()', 'x.max(1)', 't.max(x, 1).indices', 't.add(x, 1)', 't.stack([x, x])', 't.cat([t.ones(2, 3), x])', 'F.relu(x)',
         'F.linear(x, t.ones(4, 3))', 't.nn.Linear(3, 4)(x)', 'x.split(1)', 'x.detach()', 'x.clone()', 'x.to(t.float64)', 'x.view(3, 2)',
         'x.reshape(-1)', 'x.softmax(0)', 'x.tolist()', 't.ones_like(x)', 't.zeros(2)', 'x.new_ones(2)', 'x.data', 'x.requires_grad_()', 'x.add_(1)',
         'x.mul_(2)', 'x.zero_()', 't.ones(2, 3) + x', 't.ones(2, 3).as_subclass(Narrower) + x', 'x + t.ones(2, 3).as_subclass(Narrower)',
         't.where(x > 0, x, 0)', 'x.mean().item()', 'list(x)', 't.einsum("ij->i", x)', 't.linalg.norm(x)', 'F.cross_entropy(x, t.tensor([0, 1]))',
         'F.dropout(x)', 'x.topk(1)', 'x.bool()', 'bool(x.sum() > 0)', 't.is_tensor(x)', 't.nn.Parameter(t.ones(2)) + 1']


@pytest.mark.parametrize('call', CALLS)
def test_a_subclass_survives_functions(torch, call):
    def run(t):
        class Wide(t.Tensor):
            pass

        class Narrower(Wide):
            pass
        return kinds(eval(call, {'t': t, 'F': t.nn.functional, 'x': t.ones(2, 3).as_subclass(Wide), 'Narrower': Narrower}))
    same(torch, run)


SEEN = ['y + 1', '1 + y', '1 - y', '2 / y', 'y / 2', '2 // y', 'y // 2', '2 ** y', 'y ** 2', '2 % y', 'y % 2', 'y @ t.ones(3)', '-y', 'abs(y)', 'y == 1',
        '1 < y', 'y[0]', 'y.__setitem__(0, 1.)', 'y.__iadd__(1)', 'y.add(1)', 't.add(y, 1)', 't.sum(y, 0)', 't.exp(y)', 'F.relu(y)', 'F.softmax(y, 0)',
        't.stack([y, y])', 'y.view(-1)', 'y.T', 'y.detach()', 'y.max(1)', 'y.to(t.float64)', 'y.float()', 'F.dropout(y)', 't.nn.Linear(3, 2)(y)',
        'F.cross_entropy(y, t.tensor([0, 1]))', 'y.requires_grad_()', 't.where(y > 0, y, y)', 't.squeeze(y)', 't.clamp(y, 0, 1)']


@pytest.mark.parametrize('call', SEEN)
def test_a_subclass_sees_each_function_by_pytorchs_name(torch, call):
    def run(t):
        names = []

        class Logged(t.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                names.append(func.__name__)
                return super().__torch_function__(func, types, args, kwargs)
        eval(call, {'t': t, 'F': t.nn.functional, 'y': t.ones(2, 3).as_subclass(Logged)})
        return names
    same(torch, run)


def test_an_attribute_carried_from_function_to_function(torch):
    def run(t):
        class Measured(t.Tensor):
            @staticmethod
            def __new__(cls, data, unit):
                return t.Tensor._make_subclass(cls, t.as_tensor(data))

            def __init__(self, data, unit):
                self.unit = unit

            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                found = super().__torch_function__(func, types, args, kwargs)
                for x in args if isinstance(found, cls) else ():
                    if isinstance(x, cls) and hasattr(x, 'unit'):
                        found.unit = x.unit
                return found
        x = Measured([1.0, 2.0], 'm')
        return [each.unit for each in (x, x + 1, t.sin(x), x.sum(), x[0], 2 * x)], (x + 1).tolist(), x.requires_grad
    same(torch, run)


def test_types_of_their_own_compute_functions_by_identity(torch):
    def run(t):
        handled = {}

        class Diagonal:
            def __init__(self, n, value):
                self.n, self.value = n, value

            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                if func not in handled or not all(issubclass(kind, (t.Tensor, Diagonal)) for kind in types):
                    return NotImplemented
                return handled[func](*args, **(kwargs or {}))
        handled[t.mean] = lambda x: x.value / x.n
        handled[t.add] = lambda x, y: Diagonal(x.n, x.value + y.value)
        d = Diagonal(5, 2)
        refused = []
        for call in (lambda: t.mul(d, 3), lambda: t.exp(d), lambda: t.nn.functional.relu(d)):
            try:
                call()
            except TypeError:
                refused.append(True)
        return t.mean(d), t.add(d, d).value, refused
    same(torch, run)


def test_subclasses_go_first_and_types_are_told(torch):
    def run(t):
        def answer(name):
            return classmethod(lambda cls, func, types, args=(), kwargs=None: (name, sorted(kind.__name__ for kind in types)))
        wide = type('Wide', (t.Tensor,), {'__torch_function__': answer('wide')})
        narrow = type('Narrow', (wide,), {'__torch_function__': answer('narrow')})
        x, y = t.ones(1).as_subclass(wide), t.ones(1).as_subclass(narrow)
        return t.add(x, y), x + y, y + x, t.add(t.ones(1), x), t.cat([t.ones(1), x, y])
    same(torch, run)


def test_the_functions_of_overrides(torch):
    def run(t):
        from_module = t.overrides

        class Own:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return func.__name__, [kind.__name__ for kind in types], len(args), kwargs

        def double(x, times=2):
            if from_module.has_torch_function_unary(x):
                return from_module.handle_torch_function(double, (x,), x, times=times)
            return x * times
        x, own = t.ones(2).as_subclass(type('Sub', (t.Tensor,), {})), Own()
        return (from_module.has_torch_function((t.ones(1), 3)), from_module.has_torch_function((t.ones(1), x)), from_module.has_torch_function_variadic(1, own),
                from_module.has_torch_function((t.nn.Parameter(t.ones(1)),)), from_module.is_tensor_like(own), from_module.is_tensor_like(3),
                double(3), double(own, times=4), kinds(double(x)))
    same(torch, run)


def test_a_mode_sees_functions_in_its_scope(torch):
    def run(t):
        class Log(t.overrides.TorchFunctionMode):
            def __init__(self):
                super().__init__()
                self.seen = []

            def __torch_function__(self, func, types, args=(), kwargs=None):
                self.seen.append(func.__name__)
                return func(*args, **(kwargs or {}))

        class Tenfold(t.overrides.TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                found = func(*args, **(kwargs or {}))
                return found * 10 if func is t.add else found
        x, weight = t.ones(2), t.ones(3, 2)
        with Log() as log:
            y = t.relu(t.add(x, 1)) * 2
            t.nn.functional.linear(y, weight).sum()
        with Tenfold(), Log() as inner:
            z = t.add(x, 1)
        return log.seen, inner.seen, z, t.add(x, 1)
    same(torch, run)


def test_gradients_flow_through_subclasses(torch):
    def run(t):
        kept = type('Sub', (t.Tensor,), {})
        x = t.tensor([1.0, 2.0, 3.0], requires_grad=True)
        loss = (x.as_subclass(kept) * 2).pow(2).sum()
        loss.backward()
        layer = t.nn.Linear(3, 2)
        out = layer(x.detach().as_subclass(kept))
        out.sum().backward()
        own = type('Own', (t.nn.Parameter,), {})(t.ones(2))
        module = t.nn.Module()
        module.own = own
        return kinds(loss), x.grad, kinds(out), kinds(layer.weight.grad), kinds(own + 1), kinds(own), [name for name, _ in module.named_parameters()]
    same(torch, run)


def test_a_subclass_is_copied_and_pickled_with_its_attributes():
    x = tenon.ones(2).as_subclass(Kept)
    x.label = 'a'
    for made in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert type(made) is Kept and made.label == 'a' and made.tolist() == [1, 1]
    assert type(ours.Tensor.__new__(Kept, x)) is Kept and type(x.as_subclass(ours.Tensor)) is ours.Tensor


def test_scopes_without_types():
    x = ours.ones(2).as_subclass(Kept)
    with ours.overrides.DisableTorchFunctionSubclass():
        assert type(x + 1) is ours.Tensor
    assert type(x + 1) is Kept
    with pytest.raises(TypeError, match='_make_subclass'):
        ours.Tensor._make_subclass(int, x)


def test_each_overridable_function_is_taken_over():
    class Duck:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func, types

    found = ours.overrides.get_overridable_functions()
    assert ours.add in found[ours] and ours.nn.functional.relu in found[ours.nn.functional] and ours.Tensor.add in found[ours.Tensor]
    overrides, refused = ours.overrides.get_testing_overrides(), []
    assert len(overrides) > 400 and set(overrides) == {each for space, all_of in found.items() if space is not ours.Tensor for each in all_of}
    for function, stand_in in overrides.items():
        parameters = list(inspect.signature(stand_in).parameters.values())
        needed = [p for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
        args = [Duck() for p in needed if p.kind is not p.KEYWORD_ONLY]
        if parameters[0].name in ('tensors', 'xs', 'seq') and parameters[0].kind is not inspect.Parameter.VAR_POSITIONAL:
            args[0] = [Duck()]
        named = {p.name: Duck() for p in needed if p.kind is p.KEYWORD_ONLY}
        assert stand_in(*args, **named) == -1
        try:
            if function(*args, **named)[1] != (Duck,):
                refused.append(function)
        except (TypeError, RuntimeError, ValueError) as error:
            refused.append((function, error))
    assert not refused
    ignored = ours.overrides.get_ignored_functions()
    assert ours.is_tensor in ignored and ours.zeros in ignored and not ignored & set(overrides)


def test_stand_ins_have_the_arguments_of_pytorchs(torch):
    theirs, mine = (t.overrides.get_testing_overrides() for t in (torch, ours))
    for name in ('add', 'sum', 'matmul', 'cat', 'softmax', 'clamp'):
        assert theirs[getattr(torch, name)](*[0] * 2) == mine[getattr(ours, name)](*[0] * 2) == -1
    with pytest.raises(TypeError):
        mine[ours.add]()
    for t in (torch, ours):
        assert t.is_tensor in t.overrides.get_ignored_functions() and t.add in t.overrides.get_overridable_functions()[t]
