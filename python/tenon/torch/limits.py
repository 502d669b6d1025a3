"""Limits of dtypes with PyTorch's attributes: `dtype` is a name, and finfo() also has `tiny` and `resolution`."""
import math
from typing import Any

from .._array_api import dtypes as _dtypes
from .._dtypes import PARTS
from ._common import defaults


def _name(dtype: Any) -> str:
    return dtype.name


class finfo(_dtypes.finfo):
    """Limits of a floating dtype or of a complex dtype's parts; by default of the default dtype."""
    __slots__ = 'resolution', 'tiny'

    def __init__(self, type=None, /):
        super().__init__(defaults.dtype if type is None else type)
        self.tiny, self.dtype = self.smallest_normal, PARTS.get(_name(self.dtype), _name(self.dtype))
        self.resolution = 10.0 ** -math.floor(-math.log10(self.eps) + 1e-9)

    def __repr__(self):
        names = 'resolution', 'min', 'max', 'eps', 'smallest_normal', 'tiny'
        return f'finfo({", ".join(f"{name}={getattr(self, name):g}" for name in names)}, dtype={self.dtype})'

    def __eq__(self, other):
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self):
        return hash(self.dtype)


class iinfo(_dtypes.iinfo):
    """Limits of an integer dtype."""
    __slots__ = ()

    def __init__(self, type, /):
        super().__init__(type)
        self.dtype = _name(self.dtype)

    def __repr__(self):
        return f'iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})'

    def __eq__(self, other):
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self):
        return hash(self.dtype)
