"""ctc_loss compared with PyTorch's: values and gradients, its arguments, labels without an alignment, and errors."""
import itertools

import numpy as np
import pytest

import tenon
import tenon.torch as ours

STEPS, BATCH, CLASSES = 12, 3, 5


def logits(t, *shape, dtype='float64'):
    x = np.random.default_rng(7).standard_normal(shape or (STEPS, BATCH, CLASSES)).astype(dtype)
    return t.tensor(x).requires_grad_()


def outcome(t, x, targets, lengths, **options):
    """Loss, and the gradients of its logits and of log_probs."""
    log_probs = x.log_softmax(-1)
    log_probs.retain_grad()
    loss = t.nn.functional.ctc_loss(log_probs, targets(t), *lengths(t), **options)
    loss.sum().backward()
    return [np.asarray(each.detach()) for each in (loss, x.grad, log_probs.grad)]


def same(torch, make, targets, lengths, **options):
    for mine, theirs in zip(*(outcome(t, make(t), targets, lengths, **options) for t in (ours, torch)), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)


def padded(t):
    return t.tensor([[1, 2, 2, 3], [4, 4, 4, -1], [1, -1, -1, -1]])


def joined(t):
    return t.tensor([1, 2, 2, 3, 4, 4, 4, 1])


def lengths(t):
    return t.tensor([12, 9, 5]), t.tensor([4, 3, 1])


@pytest.mark.parametrize('targets', [padded, joined])
@pytest.mark.parametrize('reduction', ['none', 'sum', 'mean'])
def test_beside_pytorch(torch, targets, reduction):
    same(torch, logits, targets, lengths, reduction=reduction)
    same(torch, logits, targets, lambda t: ((12, 9, 5), (4, 3, 1)), reduction=reduction)


@pytest.mark.parametrize('blank', [1, 4])
def test_blanks(torch, blank):
    same(torch, logits, lambda t: t.tensor([[0, 2, 2], [3, 0, 3], [2, 2, 2]]), lambda t: ((12, 7, 6), (3, 3, 2)), blank=blank)


def test_one_sample(torch):
    same(torch, lambda t: logits(t, 9, 6), lambda t: t.tensor([3, 3, 5]), lambda t: (t.tensor(9), t.tensor(3)))


def test_no_alignment(torch):
    """Four labels in three steps: infinity, or 0, without a gradient."""
    def short(t):
        return t.tensor([12, 3, 5]), t.tensor([4, 4, 1])
    labels = np.array([[1, 2, 2, 3], [4, 4, 4, 1], [1, 1, 1, 1]])
    same(torch, logits, lambda t: t.tensor(labels), short, reduction='none', zero_infinity=True)
    loss, gradient, _ = outcome(ours, logits(ours), lambda t: t.tensor(labels), short, reduction='none')
    assert np.isinf(loss).tolist() == [False, True, False]
    assert not gradient[:, 1].any() and np.isfinite(gradient).all()


def test_by_the_definition():
    """The sum over all label sequences that collapse to the labels; its gradient by differences of ctc_loss."""
    x, labels = np.random.default_rng(3).uniform(-2, 0, (5, 1, 3)), [1, 1]

    def probability(x):
        def collapsed(path):
            return [k for k, _ in itertools.groupby(path) if k != 0]
        return sum(np.exp(sum(x[t, 0, k] for t, k in enumerate(path))) for path in itertools.product(range(3), repeat=5) if collapsed(path) == labels)
    given = tenon.tensor(x, requires_grad=True)
    loss = tenon.ctc_loss(given, tenon.tensor([labels]), tenon.tensor([5]), tenon.tensor([2]))
    loss.sum().backward()
    np.testing.assert_allclose(loss.item(), -np.log(probability(x)), rtol=1e-12)
    for at in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[at] = 1e-5
        slope = (np.log(probability(x - step)) - np.log(probability(x + step))) / 2e-5
        np.testing.assert_allclose(given.grad[at].item(), slope, atol=1e-9)


def test_impossible_steps_and_nan():
    with np.errstate(divide='ignore'):
        certain = ours.tensor(np.log([[[0.5, 0.5, 0.0]], [[0.0, 1.0, 0.0]]])).requires_grad_()
    loss = ours.nn.functional.ctc_loss(certain, ours.tensor([[1]]), [2], [1], reduction='sum')
    loss.backward()
    assert loss.item() == pytest.approx(0) and ours.isfinite(certain.grad).all()
    x = logits(ours).detach()
    x[2, 1, 0] = float('nan')
    assert ours.isnan(ours.nn.functional.ctc_loss(x.log_softmax(2), joined(ours), *lengths(ours), reduction='none')).tolist() == [False, True, False]


def test_second_gradient():
    def loss(x):
        return ours.nn.functional.ctc_loss(x.log_softmax(2), ours.tensor([[1, 1]]), [5], [2], reduction='sum')
    assert ours.autograd.gradgradcheck(loss, (logits(ours, 5, 1, 3),))


@pytest.mark.parametrize('arguments, message', [
    (([[1], [9], [1]], [5, 5, 5], [1, 1, 1]), r'\[ctc_loss\] label 9 of sample 1 out of range for 5 classes'),
    (([[1], [1], [1]], [5, 13, 5], [1, 1, 1]), r'\[ctc_loss\] input length 13 of sample 1, must be 0 to 12'),
    (([[1], [1], [1]], [5, 5, 5], [1, 2, 1]), r'\[ctc_loss\] target length 2 of sample 1, must be 0 to 1'),
    (([[1], [1]], [5, 5, 5], [1, 1, 1]), r'\[ctc_loss\] targets must be \(N, S\) with N = 3, got shape \(2, 1\)')])
def test_refusals(arguments, message):
    with pytest.raises((tenon.Error, ValueError, IndexError), match=message):
        tenon.ctc_loss(tenon.zeros((STEPS, BATCH, CLASSES)), *map(tenon.tensor, arguments))
