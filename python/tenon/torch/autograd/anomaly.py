"""The search for the op whose gradient is NaN."""
from ... import _core
from ..._errors import InvalidArgumentError
from ...autograd import ANOMALY, anomaly_mode

__all__ = ['detect_anomaly', 'is_anomaly_check_nan_enabled', 'is_anomaly_enabled', 'set_anomaly_enabled', 'set_detect_anomaly']


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
        self._before = is_anomaly_enabled()
        self._switch(bool(mode))

    def _switch(self, on):
        before = is_anomaly_enabled()
        _core._set_modes(ANOMALY if on else 0, 0 if on else ANOMALY)
        _core._anomaly_scopes(on - before)

    def __enter__(self):
        pass

    def __exit__(self, *_):
        self._switch(self._before)


def is_anomaly_enabled():
    """Whether the search is on."""
    return bool(_core._get_modes() & ANOMALY)


is_anomaly_check_nan_enabled = is_anomaly_enabled  # looking for NaN is what the mode does


def set_anomaly_enabled(mode, check_nan=True):
    """set_detect_anomaly() from now on."""
    set_detect_anomaly(mode, check_nan)
