"""torch.utils: data, checkpoint."""
_MODULES = 'checkpoint', 'data'


def __getattr__(name):
    if name in _MODULES:
        from importlib import import_module
        return import_module('.' + name, __name__)
    raise AttributeError(f"module 'tenon.torch.utils' has no attribute {name!r}: {' and '.join(_MODULES)} are offered")


def __dir__():
    return sorted([*globals(), *_MODULES])
