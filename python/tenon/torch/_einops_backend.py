"""What einops asks of a library of tensors. einops finds the class by itself, among the subclasses of its AbstractBackend."""
from einops._backends import AbstractBackend

import tenon.torch as torch


class TenonBackend(AbstractBackend):
    """Tensors of tenon, with the functions of tenon.torch."""

    framework_name = 'tenon'

    def is_appropriate_type(self, tensor):
        return isinstance(tensor, torch.Tensor)

    def from_numpy(self, x):
        return torch.from_numpy(x)

    def to_numpy(self, x):
        return x.detach().cpu().numpy()

    def arange(self, start, stop):
        return torch.arange(start, stop, dtype=torch.int64)

    def reshape(self, x, shape):
        return x.reshape(shape)

    def transpose(self, x, axes):
        return x.permute(axes)

    def reduce(self, x, operation, axes):
        if operation in ('min', 'max', 'sum', 'mean'):
            return getattr(x, {'min': 'amin', 'max': 'amax'}.get(operation, operation))(dim=tuple(axes))
        for axis in sorted(axes, reverse=True):  # any, all, prod
            x = getattr(x, operation)(dim=axis)
        return x

    def stack_on_zeroth_dimension(self, tensors):
        return torch.stack(tensors)

    def add_axis(self, x, new_position):
        return x.unsqueeze(new_position)

    def add_axes(self, x, n_axes, pos2len):
        sizes = [-1] * n_axes
        for position, size in pos2len.items():
            x, sizes[position] = x.unsqueeze(position), size
        return x.expand(sizes)

    def tile(self, x, repeats):
        return x.repeat(repeats)

    def concat(self, tensors, axis):
        return torch.cat(tensors, axis)

    def is_float_type(self, x):
        return x.is_floating_point() or x.is_complex()

    def layers(self):
        from .einops.layers import torch as layers
        return layers

    def einsum(self, pattern, *x):
        return torch.einsum(pattern, *x)
