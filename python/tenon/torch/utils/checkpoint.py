"""torch.utils.checkpoint: parts of a network that backward computes again instead of keeping them (Chen et al. 2016)."""
import contextlib
import functools
import threading
import warnings
from typing import Any

from ... import _core
from ..._core import default_generator
from ..._errors import InvalidArgumentError, PreconditionError
from ..._function import Function
from ...autograd import enable_grad, is_grad_enabled, no_grad
from .._common import absent
from ..amp.autocast_mode import autocast
from ..func.trees import tensors_of, with_tensors
from ..random import get_rng_state, set_rng_state

__all__ = ['CheckpointError', 'check_backward_validity', 'checkpoint', 'checkpoint_sequential', 'detach_variable', 'get_device_states', 'noop_context_fn', 'set_device_states', 'set_checkpoint_debug_enabled',
           'set_checkpoint_early_stop']


class CheckpointError(RuntimeError):
    """A function behaves differently when it is computed again."""


def noop_context_fn():
    """Two scopes that do nothing, for the first pass and for that of backward."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def get_device_states(*args):
    """(indices, states): the devices beside the CPU that the tensors among the arguments lie on, and the state of random numbers for each."""
    found = sorted({x.device.index for x in tensors_of(args) if x.device.type not in ('cpu', 'meta')})
    return found, [get_rng_state() for _ in found]


def set_device_states(devices, states, *, device_type=None):
    """Restores what get_device_states() gave: all devices draw from one generator."""
    for state in states[-1:]:
        set_rng_state(state)


@contextlib.contextmanager
def set_checkpoint_early_stop(enable):
    """Accepted without effect: recomputation always runs to the end."""
    yield


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled):
    """Accepted without effect: errors always name what differs."""
    yield


@contextlib.contextmanager
def _entered(layer):
    layer.enter()
    try:
        yield
    finally:
        layer.leave()


_others = threading.local()  # now: the stand-in of each tensor, by its handle


@contextlib.contextmanager
def _in_place_of(tensors, others):
    """In this scope ops that are called with one of the tensors get its stand-in; returns {handle of the tensor: stand-in}."""
    before = getattr(_others, 'now', {})
    _others.now = {_core._handle(x): other for x, other in zip(tensors, others)}
    try:
        with _entered(_core._Substitution(tensors, others)):
            yield _others.now
    finally:
        _others.now = before


class _Settings:
    """The current random numbers and autocast."""

    def __init__(self, preserve_rng_state):
        self.rng = default_generator().get_state() if preserve_rng_state else None
        self.autocast = {kind: _core._get_autocast(kind) for kind in {device.type for device in _core.devices()}}

    def refuse_draws(self):
        """For a trace, where each run draws anew and in order, so that no draw can be repeated."""
        if self.rng is not None and default_generator().get_state() != self.rng:
            raise PreconditionError('[checkpoint] the function draws random numbers, which a graph cannot draw again: leave checkpoint() '
                                    'out of what is traced, or dropout out of the function')

    @contextlib.contextmanager
    def again(self):
        """A scope in which these are restored."""
        with contextlib.ExitStack() as stack:
            for kind, (dtype, enabled, cache) in self.autocast.items():
                if enabled or _core._get_autocast(kind)[1]:
                    stack.enter_context(autocast(kind, _core.as_dtype(dtype), enabled, cache))
            if self.rng is not None:
                stack.callback(default_generator().set_state, default_generator().get_state())
                default_generator().set_state(self.rng)
            yield


class _Checkpoint(Function):
    """Returns existing results; its gradient computes them again.

    Inputs are the tensors among the arguments and any others that the function uses, mainly parameters.
    """

    @staticmethod
    def forward(ctx, again, results, count, *inputs):
        ctx.again, ctx.count = again, count
        ctx.save_for_backward(*inputs)
        return tuple(results)

    @staticmethod
    def backward(ctx, *gradients):
        create_graph, needed, saved = is_grad_enabled(), ctx.needs_input_grad[3:], ctx.saved_tensors
        if _core._trace_active():  # on copies, or the graph would share the recomputation with the first pass, which is kept
            saved = [*map(_core.ops['clone'], saved[:ctx.count]), *saved[ctx.count:]]
        with enable_grad():  # separate tensors, at which the history of the recomputation ends
            inputs = [_core.ops['alias'](x) if create_graph and need else x.detach().requires_grad_(need)
                      for x, need in zip(saved, needed)]
            results = ctx.again(inputs[:ctx.count], inputs[ctx.count:])
            if len(results) != len(gradients):
                raise CheckpointError(f'[checkpoint] the function gave {len(gradients)} tensors, and {len(results)} when it was computed again')
            used = [(y, gradient) for y, gradient in zip(results, gradients) if gradient is not None and y.requires_grad]
        wanted = [x for x, need in zip(inputs, needed) if need]
        if not used:
            return None, None, None, *(None for _ in inputs)
        for y, gradient in used:
            if y.shape != gradient.shape:
                raise CheckpointError(f'[checkpoint] a result had shape {gradient.shape}, and {y.shape} when it was computed again')
        found = iter(_core._gradient([y for y, _ in used], wanted, [gradient for _, gradient in used], create_graph, create_graph, True))
        return None, None, None, *(next(found) if need else None for need in needed)


def checkpoint(function=None, *args, use_reentrant=None, preserve_rng_state=True, context_fn=noop_context_fn, determinism_check='default',
               debug=False, early_stop=True, **kwargs):
    """function(*args, **kwargs), whose inner results are not kept for backward but computed again there.

    Gradients go to tensors in args and kwargs and to any others that the function uses, such as its parameters. Random numbers
    (preserve_rng_state) and autocast are the same the second time; context_fn returns scopes for both passes. Every floating result
    requires gradients. use_reentrant, determinism_check, debug and early_stop have no effect. Without a function this is a decorator.
    """
    if function is None:
        options: Any = {'preserve_rng_state': preserve_rng_state, 'context_fn': context_fn}
        return lambda function: functools.wraps(function)(functools.partial(checkpoint, function, **options))
    first, second = context_fn()
    if not is_grad_enabled():
        with first:
            return function(*args, **kwargs)
    given = tensors_of((args, kwargs))
    settings, witness = _Settings(preserve_rng_state), _core._Witness()
    with no_grad(), first, _entered(witness):
        result = function(*args, **kwargs)
    known = {_core._handle(x) for x in given}
    captured = [x for x in witness.tensors() if _core._handle(x) not in known]
    outer = getattr(_others, 'now', {})  # inside a checkpoint that is being recomputed
    tied = [outer.get(_core._handle(x), x) for x in captured]
    if not any(x.requires_grad for x in (*given, *captured)):
        return result

    def again(tensors, others):
        inner_args, inner_kwargs = with_tensors((args, kwargs), iter(tensors))
        with settings.again(), second, _in_place_of(captured, others) as other:
            return [other.get(_core._handle(y), y) for y in tensors_of(function(*inner_args, **inner_kwargs))]
    if _core._trace_active():
        settings.refuse_draws()
    results = iter(_Checkpoint.apply(again, tensors_of(result), len(given), *given, *tied))
    return with_tensors(result, results)


def checkpoint_sequential(functions, segments, input, use_reentrant=None, preserve_rng_state=True):
    """A Sequential, or a list of functions, in `segments` parts, each but the last a checkpoint."""
    functions = list(functions.children()) if hasattr(functions, 'children') else list(functions)
    if not 0 < segments <= len(functions):
        raise InvalidArgumentError(f'[checkpoint_sequential] {segments} segments of {len(functions)} functions')

    def of(part):
        def run(x):
            for function in part:
                x = function(x)
            return x
        return run
    size = len(functions) // segments
    for i in range(segments - 1):
        input = checkpoint(of(functions[i * size:(i + 1) * size]), input, preserve_rng_state=preserve_rng_state)
    return of(functions[(segments - 1) * size:])(input)


_PARTS = 'the function is computed again whole'
def detach_variable(inputs):
    """A tuple of tensors without their history, which still ask for gradients where they did; other values stay."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f'[detach_variable] wants a tuple, not {type(inputs).__name__}')
    return tuple(x.detach().requires_grad_(x.requires_grad) if isinstance(x, _core.Tensor) else x for x in inputs)


def check_backward_validity(inputs):
    """Warns if no tensor among the inputs asks for a gradient: then a checkpoint has none."""
    if not any(x.requires_grad for x in inputs if isinstance(x, _core.Tensor)):
        warnings.warn('[checkpoint] no input has requires_grad=True: gradients will be None', stacklevel=2)


__getattr__ = absent(__name__, {
    'CheckpointFunction': 'checkpoint()', 'CheckpointPolicy': _PARTS, 'create_selective_checkpoint_contexts': _PARTS,
    'SelectiveCheckpointContext': _PARTS, 'SAC_IGNORED_OPS': _PARTS, 'GraphExecGroup': _PARTS, 'DefaultDeviceType': 'tensors know their device',
    'get_device_states': 'torch.get_rng_state(): one generator serves all devices',
    'set_device_states': 'torch.set_rng_state(): one generator serves all devices'})
