"""Switches of PyTorch's compilers, torch._dynamo, torch._inductor, torch._functorch and torch._logging: set without effect."""
import contextlib
from typing import Any

from . import compiler


class _Settings:
    """Takes any setting, at any depth, and gives it back; those that nothing was set to are settings too."""

    def __getattr__(self, name) -> Any:
        if name[:2] == '__':
            raise AttributeError(name)
        found = _Settings()
        object.__setattr__(self, name, found)
        return found

    def __bool__(self):
        return False

    def patch(self, *args, **kwargs):
        """A scope, or a decorator, without effect."""
        return contextlib.nullcontext() if not (len(args) == 1 and callable(args[0])) else args[0]


def nothing(*args, **kwargs):
    """Does nothing."""


class _Dynamo:
    """torch._dynamo: functions run as written."""

    config = _Settings()
    eval_frame: Any = None  # and utils: the names below are found there, too
    utils: Any = None
    reset, disable, allow_in_graph = staticmethod(compiler.reset), staticmethod(compiler.disable), staticmethod(compiler.allow_in_graph)
    OptimizedModule, TransformGetItemToIndex = compiler.OptimizedModule, contextlib.nullcontext
    assume_constant_result = staticmethod(compiler.assume_constant_result)
    list_backends, is_compiling = staticmethod(compiler.list_backends), staticmethod(compiler.is_compiling)
    mark_dynamic = mark_static = maybe_mark_dynamic = graph_break = mark_static_address = staticmethod(nothing)

    @staticmethod
    def is_compile_supported(device_type):
        """False: functions run as written."""
        return False

    @staticmethod
    def is_dynamo_supported():
        """False: functions run as written."""
        return False

    @staticmethod
    def optimize(backend='inductor', **kwargs):
        """A decorator that returns the function."""
        return compiler.allow_in_graph


_Dynamo.eval_frame = _Dynamo.utils = _Dynamo


class _Inductor:
    """torch._inductor."""

    config = _Settings()


class _Functorch:
    """torch._functorch."""

    config = _Settings()


class _Logging:
    """torch._logging."""

    set_logs = staticmethod(nothing)


PLACES = {**dict.fromkeys(('_dynamo', '_dynamo.eval_frame', '_dynamo.utils', '_dynamo._trace_wrapped_higher_order_op'), _Dynamo()),
          '_dynamo.config': _Dynamo.config, '_inductor': _Inductor(), '_inductor.config': _Inductor.config, '_functorch': _Functorch(),
          '_functorch.config': _Functorch.config, '_logging': _Logging()}
