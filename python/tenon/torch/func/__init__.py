"""torch.func: gradients and batches of functions, built on tenon.func; arguments and results may be nested dicts, lists and tuples."""
from .batches import vmap
from .derivatives import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp
from .modules import functional_call, replace_all_batch_norm_modules_, stack_module_state
from .rearrange import rearrange

__all__ = ['debug_unwrap', 'functional_call', 'functionalize', 'grad', 'grad_and_value', 'hessian', 'jacfwd', 'jacrev', 'jvp', 'linearize',
           'rearrange', 'replace_all_batch_norm_modules_', 'stack_module_state', 'vjp', 'vmap']

def debug_unwrap(tensor, *, recurse=True):
    """Returns the tensor: transformations here work on plain tensors."""
    return tensor


def functionalize(func, *, remove='mutations'):
    """The function itself: writes in place need not be removed before a function is recorded or transformed."""
    if remove not in ('mutations', 'mutations_and_views'):
        raise RuntimeError(f"[functionalize] remove is {remove!r}, must be 'mutations' or 'mutations_and_views'")
    return func
