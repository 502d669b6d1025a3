"""Tells other libraries what the namespace can do."""
from .. import _core
from .._errors import InvalidArgumentError
from .dtypes import names_of

VERSION = '2024.12'
_BEFORE = ('2021.12', '2022.12', '2023.12')


class Info:
    """Devices, dtypes and abilities; made by tenon.__array_namespace_info__()."""

    def capabilities(self):
        """The abilities that depend on the implementation."""
        return {'boolean indexing': True, 'data-dependent shapes': True, 'max dimensions': 16}

    def default_device(self):
        """The device of new tensors if none is given."""
        return _core.device('cpu')

    def default_dtypes(self, *, device=None):
        """The dtypes of tensors made from numbers if none is given."""
        if device is not None:
            _core.device(device)
        return {'real floating': _core.float32, 'complex floating': _core.complex64, 'integral': _core.int64,
                'indexing': _core.int64}

    def dtypes(self, *, device=None, kind=None):
        """The standard's dtypes that a device supports, by name."""
        has = _core.device('cpu' if device is None else device).info['dtypes']
        return {name: _core.as_dtype(name) for name in names_of(kind) if _core.as_dtype(name) in has}

    def devices(self):
        """All devices of all plugins."""
        return _core.devices()


def __array_namespace_info__():
    """Devices, dtypes and abilities of this namespace."""
    return Info()


def __array_namespace__(self, /, *, api_version=None):
    """The module tenon."""
    if api_version is not None and api_version != VERSION and api_version not in _BEFORE:
        raise InvalidArgumentError(f'[__array_namespace__] version {api_version!r} is not known; this is {VERSION}')
    import tenon
    return tenon
