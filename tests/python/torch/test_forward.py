"""Forward mode: torch.autograd.forward_ad, torch.func.jvp and jacfwd."""
import warnings

import numpy as np
import pytest
import tenon
import tenon.torch as ours
from tenon import _forward
from tenon._forward.level import by_two_backward_passes
from tenon.torch.autograd import forward_ad
from tenon.torch.func import grad, hessian, jacfwd, jacrev, jvp, vmap

# Ops whose tangents come from two backward passes over the op alone; all others that have gradients have a rule.
WITHOUT_RULE = set("""
    prod prod_backward nansum norm cumprod cumprod_backward scaled_matmul dropout grid_sample grid_sample_backward attention attention_backward lstm lstm_backward layer_norm
    layer_norm_backward rms_norm rms_norm_backward group_norm group_norm_backward batch_norm batch_norm_backward cross_entropy mse_loss
    l1_loss smooth_l1_loss huber_loss bce_loss bce_with_logits_loss kl_div_loss scatter_reduce embedding_bag softmax_backward log_softmax_backward linear_int4
    softmax_cross_entropy_backward ctc_loss ctc_loss_backward attention_packed attention_packed_backward add_layer_norm
    add_layer_norm_backward linear_backward_weight
    dequantize_int4 linear_int8 dequantize_int8""".split())


def test_ops_without_a_rule_are_named():
    from tenon._core import ops
    has_no_tangents = set("""
        isnan isinf isfinite signbit logical_not bitwise_not bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift equal
        not_equal less less_equal greater greater_equal logical_and logical_or logical_xor full full_like arange linspace eye uniform normal
        randint randperm dropout_mask any all count_nonzero argmin argmax argsort searchsorted unique nonzero one_hot sgd_step adam_step
        adam_step_counted rmsprop_step adagrad_step multi_norm multi_scale quantize_int4 quantize_int8
        linear_w8a8 linear_integer""".split())
    assert set(ops) - set(_forward.RULES) - has_no_tangents == WITHOUT_RULE


@pytest.mark.parametrize('part', range(4))
def test_tangents_match_pytorchs(torch, part):
    """Two samples of each entry of op_db and dtype."""
    import forward
    judge = forward.Tangents(2)
    entries = list(judge.entries_of(()))
    failed = {}
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        for name, entry in entries[part::4]:
            agree, calls, first = judge.judge(entry)
            if agree != calls:
                failed[name] = first
    assert len(entries) > 450 and failed == {}


def test_levels_nest():
    with forward_ad.dual_level() as outer:
        x = forward_ad.make_dual(ours.tensor(3.0), ours.tensor(1.0))
        with forward_ad.dual_level():
            y = forward_ad.make_dual(x, ours.tensor(1.0))
            first = forward_ad.unpack_dual(y * y * y).tangent
        assert first.item() == 27.0
        assert forward_ad.unpack_dual(first, level=outer).tangent.item() == 18.0
    assert forward_ad.unpack_dual(first).tangent is None


def test_dual_tensors_follow_pytorchs_rules(torch):
    for library in (torch, ours):
        fw = library.autograd.forward_ad
        x, v = library.ones(2), library.arange(2.0)
        with pytest.raises(RuntimeError, match='level'):
            fw.make_dual(x, v)
        with fw.dual_level():
            with pytest.raises(ValueError, match='floating'):
                fw.make_dual(library.ones(2, dtype=library.int64), v)
            with pytest.raises(RuntimeError):
                fw.make_dual(x, library.ones(3))
            assert fw.unpack_dual(x).tangent is None
            dual = fw.make_dual(x, v)
            assert fw.unpack_dual(dual).primal.tolist() == [1.0, 1.0] and fw.unpack_dual(dual).tangent.tolist() == [0.0, 1.0]
            assert fw.unpack_dual(dual.detach() * 2).tangent is None
            with library.no_grad():
                assert fw.unpack_dual(dual * 2).tangent.tolist() == [0.0, 2.0]
        assert fw.unpack_dual(dual).tangent is None


def test_writes_in_place(torch):
    def run(library):
        fw = library.autograd.forward_ad
        with fw.dual_level():
            x = fw.make_dual(library.tensor([1.0, 2.0, 3.0]), library.tensor([1.0, 10.0, 100.0]))
            y = x.exp()
            y *= x
            row = y[1:]
            row.mul_(2)
            y[0] = 5.0
            z = library.zeros(3)
            z[1] = x[2] * 2
            z[2:] = x[:1]
            w = library.zeros(3)
            w.copy_(x).add_(1)
            return [list(map(library.Tensor.tolist, fw.unpack_dual(each))) for each in (y, row, z, w)]
    for mine, theirs in zip(run(ours), run(torch), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5)


MODULES = {
    'perceptron': lambda nn: nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.LayerNorm(5), nn.Linear(5, 3)),
    'convolution': lambda nn: nn.Sequential(nn.Unflatten(1, (1, 2, 2)), nn.Conv2d(1, 3, 2, padding=1), nn.BatchNorm2d(3), nn.ReLU(),
                                            nn.MaxPool2d(2), nn.Flatten(), nn.Softmax(1)),
    'recurrent': lambda nn: nn.Sequential(nn.Unflatten(1, (2, 2)), nn.LSTM(2, 3, batch_first=True)),
    'attention': lambda nn: nn.Sequential(nn.Unflatten(1, (2, 2)), nn.TransformerEncoderLayer(2, 1, 4, 0.0, batch_first=True)),
}


@pytest.mark.parametrize('name', MODULES)
def test_modules_beside_reverse_mode(name):
    ours.manual_seed(0)
    net = MODULES[name](ours.nn).double()

    def f(x):
        y = net(x)
        return y[0] if isinstance(y, tuple) else y
    x = ours.randn(3, 4, dtype=ours.float64)
    assert ours.allclose(jacfwd(f)(x), jacrev(f)(x))
    v = ours.randn(3, 4, dtype=ours.float64)
    assert ours.allclose(jvp(f, (x,), (v,))[1], (jacrev(f)(x) * v).sum((-2, -1)))


@pytest.mark.parametrize('name', ['perceptron', 'attention'])
def test_forward_over_reverse(name):
    ours.manual_seed(1)
    net = MODULES[name](ours.nn).double()

    def f(x):
        return (net(x[None]) ** 2).sum()
    x = ours.randn(4, dtype=ours.float64)
    wanted = hessian(f)(x)
    assert ours.allclose(jacfwd(jacrev(f))(x), wanted) and ours.allclose(jacfwd(grad(f))(x), wanted)
    assert ours.allclose(jacfwd(jacfwd(f))(x), wanted) and ours.allclose(jacrev(jacfwd(f))(x), wanted)
    batch = ours.stack([x, -x])
    for_each = ours.stack([hessian(f)(row) for row in batch])
    assert ours.allclose(vmap(jacfwd(grad(f)))(batch), for_each)  # by two backward passes, because forward mode does not reach that far
    assert ours.allclose(vmap(jacfwd(f))(batch), ours.stack([grad(f)(row) for row in batch]))
    assert ours.allclose(jvp(vmap(grad(f)), (batch,), (batch,))[1], ours.einsum('nij,nj->ni', for_each, batch))


def test_an_older_vmap_over_a_gradient_inside_levels_is_refused():
    def f(x):
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, ours.ones(()))
            return forward_ad.unpack_dual(grad(lambda z: z ** 3)(dual)).tangent
    with pytest.raises(RuntimeError, match='older vmap'):
        vmap(f)(ours.ones(3))


def test_reverse_over_forward_keeps_history():
    x = ours.tensor([1.0, 2.0], requires_grad=True)
    _, t = jvp(lambda x: (x ** 3).sum(), (x,), (ours.ones(2),))
    assert ours.autograd.grad(t, x)[0].tolist() == [6.0, 12.0]


def test_constants_have_no_tangents():
    value, tangent = jvp(lambda x: ours.tensor(2.0), (ours.ones(2),), (ours.ones(2),))
    assert (value.item(), tangent.item()) == (2.0, 0.0)
    with pytest.raises(RuntimeError, match='does not depend'):
        jvp(lambda x: ours.tensor(2.0), (ours.ones(2),), (ours.ones(2),), strict=True)
    assert jacfwd(lambda x: ours.ones(3))(ours.ones(2)).tolist() == [[0.0, 0.0]] * 3


class Scaled(ours.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_forward(x, w)
        ctx.save_for_backward(x, w)
        return x * w, x.sum()

    @staticmethod
    def backward(ctx, g, gs):
        x, w = ctx.saved_tensors
        return g * w + gs, g * x

    @staticmethod
    def jvp(ctx, tx, tw):
        x, w = ctx.saved_tensors
        ctx.seen = tw
        return tx * w + (0 if tw is None else x * tw), tx.sum()


class Twice(ours.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


def test_functions_with_and_without_jvp():
    x, w, v = ours.tensor([1.0, 2.0]), ours.tensor([3.0, 4.0]), ours.tensor([1.0, 10.0])
    _, (product, total) = jvp(Scaled.apply, (x, w), (v, v))
    assert product.tolist() == [4.0, 60.0] and total.item() == 11.0
    assert jvp(lambda x: Scaled.apply(x, w)[0], (x,), (v,))[1].tolist() == [3.0, 40.0]
    assert jvp(Twice.apply, (x,), (v,))[1].tolist() == [2.0, 20.0]
    assert jacfwd(lambda x: Scaled.apply(x, w)[0])(x).tolist() == [[3.0, 0.0], [0.0, 4.0]]


def test_a_bad_jvp_says_so():
    class Short(Twice):
        @staticmethod
        def jvp(ctx, t):
            return t[:1]
    with pytest.raises(RuntimeError, match=r'Short.*shape \(1,\)'):
        jvp(Short.apply, (ours.ones(2),), (ours.ones(2),))


def test_rules_agree_with_two_backward_passes():
    """The rules of formulas with conditions."""
    x = tenon.tensor([[1.0, 3.0, 3.0], [-2.0, 0.5, 4.0]], dtype=tenon.float64)
    t = tenon.tensor([[1.0, 2.0, 5.0], [0.5, -1.0, 3.0]], dtype=tenon.float64)
    with forward_ad.dual_level():
        level = forward_ad._levels()[-1]
        for name, more in {'max': ((1,), True), 'min': (None, False), 'var': ((0,), 1.0, False), 'std': (None, 0.0, True),
                           'logsumexp': ((1,), False), 'softmax': (1,), 'log_softmax': (0,), 'topk': (2, 1, True, True), 'cummax': (1,),
                           'abs': ()}.items():
            tangents = [t, *(None for _ in more)]
            mine = _forward.RULES[name](_forward.Call(name, [x, *more], tangents, level))
            theirs = by_two_backward_passes(_forward.Call(name, [x, *more], tangents, level))
            mine, theirs = (each[0] if isinstance(each, tuple) else each for each in (mine, theirs))
            assert ours.allclose(mine, theirs.reshape(mine.shape)), name
