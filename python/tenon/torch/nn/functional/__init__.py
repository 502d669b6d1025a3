"""torch.nn.functional: layers, losses and related functions."""
from ...._overriding import show_module as _show_module
from ...matrix import cdist
from .activation import (celu, elu, gelu, glu, gumbel_softmax, hardshrink, hardsigmoid, hardswish, hardtanh, leaky_relu,
                         log_softmax, logsigmoid, mish, normalize, prelu, relu, relu6, rrelu, selu, sigmoid, silu, softmax, softmin,
                         softplus, softshrink, softsign, tanh, tanhshrink, threshold)
from .attention import scaled_dot_product_attention
from .conv import (bilinear, conv1d, conv2d, conv3d, conv_tbc, conv_transpose1d, conv_transpose2d, conv_transpose3d, embedding, embedding_bag,
                   linear, one_hot)
from .ctc import ctc_loss
from .distance import cosine_similarity, pairwise_distance, pdist
from .dropout import (alpha_dropout, dropout, dropout1d, dropout2d, dropout3d, feature_alpha_dropout, feature_dropout,
                      native_dropout)
from .fractional import (fractional_max_pool2d, fractional_max_pool2d_with_indices, fractional_max_pool3d,
                         fractional_max_pool3d_with_indices)
from .loss import (binary_cross_entropy, binary_cross_entropy_with_logits, cosine_embedding_loss, cross_entropy, gaussian_nll_loss,
                   hinge_embedding_loss, huber_loss, kl_div, l1_loss, linear_cross_entropy, margin_ranking_loss, mse_loss, multi_margin_loss,
                   multilabel_margin_loss, multilabel_soft_margin_loss, nll_loss, poisson_nll_loss, smooth_l1_loss,
                   soft_margin_loss, triplet_margin_loss, triplet_margin_with_distance_loss)
from .multihead import multi_head_attention_forward
from .norm import batch_norm, group_norm, instance_norm, layer_norm, local_response_norm, rms_norm
from .pool import (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d, adaptive_max_pool1d,
                   adaptive_max_pool1d_with_indices, adaptive_max_pool2d, adaptive_max_pool2d_with_indices, adaptive_max_pool3d,
                   adaptive_max_pool3d_with_indices, avg_pool1d, avg_pool2d, avg_pool3d, lp_pool1d, lp_pool2d, lp_pool3d, max_pool1d,
                   max_pool1d_with_indices, max_pool2d, max_pool2d_with_indices, max_pool3d, max_pool3d_with_indices, max_unpool1d, max_unpool2d, max_unpool3d)
from .spatial import (affine_grid, channel_shuffle, constant_pad_nd, fold, grid_sample, grid_sampler, interpolate, pad,
                      pixel_shuffle, pixel_unshuffle, unfold, upsample, upsample_bilinear, upsample_nearest)

native_channel_shuffle = channel_shuffle
_IN_PLACE = frozenset('celu_ elu_ hardtanh_ leaky_relu_ relu_ rrelu_ selu_ threshold_'.split())


def __getattr__(name):
    if name in _IN_PLACE:
        from ..._in_place import in_place
        found = globals()[name] = in_place(__name__, name, globals()[name[:-1]])
        return found
    from ..._absent import absent
    raise absent('nn.functional', name)


def __dir__():
    return sorted([*globals(), *_IN_PLACE])


_show_module(__name__)
