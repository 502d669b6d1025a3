"""Tenon: tensors and deep learning on plugin backends.

Every op of the table is a function here, and a method of Tensor if its first argument is a Tensor: ``tenon.softmax(x, dim=-1)`` and
``x.softmax(-1)``. Arguments may be given by the table's names or by those of the Array API (``axis``, ``keepdims``).
"""
from . import _core
from ._ops import *  # the rest of this file refines some of them
from ._core import (Device, Generator, Op, Tensor, default_generator, device, devices, dtype, load_plugin, manual_seed,
                    num_threads, plugins, promote_types, set_num_threads)
from ._dtypes import *
from ._errors import (AlreadyExistsError, CancelledError, DataLossError, DeviceLostError, DtypeError, Error, FileNotFoundError, InternalError,
                      InvalidArgumentError, IoError, NotFoundError, OutOfMemoryError, OutOfRangeError,
                      PeerLostError, PreconditionError, TimeoutError, UnimplementedError, UnsupportedDtypeError)
from ._creation import (arange, asarray, empty, empty_like, from_dlpack, full, ones, ones_like, rand, randn, tensor,
                        zeros, zeros_like)
from ._devices import explain, fallback, placement, synchronize
from . import _methods, _overriding, autograd
from ._array_api import *
from ._array_api.info import VERSION as __array_api_version__
from .autograd import (anomaly_mode, enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled)

__version__ = _core.__version__
newaxis = None
from math import e, inf, nan, pi  # noqa: E402

# Imported on first use, so that `import tenon` stays light.
_MODULES = 'nn', 'optim', 'data', 'func', 'testing', 'io', 'linalg', 'fft', 'graph', 'onnx', 'torch'
_LAZY = {'summary': '_summary', 'profiler': '_profiler', 'Graph': '_capture', 'capture': '_capture', 'graphed': '_capture', 'compile': 'graph'}


_others = set()  # PyTorch's names that were asked for, which are members from then on


def __getattr__(name):
    if name not in _MODULES and name not in _LAZY:
        from ._generous import named
        found = globals()[name] = named(__name__, name)
        _others.add(name)
        return found
    from importlib import import_module
    if name in _MODULES:
        return import_module('.' + name, __name__)
    found = globals()[name] = getattr(import_module('.' + _LAZY[name], __name__), name)
    return found


def __dir__():
    return sorted({*globals(), *_MODULES, *_LAZY} - _others)


def op(name):
    """The op of that name as a function, ops of plugins included: ``tenon.op("acme.swish")(x)``."""
    found = _core.ops.get(name)
    if found is None:
        found = _core.ops[name] = _core.op(name)
    return found
