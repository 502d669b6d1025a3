"""torch.version: the version of PyTorch whose names are offered, followed by Tenon's own."""
import re

from ._common import _core

__all__ = ['TorchVersion', '__version__', 'cuda', 'debug', 'git_version', 'hip', 'tenon', 'xpu']


class TorchVersion(str):
    """Text of a version, compared number by number with other text or a tuple of numbers."""

    @staticmethod
    def _numbers(version):
        if isinstance(version, str):
            return [int(each) for each in re.findall(r'\d+', version.partition('+')[0])]
        return [int(each) for each in version]

    def _order(self, other):
        """Negative, 0 or positive; None for what is no version."""
        if not isinstance(other, (str, tuple, list)):
            return None
        mine, theirs = self._numbers(self), self._numbers(other)
        size = max(len(mine), len(theirs))
        mine, theirs = (each + [0] * (size - len(each)) for each in (mine, theirs))
        return (mine > theirs) - (mine < theirs)

    def __lt__(self, other):
        order = self._order(other)
        return NotImplemented if order is None else order < 0

    def __le__(self, other):
        order = self._order(other)
        return NotImplemented if order is None else order <= 0

    def __gt__(self, other):
        order = self._order(other)
        return NotImplemented if order is None else order > 0

    def __ge__(self, other):
        order = self._order(other)
        return NotImplemented if order is None else order >= 0


tenon = _core.__version__
__version__ = TorchVersion(f'2.15.0+tenon.{tenon}')
cuda = hip = xpu = git_version = None
debug = False
