"""torch.utils: data, checkpoint, dlpack, hooks, swap_tensors."""
_MODULES = '_pytree', 'benchmark', 'checkpoint', 'data', 'dlpack', 'flop_counter', 'hooks', 'model_zoo', 'module_tracker', 'tensorboard'


def __getattr__(name):
    if name in _MODULES:
        from importlib import import_module
        return import_module('.' + name, __name__)
    if name == 'swap_tensors':
        from .swapping import swap_tensors
        return swap_tensors
    from .._places import INSTEAD
    if f'utils.{name}' in INSTEAD:
        raise AttributeError(f'[torch.utils.{name}] is not offered here: {INSTEAD[f"utils.{name}"]}')
    raise AttributeError(f"module 'tenon.torch.utils' has no attribute {name!r}: {', '.join(_MODULES)} are offered")


def __dir__():
    return sorted([*globals(), *_MODULES, 'swap_tensors'])
