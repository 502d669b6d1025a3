"""torch.__config__: what Tenon was built with."""
from .. import _core

__all__ = ['parallel_info', 'show']


def show():
    """The version, the devices with their libraries, and the threads, as text."""
    lines = [f'Tenon {_core.__version__}', *(f'  - {device}: {device.info}' for device in _core.devices())]
    return '\n'.join([*lines, f'  - {parallel_info()}', ''])


def parallel_info():
    """How many threads an op uses, as text."""
    return f'at::get_num_threads() : {_core.num_threads()}'
