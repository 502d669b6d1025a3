"""torch.nn: tenon's modules with PyTorch's arguments, and those that are functions of nn.functional."""
from ...nn.activation import Sigmoid, Tanh
from ...nn.container import ModuleDict, ModuleList, ParameterList, Sequential
from ...nn.linear import Flatten, Unflatten
from ...nn.module import Module, Parameter
from .._common import absent
from . import functional, init, utils
from .modules import *
from .recurrent import *
from .attention import MultiheadAttention
from .transformer import *
from .adaptive import AdaptiveLogSoftmaxWithLoss
from .lazy import *
from .parameters import Buffer, ParameterDict

_INSTEAD = {
    'DataParallel': 'one process trains here, with all cores',
    'SyncBatchNorm': 'one process trains here: BatchNorm sees the whole batch',
    'UninitializedParameter': 'lazy modules have no parameters before their first call',
    'UninitializedBuffer': 'lazy modules have no buffers before their first call',
    'LinearCrossEntropyLoss': 'use nn.functional.linear_cross_entropy',
    'LinearCrossEntropyOptions': 'use the arguments of nn.functional.linear_cross_entropy',
    'Container': 'derive from nn.Module',
    'CrossMapLRN2d': 'use nn.LocalResponseNorm',
    'RNNCellBase': 'derive from nn.RNNCell, nn.LSTMCell or nn.GRUCell',
    'factory_kwargs': 'modules take device= and dtype=',
    'quantized': 'cast with to(torch.float8_e4m3fn), and see tenon.scaled_matmul',
    'parallel': 'one process trains here',
    'attention': 'use nn.functional.scaled_dot_product_attention',
}
__getattr__ = absent(__name__, _INSTEAD)
