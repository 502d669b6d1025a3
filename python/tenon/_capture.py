"""Capture of a device's work: recorded once, replayed as a whole. See docs/capture.md."""
import threading
import weakref

from . import _core
from .autograd import no_grad

_local = threading.local()
_told = weakref.WeakSet()  # listeners to tell before each capture begins
_lock = threading.Lock()


def captured():
    """The Graph that this thread is capturing, or None."""
    return getattr(_local, 'graph', None)


def graph_of(x):
    """The Graph that this thread is capturing if it is on the tensor's device, else None."""
    return graph if (graph := captured()) is not None and str(graph.device) == str(x.device) else None


class Clock:
    """The number of a step and its rate in device memory, where a captured step reads them, and their current values there.

    Must be made before the capture: during one it would get memory that earlier work of the graph writes to.
    """

    __slots__ = ('lr', 'number', 'rate', 'step')

    def __init__(self, device):
        self.step = _core.ops['full']((), 0, _core.int64, device)
        self.rate = _core.ops['full']((), 0.0, _core.float64, device)
        self.number, self.lr = 0, 0.0

    def set(self, number, lr):
        """Writes what has changed: steps taken outside the graph, a new rate. The replay that follows counts by itself."""
        with no_grad():
            if number != self.number:
                self.step.fill_(number)
            if lr != self.lr:
                self.rate.fill_(lr)
        self.number, self.lr = number + 1, lr


def tell(listener):
    """Calls listener._before_capture(device) before each capture from now on, for what cannot be made during one."""
    with _lock:
        _told.add(listener)


class Graph:
    """Captured work, made by `tenon.capture`. The graph keeps the memory of tensors made during the capture as long as it lives; the
    program must keep earlier tensors (inputs, parameters) alive."""

    def __init__(self, device):
        self._recorder = _core._Recorder()
        self.device = device
        self._before = []  # called before each replay: keeps what captured optimizers read up to date

    def replay(self):
        """Enqueues all captured work, in order with the device's other work."""
        for before in self._before:
            before()
        self._recorder.replay()

    def reset(self):
        """Waits for replays and frees the graph's memory; it cannot be replayed afterwards."""
        self._recorder.reset()
        self._before.clear()

    @property
    def nodes(self):
        """The number of kernels, copies and fills."""
        return self._recorder.nodes

    @property
    def memory(self):
        """Bytes on the device that the graph keeps, results included; `device.memory()` counts only the part that tensors hold."""
        return self._recorder.memory

    def __repr__(self):
        state = f'{self.nodes} nodes' if self._recorder.defined else 'empty'
        return f'Graph({str(self.device)!r}, {state})'


class capture:
    """A scope that records the work that this thread enqueues on the device instead of running it; its Graph replays the work. An
    exception drops the recording. Other threads are not affected.

    Shapes, numbers among the operands and the choice of ops are decided on the host, and so are the same at every replay. Each replay
    draws new random numbers from the default generator. Adam and AdamW keep counting, at their current rate. Refused with
    PreconditionError: reading elements, copies from or to the host, results whose shape depends on data, draws from other generators, a
    first step with momentum, and Adagrad with a decaying rate.

    >>> with tenon.capture(device) as graph:  # doctest: +SKIP
    ...     loss = step(x)
    >>> x[...] = batch; graph.replay(); loss.item()  # doctest: +SKIP
    """

    def __init__(self, device):
        self._graph = Graph(_core.device(device))

    def __enter__(self):
        with _lock:
            told = list(_told)
        for listener in told:
            listener._before_capture(self._graph.device)
        self._graph._recorder.begin(self._graph.device)
        _local.graph = self._graph
        return self._graph

    def __exit__(self, kind, *_):
        _local.graph = None
        if kind is None:
            self._graph._recorder.end()
        else:
            self._graph._before.clear()
            self._graph._recorder.drop()


def graphed(fn, *inputs, warmup=1):
    """fn(*inputs) as a graph: a function that copies its arguments into tensors of the graph, replays it and returns fn's results, in
    tensors of the graph that the next call overwrites. Arguments must have the shapes and dtypes of `inputs`, which are tensors on one
    device. `fn` may be a whole training step; it first runs `warmup` times as usual, so that everything prepared at first use exists.

    >>> step = tenon.graphed(train, x, y)  # doctest: +SKIP
    >>> for x, y in batches: loss = step(x, y)  # doctest: +SKIP
    """
    for x in inputs:
        if not isinstance(x, _core.Tensor):
            raise TypeError(f'[graphed] an input is a Tensor, not {type(x).__name__}')
    if not inputs:
        raise ValueError('[graphed] no inputs: use tenon.capture')
    if len({x.device for x in inputs}) != 1:
        raise ValueError(f'[graphed] inputs are on {", ".join(sorted({str(x.device) for x in inputs}))}')
    device = inputs[0].device
    # A graph reads the very memory that existed when it was captured.
    static = [x.detach().clone().requires_grad_(x.requires_grad) for x in inputs]
    for _ in range(warmup):
        fn(*static)
    with capture(device) as graph:
        outputs = fn(*static)

    def replay(*given):
        if len(given) != len(static):
            raise TypeError(f'[graphed] {len(static)} arguments expected, {len(given)} given')
        with no_grad():
            for own, x in zip(static, given):
                if tuple(x.shape) != tuple(own.shape) or x.dtype != own.dtype:
                    raise ValueError(f'[graphed] captured with {own.dtype}{tuple(own.shape)}, called with '
                                     f'{x.dtype}{tuple(x.shape)}')
                own.copy_(x)
        graph.replay()
        return outputs

    replay.graph = graph
    replay.fn = fn  # keeps alive what it refers to
    return replay
