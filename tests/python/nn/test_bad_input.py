"""Modules answer unsuitable arguments with a TypeError, a ValueError, an IndexError or a tenon.Error."""
import itertools

import pytest

import tenon
from tenon import nn

ALLOWED = (TypeError, ValueError, IndexError, tenon.Error)
BAD = [None, 3, -1, 2.5, 'x', b'y', [], {}, object(), float('nan'), (1, 2), True, tenon.tensor([1, 2]), tenon.zeros((0, 3)),
       tenon.ones((2, 3, 4, 5, 6)), tenon.tensor(1.0)]
LAYERS = [nn.Linear(3, 2), nn.Embedding(3, 2), nn.Flatten(), nn.Unflatten(1, (1, 2)), nn.Dropout(), nn.Conv2d(3, 2, 1),
          nn.ConvTranspose1d(3, 2, 1), nn.BatchNorm(3), nn.LayerNorm(3), nn.RMSNorm(3), nn.GroupNorm(1, 3), nn.MaxPool(2),
          nn.AvgPool(2), nn.AdaptiveAvgPool(2), nn.AdaptiveMaxPool(2), nn.Upsample(2), nn.Upsample(scale_factor=2), nn.ReLU(), nn.GELU(), nn.Softmax()]


def answers(fn, *args):
    try:
        fn(*args)
    except ALLOWED as error:
        assert str(error)


@pytest.mark.parametrize('layer', LAYERS, ids=lambda layer: type(layer).__name__)
def test_layers(layer):
    for bad in BAD:
        answers(layer, bad)


@pytest.mark.parametrize('kind', [nn.MSELoss, nn.L1Loss, nn.CrossEntropyLoss, nn.NLLLoss, nn.BCELoss, nn.BCEWithLogitsLoss,
                                  nn.KLDivLoss, nn.SmoothL1Loss])
def test_losses(kind):
    for a, b in itertools.product(BAD, BAD):
        answers(kind(), a, b)


@pytest.mark.parametrize('name', sorted(n for n in dir(nn.functional) if n[0] != '_' and n not in ('tenon', 'ops')))
def test_functions(name):
    fn = getattr(nn.functional, name)
    for bad in BAD:
        answers(fn, bad)
    for a, b in itertools.product(BAD, BAD):
        answers(fn, a, b)


@pytest.mark.parametrize('name', [name for name in nn.__all__ if name not in ('functional', 'init')])
def test_constructors(name):
    for a, b in itertools.product(BAD, BAD):
        answers(getattr(nn, name), a, b)


@pytest.mark.parametrize('name', ['load_state_dict', 'to', 'train', 'register_forward_hook', 'get_submodule', 'apply'])
def test_methods(name):
    for bad in BAD:
        answers(getattr(nn.Linear(2, 2), name), bad)
