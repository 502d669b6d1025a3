"""Distances."""
from functools import partial

from .. import functional as F
from ._make import function_module

_module = partial(function_module, __name__, inputs=2)

CosineSimilarity = _module('CosineSimilarity', F.cosine_similarity)
PairwiseDistance = _module('PairwiseDistance', F.pairwise_distance, order='p eps keepdim')
