"""Dtypes, devices and modes as PyTorch spells them."""
import tenon

from .. import _core
from ._common import rank

Size = tuple


def device(type, index=None):
    """A device by name, 'cpu' or 'cuda:1', or by type and index."""
    if isinstance(type, _core.Device):
        return type
    if isinstance(type, int):
        type, index = 'cuda', type
    return _core.device(type if index is None else f'{type}:{index}')


def get_default_dtype():
    """float32."""
    return _core.float32


def set_default_dtype(d):
    """float32 is the only default: give dtype= where another is wanted."""
    if d is not _core.float32:
        raise ValueError(f'[set_default_dtype] {d} cannot be the default: give dtype= to the functions that make tensors')


def get_default_device():
    """The host."""
    return _core.device('cpu')


def can_cast(from_, to):
    """Whether a dtype may become another: not to a kind below its own."""
    if rank(from_) > rank(to):
        return False
    return rank(to) > 0 or rank(from_) == 0


def is_storage(obj):
    """False: memory is no object of its own."""
    return False


def is_inference_mode_enabled():
    """Whether inference_mode() is on."""
    return bool(_core._get_modes() & tenon.autograd.INFERENCE)


class _Switch:
    """A mode that is set at once, and again undone where it is used in a `with`; also a decorator."""

    _before = 0

    def __init__(self, mode):
        self._mode = mode

    def __enter__(self):
        return self

    def __exit__(self, *_):
        _core._restore_modes(self._before)

    def __call__(self, function):
        import functools
        _core._restore_modes(self._before)

        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with self._mode():
                return function(*args, **kwargs)
        return wrapped


class set_grad_enabled(_Switch):
    """Records ops, or does not, from now on or in a scope."""

    def __init__(self, mode):
        super().__init__(tenon.enable_grad if mode else tenon.no_grad)
        flag = tenon.autograd.GRAD
        self._before = _core._set_modes(flag if mode else 0, 0 if mode else flag)


def inference_mode(mode=True):
    """Results of this scope can never join a graph; also a plain decorator."""
    if callable(mode):
        return tenon.inference_mode()(mode)
    return tenon.inference_mode() if mode else tenon.enable_grad()


def set_printoptions(**options):
    """Accepted: tensors are printed in one way."""


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Accepted: a seed repeats a run exactly as it is."""
