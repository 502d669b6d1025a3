"""Switches of PyTorch's compilers, torch._dynamo, torch._inductor, torch._functorch, torch._logging and torch._C: set without effect."""
from typing import Any

from . import compiler
from ._common import absent
from .random import Generator, default_generator


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
        import contextlib
        return contextlib.nullcontext() if not (len(args) == 1 and callable(args[0])) else args[0]


def _nothing(*args, **kwargs):
    """Does nothing."""


class _Dynamo:
    """torch._dynamo: functions run as written."""

    config = _Settings()
    reset, disable, allow_in_graph = staticmethod(compiler.reset), staticmethod(compiler.disable), staticmethod(compiler.allow_in_graph)
    list_backends, is_compiling = staticmethod(compiler.list_backends), staticmethod(compiler.is_compiling)
    mark_dynamic = mark_static = maybe_mark_dynamic = graph_break = mark_static_address = staticmethod(_nothing)

    @staticmethod
    def optimize(backend='inductor', **kwargs):
        """A decorator that returns the function."""
        return compiler.allow_in_graph


class _Inductor:
    """torch._inductor."""

    config = _Settings()


class _Functorch:
    """torch._functorch."""

    config = _Settings()


class _Logging:
    """torch._logging."""

    set_logs = staticmethod(_nothing)


class _C:
    """torch._C: the few names that scripts use; what they ask for is offered under torch."""

    Generator, default_generator = Generator, default_generator
    _log_api_usage_once = _get_tracing_state = staticmethod(_nothing)
    _instead = staticmethod(absent('tenon.torch._C', {}))

    def __getattr__(self, name):
        if name.startswith(('_jit_set_', '_set_', '_debug_set_')):
            return _nothing
        if name == '_LinAlgError':
            from .linalg import LinAlgError
            return LinAlgError
        return self._instead(name)


PLACES = {'_dynamo': _Dynamo(), '_dynamo.config': _Dynamo.config, '_inductor': _Inductor(), '_inductor.config': _Inductor.config,
          '_functorch': _Functorch(), '_functorch.config': _Functorch.config, '_logging': _Logging(), '_C': _C()}
