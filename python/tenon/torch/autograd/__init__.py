"""torch.autograd: gradients, functions with custom gradients, and checks of gradients."""
from .._common import absent
from ..modes import inference_mode, set_grad_enabled
from . import function, functional, grad_mode, graph
from .anomaly import detect_anomaly, set_detect_anomaly
from .function import Function
from .gradcheck import gradcheck, gradgradcheck
from .gradients import backward, grad
from .grad_mode import enable_grad, no_grad, set_multithreading_enabled
from .variable import Variable

__all__ = ['Function', 'Variable', 'backward', 'detect_anomaly', 'enable_grad', 'function', 'functional', 'grad', 'grad_mode', 'gradcheck',
           'gradgradcheck', 'graph', 'inference_mode', 'no_grad', 'set_detect_anomaly', 'set_grad_enabled', 'set_multithreading_enabled',
           'variable']

# Names that are not offered, and what to use instead.
_INSTEAD = {
    'NestedIOFunction': 'give a Function tensors, and nested values as other arguments',
    'enforce_grad_layout_policy': 'gradients have the strides that their ops give them',
    'profiler_legacy': 'torch.profiler',
    'profiler_util': 'torch.profiler',
    'SavedTensor': 'save_for_backward() of a Function keeps tensors',
}

_absent = absent(__name__, _INSTEAD)


def __getattr__(name):
    if name in ('forward_ad', 'profiler'):  # imported on first use
        from importlib import import_module
        return import_module(f'.{name}', __name__)
    return _absent(name)
