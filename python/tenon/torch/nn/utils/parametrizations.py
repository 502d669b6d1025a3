"""Common parametrisations: orthogonal matrices, and weights of a given norm."""
from .... import linalg as _linalg
from .... import no_grad
from ...._core import ops
from ...._errors import InvalidArgumentError, OutOfRangeError
from ....nn.module import Module
from ..._backward_names import named
from ..functional import normalize
from .norms import norm_except
from .parametrize import register_parametrization
from .spectral import check_power_iterations, default_dim, sigma, start

__all__ = ['orthogonal', 'spectral_norm', 'weight_norm']


def _weight(where, module, name):
    weight = getattr(module, name, None)
    if weight is None or not hasattr(weight, 'ndim'):
        raise InvalidArgumentError(f'[{where}] {type(module).__name__} has no parameter or buffer {name!r}')
    return weight


# Norms -------------------------------------------------------------------------------------------------------------------------

class _WeightNorm(Module):
    """g · v / |v| (Salimans & Kingma 2016)."""

    def __init__(self, dim):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g, weight_v):
        return named(weight_v * (weight_g / norm_except(weight_v, self.dim)), 'WeightNormInterfaceBackward0')

    def right_inverse(self, weight):
        return norm_except(weight, self.dim), weight


def weight_norm(module, name='weight', dim=0):
    """Trains the length and the direction of a weight; lengths are over all dimensions but one, or over all with dim=None."""
    _weight('weight_norm', module, name)
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename(state_dict, prefix, *_):
        """Accepts states of the older weight_norm."""
        for old, new in (('_g', 'original0'), ('_v', 'original1')):
            if prefix + name + old in state_dict:
                state_dict[f'{prefix}parametrizations.{name}.{new}'] = state_dict.pop(prefix + name + old)
    module._register_load_state_dict_pre_hook(rename)
    return module


class _SpectralNorm(Module):
    """weight / its largest singular value (Miyato et al. 2018); for a vector, weight / its length."""

    def __init__(self, weight, n_power_iterations=1, dim=0, eps=1e-12):
        super().__init__()
        if not -weight.ndim <= dim < weight.ndim:
            raise OutOfRangeError(f'[spectral_norm] dim {dim} is out of range for a tensor of rank {weight.ndim}')
        check_power_iterations(n_power_iterations)
        self.dim, self.eps, self.n_power_iterations = dim % weight.ndim, eps, n_power_iterations
        if weight.ndim > 1:
            u, v = start(weight, self.dim, eps, 15)
            self.register_buffer('_u', u)
            self.register_buffer('_v', v)

    def forward(self, weight):
        if weight.ndim == 1:
            return normalize(weight, dim=0, eps=self.eps)
        return weight / sigma(weight, self.dim, self._u, self._v, self.n_power_iterations if self.training else 0, self.eps)

    def right_inverse(self, value):
        return value


def spectral_norm(module, name='weight', n_power_iterations=1, eps=1e-12, dim=None):
    """Divides a weight by its largest singular value, which each use in training refines."""
    weight = _weight('spectral_norm', module, name)
    dim = default_dim(module) if dim is None else dim
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))


# Orthogonal matrices -----------------------------------------------------------------------------------------------------------

def _adjoint(x):
    from ...shape import adjoint
    return adjoint(x)


def _eye(n, x):
    return ops['eye'](n, n, 0, x.dtype, x.device)


def _expm(skew):
    from ...linalg import matrix_exp
    return matrix_exp(skew)


def _cayley(skew):
    """(I - A / 2)⁻¹ (I + A / 2)."""
    eye = _eye(skew.shape[-1], skew)
    return _linalg.solve(eye - skew / 2, eye + skew / 2)


_SKEW_MAPS = {'matrix_exp': _expm, 'cayley': _cayley}


def _columns(x, count):
    return ops['slice'](x, x.ndim - 1, 0, count)


def _of_skew(x, to_orthogonal):
    """The first k columns of the orthogonal matrix made from the skew-symmetric one whose lower triangle is x (…, n, k)."""
    n, k = x.shape[-2:]
    x = ops['tril'](x)
    if n > k:
        x = ops['concat']([x, ops['full']((*x.shape[:-1], n - k), 0, x.dtype, x.device)], -1)
    return _columns(to_orthogonal(x - _adjoint(x)), k)


def _of_reflections(x):
    """The product of the Householder reflections below the diagonal of x (…, n, k); the diagonal gives the columns' signs."""
    from ...linalg import householder_product
    v = ops['tril'](x, -1)
    signs = ops['trunc'](ops['diagonal'](x, 0, -2, -1).detach())
    return householder_product(v, 2 / (1 + ops['sum'](v * v, -2))) * ops['unsqueeze'](signs, -2)


def _is_orthogonal(q):
    n = q.shape[-1]
    eps = 10 * n * {'float32': 1.2e-7, 'float64': 2.3e-16, 'complex64': 1.2e-7, 'complex128': 2.3e-16}.get(q.dtype.name, 1e-3)
    return bool((ops['abs'](ops['matmul'](_adjoint(q), q) - _eye(n, q)) <= eps).all())


def _near_orthogonal(x):
    """The orthogonal factor of x = QR with a positive diagonal of R."""
    q, r = _linalg.qr(x)
    signs = ops['sign'](ops['diagonal'](r, 0, -2, -1))
    return q * ops['unsqueeze'](ops['where'](signs == 0, ops['full_like'](signs, 1), signs), -2)


class _Orthogonal(Module):
    """An orthogonal matrix, or one with orthonormal rows or columns, made from unconstrained numbers.

    With a base, which moves when a value is assigned, the numbers only say how the matrix is rotated from it (Lezcano-Casado 2019).
    """

    def __init__(self, weight, orthogonal_map, use_trivialization=True):
        super().__init__()
        if weight.dtype.is_complex and orthogonal_map == 'householder':
            raise InvalidArgumentError('[orthogonal] householder is for real tensors')
        self.shape, self.orthogonal_map, self.use_trivialization = weight.shape, orthogonal_map, use_trivialization
        if use_trivialization:
            self.register_buffer('base', None)

    def forward(self, X):
        wide = X.shape[-2] < X.shape[-1]
        x = ops['transpose'](X, -2, -1) if wide else X
        q = _of_reflections(x) if self.orthogonal_map == 'householder' else _of_skew(x, _SKEW_MAPS[self.orthogonal_map])
        if self.use_trivialization:
            q = ops['matmul'](self.base, q)
        return ops['transpose'](q, -2, -1) if wide else q

    def right_inverse(self, Q):
        with no_grad():
            if Q.shape != self.shape:
                raise InvalidArgumentError(f'[orthogonal] the value has shape {Q.shape}, must be {self.shape}')
            wide = Q.shape[-2] < Q.shape[-1]
            q = ops['transpose'](Q, -2, -1) if wide else Q
            x = self._turned_by_nothing(q) if self.use_trivialization else self._reflections(q)
            return ops['clone'](ops['transpose'](x, -2, -1)) if wide else x

    def _turned_by_nothing(self, q):
        """Makes q the base; reflections along the axes with signs of -1 are the identity."""
        n, k = q.shape[-2:]
        if n > k:  # columns that complete it
            more = ops['normal']((*q.shape[:-1], n - k), 0.0, 1.0, q.dtype, q.device)
            base = _near_orthogonal(ops['concat']([q, more], -1))
        else:
            base = q if _is_orthogonal(q) else _near_orthogonal(q)
        self.base = ops['clone'](base)
        return ops['expand'](-ops['eye'](n, k, 0, q.dtype, q.device), q.shape).clone()

    def _reflections(self, q):
        """The input from which _of_reflections() makes q."""
        if self.orthogonal_map != 'householder':
            raise NotImplementedError(f'[orthogonal] without use_trivialization no value can be assigned to {self.orthogonal_map}')
        from ...householder import geqrf
        a, tau = geqrf(q)
        signs = ops['sign'](ops['diagonal'](a, 0, -2, -1))
        signs = ops['where'](tau == 0, -signs, signs)  # no reflection there, although the map makes one
        k = q.shape[-1]
        on_diagonal = ops['eye'](q.shape[-2], k, 0, q.dtype, q.device) * ops['unsqueeze'](signs, -2)
        return ops['tril'](a, -1) + on_diagonal


def orthogonal(module, name='weight', orthogonal_map=None, *, use_trivialization=True):
    """Keeps a matrix, or a batch of them, orthogonal: its rows or columns orthonormal, whichever are fewer.

    orthogonal_map: 'matrix_exp', 'cayley' or 'householder', which is faster if the matrix is far from square.
    """
    weight = _weight('orthogonal', module, name)
    if weight.ndim < 2:
        raise InvalidArgumentError(f'[orthogonal] {name!r} has rank {weight.ndim}, must be at least 2')
    if orthogonal_map is None:
        orthogonal_map = 'matrix_exp' if weight.shape[-2] == weight.shape[-1] or weight.dtype.is_complex else 'householder'
    if orthogonal_map not in ('matrix_exp', 'cayley', 'householder'):
        raise InvalidArgumentError(f"[orthogonal] orthogonal_map is 'matrix_exp', 'cayley' or 'householder', not {orthogonal_map!r}")
    return register_parametrization(module, name, _Orthogonal(weight, orthogonal_map, use_trivialization), unsafe=True)
