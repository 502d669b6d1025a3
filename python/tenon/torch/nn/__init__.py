"""torch.nn: tenon's modules with PyTorch's arguments, and modules made from functions of nn.functional."""
from ...nn.module import Module
from . import functional, init, modules, parallel, parameter, utils
from .modules import *
from .attention import MultiheadAttention
from .parallel import DataParallel
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
from .recurrent import *
from .transformer import *

# Names that are not offered, and what to use instead.
_INSTEAD = {
    'Container': 'it is the older name of Module',
    'quantized': 'see torch.ao.quantization.quantize_dynamic',
    'qat': 'see torch.ao.quantization.quantize_dynamic',
    'quantizable': 'see torch.ao.quantization.quantize_dynamic',
    'intrinsic': 'nn.utils.fusion joins layers with batch norms',
}


def __getattr__(name):
    if name == 'grad':
        from importlib import import_module
        return import_module('.grad', __name__)
    if name in _INSTEAD:
        raise AttributeError(f'[torch.nn.{name}] is not offered here: {_INSTEAD[name]}')
    from .._absent import absent
    raise absent('nn', name)
