"""torch.accelerator: the devices besides the host, of whichever plugin has some."""
from .. import _core
from .._errors import InvalidArgumentError

__all__ = ['current_accelerator', 'current_device_idx', 'current_device_index', 'device_count', 'empty_cache', 'is_available',
           'set_device_idx', 'set_device_index', 'synchronize']


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


def empty_cache():
    """Returns cached memory to the devices."""
    for each in _devices():
        each.trim_memory()
