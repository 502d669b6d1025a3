"""Sobol sequences are PyTorch's, number for number; scrambled ones are where the random bits are."""
import numpy as np
import pytest

import tenon.torch as ours


@pytest.mark.parametrize('dimension', [1, 2, 3, 7, 40, 1111])
def test_points_are_pytorchs(torch, dimension):
    def run(t):
        engine = t.quasirandom.SobolEngine(dimension)
        parts = [engine.draw(1), engine.draw(5), engine.draw_base2(1), engine.fast_forward(90).draw(3, dtype=t.float64), engine.reset().draw(257)]
        assert engine.num_generated == 257 and tuple(engine.quasi.shape) == (dimension,)
        return [part.double().numpy() for part in parts], engine.sobolstate.numpy(), engine.quasi.numpy(), repr(engine)
    (mine, state, last, text), (theirs, their_state, their_last, their_text) = run(ours), run(torch)
    assert all((a == b).all() for a, b in zip(mine, theirs)) and (state == their_state).all() and (last == their_last).all() and text == their_text


def test_scrambled_points_are_pytorchs_of_the_same_bits(torch, monkeypatch):
    def bits(t):
        drawn = np.random.RandomState(0)
        return lambda high, size, device=None, generator=None: t.from_numpy(drawn.randint(0, high, size))
    monkeypatch.setattr(torch, 'randint', bits(torch))
    monkeypatch.setattr('tenon.torch.quasirandom.randint', bits(ours))
    found = [t.quasirandom.SobolEngine(12, scramble=True, seed=3).draw(100).numpy() for t in (ours, torch)]
    assert (found[0] == found[1]).all() and found[0][0].any()


def test_a_seed_repeats_scrambled_points_which_fill_the_cube():
    engines = [ours.quasirandom.SobolEngine(5, scramble=True, seed=seed) for seed in (7, 7, 8)]
    a, b, c = [engine.draw(512) for engine in engines]
    assert ours.equal(a, b) and not ours.equal(a, c) and repr(engines[0]) == 'SobolEngine(dimension=5, scramble=True, seed=7)'
    assert a.min() >= 0 and a.max() < 1 and ((a * 512).long().sort(0).values == ours.arange(512).unsqueeze(1)).all()  # one point in each interval
    out = ours.empty(4, 5)
    assert engines[0].reset().draw(4, out=out) is out and ours.equal(out, a[:4])


def test_wrong_calls():
    for call in (lambda: ours.quasirandom.SobolEngine(0), lambda: ours.quasirandom.SobolEngine(1112), lambda: ours.quasirandom.SobolEngine(2).draw(0)):
        with pytest.raises(ValueError, match='must be'):
            call()
    engine = ours.quasirandom.SobolEngine(2)
    engine.draw(3)
    with pytest.raises(ValueError, match='power of 2'):
        engine.draw_base2(2)
