"""torch.mps: there is no plugin for such devices."""
from ._missing_devices import ERROR, functions
from .cuda.random import manual_seed
from ._common import absent

globals().update(manual_seed=manual_seed, **functions('mps', [
    (False, 'is_available'), (0, 'device_count'),
    (ERROR, '''current_allocated_memory driver_allocated_memory empty_cache get_rng_state recommended_max_memory seed
        set_per_process_memory_fraction set_rng_state synchronize Event compile_shader'''),
]))


__getattr__ = absent(__name__, {})
