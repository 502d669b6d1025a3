"""Ops that compute each element for itself, of arguments that broadcast."""
from .._core import Tensor
from .call import op_of, rule, unsqueezed

NAMES = """
neg abs sign square floor ceil round trunc reciprocal exp exp2 expm1 log log2 log10 log1p sqrt rsqrt sin cos tan asin acos atan sinh
cosh tanh asinh acosh atanh erf erfc erfinv lgamma digamma conj real imag isnan isinf isfinite signbit logical_not bitwise_not relu
sigmoid silu gelu elu leaky_relu softplus mish selu hardsigmoid hardswish log_sigmoid gelu_backward silu_backward sigmoid_backward
tanh_backward relu_backward leaky_relu_backward hardswish_backward clamp_backward add sub mul div floor_divide remainder pow maximum minimum atan2 hypot copysign logaddexp complex
bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift equal not_equal less less_equal greater greater_equal
logical_and logical_or logical_xor where clamp lerp masked_fill cast clone contiguous to full_like tril triu alias
""".split()


def aligned(call, rank):
    """The arguments; batches of entries of a smaller rank get dimensions of size 1, so that they broadcast as the entries do."""
    return [unsqueezed(x, 1, rank - (x.ndim - 1)) if mark and isinstance(x, Tensor) else x for x, mark in zip(call.args, call.marks)]


@rule(*NAMES)
def elementwise(call):
    ranks = [x.ndim - mark for x, mark in zip(call.args, call.marks) if isinstance(x, Tensor)]
    return op_of(call.name)(*aligned(call, max(ranks)))
