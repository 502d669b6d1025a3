"""What the allocator of a device reports, under PyTorch's names."""

# PyTorch's keys of memory_stats(), by those of Device.memory().
_KEYS = {
    'used': 'allocated_bytes.all.current active_bytes.all.current', 'used_peak': 'allocated_bytes.all.peak active_bytes.all.peak',
    'held': 'reserved_bytes.all.current', 'held_peak': 'reserved_bytes.all.peak', 'allocations': 'allocation.all.allocated',
    'device_allocations': 'num_device_alloc', 'retries': 'num_alloc_retries',
}
_BYTES = {
    'memory_allocated': ('used', 'Bytes of tensors on a device; 0 if there is no device.'),
    'max_memory_allocated': ('used_peak', 'The most bytes of tensors since the start or reset_peak_memory_stats().'),
    'memory_reserved': ('held', "Bytes of a device's memory that the library holds."),
    'max_memory_reserved': ('held_peak', 'The most bytes that the library held since the start or reset_peak_memory_stats().'),
}


def functions(find):
    """{name: function} for the Device that find(device) gives, or None where there is none."""
    def memory_stats(device=None):
        """The values of Device.memory(), by its names and by PyTorch's; {} without a device."""
        found = find(device)
        own = {} if found is None else found.memory()
        return {**own, **{name: value for key, value in own.items() for name in _KEYS.get(key, '').split()}}

    def reset_peak_memory_stats(device=None):
        """Resets the peaks to the current values."""
        found = find(device)
        if found is not None:
            found.reset_memory_peak()
    made = {name: _of_bytes(find, name, *entry) for name, entry in _BYTES.items()}
    return {**made, 'memory_stats': memory_stats, 'reset_peak_memory_stats': reset_peak_memory_stats}


def _of_bytes(find, name, key, doc):
    def call(device=None):
        found = find(device)
        return 0 if found is None else found.memory()[key]
    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    return call
