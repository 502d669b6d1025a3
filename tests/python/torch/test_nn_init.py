"""nn.init beside PyTorch: signatures, what is not random, the moments and bounds of what is, errors."""
import inspect
import math
import pathlib
import sys

import pytest

import tenon.torch

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from scenarios import same, same_error

init = tenon.torch.nn.init


def test_functions_take_pytorchs_arguments(torch):
    functions = {name: value for name, value in vars(torch.nn.init).items() if name[0] != '_' and inspect.isfunction(value)}
    assert len(functions) > 25
    for name, value in functions.items():
        assert hasattr(init, name), name
        if name[-1] == '_' or name == 'calculate_gain':
            ours, theirs = ([(p.name, p.default) for p in inspect.signature(f).parameters.values()] for f in (getattr(init, name), value))
            assert ours == theirs, name


EXACT = {
    'zeros_': lambda i, x: i.zeros_(x), 'ones_': lambda i, x: i.ones_(x), 'constant_': lambda i, x: i.constant_(x, 0.3),
    'eye_': lambda i, x: i.eye_(x), 'gain': lambda i, x: [float(i.calculate_gain(name)) for name in ('linear', 'conv2d', 'conv_transpose3d', 'sigmoid', 'tanh', 'relu',
                                                                                                'leaky_relu', 'selu')],
    'gain of a slope': lambda i, x: i.calculate_gain('leaky_relu', 0.3),
}


@pytest.mark.parametrize('name', EXACT)
def test_initialisers_without_randomness(torch, name):
    same(torch, lambda t: EXACT[name](t.nn.init, t.full((4, 3), 7.0)))


@pytest.mark.parametrize('shape', [(4, 2, 3), (6, 4, 3, 2), (3, 5, 2, 3, 4)])
@pytest.mark.parametrize('groups', [1, 2, 3])
def test_dirac(torch, shape, groups):
    if shape[0] % groups:
        return same_error(torch, lambda t: t.nn.init.dirac_(t.ones(shape), groups))
    return same(torch, lambda t: t.nn.init.dirac_(t.full(shape, 7.0), groups))


# (name, arguments, shape): variance by the paper's formula, and the bound of the values
RANDOM = [
    ('uniform_', (-1.0, 3.0), (300, 200), 16 / 12, 3.0), ('normal_', (1.0, 0.5), (300, 200), 0.25, math.inf),
    ('xavier_uniform_', (2.0,), (300, 200), 4 * 2 / 500, 2 * math.sqrt(6 / 500)), ('xavier_normal_', (2.0,), (300, 20, 10), 4 * 2 / 3200, math.inf),
    ('kaiming_uniform_', (0.3,), (300, 200), 2 / (1.09 * 200), math.sqrt(6 / (1.09 * 200))),
    ('kaiming_normal_', (0, 'fan_out', 'relu'), (300, 200), 2 / 300, math.inf), ('trunc_normal_', (0.0, 1.0, -1.0, 1.0), (300, 200), 0.2911, 1.0),
    ('trunc_normal_', (), (300, 200), 0.7737, 2.0),
]


@pytest.mark.parametrize(('name', 'given', 'shape', 'variance', 'bound'), RANDOM)
def test_moments_and_bounds(name, given, shape, variance, bound):
    t = tenon.torch
    t.manual_seed(3)
    x = getattr(init, name)(t.zeros(shape), *given)
    assert abs(t.var(x).item() / variance - 1) < 0.03
    assert t.max(t.abs(x)).item() <= bound


def test_a_generator_repeats():
    t = tenon.torch
    for name in ('uniform_', 'normal_', 'trunc_normal_', 'xavier_uniform_', 'xavier_normal_', 'kaiming_uniform_', 'kaiming_normal_', 'orthogonal_'):
        made = [getattr(init, name)(t.zeros(3, 4), generator=t.Generator().manual_seed(5)).tolist() for _ in range(2)]
        assert made[0] == made[1], name
    assert init.sparse_(t.zeros(3, 4), 0.5, generator=t.Generator().manual_seed(5)).tolist() == init.sparse_(
        t.zeros(3, 4), 0.5, generator=t.Generator().manual_seed(5)).tolist()


@pytest.mark.parametrize('shape', [(4, 4), (3, 5), (5, 3), (4, 2, 3)])
def test_orthogonal(shape):
    t = tenon.torch
    x = t.reshape(init.orthogonal_(t.zeros(shape), gain=2.0), (shape[0], -1))
    x = x if x.shape[0] <= x.shape[1] else t.transpose(x, 0, 1)
    assert t.allclose(t.matmul(x, t.transpose(x, 0, 1)), 4 * t.eye(x.shape[0]), atol=1e-5)


def test_sparse():
    t = tenon.torch
    x = init.sparse_(t.zeros(10, 7), 0.25)
    assert [sum(value == 0 for value in column) for column in t.transpose(x, 0, 1).tolist()] == [3] * 7


def test_parameters_stay_parameters():
    x = tenon.torch.nn.Parameter(tenon.torch.zeros(3, 3))
    for name in ('eye_', 'orthogonal_', 'zeros_', 'trunc_normal_', 'xavier_uniform_'):
        assert getattr(init, name)(x) is x and x.is_leaf and x.requires_grad


def test_older_names_warn(torch):
    x = tenon.torch.zeros(3, 3)
    with pytest.warns(FutureWarning, match='older name of xavier_uniform_'):
        assert init.xavier_uniform(x) is x


ERRORS = {
    'eye of rank 3': lambda t: t.nn.init.eye_(t.ones(1, 2, 3)), 'dirac of rank 2': lambda t: t.nn.init.dirac_(t.ones(2, 3)),
    'sparse of rank 1': lambda t: t.nn.init.sparse_(t.ones(3), 0.1), 'orthogonal of rank 1': lambda t: t.nn.init.orthogonal_(t.ones(3)),
    'fans of rank 1': lambda t: t.nn.init.xavier_normal_(t.ones(3)), 'mode': lambda t: t.nn.init.kaiming_normal_(t.ones(3, 3), mode='fan'),
    'gain': lambda t: t.nn.init.calculate_gain('odd'),
}


@pytest.mark.parametrize('name', ERRORS)
def test_errors(torch, name):
    same_error(torch, ERRORS[name])
