"""torch.cpu: the host."""


def is_available():
    """True."""
    return True


def device_count():
    """1."""
    return 1


def current_device():
    """The name of the host."""
    return 'cpu'


def synchronize(device=None):
    """Returns at once: an op on the host has finished when it returns."""


def __getattr__(name):
    if name == 'amp':
        from importlib import import_module
        return import_module('.amp', __name__)
    raise AttributeError(f"module 'tenon.torch.cpu' has no attribute {name!r}")
