"""torch.types: names of types for annotations."""
import builtins
import os
from collections.abc import Sequence
from typing import IO, Any, Union

from .. import _core
from .._core import Tensor
from .modes import Size

__all__ = ['BoolLikeType', 'Device', 'FileLike', 'FloatLikeType', 'IntLikeType', 'Number', 'SymInt']

_dtype, _layout, _int, _float, _bool, _str, _bytes, _complex = _core.dtype, Any, int, float, builtins.bool, str, bytes, complex
_device = _core.Device
_size = Union[Size, list[int], tuple[int, ...]]
Number = Union[int, float, builtins.bool]
_Number = (int, float, builtins.bool)
SymInt = IntLikeType = int
FloatLikeType, BoolLikeType = float, builtins.bool
Device = Union[_device, str, int, None]
FileLike = Union[str, os.PathLike[str], IO[bytes]]
_TensorOrTensors = Union[Tensor, Sequence[Tensor]]
