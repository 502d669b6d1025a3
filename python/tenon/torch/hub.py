"""torch.hub: weights that lie in its folder, or that a file:// address names, and models of a folder; nothing is downloaded here."""
import importlib.util
import os
import re
import sys
from typing import Any
from urllib.parse import unquote, urlparse

from ._common import absent

try:
    from tqdm import tqdm  # pyright: ignore[reportAssignmentType]
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

__all__ = ['download_url_to_file', 'get_dir', 'load', 'load_state_dict_from_url', 'set_dir']
HASH_REGEX = re.compile(r'-([a-f0-9]*)\.')  # the part of a file's name that is the start of its hash
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


def _entries(folder, source):
    """The module hubconf.py of a folder."""
    if source not in ('github', 'local'):
        raise ValueError(f"[hub] source {source!r}: 'local' or 'github'")
    if source != 'local':
        raise RuntimeError(f"[hub] nothing is downloaded here: copy {folder} to a folder, and give that with source='local'")
    path = os.path.join(os.path.expanduser(folder), 'hubconf.py')
    if not os.path.exists(path):
        raise FileNotFoundError(f'[hub] there is no {path}')
    spec: Any = importlib.util.spec_from_file_location('hubconf', path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, os.path.dirname(path))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(os.path.dirname(path))
    missing = [name for name in getattr(module, 'dependencies', ()) if importlib.util.find_spec(name) is None]
    if missing:
        raise RuntimeError(f'[hub] missing dependencies: {", ".join(missing)}')
    return module


def load(repo_or_dir, model, *args, source='github', trust_repo='check', force_reload=False, verbose=True, skip_validation=False, **kwargs):
    """What the function `model` of the folder's hubconf.py returns for the other arguments; source='local'."""
    found = getattr(_entries(repo_or_dir, source), model, None)
    if not callable(found):
        raise RuntimeError(f'[hub] cannot find callable {model} in hubconf')
    return found(*args, **kwargs)


__getattr__ = absent(__name__, dict.fromkeys('list help'.split(), 'read hubconf.py, of which load() calls a function'))
