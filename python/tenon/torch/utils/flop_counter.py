"""torch.utils.flop_counter: a name that packages import; operations are not counted here."""

__all__ = ['FlopCounterMode']


class FlopCounterMode:
    """A scope that would count floating-point operations."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError('[FlopCounterMode] operations are not counted here: torch.profiler.profile() tells the times of ops')
