"""torch.compiler: functions run as they are written, compiled or not."""
import functools

__all__ = ['allow_in_graph', 'assume_constant_result', 'compile', 'disable', 'is_compiling', 'is_dynamo_compiling', 'list_backends', 'reset']


def compile(model=None, *, fullgraph=False, dynamic=None, backend='inductor', mode=None, options=None, disable=False):
    """The function or module itself, which gives the same results: calls run op by op. tenon.compile records one.

    Without a function it is a decorator.
    """
    if model is None:
        return functools.partial(compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options, disable=disable)
    if not callable(model):
        raise RuntimeError(f'[compile] needs a function or module, not {type(model).__name__}')
    return model


def disable(fn=None, recursive=True, *, reason=None):
    """The function itself; without one a decorator."""
    return fn if fn is not None else lambda function: function


def allow_in_graph(fn):
    """The function itself."""
    return fn


assume_constant_result = allow_in_graph


def is_compiling():
    """False."""
    return False


is_dynamo_compiling = is_compiling


def list_backends(exclude_tags=('debug', 'experimental')):
    """[]: nothing is compiled."""
    return []


def reset():
    """Nothing to forget."""
