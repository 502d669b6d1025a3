"""torch.utils.tensorboard: the writer of the package tensorboardX, if that is installed."""
try:
    from tensorboardX import SummaryWriter  # pyright: ignore[reportMissingImports]
except ImportError:
    raise ImportError('[torch.utils.tensorboard] is not offered here: install tensorboardX, which writes the same files') from None

__all__ = ['SummaryWriter']
