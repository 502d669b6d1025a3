"""torch.autograd.graph: nothing of the tape can be changed from Python."""
from .._common import absent

__all__ = []

_SAVED = 'what ops save stays where it is: save less with torch.utils.checkpoint'
_INSTEAD = {
    'saved_tensors_hooks': _SAVED,
    'save_on_cpu': _SAVED,
    'disable_saved_tensors_hooks': _SAVED,
    'allow_mutation_on_saved_tensors': 'clone() a tensor before it is changed',
    'register_multi_grad_hook': 'register_hook() of each tensor',
    'node_creation_hook': 'register_hook() of a tensor',
    'Node': 'grad_fn of a tensor is the name of its op',
    'GradientEdge': 'give grad() tensors',
    'get_gradient_edge': 'give grad() tensors',
    'increment_version': 'write to the tensor',
    'queue_callback': 'call the function after backward()',
    'region_activation_memory_budget': _SAVED,
    'set_warn_on_accumulate_grad_stream_mismatch': 'a device has one stream',
    'set_override_stale_capture_stream': 'a device has one stream',
}

__getattr__ = absent(__name__, _INSTEAD)
