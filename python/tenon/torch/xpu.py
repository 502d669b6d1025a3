"""torch.xpu: there is no plugin for such devices."""


def is_available():
    """False."""
    return False


def device_count():
    """0."""
    return 0
