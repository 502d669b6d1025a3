"""Training steps recorded once for batches of any size: the bits of eager steps, in weights, buffers and optimizers, at sizes that no
trace saw."""
import random

import pytest

import tenon
from tenon import optim
from tenon.graph import Dim
from tenon.nn import functional as F

from .test_graph import same
from .test_steps import SETTINGS, Characters, Pictures, Training, mlp, rates

DRAW = random.Random(5)
UNSEEN = [1, 2, *(DRAW.randint(3, 70) for _ in range(18))]


def batch(seed, kind, rows, length=6):
    tenon.manual_seed(seed)
    if kind is Characters:
        return tenon.randint((rows, length), 0, 11), tenon.randint((rows, length), 0, 5)
    return (tenon.randn(rows, 12) if kind is mlp else tenon.randn(rows, 2, 6, 6)), tenon.randint((rows,), 0, 5)


def compare(kind, optimizer, sizes, clip=None, dynamic=True, most=2):
    """Steps with batches of these sizes, eager ones compared with those of programs, of which there are at most `most`."""
    eager, other = Training(kind, optimizer, clip), Training(kind, optimizer, clip)
    step = tenon.compile(other.step, dynamic=dynamic)
    for i, size in enumerate(sizes):
        size = size if isinstance(size, tuple) else (size,)
        for training in eager, other:
            rates(training, i)
        wanted, found = (run(*batch(i, kind, *size)) for run in (eager.step, step))
        assert same(found.detach(), wanted.detach()), (i, size)
        assert eager.everything() == other.everything(), (i, size)
    assert not step._refused
    assert len({id(program) for program in step._programs.values()}) <= most
    return step


@pytest.mark.parametrize('optimizer', [SETTINGS[1], SETTINGS[5], SETTINGS[8], SETTINGS[11]])
def test_batches_of_any_size(optimizer):
    compare(mlp, optimizer, [7, 7, 5, *UNSEEN], most=3)  # one row may need a program of its own


@pytest.mark.parametrize('clip', [None, lambda p: optim.clip_grad_norm_(p, 0.3)])
def test_convolutions_with_norms_and_dropout(clip):
    compare(Pictures, SETTINGS[5], [7, 7, 5, *UNSEEN[1:9]], clip)


def test_a_gpt_with_any_batch_size_and_length():
    sizes = [(3, 5), (3, 5), (4, 6), *((DRAW.randint(2, 9), DRAW.randint(2, 6)) for _ in range(20))]
    declared = {0: {0: 'batch', 1: Dim('length', 2, 6)}, 1: {0: 'batch', 1: Dim('length', 2, 6)}}
    compare(Characters, SETTINGS[5], sizes, dynamic=declared, most=1)


def step_of(training):
    return lambda x, y: training.step(x, y)


def test_a_traced_step_in_a_file(tmp_path):
    trained, twin = Training(mlp, SETTINGS[5]), Training(mlp, SETTINGS[5])
    for training in trained, twin:
        training.step(*batch(0, mlp, 4))
    rows = {0: Dim('rows', 2)}
    program = tenon.graph.trace(step_of(trained), *batch(0, mlp, 4), training=True, dynamic={0: rows, 1: rows})
    assert program.dims == [Dim('rows', 2)]
    assert trained.everything() == twin.everything()  # a trace does not train
    program.save(tmp_path / 'step')
    loaded = tenon.graph.load(tmp_path / 'step')
    assert str(loaded) == str(program)
    for i, size in enumerate(UNSEEN[1:8]):
        given = batch(i, mlp, size)
        wanted = twin.step(*given).detach()
        assert same(program(*given), wanted) and same(loaded(*given), wanted), size  # step counts increase in both
    assert trained.everything() == twin.everything()


def test_a_step_that_branches_on_a_size_is_recorded_for_each():
    training = Training(mlp, SETTINGS[1])
    plain = training.step
    training.step = lambda x, y: plain(x * 2 if x.shape[0] > 20 else x, y)
    with pytest.raises(tenon.PreconditionError, match='rows = '):
        training.step(*batch(0, mlp, 4))
        tenon.graph.trace(step_of(training), *batch(0, mlp, 4), training=True, dynamic={0: {0: 'rows'}, 1: {0: 'rows'}})
    step = tenon.compile(training.step, dynamic=True)
    for i, size in enumerate([4, 4, 30, 5, 30, 4]):
        x, y = batch(i, mlp, size)
        assert F.cross_entropy(training.net(x * 2 if size > 20 else x), y).item() == step(x, y).item()
    assert not step._refused
