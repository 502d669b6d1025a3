"""Memory and properties of the devices of torch.cuda."""
import types

import tenon.torch.cuda as cuda

__all__ = ['get_device_capability', 'get_device_properties', 'is_bf16_supported', 'max_memory_allocated', 'max_memory_reserved', 'mem_get_info',
           'memory_allocated', 'memory_reserved', 'memory_stats', 'memory_summary', 'reset_peak_memory_stats']


def _bytes(key, device):
    return cuda._device(device).memory()[key] if cuda.is_available() else 0


def memory_allocated(device=None):
    """Bytes of tensors on a device; 0 if there is no device."""
    return _bytes('used', device)


def max_memory_allocated(device=None):
    """The most bytes of tensors since the start or reset_peak_memory_stats()."""
    return _bytes('used_peak', device)


def memory_reserved(device=None):
    """Bytes of a device's memory that the library holds."""
    return _bytes('held', device)


def max_memory_reserved(device=None):
    """The most bytes that the library held since the start or reset_peak_memory_stats()."""
    return _bytes('held_peak', device)


def memory_stats(device=None):
    """The values of Device.memory(), by its names; {} without a device."""
    return cuda._device(device).memory() if cuda.is_available() else {}


def memory_summary(device=None, abbreviated=False):
    """memory_stats() as lines of text."""
    return '\n'.join(f'{key}: {value}' for key, value in memory_stats(device).items())


def reset_peak_memory_stats(device=None):
    """Resets the peaks to the current values."""
    cuda._device(device).reset_memory_peak()


def mem_get_info(device=None):
    """(free, total) bytes of a device's memory."""
    info = cuda._device(device).info
    return info['memory_free'], info['memory_total']


def get_device_properties(device=None):
    """name, total_memory, multi_processor_count and warp_size of a device."""
    info = cuda._device(device).info
    return types.SimpleNamespace(name=info['name'], total_memory=info['memory_total'], multi_processor_count=info['compute_units'],
                                 warp_size=info['subgroup_size'])


def is_bf16_supported(including_emulation=True):
    """Whether the device computes in bfloat16."""
    return cuda.is_available() and any(dtype.name == 'bfloat16' for dtype in cuda._device(None).info['dtypes'])


def get_device_capability(device=None):
    """Not offered: devices do not report it."""
    raise RuntimeError('[get_device_capability] devices do not report it: see get_device_properties(), and `tenon devices`')
