"""torch.distributions: random variables with densities, samples and their gradients, and divergences.

Samples are compositions of uniform and normal draws, so a seed gives the same samples on every device.
"""
from . import constraints, kl, transforms
from .categories import (Categorical, MixtureSameFamily, Multinomial, OneHotCategorical, OneHotCategoricalStraightThrough,
                         RelaxedBernoulli, RelaxedOneHotCategorical)
from .constraint_registry import biject_to, transform_to
from .continuous import (Cauchy, Exponential, GeneralizedPareto, Gumbel, HalfCauchy, HalfNormal, Laplace, Normal, Uniform, VonMises)
from .discrete import Bernoulli, Binomial, ContinuousBernoulli, Geometric, NegativeBinomial, Poisson
from .distribution import Distribution, ExponentialFamily, Independent
from .gammas import Beta, Chi2, Dirichlet, FisherSnedecor, Gamma, InverseGamma, StudentT
from .kl import kl_divergence, register_kl
from .multivariate import LKJCholesky, LowRankMultivariateNormal, MultivariateNormal, Wishart
from .transformed import Kumaraswamy, LogisticNormal, LogNormal, Pareto, TransformedDistribution, Weibull
from .transforms import *

__all__ = ['Bernoulli', 'Beta', 'Binomial', 'Categorical', 'Cauchy', 'Chi2', 'ContinuousBernoulli', 'Dirichlet', 'Distribution', 'Exponential',
           'ExponentialFamily', 'FisherSnedecor', 'Gamma', 'GeneralizedPareto', 'Geometric', 'Gumbel', 'HalfCauchy', 'HalfNormal',
           'Independent', 'InverseGamma', 'Kumaraswamy', 'LKJCholesky', 'Laplace', 'LogNormal', 'LogisticNormal',
           'LowRankMultivariateNormal', 'MixtureSameFamily', 'Multinomial', 'MultivariateNormal', 'NegativeBinomial', 'Normal',
           'OneHotCategorical', 'OneHotCategoricalStraightThrough', 'Pareto', 'Poisson', 'RelaxedBernoulli', 'RelaxedOneHotCategorical',
           'StudentT', 'TransformedDistribution', 'Uniform', 'VonMises', 'Weibull', 'Wishart', 'biject_to', 'constraints', 'kl',
           'kl_divergence', 'register_kl', 'transform_to', 'transforms']
__all__ += transforms.__all__
