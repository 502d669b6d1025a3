"""Graphs of torch.cuda: captured work, as by tenon.capture."""
from ..._capture import capture, captured, graphed

__all__ = ['CUDAGraph', 'graph', 'is_current_stream_capturing', 'make_graphed_callables']


class CUDAGraph:
    """Work that `with torch.cuda.graph(...)` has captured, to be replayed."""

    _captured = None

    def __init__(self, keep_graph=False):
        pass

    def replay(self):
        """Enqueues the captured work."""
        if self._captured is None:
            raise RuntimeError('[CUDAGraph.replay] nothing was captured: use `with torch.cuda.graph(this):`')
        self._captured.replay()

    def reset(self):
        """Frees the graph's memory."""
        if self._captured is not None:
            self._captured.reset()
            self._captured = None

    def pool(self):
        """None: each graph has memory of its own."""


class graph:
    """A scope that captures work on the first device instead of running it."""

    def __init__(self, cuda_graph, pool=None, stream=None, capture_error_mode='global'):
        self._into, self._scope = cuda_graph, capture(getattr(stream, 'device', 'cuda:0'))

    def __enter__(self):
        self._scope.__enter__()

    def __exit__(self, *raised):
        self._scope.__exit__(*raised)
        if raised[0] is None:
            self._into._captured = self._scope._graph


def make_graphed_callables(callables, sample_args, num_warmup_iters=3, allow_unused_input=False, pool=None):
    """tenon.graphed() of a function, or of each in a tuple, with its sample arguments."""
    if isinstance(callables, tuple):
        return tuple(graphed(each, *args, warmup=num_warmup_iters) for each, args in zip(callables, sample_args))
    return graphed(callables, *sample_args, warmup=num_warmup_iters)


def is_current_stream_capturing():
    """Whether this thread captures."""
    return captured() is not None
