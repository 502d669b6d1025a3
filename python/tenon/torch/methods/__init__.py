"""PyTorch's methods of Tensor, looked up by name on first use; tenon/_method_names.py lists them."""
from typing import Any

import tenon.torch

from ..._core import Shortcut
from .._shortcuts import short
from .autograd import Autograd
from .conversion import Conversion
from .facts import Facts
from .in_place import InPlace, written_back
from .memory import Memory
from .shapes import Shapes
from .told import told

_WRITTEN = {name: method for topic in (Autograd, Conversion, Facts, InPlace, Memory, Shapes) for name, method in vars(topic).items()
            if name[:1] != '_'}


def find(name) -> Any:
    """What the class Tensor keeps under a name: a method written here, or the function of tenon.torch."""
    method = _WRITTEN.get(name)
    if method is None and name[-1] == '_':
        return written_back(name)
    if method is None:
        method = getattr(tenon.torch, name)
    if not hasattr(method, '__code__') or method in (InPlace.add_, InPlace.sub_):
        return method
    return short(told(method.__wrapped__ if isinstance(method, Shortcut) else method))
