"""torch.nn.parallel: modules on one device."""
import contextlib

from ...nn import Module

__all__ = ['DataParallel', 'DistributedDataParallel', 'data_parallel']
__path__ = []  # `import torch.nn.parallel.distributed`: _places.py


class DataParallel(Module):
    """A module inside another, as PyTorch wraps it for several devices; here a single device computes, that of the parameters."""

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        self.module, self.dim = module, dim
        self.device_ids, self.output_device = [] if device_ids is None else list(device_ids), output_device

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)


class DistributedDataParallel(DataParallel):
    """A module inside another, as PyTorch wraps it for several processes; here its process is the only one of the group.

    Raises ValueError before torch.distributed.init_process_group(), RuntimeError if no parameter requires a gradient.
    """

    def __init__(self, module, device_ids=None, output_device=None, dim=0, broadcast_buffers=True, init_sync=True, process_group=None,
                 bucket_cap_mb=None, find_unused_parameters=False, check_reduction=False, gradient_as_bucket_view=False,
                 static_graph=False, **kwargs):
        from .. import distributed
        distributed.get_world_size(process_group)
        if not any(p.requires_grad for p in module.parameters()):
            raise RuntimeError("[DistributedDataParallel] no parameter requires a gradient: call the module as it is")
        super().__init__(module, device_ids, output_device, dim)
        self.broadcast_buffers, self.find_unused_parameters, self.static_graph = broadcast_buffers, find_unused_parameters, static_graph
        self.require_backward_grad_sync = True

    @contextlib.contextmanager
    def no_sync(self):
        """A scope whose gradients are not combined with those of other processes, of which there are none."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    @contextlib.contextmanager
    def join(self, divide_by_initial_world_size=True, enable=True, throw_on_early_termination=False):
        """A scope without effect: no process ends earlier than the only one."""
        yield


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    """The module called with the inputs, a tensor or a tuple, on its one device."""
    return module(*(inputs if isinstance(inputs, tuple) else (inputs,)), **(module_kwargs or {}))
