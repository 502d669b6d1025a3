"""torch.serialization: torch.save and torch.load, and the switches of PyTorch's reader that scripts set."""
import os
from typing import Any, BinaryIO, Union

from .files import LoadError, load, save
from .files.allowed import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals

__all__ = ['LoadError', 'add_safe_globals', 'clear_safe_globals', 'get_safe_globals', 'load', 'safe_globals', 'save']

DEFAULT_PROTOCOL = 2
FILE_LIKE = Union[str, 'os.PathLike[str]', BinaryIO]
MAP_LOCATION = Any
