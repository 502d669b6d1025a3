"""PyTorch's names with PyTorch's meaning: a script runs here once its import lines are changed.

>>> import tenon.torch as torch
>>> values, indices = torch.max(torch.tensor([[1., 3.], [4., 2.]]), 1)
>>> values.tolist(), indices.tolist()
([3.0, 4.0], [1, 0])

Tensors, ops and modules are those of tenon. Where meanings agree, a function is the very same object; otherwise it is a short function
here, with PyTorch's arguments, promotion of dtypes and results. Methods of Tensor have PyTorch's meaning, whichever module was
imported. docs/torch.md lists, function by function, the results of PyTorch's own samples.
"""
from math import e, inf, nan, pi

from .. import newaxis
from .._overriding import show_module as _show_module
from .._core import Tensor, dtype, promote_types, set_num_threads
from .._core import num_threads as get_num_threads
from .._dtypes import *
from .._errors import DeviceLostError as AcceleratorError, OutOfMemoryError
from ..autograd import enable_grad, is_grad_enabled, no_grad
from . import _places
from ._common import result_type
from ._neighbours import introduce as _introduce
from .arithmetic import (add, addcdiv, addcmul, allclose, arctan2, atan2, bitwise_and, bitwise_left_shift, bitwise_or,
                         bitwise_right_shift, bitwise_xor, clamp, clamp_max, clamp_min, clip, complex, copysign, dist, div,
                         divide, eq, equal, float_power, floor_divide, fmax, fmin, fmod, gcd, ge, greater, greater_equal, gt,
                         heaviside, hypot, isclose, lcm, ldexp, le, lerp, less, less_equal, logaddexp, logaddexp2, logical_and,
                         logical_or, logical_xor, lt, maximum, minimum, mul, multiply, ne, nextafter, not_equal, polar, pow,
                         remainder, rsub, sub, subtract, true_divide, where, xlogy)
from .copies import (alias_copy, as_strided_copy, diagonal_copy, expand_copy, narrow_copy, permute_copy, split_with_sizes_copy,
                     squeeze_copy, t_copy, transpose_copy, unbind_copy, unfold_copy, unsqueeze_copy, view_copy)
from .create import (arange, as_tensor, asarray, channels_last, channels_last_3d, contiguous_format, empty, empty_like, layout, memory_format,
                     empty_permuted, empty_strided, eye, from_file, from_numpy, frombuffer, full, full_like, linspace, logspace, new_empty,
                     new_empty_strided, new_full, new_ones, new_zeros, ones, ones_like, preserve_format, scalar_tensor, sparse_coo, sparse_csc, sparse_csr, strided,
                     tensor, zeros, zeros_like)
from .index import (argwhere, as_strided_scatter, diagonal_scatter, fill, gather, index_add, index_copy, index_fill, index_put,
                    index_reduce, index_select, masked_fill, masked_scatter, masked_select, nonzero, nonzero_static, put, scatter,
                    scatter_add, scatter_reduce, select_scatter, slice_scatter, take, take_along_dim, unravel_index)
from .join import (block_diag, cat, chunk, column_stack, concat, concatenate, dsplit, dstack, hsplit, hstack, row_stack, split,
                   split_with_sizes, stack, tensor_split, unbind, unsafe_chunk, unsafe_split, unsafe_split_with_sizes, vsplit, vstack)
from .matrix import (addbmm, addmm, addmv, addr, baddbmm, bmm, cdist, chain_matmul, cholesky_inverse, cholesky_solve, cross, dot,
                     einsum, ger, inner, kron, matmul, mm, mv, outer, tensordot, trace, vander, vdot)
from .modes import (Size, can_cast, device, get_default_device, get_default_dtype, get_device_module, inference_mode, is_conj,
                    is_distributed, is_inference, is_inference_mode_enabled, is_neg, is_same_size, is_signed, is_storage, set_default_device,
                    set_default_dtype, set_default_tensor_type, set_grad_enabled, typename)
from .pointwise import *
from .pointwise import abs, round
from .random import (Generator, bernoulli, default_generator, get_rng_state, initial_seed, manual_seed, multinomial, normal, rand, rand_like,
                     randint, randint_like, randn, randn_like, randperm, seed, set_rng_state)
from .reduce import (all, amax, amin, aminmax, any, argmax, argmin, count_nonzero, cummax, cummin, cumprod, cumsum,
                     cumulative_trapezoid, diff, gradient, log_softmax, logcumsumexp, logsumexp, max, mean, min, nanmean, nansum,
                     norm, prod, renorm, softmax, std, std_mean, sum, trapezoid, trapz, var, var_mean)
from ._shortcuts import numpys as _numpys
from .shape import (adjoint, as_strided, atleast_1d, atleast_2d, atleast_3d, broadcast_shapes, broadcast_tensors, broadcast_to,
                    cartesian_prod, combinations, diag, diag_embed, diagflat, diagonal, expand, expand_as, flatten, flip, fliplr,
                    flipud, meshgrid, moveaxis, movedim, narrow, permute, ravel, repeat, repeat_interleave, reshape, reshape_as, roll,
                    rot90, select, squeeze, sum_to_size, swapaxes, swapdims, t, tile, transpose, tril, tril_indices, triu, triu_indices,
                    unflatten, unfold, unsqueeze, view, view_as)
from .version import __version__
from .statistics import (argsort, bincount, bucketize, corrcoef, cov, histc, histogram, histogramdd, isin, kthvalue, median, mode,
                         msort, nanmedian, nanquantile, quantile, searchsorted, sort, topk, unique, unique_consecutive)
# Last, because int and float hide Python's.
from .._dtypes import complex64 as cfloat, complex128 as cdouble, float16 as half, float32 as float, float64 as double
from .._dtypes import int16 as short, int32 as int, int64 as long
from .._dtypes import int8 as qint8, uint8 as quint8  # as an argument of torch.ao.quantization

globals().update({name: _numpys(found) for name, found in globals().items() if name[0] != '_'})

# Imported on first use.
_MODULES = frozenset('''nn optim utils linalg fft special cuda signal backends autograd func testing accelerator mps mtia cpu distributions amp
    compiler foreach hub jit storage types version xpu distributed multiprocessing sparse profiler onnx export overrides library einops fx _utils ao
    nested masked futures return_types serialization quasirandom __config__'''.split())
_LAZY = {name: module for module, names in {
    'linalg': 'logdet matrix_power matrix_exp pinverse triangular_solve',
    'special': 'mvlgamma polygamma i0',
    'spectra': 'stft istft',
    'lu_factors': 'lu_unpack',
    'lowrank': 'svd_lowrank pca_lowrank',
    'limits': 'finfo iinfo',
    'gamma_integrals': 'igamma igammac',
    'counts': 'binomial poisson',
    'householder': 'geqrf ormqr',
    'windows': 'hann_window hamming_window blackman_window bartlett_window kaiser_window',
    'files': 'save load',
    'files.records': 'PyTorchFileReader',
    '_inner': 'TensorType chalf complex32 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu',
    'cuda.streams': 'Event Stream',
    'storage': '''TypedStorage UntypedStorage FloatStorage DoubleStorage HalfStorage BFloat16Storage LongStorage IntStorage ShortStorage CharStorage
        ByteStorage BoolStorage ComplexFloatStorage ComplexDoubleStorage''',
    'random': 'thread_safe_generator',
    'futures': 'Future',
    'jit': 'fork wait ScriptFunction ScriptModule',
    'sizes': 'SymBool SymFloat SymInt',
    'cells': 'gru_cell lstm_cell rnn_relu_cell rnn_tanh_cell',
    'fake_quantize': 'fake_quantize_per_channel_affine fake_quantize_per_tensor_affine',
    'autograd.anomaly': 'is_anomaly_check_nan_enabled is_anomaly_enabled set_anomaly_enabled',
    'amp.grad_scaler': 'GradScaler',
    'nested.of_parts': 'jagged',
    'library.op': 'ops',
    'legacy': '''FloatTensor DoubleTensor HalfTensor BFloat16Tensor LongTensor IntTensor ShortTensor CharTensor ByteTensor
        BoolTensor''',
    'func': 'vmap',
    'sparse': 'sparse_coo_tensor sparse_csr_tensor sparse_csc_tensor sparse_compressed_tensor',
    'sparse.products': 'spmm',
    'compiler': 'compile cond',
    'printing': 'set_printoptions',
    '_install': 'install',
    'amp.autocast_mode': '''autocast get_autocast_dtype set_autocast_dtype is_autocast_enabled set_autocast_enabled
        is_autocast_cache_enabled set_autocast_cache_enabled clear_autocast_cache''',
    'amp.old_names': '''get_autocast_cpu_dtype get_autocast_gpu_dtype is_autocast_cpu_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled
        set_autocast_gpu_dtype''',
    'switches': '''are_deterministic_algorithms_enabled get_deterministic_debug_mode get_float32_matmul_precision
        get_num_interop_threads is_deterministic_algorithms_warn_only_enabled is_warn_always_enabled set_deterministic_debug_mode
        set_float32_matmul_precision set_flush_denormal set_num_interop_threads set_warn_always
        use_deterministic_algorithms''',
    'extra': '''affine_grid_generator conv_tbc detach detach_copy adaptive_max_pool1d frobenius_norm from_dlpack get_device grid_sampler_2d
        grid_sampler_3d max_pool1d_with_indices native_channel_shuffle norm_except_dim nuclear_norm orgqr range segment_reduce select_copy slice_copy
        split_copy sym_float sym_int sym_ite sym_max sym_min sym_not sym_sqrt sym_sum to_dlpack view_as_complex_copy
        view_as_real_copy''',
    '_checks': '_assert _assert_async _check _check_index _check_is_size _check_not_implemented _check_tensor_all _check_type _check_value _check_with',
    'nn.functional': '''celu rrelu prelu threshold native_dropout alpha_dropout feature_dropout feature_alpha_dropout dropout pixel_shuffle pixel_unshuffle
        channel_shuffle cosine_similarity pairwise_distance pdist cosine_embedding_loss hinge_embedding_loss
        margin_ranking_loss triplet_margin_loss conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d
        hardshrink softplus embedding instance_norm batch_norm layer_norm group_norm rms_norm bilinear adaptive_avg_pool1d
        avg_pool1d max_pool1d max_pool2d max_pool3d constant_pad_nd grid_sampler kl_div ctc_loss''',
}.items() for name in names.split()}
_DECOMPOSITIONS = frozenset('cholesky svd qr inverse det slogdet lu lu_solve'.split())
# Functions that write to their first argument; those that are also methods are the methods.
_IN_PLACE = frozenset('''addmv_ alpha_dropout_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ as_strided_ celu_ clamp_max_ clamp_min_
    clip_ conj_physical_ deg2rad_ dropout_ feature_alpha_dropout_ feature_dropout_ fix_ frac_ gcd_ i0_ lcm_ ldexp_ logit_
    nan_to_num_ negative_ rad2deg_ rrelu_ sinc_ threshold_ xlogy_'''.split())

# Names that are not offered, and what to use instead.
_INSTEAD = {
    'Storage': 'tensors keep their memory: see Tensor.data_ptr',
}


def _asked_for():
    """Whether the current import of this module was written outside of tenon."""
    from sys import _getframe
    frame = _getframe(1)
    while frame is not None:
        name = str(frame.f_globals.get('__name__'))
        if name != __name__ and not name.startswith(('importlib', '_frozen_importlib')):
            return name.split('.')[0] != 'tenon'
        frame = frame.f_back
    return True


def __getattr__(name):
    from importlib import import_module
    if name in _MODULES or name in _places.PLACES:
        return import_module('.' + name, __name__)
    if name in _LAZY:
        found = getattr(import_module('.' + _LAZY[name], __name__), name)
    elif name in _DECOMPOSITIONS:
        found = getattr(import_module('.decompositions', __name__), name)
    elif name[-1:] == '_' and name[:1] != '_' and hasattr(Tensor, name):
        found = getattr(Tensor, name)
    elif name in _IN_PLACE:
        found = import_module('._in_place', __name__).in_place(__name__, name, getattr(import_module(__name__), name[:-1]))
    elif name.startswith('_foreach_'):
        found = getattr(import_module('.foreach', __name__), name.removeprefix('_foreach_'))
    elif name in _INSTEAD:
        raise AttributeError(f"[torch.{name}] is not offered here: {_INSTEAD[name]}")
    else:
        raise import_module('._absent', __name__).absent('', name)
    found = globals()[name] = _numpys(found)
    return found


def __dir__():
    return sorted([*globals(), *_MODULES, *_LAZY, *_DECOMPOSITIONS, *_IN_PLACE])


if _asked_for():
    # From here on tensors, shapes, dtypes and devices print as in PyTorch.
    from .printing import install as _print_so
    _print_so()
_show_module(__name__)
_introduce()
