"""The largest singular value of a weight by the power method, whose vectors are kept from call to call."""
from .... import no_grad
from ...._core import ops
from ...._errors import InvalidArgumentError
from ..functional import normalize
from ..modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d


def default_dim(module):
    """The dimension of the outputs in a module's weight."""
    return 1 if isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)) else 0


def check_power_iterations(count):
    if count <= 0:
        raise InvalidArgumentError(f'[spectral_norm] n_power_iterations is {count}, must be above 0')


def as_matrix(weight, dim):
    """x as a matrix (dim, all others)."""
    if dim:
        weight = ops['permute'](weight, (dim, *(d for d in range(weight.ndim) if d != dim)))
    return ops['reshape'](weight, (weight.shape[0], weight.size // max(weight.shape[0], 1)))


def _step(matrix, u, v, count, eps, v_first=False):
    """Power iterations, written into u and v."""
    with no_grad():
        for _ in range(count):
            for x in (v, u) if v_first else (u, v):
                x.copy_(normalize(ops['matmul'](matrix, v) if x is u else ops['matmul'](u, matrix), dim=0, eps=eps))


def start(weight, dim, eps, count=0):
    """Random unit vectors for a weight, after some iterations."""
    matrix = as_matrix(weight.detach(), dim)
    u, v = (normalize(ops['normal']((n,), 0.0, 1.0, weight.dtype, weight.device), dim=0, eps=eps) for n in matrix.shape)
    _step(matrix, u, v, count, eps)
    return u, v


def sigma(weight, dim, u, v, count, eps, v_first=False):
    """uᵀ weight v after some iterations, which update u and v; only the weight has a gradient."""
    matrix = as_matrix(weight, dim)
    _step(matrix.detach(), u, v, count, eps, v_first)
    u, v = u.clone(), v.clone()  # a further call before the backward pass writes to the kept ones
    return ops['sum'](u * ops['matmul'](matrix, v))
