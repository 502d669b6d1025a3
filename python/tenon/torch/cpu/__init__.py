"""torch.cpu: the host."""
import contextlib
import time

from ..._errors import InvalidArgumentError


def is_available():
    """True."""
    return True


def device_count():
    """1."""
    return 1


def current_device():
    """The name of the host."""
    return 'cpu'


def synchronize(device=None):
    """Returns at once: an op on the host has finished when it returns."""


def is_initialized():
    """True."""
    return True


def set_device(device):
    """Returns at once: there is one host."""


class Stream:
    """The host's work, which is done in order."""

    def __init__(self, priority=-1):
        pass

    def synchronize(self):
        """Returns at once: an op on the host has finished when it returns."""

    wait_stream = wait_event = record_event = lambda self, other=None: None  # in order anyway

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        return False


def current_stream(device=None):
    """The host's work."""
    return Stream()


def stream(stream):
    """A scope without effect: the host does its work in order."""
    return contextlib.nullcontext(stream)


class Event:
    """A moment of the host's work."""

    def __init__(self, enable_timing=False):
        self._time = None

    def record(self, stream=None):
        """Notes the time."""
        self._time = time.perf_counter()

    def query(self):
        """Always True: the host's work is done."""
        return True

    synchronize = wait = lambda self, stream=None: None

    def elapsed_time(self, end_event):
        """Milliseconds to another event."""
        if self._time is None or end_event._time is None:
            raise InvalidArgumentError('[Event] elapsed_time() of events that were not recorded: call record() first')
        return (end_event._time - self._time) * 1e3


def __getattr__(name):
    if name == 'amp':
        from importlib import import_module
        return import_module('.amp', __name__)
    raise AttributeError(f"module 'tenon.torch.cpu' has no attribute {name!r}")
