"""Functions with custom gradients, written in Python."""
import functools

from . import _core
from ._core import Tensor
from ._errors import InvalidArgumentError
from .autograd import is_grad_enabled, no_grad


class Context:
    """Carries what forward() saves for backward(); you may set attributes on it."""

    def __init__(self, materialize):
        self._saved: tuple[Tensor | None, ...] = ()
        self._versions: tuple[int | None, ...] = ()
        self._dirty: tuple[Tensor, ...] = ()
        self._constants: tuple[Tensor, ...] = ()
        self._materialize = materialize
        self._packed: tuple | None = None  # (unpack hook, result of the pack hook)
        self._for_forward: tuple[Tensor | None, ...] | None = None
        self._in_jvp = False
        self._again = {}  # by the position of a saved output: what makes it anew, with its history
        self.needs_input_grad: tuple[bool, ...] = ()

    def save_for_backward(self, *tensors):
        """Keeps tensors (or None) for ctx.saved_tensors."""
        for x in tensors:
            if x is not None and not isinstance(x, Tensor):
                raise TypeError(f'[save_for_backward] wants Tensors or None, not {type(x).__name__}: set it as an attribute of ctx')
        self._saved = tensors

    def save_for_forward(self, *tensors):
        """Keeps tensors (or None) for jvp(), which finds them as ctx.saved_tensors."""
        self._for_forward = tensors

    @property
    def saved_tensors(self):
        """The tensors of save_for_backward(); a RuntimeError if one has been written to since. In jvp() those of save_for_forward()."""
        if self._in_jvp and self._for_forward is not None:
            return self._for_forward
        if self._packed is not None:
            unpack, kept = self._packed
            with no_grad():
                values = tuple(None if x is None else unpack(x) for x in kept)
            return tuple(self._again[i]() if i in self._again else x for i, x in enumerate(values)) if is_grad_enabled() else values
        for x, version in zip(self._saved, self._versions):
            if x is not None and x.version != version:
                raise RuntimeError(f'[saved_tensors] a tensor of shape {tuple(x.shape)} that was saved for backward has been changed in '
                                   'place since: clone() it before')
        if not self._again or not is_grad_enabled():
            return self._saved
        return tuple(self._again[i]() if i in self._again else x for i, x in enumerate(self._saved))

    def mark_dirty(self, *tensors):
        """Marks the arguments that forward() wrote to; it must return them."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors):
        """Marks results that have no gradient."""
        self._constants = tensors

    def set_materialize_grads(self, value):
        """Sets whether backward() gets zeros or None for results that were not used."""
        self._materialize = value


def _tie(name, backward, inputs, outputs):
    """The outputs with a history that leads to the inputs through backward."""
    if _core._inside_vmap():
        from . import _vmap
        return _vmap.record(name, backward, inputs, outputs)
    _core._record(name, backward, inputs, outputs)
    return outputs


def _in_trace(x):
    """An outside tensor as the trace has it, so that its gradient is on the trace's device; others as they are."""
    return _core.ops['alias'](x) if isinstance(x, Tensor) and x.requires_grad and not _core._traced(x) else x


def _is_among(x, tensors):
    return any(x is other for other in tensors)


class Function:
    """A function with a custom gradient: subclass it with static forward(ctx, …) and backward(ctx, *gradients), and call apply(…).

    forward() runs unrecorded; if there is a static setup_context(ctx, inputs, output), forward() gets no ctx. backward() gets a
    gradient, or None, for each output and returns one, or None, for each argument of forward(); it is recorded if gradients of
    gradients are requested.
    """

    _materialize = False
    _tensors_only = True
    # jvp(ctx, *tangents) -> the tangents of the results, for forward mode. Without one, two calls of backward() compute them.
    jvp = None
    # vmap(info, in_dims, *args) -> (results, out_dims) for whole batches; info has batch_size and randomness. Without one forward()
    # runs under vmap as any function does.
    vmap = None

    @staticmethod
    def forward(*args, **kwargs):
        raise NotImplementedError('a Function needs a static forward(ctx, …)')

    @staticmethod
    def setup_context(ctx, inputs, output):
        raise NotImplementedError('forward(ctx, …) does without setup_context()')

    @staticmethod
    def backward(ctx, *gradients):
        raise NotImplementedError('a Function needs a static backward(ctx, *gradients)')

    @classmethod
    def _forward(cls, ctx, args, kwargs):
        with no_grad():
            if cls.setup_context is Function.setup_context:
                return cls.forward(ctx, *args, **kwargs)
            results = cls.forward(*args, **kwargs)
            cls.setup_context(ctx, args, results)
            return results

    @classmethod
    def apply(cls, *args, **kwargs):
        if cls.vmap is not None and _core._inside_vmap():
            from . import _vmap
            found = _vmap.by_own_rule(cls.vmap, args, kwargs)
            if found is not None:
                return found[0]
        if _core._has_tangents():
            from . import _forward
            found = _forward.of_function(cls, args, kwargs)
            if found is not None:
                return found[0]
        return cls._apply(Context(cls._materialize), args, kwargs)

    @classmethod
    def _apply(cls, ctx, args, kwargs):
        if _core._trace_active() and is_grad_enabled():
            args = tuple(map(_in_trace, args))
        ctx.needs_input_grad = tuple(isinstance(arg, Tensor) and arg.requires_grad for arg in args)
        results = cls._forward(ctx, args, kwargs)
        if results is None:
            raise TypeError(f'[{cls.__name__}] forward returned None: return a Tensor, or a tuple of Tensors')
        if not is_grad_enabled() or not any(ctx.needs_input_grad):
            return results
        single = not isinstance(results, (tuple, list))
        outputs = _Call(cls, ctx, args).record([results] if single else list(results))
        return outputs[0] if single else type(results)(outputs) if type(results) in (tuple, list) else tuple(outputs)


class _Call:
    """One call of a Function whose results get a history."""

    def __init__(self, function, ctx, args):
        self.name, self.backward, self.ctx = function.__name__, function.backward, ctx
        self.count, self.tensors_only = len(args), function._tensors_only
        self.where = [i for i, arg in enumerate(args) if isinstance(arg, Tensor)]
        self.inputs = [args[i] for i in self.where]  # dropped by record(); otherwise their memory would stay alive

    def record(self, outputs):
        """The outputs, tied to the inputs."""
        ctx = self.ctx
        if any(not _is_among(x, outputs) for x in ctx._dirty):
            raise RuntimeError(f'[{self.name}] forward must return each argument that it marks as dirty')
        # Integers, and results that forward() marked, have no gradient.
        tied = [i for i, y in enumerate(outputs) if self._is_tied(y)]
        written = {i: outputs[i] for i in tied if _is_among(outputs[i], ctx._dirty)}
        places = {}  # by id, where each output comes first
        for i, y in enumerate(outputs):
            is_first = places.setdefault(id(y), i) == i
            if isinstance(y, Tensor) and (not is_first or _is_among(y, self.inputs) or y.requires_grad):
                # A separate handle to attach the history to.
                outputs[i] = y.detach().clone() if i in written else y.detach()
        self.shapes = [(y.shape, y.dtype, y.device) if isinstance(y, Tensor) else None for y in outputs]
        if tied:
            ends = _tie(self.name, lambda gradients: self.run(tied, gradients), self.inputs, [outputs[i] for i in tied])
            for i, y in zip(tied, ends):
                outputs[i] = y
        for i, x in written.items():  # a recorded write gives the argument and its views the new history
            x[...] = outputs[i]
            outputs[i] = x
        self._keep(places, outputs, tied)
        self.inputs = None
        return outputs

    def _is_tied(self, y):
        if not isinstance(y, Tensor):
            if not self.tensors_only:
                return False
            raise TypeError(f'[{self.name}] forward must return Tensors, not {type(y).__name__}')
        return (y.dtype.is_floating_point or y.dtype.is_complex) and not _is_among(y, self.ctx._constants)

    def _keep(self, places, outputs, tied):
        """Saved outputs without their history, which would form a reference cycle that nothing can break."""
        ctx, kept = self.ctx, list(self.ctx._saved)
        for place, x in enumerate(kept):
            index = places.get(id(x))
            if x is None or index is None or (_is_among(x, self.inputs) and not _is_among(x, ctx._dirty)):
                continue
            kept[place] = value = outputs[index].detach()
            if _is_among(x, ctx._dirty):
                ctx._again[place] = self._refuse_anew
            elif index in tied:
                ctx._again[place] = functools.partial(self._anew, index, value, self.inputs)
        hooks = _core._saved_hooks()
        if hooks is not None and kept:
            self._pack(hooks, kept)
            return
        ctx._saved = tuple(kept)
        ctx._versions = tuple(None if x is None else x.version for x in kept)

    def _pack(self, hooks, kept):
        """What the hooks of torch.autograd.graph.saved_tensors_hooks make of the saved tensors."""
        ctx, (pack, unpack) = self.ctx, hooks
        for place, x in enumerate(kept):
            if x is not None and x.requires_grad:
                ctx._again[place] = self._refuse_packed
        with no_grad():
            ctx._packed = unpack, [None if x is None else pack(x.detach()) for x in kept]
        ctx._saved = ctx._versions = ()

    def _refuse_packed(self):
        raise RuntimeError(f'[{self.name}] gradients of gradients through an argument that saved_tensors_hooks packed: call the Function '
                           'outside of the hooks')

    def _anew(self, index, value, inputs):
        """A saved output with its history as a result of this call."""
        return _tie(self.name, lambda gradients: self.run([index], gradients), inputs, [value.detach()])[0]

    def _refuse_anew(self):
        raise RuntimeError(f'[{self.name}] gradients of gradients through a saved argument that forward() wrote to: save a clone() of it')

    def run(self, places, gradients):
        """backward() with gradients of the outputs at these positions; returns a gradient for each input that is a tensor."""
        given: list[Tensor | None] = [None] * len(self.shapes)
        for i, gradient in zip(places, gradients):
            given[i] = gradient
        if self.ctx._materialize:
            given = [_core.ops['full'](shape[0], 0, *shape[1:]) if g is None and shape is not None else g
                     for g, shape in zip(given, self.shapes)]
        got = self.backward(self.ctx, *given)
        got = (got,) if got is None or isinstance(got, Tensor) else tuple(got)
        if len(got) == self.count or len(got) > self.count and all(g is None for g in got[self.count:]):
            return [got[i] for i in self.where]
        if len(got) == len(self.where):
            return got
        if got == (None,):
            raise TypeError(f'[{self.name}] backward returned None: return a gradient, or None, for each of the {self.count} '
                            'arguments of forward')
        raise InvalidArgumentError(f'[{self.name}] backward returned {len(got)} gradients for {self.count} arguments')


def once_differentiable(backward):
    """Marks a backward() that is not recorded: gradients of its gradients then raise an error instead of being zero."""
    @functools.wraps(backward)
    def wrapped(ctx, *gradients):
        with no_grad():
            found = backward(ctx, *gradients)
        sources = [g for g in gradients if isinstance(g, Tensor) and g.requires_grad]
        if not is_grad_enabled() or not sources:
            return found
        results = [x.detach() if isinstance(x, Tensor) else x for x in (found if isinstance(found, (tuple, list)) else (found,))]
        ends = [x for x in results if x is not None]
        if ends:
            _core._record('once_differentiable', _refuse, sources, ends)
        return tuple(results)
    return wrapped


def _refuse(gradients):
    raise RuntimeError('[once_differentiable] gradients of the gradients of this function are not defined')
