"""torch.version: the version of Tenon, not of PyTorch."""
from ._common import _core

__version__ = _core.__version__
cuda = hip = xpu = git_version = None
debug = False
