"""einops learns of tensors of tenon when it is imported, before or after tenon.torch: it looks for subclasses of a class of its own."""
import sys

_ASKS = 'einops._backends'


def _tell():
    from . import _einops_backend as _einops_backend


class _Finder:
    """Finds the one module as Python does, and tells it when it is loaded."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != _ASKS:
            return None
        from importlib.machinery import PathFinder
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            sys.meta_path.remove(_Finder)
            load = spec.loader.exec_module

            def exec_module(module):
                load(module)
                _tell()
            spec.loader.exec_module = exec_module  # pyright: ignore[reportAttributeAccessIssue]
        return spec


def introduce():
    """To be called once tenon.torch is complete."""
    if _ASKS in sys.modules:
        _tell()
    else:
        sys.meta_path.insert(0, _Finder)  # pyright: ignore[reportArgumentType]
