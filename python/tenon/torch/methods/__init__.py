"""PyTorch's methods of Tensor, found by name when they are first asked for: tenon/_method_names.py lists them."""
import tenon.torch

from ..._names import both_names
from .autograd import Autograd
from .conversion import Conversion
from .facts import Facts
from .fast import FAST
from .in_place import InPlace, written_back
from .shapes import Shapes

_WRITTEN = {name: method for topic in (Autograd, Conversion, Facts, InPlace, Shapes) for name, method in vars(topic).items()
            if name[:1] != '_'}


def find(name):
    """What the class Tensor keeps under a name: a method written here, or the function of tenon.torch."""
    if name in FAST:
        return FAST[name](name)
    method = _WRITTEN.get(name)
    if method is None:
        method = written_back(name) if name[-1] == '_' else getattr(tenon.torch, name)
    return both_names(method) if _takes_names(method) else method


def _takes_names(method):
    """Whether it is a function of Python without *args or **kwargs: those may be called with axis= and keepdims=, too."""
    return hasattr(method, '__code__') and not method.__code__.co_flags & 0x0C
