"""torch.utils: data, checkpoint, dlpack, hooks."""
_MODULES = 'checkpoint', 'data', 'dlpack', 'hooks'
_INSTEAD = {'tensorboard': 'tensorboardX, or the writer of a tensorboard that is installed', 'benchmark': 'timeit, or `tenon bench`',
            'model_zoo': 'download the file, and read it with torch.load', 'cpp_extension': 'write a plugin: docs/sdk/'}


def __getattr__(name):
    if name in _MODULES:
        from importlib import import_module
        return import_module('.' + name, __name__)
    if name in _INSTEAD:
        raise AttributeError(f'[torch.utils.{name}] is not offered here: use {_INSTEAD[name]}')
    raise AttributeError(f"module 'tenon.torch.utils' has no attribute {name!r}: {', '.join(_MODULES)} are offered")


def __dir__():
    return sorted([*globals(), *_MODULES])
