"""torch.autograd.profiler: the older names of torch.profiler."""
import contextlib

from ..profiler import EventList, FunctionEvent
from ..profiler import profile as _profile
from ..profiler import record_function
from .._common import absent

__all__ = ['EventList', 'FunctionEvent', 'emit_nvtx', 'profile', 'record_function']


class emit_nvtx(contextlib.nullcontext):
    """A scope without effect: ops announce themselves to torch.profiler alone. torch.cuda.nvtx marks ranges."""

    def __init__(self, enabled=True, record_shapes=False):
        super().__init__()


class profile(_profile):
    """As torch.profiler.profile(); enabled=False records nothing."""

    def __init__(self, enabled=True, *, use_cuda=False, use_device=None, record_shapes=False, with_flops=False, profile_memory=False,
                 with_stack=False, with_modules=False, **_):
        super().__init__()
        self.enabled = enabled

    def start(self):
        if self.enabled:
            super().start()

    @property
    def function_events(self):
        """What ran: the events of torch.profiler."""
        return self.events()

    def table(self, sort_by=None, row_limit=100, **kwargs):
        return self.key_averages().table(sort_by, row_limit, **kwargs)

    def total_average(self):
        return self.key_averages().total_average()


__getattr__ = absent(__name__, {})
