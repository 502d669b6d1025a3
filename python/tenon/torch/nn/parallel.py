"""torch.nn.parallel: modules on one device."""
from ...nn import Module
from .._common import absent

__all__ = ['DataParallel']
__path__ = []  # `import torch.nn.parallel.distributed`: _places.py


class DataParallel(Module):
    """A module inside another, as PyTorch wraps it for several devices; here a single device computes, that of the parameters."""

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        self.module, self.dim = module, dim
        self.device_ids, self.output_device = [] if device_ids is None else list(device_ids), output_device

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)


__getattr__ = absent(__name__, {'DistributedDataParallel': 'one process trains here: call the module as it is'})
