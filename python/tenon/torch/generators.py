"""Generators of random numbers with PyTorch's methods."""
import operator
import struct
from typing import Any

from .. import _core
from .._errors import InvalidArgumentError
from ._common import check

_STATE = struct.Struct('<QQ')  # seed, numbers drawn


class Generator(_core.Generator):
    """A generator of its own, for generator=…: torch.Generator().manual_seed(0). It draws the same numbers on every device."""

    def __init__(self, device: Any = 'cpu'):
        super().__init__()
        self._device = _core.device(device)

    @property
    def device(self):
        return self._device

    def manual_seed(self, seed):
        """Seeds it anew and returns it. A negative seed counts down from 2^64."""
        seed = operator.index(seed)
        if not -2**63 <= seed < 2**64:
            raise InvalidArgumentError(f'[manual_seed] the seed is {seed}, must have 64 bits')
        return super().manual_seed(seed % 2**64)

    def seed(self):
        """Seeds it randomly and returns the seed."""
        import secrets
        value = secrets.randbits(63)
        self.manual_seed(value)
        return value

    def get_state(self) -> Any:
        """The state: bytes, as a tensor of uint8 on the host."""
        from .create import tensor
        return tensor(list(_STATE.pack(*super().get_state())), dtype=_core.uint8, device='cpu')

    def set_state(self, new_state):  # pyright: ignore[reportIncompatibleMethodOverride]
        """Goes on from a state that get_state() gave, and returns the generator."""
        if check(new_state, 'set_state').dtype is not _core.uint8:
            raise TypeError(f'[set_state] needs a tensor of uint8, not {new_state.dtype}')
        if new_state.size != _STATE.size:
            raise InvalidArgumentError(f'[set_state] needs the {_STATE.size} bytes that get_state() gave, not {new_state.size}: '
                                       'generators of other libraries are others')
        super().set_state(_STATE.unpack(bytes(new_state.tolist())))
        return self

    def clone_state(self):
        """A generator of its own that draws the same numbers from here on."""
        made = Generator(self.device)
        made.set_state(self.get_state())
        return made

    def __reduce__(self):
        return _with_state, (self.device, self.get_state())


def _with_state(device, state):
    """Called by pickles."""
    made = Generator(device)
    made.set_state(state)
    return made


def _default():
    """The generator that functions draw from when given none."""
    made = Generator.__new__(Generator)
    _core.Generator.__init__(made, same=_core.default_generator())
    made._device = _core.device('cpu')
    return made


default_generator = _default()
