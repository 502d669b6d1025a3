"""torch.cuda: the devices of the plugin cuda."""
from ... import _core
from ..._errors import DeviceLostError as AcceleratorError, InvalidArgumentError, OutOfMemoryError


def _devices():
    return [device for device in _core.devices() if device.type == 'cuda']


def _device(device):
    if device is None:
        device = 0
    return _core.device(f'cuda:{device}') if isinstance(device, int) else _core.device(device)


def is_available():
    """Whether there is such a device."""
    return bool(_devices())


def device_count():
    """The number of such devices."""
    return len(_devices())


def current_device():
    """Always 0: functions that make tensors are told their device."""
    return 0


def get_device_name(device=None):
    """The device's name."""
    return _device(device).info['name']


def synchronize(device=None):
    """Waits until a device, or all of them, have finished their work."""
    for each in _devices() if device is None else [_device(device)]:
        each.synchronize()


def empty_cache():
    """Returns cached memory to the devices."""
    for device in _devices():
        device.trim_memory()


def set_device(device):
    """Accepts 0; for another device give functions and modules device='cuda:1'."""
    if _device(device).index != 0:
        raise InvalidArgumentError(f"[set_device] {device}: give device='cuda:{_device(device).index}', or torch.set_default_device()")


def is_initialized():
    """Whether there is a device, which needs no further set-up."""
    return is_available()


_TOPICS = 'graphs', 'memory', 'places', 'random', 'streams', 'tensors'  # whose names are also names of this module
_MODULES = 'amp', 'nvtx', *_TOPICS


def __getattr__(name):
    from importlib import import_module
    if name in _MODULES:
        return import_module('.' + name, __name__)
    for topic in _TOPICS:
        module = import_module('.' + topic, __name__)
        if name in module.__all__:
            return getattr(module, name)
    from .._absent import absent
    raise absent('cuda', name)
