"""torch.distributed: a single process trains here, as in a PyTorch that was built without it."""
from ._common import absent


def is_available():
    """False."""
    return False


def is_initialized():
    """False."""
    return False


def is_torchelastic_launched():
    """False."""
    return False


__getattr__ = absent(__name__, dict.fromkeys(('init_process_group', 'destroy_process_group', 'all_reduce', 'broadcast', 'all_gather', 'barrier',
                                              'get_rank', 'get_world_size'), 'one process trains here'))
