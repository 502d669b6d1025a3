"""torch.accelerator: the devices besides the host, of whichever plugin has some."""
from .. import _core
from .._errors import InvalidArgumentError
from ._device_memory import functions
from ._common import absent

__all__ = ['device_index', 'get_memory_info', 'max_memory_allocated', 'max_memory_reserved', 'memory_allocated', 'memory_reserved', 'memory_stats',
           'reset_peak_memory_stats',
           'current_accelerator', 'current_device_idx', 'current_device_index', 'current_stream', 'device_count',
           'empty_cache', 'is_available', 'set_device_idx', 'set_device_index', 'set_stream', 'synchronize']


def _devices():
    return [device for device in _core.devices() if device.type != 'cpu']


def is_available():
    """Whether there is a device besides the host."""
    return bool(_devices())


def device_count():
    """The number of devices of the first kind."""
    found = _devices()
    return sum(device.type == found[0].type for device in found)


def current_accelerator(check_available=False):
    """The first such device, or None."""
    found = _devices()
    return found[0] if found else None


def current_device_index():
    """Always 0: functions that make tensors are told their device."""
    if not _devices():
        raise RuntimeError('[accelerator] there is no device except the host')
    return 0


def set_device_index(device, /):
    """Accepts 0; use torch.set_default_device() for another device."""
    if device not in (0, None) and getattr(device, 'index', device) != 0:
        raise InvalidArgumentError(f'[accelerator] device {device}: use torch.set_default_device()')


current_device_idx, set_device_idx = current_device_index, set_device_index


def synchronize(device=None, /):
    """Waits until the devices have finished their work."""
    for each in _devices():
        each.synchronize()


def current_stream(device=None, /):
    """The stream of a device; it has one."""
    from .cuda.streams import current_stream
    return current_stream(device)


def set_stream(stream, /):
    """Accepted without effect: a device has one stream."""


def empty_cache():
    """Returns cached memory to the devices."""
    for each in _devices():
        each.trim_memory()


def _chosen(device):
    """The device of an index, a name or a Device; the first one for None; None where there is none."""
    found = _devices()
    if isinstance(device, int) or device is None:
        return next((each for each in found if each.type == found[0].type and each.index == (device or 0)), None)
    return _core.device(device)


_found = functions(_chosen)
memory_allocated, memory_reserved, memory_stats = (_found[name] for name in ('memory_allocated', 'memory_reserved', 'memory_stats'))
max_memory_allocated, max_memory_reserved = _found['max_memory_allocated'], _found['max_memory_reserved']
reset_peak_memory_stats = _found['reset_peak_memory_stats']


def get_memory_info(device_index=None, /):
    """(free, total) bytes of a device's memory."""
    found = _chosen(device_index)
    if found is None:
        raise RuntimeError('[accelerator] there is no device except the host')
    return found.info['memory_free'], found.info['memory_total']


class device_index:
    """A scope that accepts the first device, or None: functions that make tensors are told their device."""

    def __init__(self, device, /):
        self.idx = device

    def __enter__(self):
        set_device_index(self.idx)

    def __exit__(self, *raised):
        return False


__getattr__ = absent(__name__, {})
