"""Inner modules of PyTorch that packages import: torch._C, torch._subclasses, torch.fx.experimental and others, as far as they mean something here."""
import contextlib
import typing

from .. import _core
from .._core import Tensor
from .._levels import levels
from . import modes, printing
from ._common import absent
from ._compilers import nothing
from .jit import unused
from .overrides import DisableTorchFunction, DisableTorchFunctionSubclass
from .random import Generator, default_generator


class _Keys(frozenset):
    """torch._C.DispatchKeySet: stages of PyTorch's dispatcher, by name."""

    def __new__(cls, *keys):
        return super().__new__(cls, keys)

    def __or__(self, other):
        return _Keys(*self, *other)


class _Names:
    """torch._C.DispatchKey: a stage is its name."""

    def __getattr__(self, name):
        if name[:2] == '__':
            raise AttributeError(name)
        return name


class _Parsing:
    """torch._C._nn: how Module.to() reads its arguments."""

    @staticmethod
    def _parse_to(*args, device=None, dtype=None, non_blocking=False, copy=False, memory_format=None):
        """(device, dtype, non_blocking, memory_format) of to(device), to(dtype), to(tensor) or to(device, dtype)."""
        for each in args:
            if isinstance(each, Tensor):
                device, dtype = each.device, each.dtype
            elif isinstance(each, _core.dtype):
                dtype = each
            elif isinstance(each, bool):
                non_blocking = each
            elif each is not None:
                device = each
        return None if device is None else modes.device(device), dtype, non_blocking, memory_format


class _OfScripts:
    """What PyTorch's compiler of scripts is made of, for annotations."""


class _C:
    """torch._C: what packages ask for is offered under torch."""

    Generator, default_generator, _TensorMeta = Generator, default_generator, type(Tensor)
    DispatchKey, DispatchKeySet, _ExcludeDispatchKeyGuard = _Names(), _Keys, contextlib.nullcontext
    _nn = _Parsing()
    Block = Graph = Node = Value = _OfScripts
    DisableTorchFunction, DisableTorchFunctionSubclass = DisableTorchFunction, DisableTorchFunctionSubclass
    _log_api_usage_once = _get_tracing_state = staticmethod(nothing)
    _instead = staticmethod(absent('tenon.torch._C', {}))

    @staticmethod
    def _are_functorch_transforms_active():
        """Whether vmap or forward mode runs in this thread."""
        return bool(levels())

    @staticmethod
    def _disabled_torch_function_impl(func, types, args=(), kwargs=None):
        with DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    def __getattr__(self, name):
        if name.startswith(('_jit_set_', '_jit_override_', '_set_', '_debug_set_')):
            return nothing
        if name == '_LinAlgError':
            from .linalg import LinAlgError
            return LinAlgError
        return self._instead(name)


class _Subclasses:
    """torch._subclasses: no tensor is a fake one here; see the device meta."""

    class FakeTensor(Tensor):
        """What no tensor is."""

    @staticmethod
    def is_fake(x):
        """False."""
        return False


class _Sizes:
    """torch.fx.experimental: sizes are numbers here, so what is asked of them is known, and no proxy stands for a tensor."""

    guard_or_false = guard_or_true = statically_known_true = staticmethod(bool)
    GuardOnDataDependentSymNode = RuntimeError
    get_proxy_mode = staticmethod(nothing)

    @staticmethod
    def free_symbols(value):
        """An empty set."""
        return set()

    free_unbacked_symbols = free_symbols


class _Prims:
    """torch._prims_common."""

    @staticmethod
    def is_contiguous_or_false(x, memory_format=None):
        """x.is_contiguous()."""
        return x.is_contiguous()

    alert_not_deterministic = staticmethod(nothing)


class _NoDtype:
    """A dtype of PyTorch that no tensor has here, for programs that compare with it."""

    is_signed = True

    def __init__(self, name, is_complex=False):
        self._name, self.is_complex, self.is_floating_point = name, is_complex, not is_complex

    def __repr__(self):
        return f'torch.{self._name}'


complex32 = chalf = _NoDtype('complex32', is_complex=True)
float8_e4m3fnuz, float8_e5m2fnuz, float8_e8m0fnu = map(_NoDtype, ('float8_e4m3fnuz', 'float8_e5m2fnuz', 'float8_e8m0fnu'))


class TensorType:
    """The type of tensors in PyTorch's compiler of scripts, for annotations."""


class _Options:
    """torch._tensor_str.PRINT_OPTS: what torch.set_printoptions() has set."""

    def __getattr__(self, name):
        found = printing.get_printoptions()
        if name not in found:
            raise AttributeError(name)
        return found[name]


def _add_suffixes(tensor_str, suffixes, indent, force_newline):
    return printing.joined(tensor_str, suffixes, indent, force_newline)


class _Printed:
    """torch._tensor_str: the parts of a tensor's text."""

    PRINT_OPTS, _tensor_str, _add_suffixes = _Options(), staticmethod(printing.elements_text), staticmethod(_add_suffixes)


class _Scripts:
    """torch._jit_internal, torch.jit.annotations and torch.onnx.symbolic_helper: marks for PyTorch's compiler of scripts and its exporter,
    without effect."""

    List = BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = typing.List  # noqa: UP006

    _copy_to_script_wrapper = staticmethod(unused)

    @staticmethod
    def parse_args(*kinds):
        """A decorator that returns the function: an op of one's own is exported as the ops that it calls."""
        return unused


PLACES = {'_C': _C(), **dict.fromkeys(('_subclasses', '_subclasses.fake_tensor'), _Subclasses()),
          **dict.fromkeys(('fx.experimental', 'fx.experimental.symbolic_shapes', 'fx.experimental.proxy_tensor'), _Sizes()),
          '_prims_common': _Prims(), '_tensor_str': _Printed(),
          **dict.fromkeys(('_jit_internal', 'jit.annotations', 'onnx.symbolic_helper', 'onnx.symbolic_opset9', 'onnx.symbolic_opset11'), _Scripts())}
