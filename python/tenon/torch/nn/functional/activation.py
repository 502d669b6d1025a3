"""Activations."""
import math

from .... import _core
from ...._core import ops
from ...._errors import InvalidArgumentError, UnsupportedDtypeError
from ..._backward_names import named
from ..._common import cast, check, dim_of, lowered, rank, source_of
from ..._shortcuts import short
from ...pointwise import sigmoid as sigmoid
from ...reduce import log_softmax as _log_softmax
from ...reduce import softmax as _softmax

_where, _slice, _sigmoid_gate = ops['where'], ops['slice'], ops['sigmoid_gate']
tanh = ops['tanh']


def _floating(name, x, inplace=False):
    """The input of an activation: x, or a copy if the result is written into x and a gradient may need it."""
    if rank(check(x).dtype) != 2:
        raise UnsupportedDtypeError(f'[{name}] needs floating numbers, not {x.dtype}')
    return source_of(x) if inplace else x


def _written(x, found, inplace):
    """found, written into x if inplace."""
    return x.copy_(found) if inplace else found


@short
def relu(input, inplace=False):
    """max(x, 0)."""
    if rank(check(input).dtype) == 3 or input.dtype is _core.bool:
        raise InvalidArgumentError(f'[relu] is not defined for {input.dtype}')
    return _written(input, ops['relu'](input), inplace)


def relu6(input, inplace=False):
    """x limited to 0 … 6."""
    return hardtanh(input, 0.0, 6.0, inplace)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """x limited to two bounds."""
    if min_val > max_val:
        raise InvalidArgumentError(f'[hardtanh] min_val {min_val} is above max_val {max_val}')
    if rank(check(input).dtype) < 2:
        min_val, max_val = int(min_val), int(max_val)
    x = source_of(input) if inplace else input
    return named(_written(input, cast(ops['clamp'](x, min_val, max_val), input.dtype), inplace), 'HardtanhBackward0')


def elu(input, alpha=1.0, inplace=False):
    """x above 0, alpha · (exp(x) - 1) below."""
    return _written(input, ops['elu'](_floating('elu', input, inplace), alpha), inplace)


def celu(input, alpha=1.0, inplace=False):
    """x above 0, alpha · (exp(x / alpha) - 1) below."""
    if alpha == 0:
        raise InvalidArgumentError('[celu] alpha must not be 0')
    x = _floating('celu', input, inplace)
    if alpha > 0:
        found = ops['elu'](x) if alpha == 1 else ops['where_between'](x, ops['elu'](x / alpha, alpha), x, -math.inf, 0.0)
    else:
        found = _where(x > 0, x, alpha * ops['expm1'](_where(x > 0, 0, x) / alpha))
    return named(_written(input, found, inplace), 'CeluBackward0')


def selu(input, inplace=False):
    """scale · elu(x) with the constants of self-normalising networks."""
    return named(_written(input, ops['selu'](_floating('selu', input, inplace)), inplace), 'EluBackward0', *(() if inplace else (input,)))


@short
def silu(input, inplace=False):
    """x · sigmoid(x)."""
    if rank(check(input).dtype) < 2:
        raise UnsupportedDtypeError(f'[silu] needs floating numbers, not {input.dtype}')
    x = source_of(input) if inplace else input
    found = ops['silu'](x) if rank(x.dtype) == 2 else x / (1 + ops['exp'](-x))
    return _written(input, found, inplace)


def mish(input, inplace=False):
    """x · tanh(softplus(x))."""
    return named(_written(input, ops['mish'](_floating('mish', input, inplace)), inplace), 'MishBackward0', *(() if inplace else (input,)))


@short
def gelu(input, approximate='none'):
    """x times the distribution function of the standard normal, or its 'tanh' approximation."""
    return ops['gelu'](_floating('gelu', input), approximate)


def leaky_relu(input, negative_slope=0.01, inplace=False):
    """x above 0, negative_slope · x below."""
    return _written(input, ops['leaky_relu'](_floating('leaky_relu', input, inplace), negative_slope), inplace)


def prelu(input, weight):
    """leaky_relu() with learned slopes: one, or one for each channel (dimension 1)."""
    x = _floating('prelu', input)
    if check(weight).ndim > 1:
        raise InvalidArgumentError(f'[prelu] weight has rank {weight.ndim}, must be 0 or 1')
    x, weight = lowered(x, weight)
    if weight.dtype is not x.dtype:
        raise InvalidArgumentError(f'[prelu] dtypes {x.dtype} and {weight.dtype} differ')
    if weight.size != 1:
        channels = x.shape[1] if x.ndim > 1 else 1
        if not x.ndim or weight.size != channels:
            raise InvalidArgumentError(f'[prelu] {weight.size} weights for {channels} channels')
    if weight.ndim:
        weight = ops['reshape'](weight, tuple(weight.size if d == (1 if x.ndim > 1 else 0) else 1 for d in range(x.ndim)))
    return ops['prelu'](x, weight)


def rrelu(input, lower=1 / 8, upper=1 / 3, training=False, inplace=False):
    """leaky_relu() with random slopes in training, with their mean otherwise."""
    x = _floating('rrelu', input, inplace)
    if lower > upper:
        raise InvalidArgumentError(f'[rrelu] lower {lower} is above upper {upper}')
    if not training:
        return leaky_relu(input, (lower + upper) / 2, inplace)
    slope = ops['uniform'](x.shape, lower, upper, x.dtype, x.device)
    return _written(input, ops['prelu'](x, slope), inplace)


def softplus(input, beta=1.0, threshold=20.0):
    """log(1 + exp(beta · x)) / beta; x itself where beta · x is above the threshold."""
    return ops['softplus'](_floating('softplus', input), beta, threshold)


def threshold(input, threshold, value, inplace=False):
    """x above the threshold, value elsewhere."""
    if rank(check(input).dtype) == 3:
        raise UnsupportedDtypeError('[threshold] is not defined for complex numbers')
    if rank(input.dtype) == 2:
        x = source_of(input) if inplace else input
        return _written(input, ops['where_between'](x, value, x, -math.inf, threshold), inplace)
    return _written(input, cast(_where(input <= threshold, ops['full_like'](input, value), input), input.dtype), inplace)


def hardshrink(input, lambd=0.5):
    """x where |x| is above lambd, 0 elsewhere."""
    return named(ops['shrink'](_floating('hardshrink', input), lambd), 'HardshrinkBackward0')


def softshrink(input, lambd=0.5):
    """x moved towards 0 by lambd; 0 where |x| is smaller."""
    if lambd < 0:
        raise InvalidArgumentError(f'[softshrink] lambd {lambd} must not be negative')
    return named(ops['shrink'](_floating('softshrink', input), lambd, lambd), 'SoftshrinkBackward0')


def tanhshrink(input):
    """x - tanh(x)."""
    return input - ops['tanh'](input)


def softsign(input):
    """x / (1 + |x|)."""
    return input / (1 + ops['abs'](input))


def hardsigmoid(input, inplace=False):
    """clamp(x / 6 + 1 / 2, 0, 1)."""
    return _written(input, ops['hardsigmoid'](_floating('hardsigmoid', input, inplace)), inplace)


def hardswish(input, inplace=False):
    """x · hardsigmoid(x)."""
    return _written(input, ops['hardswish'](_floating('hardswish', input, inplace)), inplace)


def logsigmoid(input):
    """log(sigmoid(x))."""
    return named(ops['log_sigmoid'](_floating('logsigmoid', input)), 'LogSigmoidBackward0', input)


def glu(input, dim=-1):
    """One half along a dimension times the sigmoid of the other."""
    x = _floating('glu', input)
    if not x.ndim:
        raise InvalidArgumentError('[glu] needs at least one dimension')
    dim = dim_of(dim, x.ndim)
    size = x.shape[dim]
    if size % 2:
        raise InvalidArgumentError(f'[glu] dim {dim} has {size} entries, must be even')
    return named(_sigmoid_gate(_slice(x, dim, 0, size // 2), _slice(x, dim, size // 2, size)), 'GluBackward0', input)


def _implicit(x):
    return 0 if x.ndim in (0, 1, 3) else 1


@short
def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """exp(x) / Σ exp(x) along a dimension."""
    return _softmax(input, _implicit(check(input)) if dim is None else dim, dtype)


@short
def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """The logarithm of softmax()."""
    return _log_softmax(input, _implicit(check(input)) if dim is None else dim, dtype)


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """softmax() of -x."""
    return _softmax(-cast(check(input), dtype), _implicit(input) if dim is None else dim)


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """softmax() of logits with Gumbel noise; hard: one-hot, but with the gradient of the soft sample."""
    draw = ops['uniform'](logits.shape, 0.0, 1.0, logits.dtype, logits.device)
    noise = -ops['log'](-ops['log'](ops['clamp'](draw, 1e-20)))
    soft = _softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = ops['argmax'](soft, dim, True)
    one = ops['scatter'](ops['full_like'](soft.detach(), 0), dim, index, ops['full'](index.shape, 1, soft.dtype, soft.device))
    return one - soft.detach() + soft


def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """x divided by its p-norm along a dimension, but at least by eps."""
    from ..._common import into
    from ...linalg import vector_norm
    return into(out, input / ops['clamp'](vector_norm(input, p, dim, True), eps))
