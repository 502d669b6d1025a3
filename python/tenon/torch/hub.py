"""torch.hub: weights that lie in its folder, or that a file:// address names; nothing is downloaded here."""
import os
from typing import Any
from urllib.parse import unquote, urlparse

from ._common import absent

try:
    from tqdm import tqdm
except ImportError:
    import contextlib

    class tqdm(contextlib.nullcontext):
        """An iterable, or a scope, that shows nothing: the package tqdm is not installed."""

        def __init__(self, iterable=(), **options):
            super().__init__(self)
            self._iterable = iterable

        def __iter__(self):
            return iter(self._iterable)

        def update(self, n=1):
            """Shows nothing."""

        set_description = close = update

__all__ = ['download_url_to_file', 'get_dir', 'load_state_dict_from_url', 'set_dir']
_dir: Any = None


def _get_torch_home():
    """$TORCH_HOME, or ~/.cache/torch."""
    cache = os.environ.get('XDG_CACHE_HOME', '~/.cache')
    return os.path.expanduser(os.environ.get('TORCH_HOME', os.path.join(cache, 'torch')))


def get_dir():
    """The folder of the hub: the one set, $TORCH_HOME/hub, or ~/.cache/torch/hub."""
    return os.path.join(_get_torch_home(), 'hub') if _dir is None else _dir


def set_dir(d):
    """Sets the folder of the hub."""
    global _dir
    _dir = os.path.expanduser(d)


def load_state_dict_from_url(url, model_dir=None, map_location=None, progress=True, check_hash=False, file_name=None, weights_only=False):
    """What torch.load() reads from the file of that address in model_dir, by default the folder checkpoints of the hub.

    Raises RuntimeError where no such file lies: copy it there.
    """
    from .files import load
    parts = urlparse(url)
    path = os.path.join(get_dir() if model_dir is None else model_dir, *(('checkpoints',) if model_dir is None else ()),
                        file_name or os.path.basename(parts.path))
    if not os.path.exists(path) and parts.scheme == 'file':
        path = unquote(parts.path)
    if not os.path.exists(path):
        raise RuntimeError(f'[hub] nothing is downloaded here: copy {url} to {path}')
    return load(path, map_location=map_location)


def download_url_to_file(url, dst, hash_prefix=None, progress=True):
    """Copies the file of a file:// address to dst. Raises RuntimeError for other addresses."""
    import shutil
    parts = urlparse(url)
    if parts.scheme != 'file':
        raise RuntimeError(f'[hub] nothing is downloaded here: copy {url} to {dst}')
    shutil.copyfile(unquote(parts.path), dst)


__getattr__ = absent(__name__, dict.fromkeys('load list help'.split(), 'download the file, and read it with torch.load'))
