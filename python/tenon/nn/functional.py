"""Layers without parameters of their own, as functions: `tenon.nn.functional.relu(x)`.

Each is an op of the library; its help() shows the arguments. Ops with several results return only the first here.
"""
from __future__ import annotations

import tenon
from .._errors import InvalidArgumentError
from .._generous import others
from .._core import ops
from ._check import check_sizes, check_tensor

relu = ops['relu']
sigmoid = ops['sigmoid']
tanh = ops['tanh']
silu = ops['silu']
gelu = ops['gelu']
elu = ops['elu']
leaky_relu = ops['leaky_relu']
softplus = ops['softplus']
mish = ops['mish']
selu = ops['selu']
hardsigmoid = ops['hardsigmoid']
hardswish = ops['hardswish']
logsigmoid = ops['log_sigmoid']
softmax = ops['softmax']
log_softmax = ops['log_softmax']
linear = ops['linear']
one_hot = ops['one_hot']
pad = ops['pad']
avg_pool = ops['avg_pool']
adaptive_avg_pool = ops['adaptive_avg_pool']
interpolate = ops['interpolate']
grid_sample = ops['grid_sample']
mse_loss = ops['mse_loss']
l1_loss = ops['l1_loss']
smooth_l1_loss = ops['smooth_l1_loss']
binary_cross_entropy = ops['bce_loss']
conv = ops['conv']
conv_transpose = ops['conv_transpose']

_dropout, _embedding, _max_pool = ops['dropout'], ops['embedding'], ops['max_pool']
_adaptive_max_pool, _nll_loss = ops['adaptive_max_pool'], ops['nll_loss']
_cross_entropy, _bce_with_logits, _kl_div = ops['cross_entropy'], ops['bce_with_logits_loss'], ops['kl_div_loss']
_attention_packed, _add_layer_norm = ops['attention_packed'], ops['add_layer_norm']
_attention, _layer_norm, _rms_norm, _group_norm, _batch_norm = ops['attention'], ops['layer_norm'], ops['rms_norm'], ops['group_norm'], ops['batch_norm']


def dropout(x, p=0.5, training=True, generator=None):
    """Zeroes elements at random, each with probability `p`, and scales the others by 1/(1-p)."""
    if not 0 <= p <= 1:
        raise InvalidArgumentError(f'[dropout] p is {p}, must be 0 to 1')
    return _dropout(x, p, training, generator) if training and p > 0 else x


def embedding(index, weight, padding_idx=None):
    """Rows of `weight` (rows, width) by integer `index` (…): (…, width).

    >>> tenon.nn.functional.embedding(tenon.tensor([1, 0]), tenon.tensor([[1., 2.], [3., 4.]])).tolist()
    [[3.0, 4.0], [1.0, 2.0]]
    """
    return _embedding(weight, index, padding_idx)


def max_pool(x, kernel_size, stride=None, padding: int | tuple[int, ...] = 0, dilation: int | tuple[int, ...] = 1, ceil_mode=False):
    """The largest element of each window over the dimensions after (N, C).

    >>> tenon.nn.functional.max_pool(tenon.tensor([[[1., 3., 2., 4.]]]), 2).tolist()
    [[[3.0, 4.0]]]
    """
    return _max_pool(x, kernel_size, stride, padding, dilation, ceil_mode).values


def adaptive_max_pool(x, output_size):
    """The largest element of each window; the windows are chosen to give `output_size` results."""
    return _adaptive_max_pool(x, output_size).values


def affine_grid(theta, size, align_corners=False):
    """The grid with which `grid_sample` transforms x by theta: each element of the result is read at the position given by its sample's
    matrix.

    theta (N, 2, 3) and size (N, C, H, W) give (N, H, W, 2); theta (N, 3, 4) and size (N, C, D, H, W) give (N, D, H, W, 3). Coordinates
    run from -1 to 1: the centres of the outer elements with `align_corners`, otherwise their outer edges.

    >>> tenon.nn.functional.affine_grid(tenon.tensor([[[1., 0., 0.], [0., 1., 0.]]]), (1, 1, 1, 2)).tolist()
    [[[[-0.5, 0.0], [0.5, 0.0]]]]
    """
    check_tensor('affine_grid', theta)
    dims = len(size) - 2
    if dims not in (2, 3):
        raise InvalidArgumentError(f'[affine_grid] size must be (N, C, H, W) or (N, C, D, H, W), got {tuple(size)}')
    size = check_sizes('affine_grid', 'size', tuple(size), 1)
    wanted = (size[0], dims, dims + 1)
    if theta.shape != wanted or not theta.dtype.is_floating_point:
        raise InvalidArgumentError(f'[affine_grid] theta must be floating and of shape {wanted}, got {theta.dtype} {theta.shape}')
    column = (size[0],) + (1,) * dims + (dims,)
    grid = theta[:, :, dims].reshape(column)
    for d, n in enumerate(reversed(size[2:])):  # coordinates are ordered from the last dimension
        row = [1] * (dims + 2)
        row[dims - d] = n
        places = (tenon.arange(n, dtype=theta.dtype, device=theta.device) * 2 - (n - 1)) / (max(n - 1, 1) if align_corners else n)
        grid = grid + places.reshape(row) * theta[:, :, d].reshape(column)
    return grid


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, generator=None, enable_gqa=True):
    """softmax(scale·query·keyᵀ + attn_mask)·value; Vaswani et al. 2017, eq. 1.

    query (…, L, E), key (…, S, E) and value (…, S, F) give (…, L, F), with the same leading dimensions; with rank 4, (batch, heads, …),
    key and value may have fewer heads than query, if their number divides query's: each then serves a group of query's heads.
    `attn_mask` broadcasts to (…, L, S); a bool mask allows where it is true, any other is added to the scores. `is_causal` hides the
    keys after the query's position. `scale` defaults to 1/√E. Dropout of the weights is applied whatever the mode: pass 0 in
    evaluation. enable_gqa has no effect, because heads are grouped whenever there are fewer of them.

    >>> q = tenon.tensor([[1., 0.], [0., 1.]])
    >>> tenon.nn.functional.scaled_dot_product_attention(q, q, tenon.tensor([[2.], [4.]]), is_causal=True)[0].tolist()
    [2.0]
    """
    for name, x in (('query', query), ('key', key), ('value', value)):
        check_tensor('scaled_dot_product_attention', x)
        if x.ndim < 2 or x.ndim != query.ndim:
            raise InvalidArgumentError(f'[scaled_dot_product_attention] {name} has rank {x.ndim}, must be (…, length, width) of one rank')
    if not 0 <= dropout_p < 1:
        raise InvalidArgumentError(f'[scaled_dot_product_attention] dropout_p is {dropout_p}, must be 0 to 1')
    if dropout_p > 0:
        return _attention_with_dropout(query, key, value, attn_mask, dropout_p, is_causal, scale, generator)
    if query.ndim == 4:
        return _attention(query, key, value, attn_mask, is_causal, scale).y
    lead = query.shape[:-2]
    heads = 1
    for size in lead:
        heads *= size
    q, k, v = (x.reshape((1, heads) + x.shape[-2:]) for x in (query, key, value))
    if attn_mask is not None and attn_mask.ndim > 2:
        attn_mask = tenon.expand(attn_mask, lead + attn_mask.shape[-2:]).reshape((1, heads) + attn_mask.shape[-2:])
    return _attention(q, k, v, attn_mask, is_causal, scale).y.reshape(lead + (query.shape[-2], value.shape[-1]))


def attention_packed(qkv, attn_mask=None, is_causal=False, scale=None):
    """scaled_dot_product_attention of query, key and value in one tensor, as a single projection produces them.

    qkv (batch, length, 3, heads, width) gives (batch, length, heads, width). The reshapes before and after are views, and the gradient
    is written once, into one tensor, if the backend can. The rest is as in scaled_dot_product_attention.

    >>> x = tenon.ones(1, 2, 3 * 8)
    >>> tenon.nn.functional.attention_packed(x.reshape(1, 2, 3, 2, 4)).reshape(1, 2, 8).shape
    (1, 2, 8)
    """
    return _attention_packed(qkv, attn_mask, is_causal, scale).y


def _attention_with_dropout(query, key, value, attn_mask, dropout_p, is_causal, scale, generator):
    """Attention by its definition, because the weights must exist to be dropped."""
    groups = query.shape[-3] // key.shape[-3] if query.ndim > 2 else 1
    if groups > 1:
        key, value = (tenon.stack([x] * groups, -3).reshape(x.shape[:-3] + (-1,) + x.shape[-2:]) for x in (key, value))
    scores = (query * (scale if scale is not None else max(query.shape[-1], 1) ** -0.5)) @ ops['transpose'](key, -2, -1)
    if attn_mask is not None:
        allows = attn_mask.dtype == tenon.bool
        scores = tenon.where(attn_mask, scores, -float('inf')) if allows else scores + attn_mask
    if is_causal:
        allowed = tenon.tril(tenon.ones(scores.shape[-2:], dtype=tenon.bool, device=scores.device))
        scores = tenon.where(allowed, scores, -float('inf'))
    # Where nothing is allowed the logarithm is −∞, and all weights are 0.
    total = tenon.logsumexp(scores, -1, True)
    weights = tenon.exp(scores - tenon.where(total == -float('inf'), 0., total))
    return _dropout(weights, dropout_p, True, generator) @ value


def layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5):
    """Zero mean and unit variance over the last dimensions, those of `normalized_shape`."""
    return _layer_norm(x, normalized_shape, weight, bias, eps).y


def add_layer_norm(x, residual, normalized_shape, weight=None, bias=None, eps=1e-5):
    """layer_norm of x + residual, and that sum: (normalised, sum). A single pass, forward and backward, if the backend can.

    >>> y, total = tenon.nn.functional.add_layer_norm(tenon.tensor([1., 1.]), tenon.tensor([0., 2.]), 2)
    >>> total.tolist()
    [1.0, 3.0]
    """
    found = _add_layer_norm(x, residual, normalized_shape, weight, bias, eps)
    return found.y, found.sum


def rms_norm(x, normalized_shape, weight=None, eps=None):
    """Divides by the root of the mean square over the last dimensions; `eps` is that of x's dtype unless given."""
    check_tensor('rms_norm', x)
    if eps is None:
        eps = tenon.finfo(x.dtype).eps if x.dtype.is_floating_point else 2.0 ** -23
    return _rms_norm(x, normalized_shape, weight, eps).y


def group_norm(x, num_groups, weight=None, bias=None, eps=1e-5):
    """Zero mean and unit variance over groups of channels of x (N, C, …)."""
    return _group_norm(x, num_groups, weight, bias, eps).y


def batch_norm(x, running_mean=None, running_var=None, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    """Zero mean and unit variance over all dimensions but the channels of x (N, C, …).

    In training it uses the batch's statistics and mixes them into the running ones, in place, with weight `momentum`.
    """
    if (running_mean is None) != (running_var is None):
        raise InvalidArgumentError('[batch_norm] running_mean and running_var belong together: give both or neither')
    use_batch = training or running_mean is None
    y, mean, rstd = _batch_norm(x, weight, bias, running_mean, running_var, use_batch, eps)
    if training and running_mean is not None and running_var is not None:
        with tenon.no_grad():
            n = x.size / max(x.shape[1], 1)
            # Running variance is unbiased.
            variance = rstd ** -2 - eps
            running_mean[...] = running_mean * (1 - momentum) + mean * momentum
            running_var[...] = running_var * (1 - momentum) + variance * (n / max(n - 1, 1)) * momentum
    return y


def cross_entropy(logits, target, weight=None, ignore_index=-100, reduction='mean', label_smoothing=0.0):
    """The negative log-likelihood of labels (N, …), or of probabilities (N, C, …), given logits (N, C, …).

    >>> tenon.nn.functional.cross_entropy(tenon.tensor([[0., 0.]]), tenon.tensor([1]), reduction='sum').shape
    ()
    """
    return _cross_entropy(logits, target, weight, reduction, ignore_index, label_smoothing)


def binary_cross_entropy_with_logits(x, target, weight=None, reduction='mean', pos_weight=None):
    """Binary cross-entropy of logits, without overflow; `pos_weight` weights the positive examples."""
    return _bce_with_logits(x, target, weight, pos_weight, reduction)


def kl_div(x, target, reduction='mean', log_target=False):
    """The Kullback-Leibler divergence of target from exp(x); "batchmean" divides by the first dimension's size."""
    if reduction != 'batchmean':
        return _kl_div(x, target, reduction, log_target)
    check_tensor('kl_div', x)
    if x.ndim == 0:
        raise InvalidArgumentError('[kl_div] reduction "batchmean" needs x of rank 1 or more')
    return _kl_div(x, target, 'sum', log_target) / x.shape[0]


def nll_loss(log_probs, target, weight=None, ignore_index=-100, reduction='mean'):
    """The negative log-likelihood of labels (N, …) under log-probabilities (N, C, …)."""
    return _nll_loss(log_probs, target, weight, reduction, ignore_index).loss


# For functions of one number of dimensions: the function for any number, and how many arguments it takes.
_RANKED = {'conv': (conv, 7), 'conv_transpose': (conv_transpose, 8), 'max_pool': (max_pool, 6), 'avg_pool': (avg_pool, 6),
           'adaptive_avg_pool': (adaptive_avg_pool, 2), 'adaptive_max_pool': (adaptive_max_pool, 2)}
_ONLY_PYTORCHS = frozenset(('return_indices', 'divisor_override'))


def _of_rank(fn, count, rank, name):
    """fn for x (N, C, …) of one rank; PyTorch's function for (C, …), or if an argument is only PyTorch's."""
    def checked(x, *args, **kwargs):
        check_tensor(name, x)
        if x.ndim not in (rank + 1, rank + 2):
            raise InvalidArgumentError(f'[{name}] x has rank {x.ndim}, must be (N, C, {rank} more), or without N')
        words = any(isinstance(each, str) for each in (*args, *kwargs.values()))  # padding='same'
        if x.ndim == rank + 1 or words or len(args) >= count or _ONLY_PYTORCHS.intersection(kwargs):
            return getattr(tenon.torch.nn.functional, name)(x, *args, **kwargs)
        if len(args) > 5 and fn is conv_transpose:  # PyTorch has groups before dilation
            kwargs['groups'], args = args[5], (*args[:5], *args[6:])
        return fn(x, *args, **kwargs)
    checked.__name__ = checked.__qualname__ = name
    checked.__doc__ = f"The same as {name[:-2]}, for x of rank {rank + 2}; (C, …), padding='same' and return_indices as in PyTorch."
    return checked


globals().update({f'{name}{rank}d': _of_rank(fn, count, rank, f'{name}{rank}d') for name, (fn, count) in _RANKED.items() for rank in (1, 2, 3)})

__getattr__ = others(__name__)  # PyTorch's other names
