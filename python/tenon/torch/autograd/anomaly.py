"""The search for the op whose gradient is NaN."""
from ... import _core
from ..._errors import InvalidArgumentError
from ...autograd import ANOMALY, anomaly_mode

__all__ = ['detect_anomaly', 'set_detect_anomaly']


def _check(check_nan):
    if not check_nan:
        raise InvalidArgumentError('[detect_anomaly] check_nan must be True: looking for NaN is what the mode does')


class detect_anomaly(anomaly_mode):
    """In this scope backward() checks each gradient for NaN; the error names the op of the forward pass and its line."""

    def __new__(cls, check_nan=True):
        _check(check_nan)
        return super().__new__(cls)

    def __init__(self, check_nan=True):
        super().__init__()


class set_detect_anomaly:
    """Switches detect_anomaly on or off at once; in a `with`, until its end."""

    def __init__(self, mode, check_nan=True):
        _check(check_nan)
        self._before = bool(_core._get_modes() & ANOMALY)
        self._switch(bool(mode))

    def _switch(self, on):
        before = bool(_core._get_modes() & ANOMALY)
        _core._set_modes(ANOMALY if on else 0, 0 if on else ANOMALY)
        _core._anomaly_scopes(on - before)

    def __enter__(self):
        pass

    def __exit__(self, *_):
        self._switch(self._before)
