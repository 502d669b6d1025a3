"""Distributions of vectors and matrices."""
import math

import tenon.torch as torch

from .._common import broken
from . import constraints
from .distribution import Distribution, ExponentialFamily, lazy_property, refusal
from .gammas import Beta, Chi2

__all__ = ['LKJCholesky', 'LowRankMultivariateNormal', 'MultivariateNormal', 'Wishart']


def _root_of_inverse(precision):
    """The lower Cholesky factor of precision's inverse."""
    upper = torch.linalg.cholesky(precision.flip(-2, -1)).flip(-2, -1).mT
    eye = torch.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return torch.linalg.solve_triangular(upper, eye.expand(upper.shape), upper=False)


def squared_distance(scale_tril, difference):
    """|L⁻¹ d|² for each vector d of a batch."""
    shape = torch.broadcast_shapes(scale_tril.shape[:-1], difference.shape)
    left = scale_tril.expand((*shape, shape[-1]))
    return (torch.linalg.solve_triangular(left, difference.expand(shape).unsqueeze(-1), upper=False) ** 2).sum((-2, -1))


def half_log_det(scale_tril):
    """The logarithm of the determinant of a triangle with a positive diagonal."""
    return scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


class _OfCovariance(Distribution):
    """Distributions given by a covariance, its inverse, or the lower Cholesky factor of the covariance."""

    def _keep(self, name, given):
        setattr(self, name, given)
        if self._validate_args and broken(~self.arg_constraints[name].check(given)):
            raise ValueError(refusal(self, name, given))
        self._root = given if name == 'scale_tril' else torch.linalg.cholesky(given) if name == 'covariance_matrix' else _root_of_inverse(given)

    @lazy_property
    def scale_tril(self):
        """The lower Cholesky factor of the covariance."""
        return self._root

    @lazy_property
    def covariance_matrix(self):
        """The covariance."""
        return self._root @ self._root.mT

    @lazy_property
    def precision_matrix(self):
        """The inverse of the covariance."""
        return torch.cholesky_inverse(self._root)


class MultivariateNormal(_OfCovariance):
    """The normal distribution of vectors, given by a covariance, its inverse, or the lower Cholesky factor of the covariance."""

    arg_constraints = {'loc': constraints.real_vector, 'covariance_matrix': constraints.positive_definite,
                       'precision_matrix': constraints.positive_definite, 'scale_tril': constraints.lower_cholesky}
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        given = {'covariance_matrix': covariance_matrix, 'precision_matrix': precision_matrix, 'scale_tril': scale_tril}
        given = {name: value for name, value in given.items() if value is not None}
        if len(given) != 1:
            raise ValueError('[MultivariateNormal] give one of covariance_matrix, precision_matrix and scale_tril')
        (name, matrix), = given.items()
        if loc.dim() < 1 or matrix.dim() < 2:
            raise ValueError(f'[MultivariateNormal] loc needs at least one dimension and {name} two')
        batch = torch.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self.loc = loc.expand((*batch, loc.shape[-1]))
        self._keep(name, matrix.expand((*batch, *matrix.shape[-2:])))
        super().__init__(batch, loc.shape[-1:], validate_args)

    mean = mode = property(lambda self: self.loc)
    variance = property(lambda self: (self._root ** 2).sum(-1))

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        draw = torch.randn(shape, dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + (self._root @ draw.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value):
        self._check(value)
        distance = squared_distance(self._root, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - half_log_det(self._root)

    def entropy(self):
        return 0.5 * self._event_shape[0] * (1 + math.log(2 * math.pi)) + half_log_det(self._root)


class LowRankMultivariateNormal(Distribution):
    """MultivariateNormal with a covariance of low rank plus a diagonal: cov_factor cov_factorᵀ + diag(cov_diag)."""

    arg_constraints = {'loc': constraints.real_vector, 'cov_factor': constraints.independent(constraints.real, 2),
                       'cov_diag': constraints.independent(constraints.positive, 1)}
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc, cov_factor, cov_diag, validate_args=None):
        if loc.dim() < 1 or cov_factor.dim() < 2 or cov_diag.dim() < 1:
            raise ValueError('[LowRankMultivariateNormal] loc and cov_diag need at least one dimension, cov_factor two')
        n = loc.shape[-1]
        if cov_factor.shape[-2] != n or cov_diag.shape[-1] != n:
            raise ValueError(f'[LowRankMultivariateNormal] {n} elements of loc, but cov_factor is {tuple(cov_factor.shape)} and cov_diag '
                             f'{tuple(cov_diag.shape)}')
        batch = torch.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        self.loc, self.cov_diag = loc.expand((*batch, n)), cov_diag.expand((*batch, n))
        self.cov_factor = cov_factor.expand((*batch, *cov_factor.shape[-2:]))
        # The capacitance matrix of Woodbury's identity: I + Wᵀ D⁻¹ W.
        scaled = self.cov_factor.mT / self.cov_diag.unsqueeze(-2)
        eye = torch.eye(cov_factor.shape[-1], dtype=loc.dtype, device=loc.device)
        self._capacitance_tril = torch.linalg.cholesky(scaled @ self.cov_factor + eye)
        super().__init__(batch, (n,), validate_args)

    mean = mode = property(lambda self: self.loc)
    variance = property(lambda self: (self.cov_factor ** 2).sum(-1) + self.cov_diag)

    @lazy_property
    def covariance_matrix(self):
        """The covariance."""
        return self.cov_factor @ self.cov_factor.mT + torch.diag_embed(self.cov_diag)

    @lazy_property
    def scale_tril(self):
        """The lower Cholesky factor of the covariance."""
        return torch.linalg.cholesky(self.covariance_matrix)

    @lazy_property
    def precision_matrix(self):
        """The inverse of the covariance."""
        a = torch.linalg.solve_triangular(self._capacitance_tril, self.cov_factor.mT / self.cov_diag.unsqueeze(-2), upper=False)
        return torch.diag_embed(1 / self.cov_diag) - a.mT @ a

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        like = {'dtype': self.loc.dtype, 'device': self.loc.device}
        low, high = torch.randn((*shape[:-1], self.cov_factor.shape[-1]), **like), torch.randn(shape, **like)
        return self.loc + (self.cov_factor @ low.unsqueeze(-1)).squeeze(-1) + self.cov_diag.sqrt() * high

    def _log_det(self):
        return 2 * half_log_det(self._capacitance_tril) + self.cov_diag.log().sum(-1)

    def _distance(self, difference):
        scaled = (self.cov_factor.mT / self.cov_diag.unsqueeze(-2)) @ difference.unsqueeze(-1)
        return (difference ** 2 / self.cov_diag).sum(-1) - squared_distance(self._capacitance_tril, scaled.squeeze(-1))

    def log_prob(self, value):
        self._check(value)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + self._log_det() + self._distance(value - self.loc))

    def entropy(self):
        return 0.5 * (self._event_shape[0] * (1 + math.log(2 * math.pi)) + self._log_det())


class Wishart(_OfCovariance, ExponentialFamily):
    """Sums of df outer products of normal vectors, given by a covariance, its inverse, or the lower Cholesky factor of the
    covariance."""

    support = constraints.positive_definite
    has_rsample = True

    @property
    def arg_constraints(self):
        return {'covariance_matrix': constraints.positive_definite, 'precision_matrix': constraints.positive_definite,
                'scale_tril': constraints.lower_cholesky, 'df': constraints.greater_than(self._event_shape[-1] - 1)}

    def __init__(self, df, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        given = {'covariance_matrix': covariance_matrix, 'precision_matrix': precision_matrix, 'scale_tril': scale_tril}
        given = {name: value for name, value in given.items() if value is not None}
        if len(given) != 1:
            raise ValueError('[Wishart] give one of covariance_matrix, precision_matrix and scale_tril')
        (name, matrix), = given.items()
        if matrix.dim() < 2:
            raise ValueError(f'[Wishart] {name} needs at least two dimensions')
        df = df if isinstance(df, torch.Tensor) else torch.tensor(float(df), dtype=matrix.dtype, device=matrix.device)
        batch, events = torch.broadcast_shapes(df.shape, matrix.shape[:-2]), matrix.shape[-2:]
        if broken(df <= events[-1] - 1):
            raise ValueError(f'[Wishart] df is {df}, must be above {events[-1] - 1}')
        self.df, self._event_shape = df.expand(batch), events
        self._keep(name, matrix.expand((*batch, *events)))
        super().__init__(batch, events, validate_args)
        self._chi2 = Chi2(self.df.unsqueeze(-1) - torch.arange(events[-1], dtype=matrix.dtype, device=matrix.device), False)

    mean = property(lambda self: self.df[..., None, None] * self.covariance_matrix)

    @property
    def mode(self):
        factor = self.df - self._event_shape[-1] - 1
        return torch.where(factor <= 0, math.nan, factor)[..., None, None] * self.covariance_matrix

    @property
    def variance(self):
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        return self.df[..., None, None] * (v ** 2 + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def rsample(self, sample_shape=()):
        """Bartlett's decomposition."""
        shape = self._extended_shape(sample_shape)
        normal = torch.randn(shape, dtype=self._root.dtype, device=self._root.device)
        a = normal.tril(-1) + torch.diag_embed(self._chi2.rsample(sample_shape).sqrt())
        root = self._root @ a
        return root @ root.mT

    def log_prob(self, value):
        self._check(value)
        p, df = self._event_shape[-1], self.df
        trace = torch.cholesky_solve(value, self._root.expand(value.shape)).diagonal(dim1=-2, dim2=-1).sum(-1)
        return (-df * (p * math.log(2) / 2 + half_log_det(self._root)) - torch.mvlgamma(df / 2, p)
                + (df - p - 1) / 2 * torch.linalg.slogdet(value).logabsdet - trace / 2)

    def entropy(self):
        p, df = self._event_shape[-1], self.df
        steps = torch.arange(p, dtype=df.dtype, device=df.device) / 2
        digammas = (df.unsqueeze(-1) / 2 - steps).digamma().sum(-1)
        return ((p + 1) * (p * math.log(2) / 2 + half_log_det(self._root)) + torch.mvlgamma(df / 2, p)
                - (df - p - 1) / 2 * digammas + df * p / 2)


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices; the density is the determinant to the power concentration - 1 (Lewandowski et al.
    2009)."""

    arg_constraints = {'concentration': constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim, concentration=1.0, validate_args=None):
        if dim < 2:
            raise ValueError(f'[LKJCholesky] dim is {dim}, must be at least 2')
        self.dim = dim
        self.concentration = concentration if isinstance(concentration, torch.Tensor) else torch.tensor(float(concentration))
        # The onion method: a Beta for the radius of each row.
        offset = torch.cat([torch.zeros(1), torch.arange(dim - 1, dtype=torch.float32)]).to(self.concentration)
        marginal = self.concentration + 0.5 * (dim - 2)
        self._beta = Beta(offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset, False)
        super().__init__(self.concentration.shape, (dim, dim), validate_args)

    @torch.no_grad()
    def sample(self, sample_shape=()):
        squares = self._beta.sample(sample_shape).unsqueeze(-1)
        normal = torch.randn(self._extended_shape(sample_shape), dtype=squares.dtype, device=squares.device).tril(-1)
        direction = normal / normal.norm(dim=-1, keepdim=True)
        direction = torch.cat([torch.zeros_like(direction[..., :1, :]), direction[..., 1:, :]], -2)
        found = squares.sqrt() * direction
        tiny = torch.finfo(found.dtype).tiny
        return found + torch.diag_embed((1 - (found ** 2).sum(-1)).clamp(min=tiny).sqrt())

    def log_prob(self, value):
        self._check(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = torch.arange(2, self.dim + 1, dtype=diagonal.dtype, device=diagonal.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        less = self.dim - 1
        alpha = self.concentration + 0.5 * less
        norm = 0.5 * less * math.log(math.pi) + torch.mvlgamma(alpha - 0.5, less) - alpha.lgamma() * less
        return (order * diagonal.log()).sum(-1) - norm
