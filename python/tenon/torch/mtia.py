"""torch.mtia: there is no plugin for such devices."""
from ._missing_devices import ERROR, functions

globals().update(functions('mtia', [(False, 'is_available is_initialized'), (0, 'device_count'), (ERROR, 'current_device synchronize empty_cache')]))
