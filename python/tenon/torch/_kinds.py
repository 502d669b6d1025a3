"""Which kind of argument a function takes, by the name of the parameter. Only a call that failed is judged by it."""
from .. import _core
from .._core import Tensor
from .._errors import ArgumentTypeError

_TENSORS = frozenset('''input weight bias running_mean running_var tensor mat1 mat2 batch1 batch2 mat vec vec1 vec2 tensor1 tensor2 input1 input2
    target mask query key theta grid log_probs targets anchor positive negative x1 x2 A B L self offsets index indices source boundaries
    sorted_sequence elements test_elements LU pivots LU_data LU_pivots tau window'''.split())
_INTEGERS = frozenset('''dim dim0 dim1 start_dim end_dim dims groups n k num_classes diagonal offset upscale_factor downscale_factor chunks sections axis
    bins minlength num_samples decimals kernel_size stride padding dilation output_size output_padding size shape sizes
    split_size normalized_shape num_groups start length repeats shifts padding_idx steps N M'''.split())
_BOOLS = frozenset('''keepdim largest sorted descending unbiased training train inplace align_corners upper transpose left full_matrices hermitian
    ceil_mode return_indices count_include_pad use_input_stats return_inverse return_counts stable right increasing with_replacement'''.split())
_NUMBERS = frozenset('''p eps alpha beta momentum lambd negative_slope threshold margin delta maxnorm max_norm norm_type temperature rcond rtol
    atol equal_nan'''.split())
_TEXTS = frozenset('reduction mode rounding_mode padding_mode indexing approximate'.split())
# Functions of numbers, too, or that take a list where others take one.
_FREE = frozenset('''pow remainder div true_divide divide add sub mul floor_divide float_power where result_type can_cast is_tensor is_storage einsum
    meshgrid broadcast_tensors block_diag cartesian_prod atleast_1d atleast_2d atleast_3d scalar_tensor full tensordot'''.split())
# Parameters that take more in these functions than elsewhere, such as max(input, other) and lerp(input, end, 0.5).
_WIDER = {**dict.fromkeys('max min std var std_mean var_mean'.split(), 'dim'), **dict.fromkeys('arange linspace logspace'.split(), 'start'), 'lerp': 'weight', 'repeat_interleave': 'repeats', 'local_response_norm': 'k',
          'rrelu': 'upper', 'batch_norm': 'running_mean running_var', 'select': 'index', 'select_scatter': 'index', 'index_put': 'indices',
          'svd_lowrank': 'M', 'pca_lowrank': 'M', 'polygamma': 'n input', 'histogram': 'bins', 'histogramdd': 'bins', 'searchsorted': 'input',
          'movedim': 'source', 'norm': 'p', 'matrix_rank': 'atol rtol', 'pinv': 'atol rtol rcond', 'exponential': 'tau'}


def _is_number(x):
    return isinstance(x, (int, float, complex)) or isinstance(x, Tensor) and x.size == 1 or type(x).__module__ == 'numpy' and getattr(x, 'ndim', 1) == 0


def _is_integer(x):
    if isinstance(x, (tuple, list)):
        return all(each is None or _is_integer(each) for each in x)
    if isinstance(x, Tensor):
        return x.size == 1 and not x.dtype.is_floating_point
    return hasattr(x, '__index__') and not isinstance(x, bool) and not hasattr(x, '__array_interface__') or isinstance(x, _core.dtype)


def _wrong(name, x, is_required):
    """What an argument of this name must be, if x is not; otherwise ''."""
    if x is None and not is_required:
        return ''
    if name in _TENSORS and not hasattr(type(x), '__torch_function__') and isinstance(x, (int, float, complex, str, list, tuple, type(None))):
        return 'a Tensor'
    if name in _INTEGERS and not _is_integer(x) and not isinstance(x, str):
        return 'an integer'
    if name in _BOOLS and not isinstance(x, bool):
        return 'a bool'
    if name in _NUMBERS and not _is_number(x):
        return 'a number'
    return 'text' if name in _TEXTS and not isinstance(x, str) else ''


def _is_ours(error):
    """Whether code of this package raised an error, and not a hook or callback of the program."""
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    return step is not None and str(step.tb_frame.f_globals.get('__name__')).startswith('tenon.')


def judged(function, error, given, named):
    """A TypeError in place of the error of a call, if an argument is of the wrong kind; otherwise None. named: the last arguments' names."""
    code = getattr(function, '__code__', None)
    if code is None or function.__name__ in _FREE:
        return None
    places = len(given) - len(named or ())
    names = (*code.co_varnames[:min(code.co_argcount, places)], *('',) * max(places - code.co_argcount, 0), *(named or ()))
    required = code.co_varnames[:code.co_argcount - len(function.__defaults__ or ())]
    wider = 'n' if '_polynomial_' in function.__name__ else _WIDER.get(function.__name__, '')
    for name, x in zip(names, given):
        wanted = '' if name in wider.split() else _wrong(name, x, name in required)
        if wanted:
            made = ArgumentTypeError(f'[{function.__name__}] {name} must be {wanted}, not {type(x).__name__}')
            made.__cause__ = error
            return made
    if isinstance(error, (AttributeError, KeyError, OverflowError, ZeroDivisionError)) and _is_ours(error):
        made = TypeError(f'[{function.__name__}] does not take ({", ".join(type(x).__name__ for x in given)}): {error}')
        made.__cause__ = error
        return made
    return None
