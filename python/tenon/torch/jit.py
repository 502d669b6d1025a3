"""torch.jit: what libraries ask of it and write with it, where nothing is compiled; functions run eagerly."""
import builtins
from typing import Final

from ..autograd import no_grad
from ..nn.module import Module
from ._common import absent
from ._jit_files import load, remember, save

__path__ = []  # for `import torch.jit.annotations`: _places.py
__all__ = ['Final', 'ScriptFunction', 'ScriptModule', 'TracerWarning', 'annotate', 'export', 'fork', 'freeze', 'ignore', 'interface',
           'is_scripting', 'is_tracing', 'isinstance', 'load', 'optimize_for_inference', 'save', 'script', 'script_if_tracing', 'script_method', 'strict_fusion', 'trace', 'unused', 'wait']


def is_scripting():
    """False."""
    return False


def is_tracing():
    """Whether tenon.compile or tenon.graph.trace records at the moment."""
    from .. import _core
    return _core._trace_active()


def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """Returns the function, class or module unchanged: it runs eagerly. To record one use tenon.compile."""
    if not callable(obj):
        raise RuntimeError(f'[jit.script] needs a function, class or module, not {type(obj).__name__}')
    if builtins.isinstance(obj, Module):
        remember(obj)
    return obj


def trace(func, example_inputs=None, optimize=None, check_trace=True, check_inputs=None, check_tolerance=1e-5, strict=True, **kwargs):
    """Calls the function or module once with the example inputs and returns it unchanged: it runs eagerly. Its save(f) writes a program.
    To record one for faster runs use tenon.compile.
    """
    if not callable(func):
        raise RuntimeError(f'[jit.trace] needs a function or module, not {type(func).__name__}')
    if example_inputs is not None:
        example = tuple(example_inputs) if builtins.isinstance(example_inputs, (tuple, list)) else (example_inputs,)
        with no_grad():
            func(*example)
        remember(func, example)
    return func


def freeze(mod, preserved_attrs=None, optimize_numerics=True, preserve_parameters=False):
    """Returns the module, which must not be training."""
    if getattr(mod, 'training', False):
        raise RuntimeError('[jit.freeze] the module is in training mode: call eval() first')
    return mod


def optimize_for_inference(mod, other_methods=None):
    """Returns the module."""
    return mod


def unused(fn):
    """Returns the function."""
    return fn


export = interface = script_if_tracing = _script_if_tracing = script_method = _overload = _overload_method = unused


def ignore(drop=False, **kwargs):
    """Returns the function; called without one, a decorator."""
    return drop if callable(drop) else unused


def annotate(the_type, the_value):
    """the_value."""
    return the_value


def isinstance(obj, target_type):
    """Whether obj is of a type, or of one of a tuple of types; of List[int] and its kin only the container counts."""
    kinds = target_type if builtins.isinstance(target_type, tuple) else (target_type,)
    return builtins.isinstance(obj, tuple(getattr(kind, '__origin__', kind) for kind in kinds))


class ScriptModule(Module):
    """What PyTorch compiles a module to; no module is one here."""

    def __init__(self):
        raise RuntimeError(f'[torch.jit.{type(self).__name__}] is not offered here: {_RECORD}')


class ScriptFunction(ScriptModule):
    """What PyTorch compiles a function to; no function is one here."""


class TracerWarning(Warning):
    """Never raised: jit.trace() records nothing."""


def fork(func, *args, **kwargs):
    """Calls func at once; a torch.futures.Future of its result."""
    from .futures import Future
    future = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future):
    """future.wait()."""
    return future.wait()


class strict_fusion:
    """A scope without effect."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


_RECORD = 'record a program with torch.export or tenon.graph.trace, whose programs can be saved'
__getattr__ = absent(__name__, dict.fromkeys('trace_module CompilationUnit Attribute'.split(), _RECORD) | dict.fromkeys(
    'Error Future enable_onednn_fusion onednn_fusion_enabled set_fusion_strategy export_opnames'.split(),
    "it belongs to PyTorch's compiler of scripts: functions run eagerly here, and tenon.compile records them"))
