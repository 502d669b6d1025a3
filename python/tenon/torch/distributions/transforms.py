"""torch.distributions.transforms: invertible functions with the logarithm of their derivative's determinant."""
import math
import weakref

import tenon.torch as torch

from . import constraints
from .distribution import sum_last

__all__ = ['AbsTransform', 'AffineTransform', 'CatTransform', 'ComposeTransform', 'CorrCholeskyTransform', 'CumulativeDistributionTransform',
           'ExpTransform', 'IndependentTransform', 'LowerCholeskyTransform', 'PositiveDefiniteTransform', 'PowerTransform',
           'ReshapeTransform', 'SigmoidTransform', 'SoftmaxTransform', 'SoftplusTransform', 'StackTransform', 'StickBreakingTransform',
           'TanhTransform', 'Transform', 'identity_transform']


class Transform:
    """y = t(x) and x = t.inv(y): a subclass defines _call, _inverse and log_abs_det_jacobian(x, y).

    cache_size=1 keeps the latest pair, so that inverting the latest result costs nothing.
    """

    bijective = False
    sign = 1
    domain = constraints.real
    codomain = constraints.real

    def __init__(self, cache_size=0):
        if cache_size not in (0, 1):
            raise ValueError(f'[{type(self).__name__}] cache_size must be 0 or 1, not {cache_size!r}')
        self._cache_size, self._cached, self._inv = cache_size, (None, None), None

    @property
    def inv(self):
        """The inverse transform."""
        made = None if self._inv is None else self._inv()
        if made is None:
            made = _InverseTransform(self)
            self._inv = weakref.ref(made)
        return made

    def with_cache(self, cache_size=1):
        """The same transform with another cache_size."""
        if self._cache_size == cache_size:
            return self
        import copy
        made = copy.copy(self)
        made._cache_size, made._cached, made._inv = cache_size, (None, None), None
        return made

    def __call__(self, x):
        if not self._cache_size:
            return self._call(x)
        if x is not self._cached[0]:
            self._cached = x, self._call(x)
        return self._cached[1]

    def _inv_call(self, y):
        if not self._cache_size:
            return self._inverse(y)
        if y is not self._cached[1]:
            self._cached = self._inverse(y), y
        return self._cached[0]

    def _call(self, x):
        raise NotImplementedError(f'[{type(self).__name__}] defines no _call()')

    def _inverse(self, y):
        raise NotImplementedError(f'[{type(self).__name__}] has no inverse')

    def log_abs_det_jacobian(self, x, y):
        """log |det dy/dx| for each event."""
        raise NotImplementedError(f'[{type(self).__name__}] has no log_abs_det_jacobian')

    def forward_shape(self, shape):
        """The shape of y for a shape of x."""
        return torch.Size(shape)

    def inverse_shape(self, shape):
        """The shape of x for a shape of y."""
        return torch.Size(shape)

    def __repr__(self):
        return type(self).__name__ + '()'


class _InverseTransform(Transform):
    """The inverse of a transform."""

    def __init__(self, transform):
        super().__init__(transform._cache_size)
        self._forward = transform

    @property
    def inv(self):
        return self._forward

    domain = property(lambda self: self._forward.codomain)
    codomain = property(lambda self: self._forward.domain)
    bijective = property(lambda self: self._forward.bijective)
    sign = property(lambda self: self._forward.sign)

    def with_cache(self, cache_size=1):
        return self._forward.with_cache(cache_size).inv

    def __eq__(self, other):
        return isinstance(other, _InverseTransform) and self._forward == other._forward

    __hash__ = Transform.__hash__

    def __call__(self, x):
        return self._forward._inv_call(x)

    def _inv_call(self, y):
        return self._forward(y)

    def log_abs_det_jacobian(self, x, y):
        return -self._forward.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape):
        return self._forward.inverse_shape(shape)

    def inverse_shape(self, shape):
        return self._forward.forward_shape(shape)

    def __repr__(self):
        return f'{type(self).__name__}({self._forward!r})'


class ComposeTransform(Transform):
    """Several transforms, one after the other."""

    def __init__(self, parts, cache_size=0):
        super().__init__(cache_size)
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else list(parts)

    @property
    def domain(self):
        if not self.parts:
            return constraints.real
        # An event has as many dimensions as any part needs.
        need = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            need = max(need + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
        return _widened(self.parts[0].domain, need)

    @property
    def codomain(self):
        if not self.parts:
            return constraints.real
        need = self.parts[0].domain.event_dim
        for part in self.parts:
            need = max(need + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim)
        return _widened(self.parts[-1].codomain, need)

    bijective = property(lambda self: all(part.bijective for part in self.parts))

    @property
    def sign(self):
        found = 1
        for part in self.parts:
            found = found * part.sign
        return found

    @property
    def inv(self):
        made = None if self._inv is None else self._inv()
        if made is None:
            made = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv, made._inv = weakref.ref(made), lambda: self
        return made

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else ComposeTransform(self.parts, cache_size)

    def __eq__(self, other):
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = Transform.__hash__

    def __call__(self, x):
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x, y):
        if not self.parts:
            return torch.zeros_like(x)
        xs = [x]
        for part in self.parts[:-1]:
            xs.append(part(xs[-1]))
        xs.append(y)
        total, event_dim = 0, self.domain.event_dim
        for part, a, b in zip(self.parts, xs, xs[1:]):
            total = total + sum_last(part.log_abs_det_jacobian(a, b), event_dim - part.domain.event_dim)
            event_dim += part.codomain.event_dim - part.domain.event_dim
        return total

    def forward_shape(self, shape):
        for part in self.parts:
            shape = part.forward_shape(shape)
        return torch.Size(shape)

    def inverse_shape(self, shape):
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return torch.Size(shape)

    def __repr__(self):
        return 'ComposeTransform(\n    ' + ',\n    '.join(map(repr, self.parts)) + '\n)'


def _widened(constraint, event_dim):
    more = event_dim - constraint.event_dim
    return constraints.independent(constraint, more) if more > 0 else constraint


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform whose last dimensions count as one event."""

    def __init__(self, base_transform, reinterpreted_batch_ndims, cache_size=0):
        super().__init__(cache_size)
        self.base_transform, self.reinterpreted_batch_ndims = base_transform.with_cache(cache_size), reinterpreted_batch_ndims

    domain, codomain = (property(lambda self, name=name: constraints.independent(
        getattr(self.base_transform, name), self.reinterpreted_batch_ndims)) for name in ('domain', 'codomain'))
    bijective, sign = (property(lambda self, name=name: getattr(self.base_transform, name))
                       for name in ('bijective', 'sign'))

    def _call(self, x):
        if x.dim() < self.domain.event_dim:
            raise ValueError('[IndependentTransform] too few dimensions on the input')
        return self.base_transform(x)

    def _inverse(self, y):
        if y.dim() < self.codomain.event_dim:
            raise ValueError('[IndependentTransform] too few dimensions on the input')
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x, y):
        return sum_last(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape):
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape):
        return self.base_transform.inverse_shape(shape)

    def __repr__(self):
        return f'IndependentTransform({self.base_transform!r}, {self.reinterpreted_batch_ndims})'


class ReshapeTransform(Transform):
    """Reshapes events to another shape with the same number of elements."""

    bijective = True

    def __init__(self, in_shape, out_shape, cache_size=0):
        self.in_shape, self.out_shape = torch.Size(in_shape), torch.Size(out_shape)
        if math.prod(in_shape) != math.prod(out_shape):
            raise ValueError(f'[ReshapeTransform] shapes {tuple(in_shape)} and {tuple(out_shape)} have different numbers of elements')
        super().__init__(cache_size)

    domain = property(lambda self: constraints.independent(constraints.real, len(self.in_shape)))
    codomain = property(lambda self: constraints.independent(constraints.real, len(self.out_shape)))

    def _call(self, x):
        return x.reshape((*x.shape[:x.dim() - len(self.in_shape)], *self.out_shape))

    def _inverse(self, y):
        return y.reshape((*y.shape[:y.dim() - len(self.out_shape)], *self.in_shape))

    def log_abs_det_jacobian(self, x, y):
        return torch.zeros(x.shape[:x.dim() - len(self.in_shape)], dtype=x.dtype, device=x.device)

    def _other(self, shape, given, wanted):
        cut = len(shape) - len(given)
        if cut < 0 or tuple(shape[cut:]) != tuple(given):
            raise ValueError(f'[ReshapeTransform] the shape is {tuple(shape)}, must end with {tuple(given)}')
        return torch.Size((*shape[:cut], *wanted))

    def forward_shape(self, shape):
        return self._other(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape):
        return self._other(shape, self.out_shape, self.in_shape)


class ExpTransform(Transform):
    """y = exp(x)."""

    codomain, bijective = constraints.positive, True

    def __eq__(self, other):
        return isinstance(other, ExpTransform)

    __hash__ = Transform.__hash__

    def _call(self, x):
        return x.exp()

    def _inverse(self, y):
        return y.log()

    def log_abs_det_jacobian(self, x, y):
        return x


class PowerTransform(Transform):
    """y = x^exponent, for positive x."""

    domain, codomain, bijective = constraints.positive, constraints.positive, True

    def __init__(self, exponent, cache_size=0):
        super().__init__(cache_size)
        self.exponent = torch.as_tensor(exponent)

    @property
    def sign(self):
        return self.exponent.sign()

    def __eq__(self, other):
        return isinstance(other, PowerTransform) and bool((self.exponent == other.exponent).all())

    __hash__ = Transform.__hash__

    def _call(self, x):
        return x.pow(self.exponent)

    def _inverse(self, y):
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x, y):
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape):
        return torch.broadcast_shapes(shape, self.exponent.shape)

    inverse_shape = forward_shape


class SigmoidTransform(Transform):
    """y = 1 / (1 + exp(-x)), and x = logit(y)."""

    codomain, bijective = constraints.unit_interval, True

    def __eq__(self, other):
        return isinstance(other, SigmoidTransform)

    __hash__ = Transform.__hash__

    def _call(self, x):
        limits = torch.finfo(x.dtype)
        return torch.sigmoid(x).clamp(limits.tiny, 1 - limits.eps)

    def _inverse(self, y):
        limits = torch.finfo(y.dtype)
        y = y.clamp(limits.tiny, 1 - limits.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x, y):
        softplus = torch.nn.functional.softplus
        return -softplus(-x) - softplus(x)


class SoftplusTransform(Transform):
    """y = log(1 + exp(x))."""

    codomain, bijective = constraints.positive, True

    def __eq__(self, other):
        return isinstance(other, SoftplusTransform)

    __hash__ = Transform.__hash__

    def _call(self, x):
        return torch.nn.functional.softplus(x)

    def _inverse(self, y):
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x, y):
        return -torch.nn.functional.softplus(-x)


class TanhTransform(Transform):
    """y = tanh(x)."""

    codomain, bijective = constraints.interval(-1.0, 1.0), True

    def __eq__(self, other):
        return isinstance(other, TanhTransform)

    __hash__ = Transform.__hash__

    def _call(self, x):
        return x.tanh()

    def _inverse(self, y):
        return torch.atanh(y)

    def log_abs_det_jacobian(self, x, y):
        return 2 * (math.log(2.0) - x - torch.nn.functional.softplus(-2 * x))


class AbsTransform(Transform):
    """y = |x|; its inverse is the positive branch."""

    codomain = constraints.positive

    def __eq__(self, other):
        return isinstance(other, AbsTransform)

    __hash__ = Transform.__hash__

    def _call(self, x):
        return x.abs()

    def _inverse(self, y):
        return y


class AffineTransform(Transform):
    """y = loc + scale · x."""

    bijective = True

    def __init__(self, loc, scale, event_dim=0, cache_size=0):
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    event_dim = property(lambda self: self._event_dim)
    domain = codomain = property(
        lambda self: constraints.independent(constraints.real, self._event_dim) if self._event_dim else constraints.real)

    @property
    def sign(self):
        return self.scale.sign() if isinstance(self.scale, torch.Tensor) else (self.scale > 0) - (self.scale < 0)

    def __eq__(self, other):
        def same(a, b):
            found = a == b
            return bool(found.all()) if isinstance(found, torch.Tensor) else found
        return isinstance(other, AffineTransform) and same(self.loc, other.loc) and same(self.scale, other.scale)

    __hash__ = Transform.__hash__

    def _call(self, x):
        return self.loc + self.scale * x

    def _inverse(self, y):
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x, y):
        scale = self.scale
        found = scale.abs().log() if isinstance(scale, torch.Tensor) else torch.full_like(x, math.log(abs(scale)))
        return sum_last(found.expand(x.shape) if self._event_dim else torch.broadcast_to(found, torch.broadcast_shapes(x.shape, found.shape)),
                        self._event_dim)

    def forward_shape(self, shape):
        return torch.broadcast_shapes(shape, getattr(self.loc, 'shape', ()), getattr(self.scale, 'shape', ()))

    inverse_shape = forward_shape


class CorrCholeskyTransform(Transform):
    """From unconstrained vectors of n (n - 1) / 2 numbers to Cholesky factors of correlation matrices (Lewandowski et al. 2009)."""

    domain, codomain, bijective = constraints.real_vector, constraints.corr_cholesky, True

    def _call(self, x):
        n = (1 + math.isqrt(1 + 8 * x.shape[-1])) // 2
        if n * (n - 1) // 2 != x.shape[-1]:
            raise ValueError(f'[CorrCholeskyTransform] {x.shape[-1]} numbers do not fill a strict triangle of a matrix')
        eps = torch.finfo(x.dtype).eps
        r = _below(x.tanh().clamp(-1 + eps, 1 - eps), n)
        rest = (1 - r * r).cumprod(-1).sqrt()
        r = r + torch.eye(n, dtype=x.dtype, device=x.device)
        return r * torch.nn.functional.pad(rest[..., :-1], [1, 0], value=1.0)

    def _inverse(self, y):
        n = y.shape[-1]
        rest = 1 - (y * y).cumsum(-1)
        shifted = torch.nn.functional.pad(rest[..., :-1], [1, 0], value=1.0)
        rows, columns = torch.tril_indices(n, n, -1)
        t = y[..., rows, columns] / shifted[..., rows, columns].sqrt()
        return (t.log1p() - (-t).log1p()) / 2

    def log_abs_det_jacobian(self, x, y):
        n = y.shape[-1]
        rest = 1 - (y * y).cumsum(-1)
        rows, columns = torch.tril_indices(n, n, -2)
        first = 0.5 * rest[..., rows, columns].log().sum(-1) if rows.numel() else 0.0
        return first - 2 * (x + torch.nn.functional.softplus(-2 * x) - math.log(2.0)).sum(-1)

    def forward_shape(self, shape):
        n = (1 + math.isqrt(1 + 8 * shape[-1])) // 2
        return torch.Size((*shape[:-1], n, n))

    def inverse_shape(self, shape):
        if len(shape) < 2 or shape[-1] != shape[-2]:
            raise ValueError(f'[CorrCholeskyTransform] the shape is {tuple(shape)}, must end with a square')
        return torch.Size((*shape[:-2], shape[-1] * (shape[-1] - 1) // 2))


def _below(x, n):
    """Vectors as strictly lower triangles of n by n matrices."""
    rows, columns = torch.tril_indices(n, n, -1)
    flat = torch.zeros((*x.shape[:-1], n * n), dtype=x.dtype, device=x.device)
    return flat.index_copy(-1, rows * n + columns, x).reshape((*x.shape[:-1], n, n))


class SoftmaxTransform(Transform):
    """From scores to a point of the simplex; its inverse is one of many."""

    domain, codomain = constraints.real_vector, constraints.simplex

    def __eq__(self, other):
        return isinstance(other, SoftmaxTransform)

    __hash__ = Transform.__hash__

    def _call(self, x):
        return x.softmax(-1)

    def _inverse(self, y):
        return y.log()


class StickBreakingTransform(Transform):
    """From n - 1 numbers to a point of the simplex of n, each a share of the rest (Stan reference manual, unit simplex)."""

    domain, codomain, bijective = constraints.real_vector, constraints.simplex, True

    def __eq__(self, other):
        return isinstance(other, StickBreakingTransform)

    __hash__ = Transform.__hash__

    def _left(self, x):
        n = x.shape[-1]
        return x - torch.arange(n, 0, -1, dtype=x.dtype, device=x.device).log()

    def _call(self, x):
        share = SigmoidTransform()(self._left(x))
        rest = (1 - share).cumprod(-1)
        pad = torch.nn.functional.pad
        return pad(share, [0, 1], value=1.0) * pad(rest, [1, 0], value=1.0)

    def _inverse(self, y):
        front = y[..., :-1]
        rest = (1 - front.cumsum(-1)).clamp(min=torch.finfo(y.dtype).tiny)
        n = front.shape[-1]
        return front.log() - rest.log() + torch.arange(n, 0, -1, dtype=y.dtype, device=y.device).log()

    def log_abs_det_jacobian(self, x, y):
        x = self._left(x)
        return (-x + torch.nn.functional.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape):
        return torch.Size((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape):
        return torch.Size((*shape[:-1], shape[-1] - 1))


class LowerCholeskyTransform(Transform):
    """From matrices to lower triangles with a positive diagonal."""

    domain, codomain = constraints.independent(constraints.real, 2), constraints.lower_cholesky

    def __eq__(self, other):
        return isinstance(other, LowerCholeskyTransform)

    __hash__ = Transform.__hash__

    def _call(self, x):
        return x.tril(-1) + torch.diag_embed(x.diagonal(dim1=-2, dim2=-1).exp())

    def _inverse(self, y):
        return y.tril(-1) + torch.diag_embed(y.diagonal(dim1=-2, dim2=-1).log())


class PositiveDefiniteTransform(Transform):
    """From matrices to positive definite ones: L Lᵀ of LowerCholeskyTransform."""

    domain, codomain = constraints.independent(constraints.real, 2), constraints.positive_definite

    def __eq__(self, other):
        return isinstance(other, PositiveDefiniteTransform)

    __hash__ = Transform.__hash__

    def _call(self, x):
        lower = LowerCholeskyTransform()(x)
        return lower @ lower.mT

    def _inverse(self, y):
        return LowerCholeskyTransform().inv(torch.linalg.cholesky(y))


class _OfParts(Transform):
    """A transform for each part along a dimension."""

    def __init__(self, transforms, dim, cache_size):
        super().__init__(cache_size)
        self.transforms, self.dim = [each.with_cache(cache_size) for each in transforms], dim

    bijective = property(lambda self: all(each.bijective for each in self.transforms))

    def _parts(self, x):
        raise NotImplementedError

    def _joined(self, parts):
        raise NotImplementedError

    def _call(self, x):
        return self._joined([each(part) for each, part in zip(self.transforms, self._parts(x))])

    def _inverse(self, y):
        return self._joined([each.inv(part) for each, part in zip(self.transforms, self._parts(y))])


class CatTransform(_OfParts):
    """Transforms of consecutive parts along dim."""

    def __init__(self, tseq, dim=0, lengths=None, cache_size=0):
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        self.event_dim = max(each.domain.event_dim for each in self.transforms)

    domain, codomain = (property(lambda self, name=name: constraints.cat(
        [getattr(each, name) for each in self.transforms], self.dim, self.lengths)) for name in ('domain', 'codomain'))
    length = property(lambda self: sum(self.lengths))

    def _parts(self, x):
        return x.split(self.lengths, self.dim)

    def _joined(self, parts):
        return torch.cat(parts, self.dim)

    def log_abs_det_jacobian(self, x, y):
        parts = [sum_last(each.log_abs_det_jacobian(a, b), self.event_dim - each.domain.event_dim)
                 for each, a, b in zip(self.transforms, self._parts(x), self._parts(y))]
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        return torch.cat(parts, dim + self.event_dim) if dim + self.event_dim < 0 else sum(parts)


class StackTransform(_OfParts):
    """Transforms of the entries along dim."""

    def __init__(self, tseq, dim=0, cache_size=0):
        super().__init__(tseq, dim, cache_size)

    domain, codomain = (property(lambda self, name=name: constraints.stack(
        [getattr(each, name) for each in self.transforms], self.dim)) for name in ('domain', 'codomain'))

    def _parts(self, x):
        return x.unbind(self.dim)

    def _joined(self, parts):
        return torch.stack(parts, self.dim)

    def log_abs_det_jacobian(self, x, y):
        return torch.stack([each.log_abs_det_jacobian(a, b) for each, a, b in zip(self.transforms, self._parts(x), self._parts(y))], self.dim)


class CumulativeDistributionTransform(Transform):
    """y = the cumulative distribution function of a distribution at x."""

    bijective, codomain = True, constraints.unit_interval

    def __init__(self, distribution, cache_size=0):
        super().__init__(cache_size)
        self.distribution = distribution

    domain = property(lambda self: self.distribution.support)

    def _call(self, x):
        return self.distribution.cdf(x)

    def _inverse(self, y):
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x, y):
        return self.distribution.log_prob(x)
