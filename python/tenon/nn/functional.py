"""Layers without parameters of their own, as functions: `tenon.nn.functional.relu(x)`.

Each is an op of the library; help() of one gives its arguments. Those with several results give the first here.
"""
import tenon
from .._core import ops
from ._check import check_tensor

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
cross_entropy = ops['cross_entropy']
mse_loss = ops['mse_loss']
l1_loss = ops['l1_loss']
smooth_l1_loss = ops['smooth_l1_loss']
binary_cross_entropy = ops['bce_loss']
binary_cross_entropy_with_logits = ops['bce_with_logits_loss']
kl_div = ops['kl_div_loss']
conv = ops['conv']
conv_transpose = ops['conv_transpose']

_dropout, _embedding, _max_pool = ops['dropout'], ops['embedding'], ops['max_pool']
_adaptive_max_pool, _nll_loss = ops['adaptive_max_pool'], ops['nll_loss']
_layer_norm, _rms_norm, _group_norm, _batch_norm = ops['layer_norm'], ops['rms_norm'], ops['group_norm'], ops['batch_norm']


def dropout(x, p=0.5, training=True, generator=None):
    """Zeroes elements at random, each with probability `p`, and scales the others by 1/(1-p)."""
    if not 0 <= p <= 1:
        raise ValueError(f'[dropout] p is {p}, must be 0 to 1')
    return _dropout(x, p, training, generator) if training and p > 0 else x


def embedding(index, weight, padding_idx=None):
    """Rows of `weight` (rows, width) by integer `index` (…): (…, width).

    >>> tenon.nn.functional.embedding(tenon.tensor([1, 0]), tenon.tensor([[1., 2.], [3., 4.]])).tolist()
    [[3.0, 4.0], [1.0, 2.0]]
    """
    return _embedding(weight, index, padding_idx)


def max_pool(x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
    """The largest element of each window over the dimensions behind (N, C).

    >>> tenon.nn.functional.max_pool(tenon.tensor([[[1., 3., 2., 4.]]]), 2).tolist()
    [[[3.0, 4.0]]]
    """
    return _max_pool(x, kernel_size, stride, padding, dilation, ceil_mode).values


def adaptive_max_pool(x, output_size):
    """The largest element of as many windows as `output_size` says."""
    return _adaptive_max_pool(x, output_size).values


def layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5):
    """Zero mean and unit variance over the last dimensions, those of `normalized_shape`."""
    return _layer_norm(x, normalized_shape, weight, bias, eps).y


def rms_norm(x, normalized_shape, weight=None, eps=1e-5):
    """Divides by the root of the mean square over the last dimensions."""
    return _rms_norm(x, normalized_shape, weight, eps).y


def group_norm(x, num_groups, weight=None, bias=None, eps=1e-5):
    """Zero mean and unit variance over groups of channels of x (N, C, …)."""
    return _group_norm(x, num_groups, weight, bias, eps).y


def batch_norm(x, running_mean=None, running_var=None, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    """Zero mean and unit variance over all dimensions but the channels of x (N, C, …).

    While training it takes the batch's statistics and lets them into the running ones, in place, with weight `momentum`.
    """
    use_batch = training or running_mean is None
    y, mean, rstd = _batch_norm(x, weight, bias, running_mean, running_var, use_batch, eps)
    if training and running_mean is not None:
        with tenon.no_grad():
            n = x.size / max(x.shape[1], 1)
            # The running variance is the unbiased one.
            variance = rstd ** -2 - eps
            running_mean[...] = running_mean * (1 - momentum) + mean * momentum
            running_var[...] = running_var * (1 - momentum) + variance * (momentum * n / max(n - 1, 1))
    return y


def nll_loss(log_probs, target, weight=None, reduction='mean', ignore_index=-100):
    """The negative log-likelihood of labels (N, …) under log-probabilities (N, C, …)."""
    return _nll_loss(log_probs, target, weight, reduction, ignore_index).loss


def _of_rank(fn, rank, name):
    def checked(x, *args, **kwargs):
        check_tensor(name, x)
        if x.ndim != rank + 2:
            raise ValueError(f'[{name}] x has rank {x.ndim}, must be (N, C, {rank} more)')
        return fn(x, *args, **kwargs)
    checked.__name__ = checked.__qualname__ = name
    checked.__doc__ = f'The same as {name[:-2]}, for x of rank {rank + 2}.'
    return checked


for _name, _fn in {'conv': conv, 'conv_transpose': conv_transpose, 'max_pool': max_pool, 'avg_pool': avg_pool,
                   'adaptive_avg_pool': adaptive_avg_pool, 'adaptive_max_pool': adaptive_max_pool}.items():
    for _rank in (1, 2, 3):
        globals()[f'{_name}{_rank}d'] = _of_rank(_fn, _rank, f'{_name}{_rank}d')
del _name, _fn, _rank
