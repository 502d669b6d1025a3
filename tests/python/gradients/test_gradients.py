"""Values, gradients and gradients of gradients against PyTorch, over generated shapes, dtypes, layouts and arguments."""
import pathlib
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tenon

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from table import TABLE

TOLERANCE = {'float32': 3e-5, 'float64': 1e-11}
# By layout: the shape of the tensor from which it is taken, and how.
LAYOUTS = {
    'contiguous': (lambda shape: shape, lambda x: x),
    'transposed': (lambda shape: shape[::-1], lambda x: x.permute(tuple(range(x.ndim))[::-1])),
    'strided': (lambda shape: shape[:-1] + (2 * shape[-1],), lambda x: x[..., ::2]),
    'shifted': (lambda shape: (shape[0] + 1,) + shape[1:], lambda x: x[1:]),
    'expanded': (lambda shape: (1,) + shape[1:], None),
}


def laid(name, x, shape):
    return x.expand(shape) if name == 'expanded' else LAYOUTS[name][1](x)


def drawn_operands(op, shapes, dtype, draw):
    """For each operand the array that it is a view of, and the name of the layout."""
    rng = np.random.default_rng(draw(st.integers(0, 2 ** 32 - 1)))
    domains = op.domain if isinstance(op.domain[0], tuple) else (op.domain,) * len(shapes)
    found = []
    for shape, (low, high) in zip(shapes, domains):
        layout = draw(st.sampled_from([*LAYOUTS][:None if op.alike else -1] if shape else ['contiguous']))
        base = LAYOUTS[layout][0](shape)
        found.append((rng.uniform(low, high, base).astype(dtype), layout))
    return found


def converted(arguments, make):
    def each(value):
        if isinstance(value, np.ndarray):
            return make(value)
        return [each(v) for v in value] if isinstance(value, list) else value
    return {name: each(value) for name, value in arguments.items()}


def check(name, got, wanted, dtype, what, scale=1):
    got, wanted = got.detach().numpy(), wanted.detach().numpy(force=True)  # of a ZeroTensor, too
    assert got.shape == wanted.shape and got.dtype == wanted.dtype, f'{name}, {what}: {got.dtype}{got.shape}'
    assert np.isfinite(wanted).all(), f'{name}, {what}: the case is at a singular point'
    allowed = TOLERANCE[dtype] * scale * max(1, np.abs(wanted).max(initial=0))
    np.testing.assert_allclose(got, wanted, rtol=TOLERANCE[dtype] * scale, atol=allowed, err_msg=f'{name}, {what}')


def first_of(out):
    return out[0] if isinstance(out, tuple) else out


def gradients(out, operands, seed, grad, again):
    """The gradients of out for the operands, as far as they exist, by position."""
    found = grad(out, operands, seed, again)
    return {i: g for i, g in enumerate(found) if g is not None}


def of_mine(out, operands, seed, again):
    return tenon.autograd.grad(out, operands, seed, create_graph=again, allow_unused=True)


def of_theirs(out, operands, seed, again):
    import torch
    return torch.autograd.grad(out, operands, seed, create_graph=again, allow_unused=True)


def check_gradients(name, mine, theirs, dtype, what, scale):
    # None and zeros are the same gradient.
    for i in mine.keys() | theirs.keys():
        zero = np.zeros((), dtype)
        if i not in mine:
            assert not theirs[i].detach().numpy(force=True).any(), f'{name}, {what} {i}: no gradient'
        elif i not in theirs:
            assert not mine[i].detach().numpy().any(), f'{name}, {what} {i}: a gradient where PyTorch has none'
        else:
            check(name, mine[i], theirs[i], zero.dtype.name, f'{what} {i}', scale)


@pytest.mark.parametrize('name', TABLE)
def test_gradients(torch, name):
    op = TABLE[name]
    mine = op.mine or (lambda tenon, *xs, **arguments: tenon._core.ops[name](*xs, **arguments))
    theirs = op.theirs or (lambda torch, *xs, **arguments: (getattr(torch, name, None) or getattr(torch.nn.functional, name))(*xs, **arguments))

    @settings(max_examples=20, derandomize=True, database=None, deadline=None)
    @given(data=st.data())
    def compare(data):
        dtype = data.draw(st.sampled_from(['float32', 'float64']))
        shapes, arguments = op.draw(data.draw)
        drawn = drawn_operands(op, shapes, dtype, data.draw)
        xs = [tenon.tensor(array, requires_grad=True) for array, _ in drawn]
        ys = [torch.tensor(array, requires_grad=True) for array, _ in drawn]
        out = first_of(mine(tenon, *[laid(layout, x, shape) for x, (_, layout), shape in zip(xs, drawn, shapes)],
                            **converted(arguments, tenon.asarray)))
        wanted = first_of(theirs(torch, *[laid(layout, y, shape) for y, (_, layout), shape in zip(ys, drawn, shapes)],
                                 **converted(arguments, torch.from_numpy)))
        check(name, out, wanted, dtype, 'value')
        rng = np.random.default_rng(1)
        seed = rng.standard_normal(tuple(wanted.shape)).astype(dtype)
        again = op.second and dtype == 'float64' and wanted.requires_grad
        seeds = tenon.tensor(seed, requires_grad=again), torch.tensor(seed, requires_grad=again)
        first = gradients(out, xs, seeds[0], of_mine, again), gradients(wanted, ys, seeds[1], of_theirs, again)
        check_gradients(name, *first, dtype, 'gradient', 4)
        if again:
            check_second(torch, name, xs, ys, seeds, first, rng)
    compare()


def check_second(torch, name, xs, ys, seeds, first, rng):
    """The gradients of the gradients' sum, each weighted, for the operands and for the gradient that came in."""
    mine, theirs = first
    total, wanted = None, None
    for i in sorted(mine.keys() & theirs.keys()):
        weight = rng.standard_normal(tuple(theirs[i].shape))
        a, b = (mine[i] * tenon.tensor(weight)).sum(), (theirs[i] * torch.tensor(weight)).sum()
        total, wanted = (a, b) if total is None else (total + a, wanted + b)
    if wanted is None or not wanted.requires_grad:
        return
    # The gradient of an empty result is a constant.
    mine = gradients(total, [*xs, seeds[0]], None, of_mine, False) if total.requires_grad else {}
    check_gradients(name, mine, gradients(wanted, [*ys, seeds[1]], None, of_theirs, False), 'float64', 'second gradient', 20)
