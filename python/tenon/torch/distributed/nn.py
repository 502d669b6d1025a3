"""torch.distributed.nn: collectives that return their results, of which gradients are taken; for a group of one process."""

__all__ = ['all_gather', 'all_reduce', 'broadcast']


def all_reduce(tensor, op=None, group=None):
    """The tensor: its sum, mean or other reduction over one process."""
    return tensor


def broadcast(tensor, src=0, group=None):
    """The tensor of the only process."""
    return tensor


def all_gather(tensor, group=None):
    """A tuple of the tensor of each process: of one."""
    return tensor,
