"""Scopes and facts of the devices of torch.cuda."""
import tenon.torch.cuda as cuda

__all__ = ['device', 'device_of', 'get_arch_list', 'get_sync_debug_mode', 'init', 'ipc_collect', 'set_sync_debug_mode']


class device:
    """A scope that accepts the first device, or none: functions that make tensors are told their device."""

    def __init__(self, device):
        self.idx = device if isinstance(device, int) else getattr(device, 'index', None) or 0

    def __enter__(self):
        if self.idx > 0:
            cuda.set_device(self.idx)

    def __exit__(self, *raised):
        return False


class device_of(device):
    """device() of a tensor; a tensor on the host changes nothing."""

    def __init__(self, obj):
        super().__init__(obj.device.index if obj.device.type == 'cuda' else -1)


def init():
    """Raises an error without a device; there is nothing to set up."""
    cuda._device(None)


def ipc_collect():
    """Raises an error without a device; there is nothing to collect."""
    cuda._device(None)


def get_arch_list():
    """[] without the plugin; otherwise not reported."""
    if cuda.is_available():
        raise RuntimeError('[get_arch_list] plugins do not report it: see `tenon devices`')
    return []


_sync_debug_mode = 0


def get_sync_debug_mode():
    """What set_sync_debug_mode() set."""
    return _sync_debug_mode


def set_sync_debug_mode(debug_mode):
    """Kept without effect: 0 'default', 1 'warn' or 2 'error'."""
    global _sync_debug_mode
    names = {'default': 0, 'warn': 1, 'error': 2}
    if debug_mode not in (*names, *names.values()):
        raise RuntimeError(f"[set_sync_debug_mode] {debug_mode!r}: 'default', 'warn' or 'error'")
    _sync_debug_mode = names.get(debug_mode, debug_mode)
