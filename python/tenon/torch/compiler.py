"""torch.compiler: functions run as written, compiled or not."""
import functools

__all__ = ['allow_in_graph', 'assume_constant_result', 'compile', 'disable', 'is_compiling', 'is_dynamo_compiling', 'list_backends', 'reset']


def compile(model=None, *, fullgraph=False, dynamic=None, backend='inductor', mode=None, options=None, disable=False):
    """Returns the function or module unchanged: calls run op by op. To record one use tenon.compile.

    Without a function this is a decorator.
    """
    if model is None:
        return functools.partial(compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options, disable=disable)
    if not callable(model):
        raise RuntimeError(f'[compile] needs a function or module, not {type(model).__name__}')
    return model


def disable(fn=None, recursive=True, *, reason=None):
    """Returns the function; without one it is a decorator."""
    return fn if fn is not None else lambda function: function


def allow_in_graph(fn):
    """Returns the function."""
    return fn


assume_constant_result = allow_in_graph


def is_compiling():
    """False."""
    return False


is_dynamo_compiling = is_compiling


def list_backends(exclude_tags=('debug', 'experimental')):
    """Always []: nothing is compiled."""
    return []


def reset():
    """Does nothing: there is nothing to reset."""
