"""Generators of random numbers."""
import copy
import pathlib
import pickle
import sys

import pytest

import tenon
import tenon.torch as ours

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from scenarios import same, same_error


def facts(t):
    """What does not depend on the numbers that a library draws."""
    g = t.Generator()
    state, first = g.get_state(), t.rand(3, generator=g)
    g.set_state(state)
    other = pickle.loads(pickle.dumps(g))
    return (isinstance(g, t.Generator), isinstance(t.default_generator, t.Generator), isinstance(t.manual_seed(1), t.Generator), str(g.device), (t.Generator | None) is not None,
            g.manual_seed(5) is g, g.initial_seed(), str(state.dtype), state.ndim, t.equal(t.rand(3, generator=other), first), g.seed() == g.initial_seed(),
            t.default_generator.manual_seed(7).initial_seed(), t.initial_seed(), t.equal(t.get_rng_state(), t.default_generator.get_state()),
            str(t.Generator('cpu').device), str(t.Generator(device=t.device('cpu')).device))


def test_generators(torch):
    same(torch, facts)


def test_the_default_generator_is_the_one_of_tenon():
    ours.default_generator.manual_seed(11)
    first = tenon.uniform((3,)).tolist()
    state = ours.default_generator.get_state()
    second = ours.rand(3).tolist()
    ours.default_generator.set_state(state)
    assert tenon.default_generator().initial_seed() == 11 and ours.rand(3).tolist() == second != first


def test_copies_draw_the_same_and_are_independent():
    g = ours.Generator().manual_seed(3)
    ours.rand(5, generator=g)
    first, second = copy.deepcopy(g), g.clone_state()
    assert ours.randn(4, generator=first).tolist() == ours.randn(4, generator=second).tolist() == ours.randn(4, generator=g).tolist()
    assert ours.multinomial(ours.ones(9), 4, generator=first).tolist() == ours.multinomial(ours.ones(9), 4, generator=g).tolist()


@pytest.mark.parametrize('call', [lambda t: t.Generator().set_state(t.zeros(3)), lambda t: t.Generator().set_state(t.zeros(3).byte()), lambda t: t.rand(2, generator=3),
                                  lambda t: t.Generator().manual_seed(2**65)])
def test_wrong_calls(torch, call):
    same_error(torch, call)
