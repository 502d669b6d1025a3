"""Function with PyTorch's rules."""
from ..._function import Context as FunctionCtx
from ..._function import Function as _Function
from ..._function import once_differentiable
from .._common import absent

__all__ = ['Function', 'FunctionCtx', 'once_differentiable']


_FLAT = 'a Function takes tensors, and nested values as other arguments'
_INSTEAD = {'NestedIOFunction': _FLAT, 'InplaceFunction': 'ctx.mark_dirty() of a Function', 'FunctionMeta': 'derive from Function',
            'BackwardCFunction': 'derive from Function', 'custom_function_call': 'apply() of a Function'}
__getattr__ = absent(__name__, _INSTEAD)


class Function(_Function):
    """A function with a custom gradient: static forward() and backward(), optionally setup_context(), called by apply().

    backward() gets zeros for unused results, unless ctx.set_materialize_grads(False) was called; results that are no tensors pass
    through. In forward mode a static jvp(ctx, *tangents) returns the tangents of the results, given those of the arguments, which are
    None if they are zero; without it two passes of backward() compute them. Inside torch.func.vmap a static vmap(info, in_dims, *args)
    computes whole batches; without it forward() and backward() run on tensors that stand for all entries, whether or not
    generate_vmap_rule is set.
    """

    _materialize, _tensors_only = True, False
    generate_vmap_rule = False
