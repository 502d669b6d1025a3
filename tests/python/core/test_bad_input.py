"""Whatever a function of the extension is given, the answer is a result or one of four kinds of error, and the process survives."""
import random

import pytest

import tenon
from tenon import _core

ALLOWED = (TypeError, ValueError, IndexError, tenon.Error)
PRIVATE = ('_anomaly_scopes', '_restore_modes', '_set_modes', '_fallback', '_placement', '_push_saved_hooks')  # they accept anything


class Hostile:
    """Pretends to be a number, and raises."""

    def __index__(self):
        raise ValueError('no index')

    def __float__(self):
        raise ValueError('no float')


def things():
    return [None, True, 0, -1, 3, 2 ** 63, 2 ** 70, 1.5, float('nan'), 'x', b'x', '\ud800', '', [], [1], (1, 2), [[]], {}, object(),
            tenon.ones(2, 3), tenon.zeros(0), tenon.tensor(1), tenon.tensor([True, False]), tenon.ones(2, dtype='float16'),
            tenon.tensor([1j]), tenon.ones(2, requires_grad=True), tenon.float32, tenon.device('cpu'), tenon.Generator(1), len,
            tenon.add, 1j, range(3), slice(None), ..., [None], [tenon.ones(2)], memoryview(b'abc'), type, Hostile()]


def attack(function, name, rounds, most):
    candidates, draw = things(), random.Random(name)
    for _ in range(rounds):
        args = [draw.choice(candidates) for _ in range(draw.randint(0, most))]
        try:
            function(*args)
        except ALLOWED:
            pass


@pytest.mark.parametrize('name', sorted(_core.ops))
def test_ops(name):
    op = _core.ops[name]
    attack(op, name, 40, len(op.parameters) + 1)


@pytest.mark.parametrize('name', sorted(name for name in dir(tenon.Tensor) if name not in (
    '__class__', '__init_subclass__', '__subclasshook__', '__dir__', '__delattr__', '__setattr__', '__getattribute__', '__getstate__')))
def test_methods(name):
    if callable(getattr(tenon.Tensor, name, None)):
        attack(lambda *args: getattr(tenon.ones(2, 2), name)(*args), name, 30, 3)


@pytest.mark.parametrize('name', sorted(
    name for name in dir(_core) if callable(getattr(_core, name)) and not isinstance(getattr(_core, name), type) and name not in PRIVATE))
def test_functions_of_the_extension(name):
    attack(getattr(_core, name), name, 60, 4)


def test_a_list_that_contains_itself():
    import tenon.torch
    endless = []
    endless.append(endless)
    for make in tenon.tensor, tenon.asarray, tenon.torch.tensor, tenon.torch.as_tensor:
        with pytest.raises(tenon.InvalidArgumentError, match='nested deeper'):
            make(endless)


def test_a_dtype_that_cannot_be_shown():
    nested = []
    for _ in range(5000):
        nested = [nested]
    with pytest.raises(TypeError, match='not a dtype: a list'):
        _core.as_dtype(nested)


@pytest.mark.filterwarnings('ignore:nanobind')
def test_objects_that_were_never_initialised():
    dtype, device, generator = (kind.__new__(kind) for kind in (tenon.dtype, tenon.Device, tenon.Generator))
    for call in (lambda: tenon.zeros(2, dtype=dtype), lambda: tenon.zeros(2, device=device), lambda: tenon.ones(2).to(device),
                 lambda: tenon.ones(2).to(dtype), lambda: tenon.rand(2, generator=generator)):
        with pytest.raises(TypeError):
            call()
