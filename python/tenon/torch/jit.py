"""torch.jit: what libraries ask of it and write with it, where nothing is compiled; functions run eagerly."""
from typing import Final

from ._common import absent

__all__ = ['Final', 'annotate', 'export', 'ignore', 'interface', 'is_scripting', 'is_tracing', 'isinstance', 'script', 'script_if_tracing',
           'script_method', 'strict_fusion', 'unused']


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
    return obj


def unused(fn):
    """Returns the function."""
    return fn


export = interface = script_if_tracing = script_method = unused


def ignore(drop=False, **kwargs):
    """Returns the function; called without one, a decorator."""
    return drop if callable(drop) else unused


def annotate(the_type, the_value):
    """the_value."""
    return the_value


def isinstance(obj, target_type):
    """Whether obj is of a type, or of one of a tuple of types; of List[int] and its kin only the container counts."""
    import builtins
    kinds = target_type if builtins.isinstance(target_type, tuple) else (target_type,)
    return builtins.isinstance(obj, tuple(getattr(kind, '__origin__', kind) for kind in kinds))


class strict_fusion:
    """A scope without effect."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


_RECORD = 'record a program with torch.compile or tenon.graph.trace, whose programs can be saved'
__getattr__ = absent(__name__, {**dict.fromkeys('trace trace_module freeze optimize_for_inference ScriptModule ScriptFunction'.split(), _RECORD),
                                **dict.fromkeys(('save', 'load'), 'save and load programs with tenon.graph, or models with tenon.onnx'),
                                **dict.fromkeys(('fork', 'wait'), 'call the function')})
