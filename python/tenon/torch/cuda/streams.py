"""Streams and events of torch.cuda: a device has one stream and does its work in order."""
import contextlib

import tenon.torch.cuda as cuda
from .. import cpu

__all__ = ['Event', 'Stream', 'StreamContext', 'current_stream', 'default_stream', 'set_stream', 'stream']


class Stream(cpu.Stream):
    """The stream of a device."""

    def __init__(self, device=None, priority=0, **options):
        self.device = cuda._device(device)

    def synchronize(self):
        """Waits until all work is done."""
        self.device.synchronize()

    def query(self):
        """Always True, after waiting."""
        self.synchronize()
        return True

    def record_event(self, event=None):
        """An event after all current work."""
        event = event or Event()
        event.record(self)
        return event


class Event(cpu.Event):
    """A time after all work begun before it; record() waits for that work."""

    def __init__(self, enable_timing=False, blocking=False, interprocess=False, device=None):
        super().__init__(enable_timing)

    def record(self, stream=None):
        """Waits for the device and notes the time."""
        cuda.synchronize()
        super().record(stream)


def current_stream(device=None):
    """The stream of a device."""
    return Stream(device)


default_stream = current_stream


def set_stream(stream):
    """Accepted without effect: a device has one stream."""


def stream(stream):
    """A scope without effect: a device has one stream."""
    return contextlib.nullcontext(stream)


StreamContext = stream
