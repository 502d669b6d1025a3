"""`import torch` finds tenon.torch: programs and packages that are written for PyTorch run as they are.

>>> import tenon.torch
>>> tenon.torch.install()
>>> import torch.nn.functional as F
>>> F.relu(torch.tensor([-1., 2.]))
tensor([0., 2.])

From a shell, `python -m tenon.torch train.py --epochs 3` does so before it runs train.py.
"""
import importlib
import importlib.machinery
import importlib.metadata
import importlib.util
import os
import sys

from .. import _core
from .version import __version__

__all__ = ['install']

_HERE = __package__ or ''
_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), '_as_torch')


class _Loader:
    """Gives torch.x the module tenon.torch.x itself: both names are one object."""

    def __init__(self, module):
        self._module, self._spec = module, module.__spec__

    def create_module(self, spec):
        return self._module

    def exec_module(self, module):
        module.__spec__ = self._spec  # the import system has put torch's in its place


class _Distribution(importlib.metadata.Distribution):
    """What packages read that ask for the version of torch."""

    def read_text(self, filename):
        return f'Metadata-Version: 2.1\nName: torch\nVersion: {__version__}\n' if filename == 'METADATA' else None

    def locate_file(self, path):
        raise FileNotFoundError(f'{path}: torch is tenon.torch here, and has no files of its own')


class _Finder:
    """Looks for torch and its modules in tenon.torch, before all other finders."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition('.')[0] != 'torch':
            return None
        here = _HERE + name.removeprefix('torch')
        try:
            module = importlib.import_module(here)
        except ModuleNotFoundError as error:
            if not str(error).startswith('No module named') or not here.startswith(str(error.name)):
                raise  # it says what to use instead, or is another module's
            raise ModuleNotFoundError(f'No module named {name!r}: torch is tenon.torch here, which has none of this name',
                                      name=name) from None
        loader = _Loader(module)
        return importlib.util.spec_from_loader(name, loader, is_package=hasattr(module, '__path__'))  # pyright: ignore[reportArgumentType]

    @staticmethod
    def find_distributions(context):
        return [_Distribution()] if context.name in ('torch', None) else []


_OPERATORS = {'div': 'true_divide', 'equal': 'eq', 'not_equal': 'ne', 'less': 'lt', 'less_equal': 'le', 'greater': 'gt', 'greater_equal': 'ge',
              **{name: name for name in '''add sub mul floor_divide remainder pow matmul bitwise_and bitwise_or bitwise_xor bitwise_left_shift
              bitwise_right_shift'''.split()}}


def _promote():
    """Operators between tensors of different dtypes give what PyTorch's give: a tensor without dimensions raises no width."""
    from . import arithmetic, matrix
    functions = {**vars(matrix), **vars(arithmetic)}
    _core._set_mixed({op: functions[name] for op, name in _OPERATORS.items()},
                     {op: getattr(_core.Tensor, name + '_') for op, name in _OPERATORS.items() if hasattr(_core.Tensor, name + '_')})


def install():
    """From now on `import torch` and `import torch.x` find tenon.torch and tenon.torch.x, here and in processes that multiprocessing starts.

    Operators between tensors of different dtypes promote as PyTorch's from then on, for all of the process.

    Raises RuntimeError where PyTorch is imported already: its tensors are not those of Tenon. More calls change nothing.
    """
    found, ours = sys.modules.get('torch'), sys.modules[_HERE]
    if found not in (None, ours) and getattr(found, 'install', None) is not install:
        raise RuntimeError(f'PyTorch {getattr(found, "__version__", "")} is imported already: call tenon.torch.install() before '
                           'anything that imports torch')
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)  # pyright: ignore[reportArgumentType]
    if _FOLDER not in sys.path:
        sys.path.insert(1, _FOLDER)  # after the program's own; started processes get the path
    _promote()
    sys.modules['torch'] = vars(ours)['torch'] = ours  # PyTorch, too, has the attribute torch
    ours.__name__ = 'torch'
