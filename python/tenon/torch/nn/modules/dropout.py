"""Dropout."""
from functools import partial

from ...._errors import InvalidArgumentError
from ....nn.module import Module
from .. import functional as F
from ._make import function_module


class _DropoutNd(Module):
    pass


def _probability(module):
    if not 0 <= module.p <= 1:
        raise InvalidArgumentError(f'[{type(module).__name__}] p is {module.p}, must be 0 to 1')


_module = partial(function_module, __name__, show='p inplace', order='p inplace', settle=_probability, base=_DropoutNd)

Dropout = _module('Dropout', F.dropout)
Dropout1d = _module('Dropout1d', F.dropout1d)
Dropout2d = _module('Dropout2d', F.dropout2d)
Dropout3d = _module('Dropout3d', F.dropout3d)
AlphaDropout = _module('AlphaDropout', F.alpha_dropout)
FeatureAlphaDropout = _module('FeatureAlphaDropout', F.feature_alpha_dropout)
