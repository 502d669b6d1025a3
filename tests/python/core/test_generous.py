"""PyTorch's spellings that functions of tenon accept: keywords that only PyTorch has, and its order of arguments."""
import pytest

import tenon

X = tenon.tensor([[1.0, 2.0], [3.0, 5.0]])
F = tenon.nn.functional


@pytest.mark.parametrize('found, wanted', [
    (lambda: tenon.add(X, X, alpha=2), lambda: X * 3),
    (lambda: tenon.std(X, unbiased=True), lambda: tenon.std(X, correction=1.0)),
    (lambda: tenon.var(X, axis=1, unbiased=True), lambda: tenon.var(X, axis=1, correction=1.0)),
    (lambda: tenon.div(X, 2, rounding_mode='floor'), lambda: tenon.floor(X / 2)),
    (lambda: tenon.softmax(X, 0, dtype=tenon.float64), lambda: tenon.softmax(X.double(), 0)),
    (lambda: tenon.flatten(X[None], start_dim=1), lambda: X.reshape(1, 4)),
    (lambda: tenon.round(X / 3, decimals=2), lambda: tenon.round(X * 100 / 3) / 100),
    (lambda: tenon.nonzero(X > 2, as_tuple=True)[1], lambda: tenon.asarray([0, 1])),
    (lambda: tenon.linalg.eigvalsh(X, UPLO='L'), lambda: tenon.linalg.eigvalsh(tenon.asarray([[1.0, 3.0], [3.0, 5.0]]))),
    (lambda: F.interpolate(X[None, None], scale_factor=2), lambda: F.interpolate(X[None, None], (4, 4))),
    (lambda: F.interpolate(X[None, None], size=None, scale_factor=2), lambda: F.interpolate(X[None, None], (4, 4))),
    (lambda: tenon.sort(X, 0, True), lambda: tenon.sort(X, axis=0, descending=True)),
    (lambda: tenon.concat([X, X], 1), lambda: tenon.concat([X, X], axis=1)),
    (lambda: tenon.roll(X, 1, 1), lambda: tenon.roll(X, 1, axis=1)),
    (lambda: tenon.diff(X, 1, 0), lambda: tenon.diff(X, axis=0)),
    (lambda: tenon.linalg.vector_norm(X, 1, 0), lambda: tenon.linalg.vector_norm(X, axis=0, ord=1)),
    (lambda: F.conv1d(X, tenon.ones((1, 2, 1))), lambda: F.conv1d(X[None], tenon.ones((1, 2, 1)))[0]),
    (lambda: F.conv2d(X[None, None], tenon.ones((1, 1, 3, 3)), padding='same'), lambda: F.conv2d(X[None, None], tenon.ones((1, 1, 3, 3)), padding=1)),
    (lambda: F.max_pool1d(X, 2), lambda: tenon.asarray([[2.0], [5.0]])),
    (lambda: F.max_pool1d(X[None], 2, return_indices=True)[1], lambda: tenon.asarray([[[1], [1]]])),
    (lambda: F.conv_transpose1d(tenon.ones((1, 2, 3)), tenon.ones((2, 1, 2)), None, 1, 0, 0, 2, 1),
     lambda: F.conv_transpose1d(tenon.ones((1, 2, 3)), tenon.ones((2, 1, 2)), groups=2)),
])
def test_spellings(found, wanted):
    mine, other = found(), wanted()
    assert mine.dtype == other.dtype and mine.shape == other.shape and tenon.allclose(mine.double(), other.double())


@pytest.mark.parametrize('call, text', [
    (lambda: tenon.add(X, X, alfa=2), "has no argument 'alfa'"), (lambda: tenon.std(X, unbiassed=True), "has no argument 'unbiassed'"),
    (lambda: tenon.softmax(X, 0, d=1), "has no argument 'd'"), (lambda: tenon.add(X, X, alpha=2, beta=1), "has no argument 'alpha'"),
    (lambda: tenon.sort(X, out=X), "has no argument 'out'"),
])
def test_unknown_keywords_are_errors(call, text):
    with pytest.raises(TypeError, match=text):
        call()


def test_without_such_a_keyword_the_standard_applies():
    assert isinstance(tenon.sort(X, 0), tenon.Tensor) and tenon.std(X).item() == tenon.std(X, correction=0.0).item()


@pytest.mark.parametrize('found, wanted', [
    (lambda: tenon.allclose(X, X + 1e-9), lambda: True), (lambda: tenon.mm(X, X).tolist(), lambda: (X @ X).tolist()),
    (lambda: tenon.amax(X, 1).tolist(), lambda: [2, 5]), (lambda: tenon.nn.LSTM(2, 3)(X[None])[0].shape, lambda: (1, 2, 3)),
    (lambda: F.adaptive_max_pool1d(X, 1).tolist(), lambda: [[2], [5]]), (lambda: F.normalize(X, dim=0).shape, lambda: (2, 2)),
    (lambda: tenon.linalg.lu_factor(X)[1].tolist(), lambda: [2, 2]), (lambda: type(tenon.optim.Adamax([X.clone().requires_grad_()])).__name__, lambda: 'Adamax'),
])
def test_names_that_only_pytorch_has(found, wanted):
    assert found() == wanted()


def test_such_a_name_is_a_member_once_found_and_not_listed():
    before = dir(tenon)
    assert tenon.outer is tenon.torch.outer and 'outer' in vars(tenon)
    assert dir(tenon) == before


@pytest.mark.parametrize('module, name', [(tenon, 'no_such_name'), (tenon.nn, 'Lienar'), (F, 'cnov2d'), (tenon.linalg, 'no'), (tenon, '_private'),
                                          (tenon, 'cuda')])
def test_names_that_do_not_exist(module, name):
    with pytest.raises(AttributeError, match=f"module '{module.__name__}' has no attribute '{name}'"):
        getattr(module, name)
    with pytest.raises(AttributeError, match=r'\[torch.Storage\] is not offered here'):
        tenon.Storage
