"""Memory and properties of the devices of torch.cuda."""
import types

import tenon.torch.cuda as cuda

from .._device_memory import functions

__all__ = ['get_device_capability', 'get_device_properties', 'is_bf16_supported', 'max_memory_allocated', 'max_memory_cached', 'max_memory_reserved',
           'mem_get_info', 'memory_allocated', 'memory_cached', 'memory_reserved', 'memory_stats', 'memory_stats_as_nested_dict', 'memory_summary',
           'reset_max_memory_allocated', 'reset_max_memory_cached', 'reset_peak_memory_stats', 'set_per_process_memory_fraction']

_found = functions(lambda device: cuda._device(device) if cuda.is_available() else None)
memory_allocated, max_memory_allocated, memory_stats = (_found[name] for name in ('memory_allocated', 'max_memory_allocated', 'memory_stats'))
# The older names of one function stand beside it.
memory_reserved = memory_cached = _found['memory_reserved']
max_memory_reserved = max_memory_cached = _found['max_memory_reserved']
reset_peak_memory_stats = reset_max_memory_allocated = reset_max_memory_cached = _found['reset_peak_memory_stats']


def memory_stats_as_nested_dict(device=None):
    """memory_stats() by PyTorch's names, split at the dots."""
    nested = {}
    for name, value in memory_stats(device).items():
        *outer, last = name.split('.')
        level = nested
        for part in outer:
            level = level.setdefault(part, {})
        level[last] = value
    return nested


def set_per_process_memory_fraction(fraction, device=None):
    """Limits the memory that the library takes of a device."""
    if not 0 <= fraction <= 1:
        raise ValueError(f'[set_per_process_memory_fraction] {fraction} is not between 0 and 1')
    found = cuda._device(device)
    found.set_memory_limit(int(fraction * found.info['memory_total']))


def memory_summary(device=None, abbreviated=False):
    """memory_stats() as lines of text."""
    return '\n'.join(f'{key}: {value}' for key, value in memory_stats(device).items())


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
