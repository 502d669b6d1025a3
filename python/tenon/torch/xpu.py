"""torch.xpu: there is no plugin for such devices."""
from ._missing_devices import ERROR, NOTHING, functions
from .cuda.random import manual_seed

manual_seed_all = manual_seed
globals().update(functions('xpu', [
    (False, 'is_available is_initialized is_bf16_supported is_tf32_supported'),
    (0, 'device_count memory_allocated memory_reserved max_memory_allocated max_memory_reserved'),
    ({}, 'memory_stats memory_stats_as_nested_dict'), ([], 'get_arch_list get_rng_state_all'),
    (NOTHING, 'empty_cache seed seed_all'),
    (ERROR, '''current_device current_stream get_device_capability get_device_name get_device_properties get_rng_state init initial_seed
        mem_get_info reset_accumulated_memory_stats reset_peak_memory_stats set_device set_rng_state set_stream synchronize Event Stream'''),
]))
