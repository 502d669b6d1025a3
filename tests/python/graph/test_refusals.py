"""Forty programs that cannot be recorded: each is refused with the op, the file and the line, and none silently."""
import math
import re

import pytest

import tenon
from tenon import nn
from tenon.graph import cond, loop, scan

OUTSIDE, WEIGHT, OWN = tenon.zeros(3, 2), tenon.ones(3, 2), tenon.Generator()
NORM = nn.BatchNorm1d(2)
DIM = {0: {0: 'rows'}}


def returns_early(x):
    for row in x:
        if row.sum() > 0:
            return row
    return x[0]


def counts(x):
    n = 0
    while (x.abs().amax() > 1):
        x, n = x / 2, n + 1
    return x * n


def writes_through_a_view(x):
    WEIGHT.narrow(0, 0, 1).copy_(x[:1])
    return x


# A function, and what its error names: an op, or the input that is read.
ELEMENTS = [
    (lambda x: x.sum().item(), 'sum'), (lambda x: float(x.mean()), 'mean'), (lambda x: int(x.argmax()), 'argmax'),
    (lambda x: bool((x > 0).all()), 'all'), (lambda x: x if x.sum() > 0 else -x, 'greater'), (lambda x: x.exp().tolist(), 'exp'),
    (lambda x: print(x.sin()), 'sin'), (lambda x: str(x.cos()), 'cos'), (lambda x: repr(x + 1), 'add'), (lambda x: f'{x.sum()}', 'sum'),
    (lambda x: x[int(x[0, 0])], 'input0'), (lambda x: x[: int(x.sum())], 'sum'), (lambda x: x.reshape(int(x.numel() + x.sum() * 0), 1), 'add'),
    (lambda x: list(range(int(x.amax()))), 'max'), (lambda x: math.sqrt(x.var()), 'var'), (lambda x: x * max(0.0, x.amin().item()), 'min'),
    (lambda x: x and 1 if x.sum() else 2, 'sum'), (lambda x: not x.any(), 'any'), (lambda x: complex(x.prod()), 'prod'),
    (lambda x: {x.sum().item(): 1}, 'sum'), (lambda x: sorted(x.flatten().tolist()), 'input0'), (returns_early, 'greater'), (counts, 'greater'),
    (lambda x: tenon.full((2,), x.norm().item()), 'norm'), (lambda x: x.tanh() if (x == x).all() else x, 'all'),
]
SHAPES = [
    (lambda x: tenon.nonzero(x), 'nonzero'), (lambda x: x[x > 0], 'masked_select|nonzero'), (lambda x: tenon.unique_values(x), 'unique'),
    (lambda x: tenon.unique_counts(x), 'unique'),
]
WRITES = [
    (lambda x: x.add_(1), 'add'), (lambda x: x.zero_(), 'clone'), (lambda x: OUTSIDE.copy_(x), 'clone'), (lambda x: OUTSIDE.add_(x), 'add'),
    (lambda x: (x * 2 + WEIGHT, WEIGHT.mul_(2))[0], 'mul'), (writes_through_a_view, 'clone'), (lambda x: x[0].fill_(1), 'clone'),
    (lambda x: NORM.train()(x), 'add|clone'),
]
OTHERS = [
    (lambda x: x + tenon.randn(3, 2, generator=OWN), 'generator'),
]
SIZES = [
    (lambda x: x.exp() if x.shape[0] > 100 else x.log(), 'exp'), (lambda x: x * (x.shape[0] ** 3 % 7), 'mul'),
]
PROGRAMS = [*ELEMENTS, *SHAPES, *WRITES, *OTHERS, *SIZES]


def test_there_are_forty_programs():
    assert len(PROGRAMS) == 40


@pytest.mark.parametrize('at', range(len(PROGRAMS)))
def test_refused_with_op_file_and_line(at):
    fn, op = PROGRAMS[at]
    with pytest.raises(tenon.Error) as refused:
        tenon.graph.trace(fn, tenon.ones(3, 2), dynamic=DIM if PROGRAMS[at] in SIZES else None)
    said = str(refused.value)
    assert re.search(rf'\b({op})', said), said
    assert re.search(r'test_refusals\.py:\d+', said), said


BODIES = {
    'cond': lambda fn: lambda x: cond(x.sum() > -1, lambda: fn(x), lambda: x),
    'loop': lambda fn: lambda x: loop(lambda y: y.sum() < 9, fn, x),
    'scan': lambda fn: lambda x: scan(lambda carry, row: (carry, fn(carry)), x, x),
}


@pytest.mark.parametrize('kind', BODIES)
@pytest.mark.parametrize('at', range(len(PROGRAMS) - len(SIZES)))
def test_refused_the_same_inside_bodies(at, kind):
    fn, op = PROGRAMS[at]
    with pytest.raises(tenon.Error) as refused:
        tenon.graph.trace(BODIES[kind](fn), tenon.ones(3, 2))
    said = str(refused.value)
    assert re.search(rf'\b({op.replace("input0", "(input|arg)0")})', said), said
    assert re.search(r'test_refusals\.py:\d+', said), said
