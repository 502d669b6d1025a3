"""torch.compiler: functions and modules recorded by tenon.compile, under PyTorch's names."""
import functools
import warnings

from .. import _core, graph
from .._errors import PreconditionError
from ..autograd import is_grad_enabled
from ..nn.module import Module
from ._common import absent

__all__ = ['OptimizedModule', 'allow_in_graph', 'assume_constant_result', 'compile', 'cond', 'cudagraph_mark_step_begin', 'disable', 'get_default_backend',
           'is_compiling', 'is_dynamo_compiling', 'is_exporting', 'list_backends', 'nested_compile_region', 'nonstrict_trace', 'reset',
           'set_default_backend', 'set_stance']

_AS_WRITTEN = ('eager', 'aot_eager', 'aot_eager_decomp_partition')


def compile(model=None, *, fullgraph=False, dynamic=None, backend=None, mode=None, options=None, disable=False):
    """A function or module whose calls without gradients are recorded and run as programs, as by `tenon.compile`.

    Calls that need gradients run as written, and so does what cannot be recorded, with one warning, even if fullgraph is set; a whole
    training step as one function is recorded, too. With dynamic=None or True the second combination of shapes makes one program for all.
    backend='eager' gives back the function, a backend of one's own is not called; mode and options have no effect. Without a function
    this is a decorator.
    """
    if model is None:
        return functools.partial(compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options, disable=disable)
    if not callable(model):
        raise RuntimeError(f'[compile] needs a function or module, not {type(model).__name__}')
    backend = get_default_backend() if backend is None else backend
    if disable or backend in _AS_WRITTEN:
        return model
    if not isinstance(backend, str):
        warnings.warn(f'[compile] {backend!r} is not called: the function is recorded by tenon.compile', stacklevel=2)
    if isinstance(model, OptimizedModule):
        return model
    dynamic = dynamic is not False
    return OptimizedModule(model, dynamic) if isinstance(model, Module) else graph.compile(model, dynamic=dynamic)


class OptimizedModule(Module):
    """A module whose calls without gradients run as programs: what `torch.compile` makes of a module.

    Its attributes are those of the module, and names of parameters begin with '_orig_mod.', as in PyTorch.
    """

    def __init__(self, module, dynamic):
        self._orig_mod, self._dynamic, self._recorded = module, dynamic, graph.compile(module, dynamic=dynamic)

    def forward(self, *args, **kwargs):
        module = self._orig_mod
        trained = is_grad_enabled() and any(x.requires_grad for x in module.parameters())
        return (module if trained else self._recorded)(*args, **kwargs)

    def __len__(self):
        return len(self._orig_mod)

    @property
    def training(self):
        return self._orig_mod.training

    @training.setter
    def training(self, mode):
        self._orig_mod.training = mode

    def __getattr__(self, name):
        if name == '_orig_mod':  # not there yet, as while it is copied
            raise AttributeError(name)
        return getattr(self._orig_mod, name)

    def __setattr__(self, name, value):
        if name[0] == '_':  # hooks, which are its own
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __reduce__(self):
        return functools.partial(compile, dynamic=self._dynamic), (self._orig_mod,)


def disable(fn=None, recursive=True, *, reason=None):
    """The function, which a recorded function must not call: that one runs as written, then. Without a function this is a decorator."""
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)
    if isinstance(fn, (Module, type)):
        return fn

    @functools.wraps(fn)
    def plain(*args, **kwargs):
        if _core._trace_active():
            raise PreconditionError(f'[compile] {getattr(fn, "__qualname__", fn)} is disabled' + (f': {reason}' if reason else ''))
        return fn(*args, **kwargs)
    return plain


def cond(pred, true_fn, false_fn, operands=()):
    """true_fn(*operands) if pred is true, else false_fn(*operands); recorded as a branch that each run takes. See `tenon.graph.cond`."""
    return graph.cond(pred, true_fn, false_fn, *operands)


def allow_in_graph(fn):
    """Returns the function."""
    return fn


assume_constant_result = nonstrict_trace = nested_compile_region = allow_in_graph


def is_compiling():
    """Whether a function is recorded at the moment."""
    return _core._trace_active()


is_dynamo_compiling = is_exporting = is_compiling


def list_backends(exclude_tags=('debug', 'experimental')):
    """The one that there is."""
    return ['tenon']


_backend = [None]  # what set_default_backend() was given


def set_default_backend(backend):
    """Sets what `torch.compile` uses where it is given no backend; None means tenon.compile."""
    _backend[0] = backend


def get_default_backend():
    """What `torch.compile` uses where it is given no backend."""
    return _backend[0] or 'inductor'


class set_stance:
    """PyTorch's choice of when to compile again, as a function or a scope, accepted without effect: what is compiled stays so.

    'force_eager' and 'fail_on_recompile', which would change what runs, raise an error.
    """

    _ACCEPTED = 'default', 'eager_on_recompile', 'eager_then_compile', 'aot_eager_then_compile'

    def __init__(self, stance='default', *, skip_guard_eval_unsafe=False, force_backend=None):
        if stance not in self._ACCEPTED or force_backend is not None:
            raise RuntimeError(f'[set_stance] {stance!r} is not offered: compile(..., disable=True) leaves a function as it is')

    def __call__(self, fn):
        return fn

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


def cudagraph_mark_step_begin():
    """Does nothing: results of a run are not overwritten by the next."""


def reset():
    """Does nothing: programs belong to the functions that were compiled."""


__getattr__ = absent(__name__, {})
