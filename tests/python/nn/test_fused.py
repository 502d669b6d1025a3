"""Ops that combine several steps, compared with these steps: attention of packed operands, the norm of a sum."""
import numpy as np
import pytest

import tenon
from tenon.nn import functional as F
from tenon.testing import assert_close

RNG = np.random.default_rng(23)


def leaf(*shape):
    return tenon.asarray(RNG.standard_normal(shape)).requires_grad_()


def unpacked(qkv, causal, mask):
    q, k, v = qkv.permute(2, 0, 3, 1, 4)
    return F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal).permute(0, 2, 1, 3)


def gradients(function, inputs, weights):
    """Of the sum of the results, each element with a weight; and those of the sum of their squares, which are second ones."""
    results = function(*inputs)
    loss = sum((y * w).sum() for y, w in zip(results, weights))
    first = tenon.autograd.grad(loss, inputs, create_graph=True)
    return results, first, tenon.autograd.grad(sum((g * g).sum() for g in first), inputs)


def check(fused, plain, inputs):
    weights = [tenon.asarray(RNG.standard_normal(y.shape)) for y in plain(*inputs)]
    for mine, theirs in zip(gradients(fused, inputs, weights), gradients(plain, inputs, weights)):
        for a, b in zip(mine, theirs):
            assert_close(a, b, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize('causal', [False, True])
@pytest.mark.parametrize('masked', [False, True])
def test_attention_packed(causal, masked):
    inputs = [leaf(2, 5, 3, 2, 4)] + ([leaf(5, 5)] if masked else [])
    check(lambda qkv, mask=None: [F.attention_packed(qkv, mask, causal)], lambda qkv, mask=None: [unpacked(qkv, causal, mask)], inputs)


def test_attention_packed_gives_the_gradient_of_its_statistic():
    def plain(qkv):
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        found = tenon.attention(q, k, v, None, True, 0.3)
        return [found.y.permute(0, 2, 1, 3), found.lse]
    check(lambda qkv: list(tenon.attention_packed(qkv, None, True, 0.3)), plain, [leaf(2, 4, 3, 3, 2)])


@pytest.mark.parametrize('affine', [False, True])
def test_add_layer_norm(affine):
    def plain(x, residual, *parameters):
        total = x + residual
        return [F.layer_norm(total, 6, *parameters), total]
    inputs = [leaf(3, 4, 6), leaf(3, 4, 6)] + ([leaf(6), leaf(6)] if affine else [])
    check(lambda x, residual, *parameters: list(F.add_layer_norm(x, residual, 6, *parameters)), plain, inputs)


def test_add_layer_norm_passes_on_what_arrives_at_the_sum_alone():
    x, residual = leaf(2, 3), leaf(2, 3)
    _, total = F.add_layer_norm(x, residual, 3)
    (total * 2).sum().backward()
    assert x.grad.tolist() == residual.grad.tolist() == [[2.0] * 3] * 2


def test_statistics_have_gradients():
    def plain(x, residual):
        found = tenon.layer_norm(x + residual, (4,))
        return [found.mean, found.rstd]
    check(lambda x, residual: [tenon.add_layer_norm(x, residual, (4,))[i] for i in (2, 3)], plain, [leaf(3, 4), leaf(3, 4)])


@pytest.mark.parametrize('shapes', [((4, 3), (4, 5)), ((2, 4, 3), (2, 4, 5)), ((3,), (5,))])
def test_gradients_of_a_weight_and_bias(shapes):
    g, x = (leaf(*shape) for shape in shapes)

    def plain(g, x):
        rows = g.reshape(-1, 3)
        return [rows.T @ x.reshape(-1, 5), rows.sum(0)]
    check(lambda g, x: list(tenon.linear_backward_weight(g, x)), plain, [g, x])


def each(function, batches, shared):
    """The result of vmap for some arguments with a batch dimension and others without, compared with a loop over the batch."""
    found = tenon.vmap(lambda *own: function(*own, *shared))(*batches)
    for i in range(3):
        alone = function(*(x[i] for x in batches), *shared)
        for a, b in zip(*((y if isinstance(y, tuple) else (y,)) for y in (found, alone))):
            assert_close(a[i], b, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize('mask', [None, tenon.asarray(RNG.standard_normal((2, 1, 4, 4)))])
def test_packed_attention_of_batches(mask):
    qkv = tenon.asarray(RNG.standard_normal((3, 2, 4, 3, 2, 5)))
    each(lambda x: tuple(tenon.attention_packed(x, mask, True)), [qkv], [])
    y, lse = tenon.vmap(lambda x: tuple(tenon.attention_packed(x, mask, True)))(qkv)
    each(lambda *own: tenon.attention_packed_backward(*own, None, mask, True, None), [y * 0.5 + 1, qkv, y, lse], [])


def test_norms_of_sums_of_batches():
    x, residual, gsum = (tenon.asarray(RNG.standard_normal((3, 2, 5))) for _ in range(3))
    weight = tenon.asarray(RNG.standard_normal((3, 5)))
    each(lambda a, b, w: tuple(tenon.add_layer_norm(a, b, (5,), w)), [x, residual, weight], [])
    each(lambda a: tuple(tenon.add_layer_norm(a, residual[0], (5,), weight[0])), [x], [])
    _, total, mean, rstd = tenon.add_layer_norm(x, residual, (5,))
    each(lambda g, a, t, m, r, w: tuple(tenon.add_layer_norm_backward(g, a, t, m, r, w, (5,))), [x, gsum, total, mean, rstd, weight], [])
    each(lambda g, t, m, r: tuple(tenon.add_layer_norm_backward(g, None, t, m, r, None, (5,))), [x, total, mean, rstd], [])
    each(lambda g, a: tuple(tenon.linear_backward_weight(g, a)), [x, residual], [])


@pytest.mark.parametrize(('call', 'words'), [
    (lambda: tenon.attention_packed(tenon.ones(1, 2, 2, 1, 4)), 'is not (B, L, 3, H, E)'),
    (lambda: tenon.attention_packed(tenon.ones(1, 2, 3, 4)), 'rank'),
    (lambda: tenon.attention_packed(tenon.ones(1, 2, 3, 1, 4), tenon.ones(3, 3)), 'do not broadcast'),
    (lambda: tenon.add_layer_norm(tenon.ones(2, 3), tenon.ones(3), (3,)), 'residual has shape (3,)'),
    (lambda: tenon.linear_backward_weight(tenon.ones(2, 3), tenon.ones(4, 3)), 'are not (…, out) and (…, in)'),
])
def test_arguments_that_do_not_fit_are_named(call, words):
    with pytest.raises((ValueError, tenon.Error)) as caught:
        call()
    assert words in str(caught.value)
