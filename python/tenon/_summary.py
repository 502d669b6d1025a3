"""tenon.summary: a table of a network's layers."""
import tenon
from ._core import Tensor
from .nn.module import Module


def _shapes(value):
    if isinstance(value, Tensor):
        return str(tuple(value.shape))
    if isinstance(value, (tuple, list)):
        return ', '.join(map(_shapes, value))
    return type(value).__name__


class Summary:
    """The result of summary(): `rows` of (path, kind, output shape, parameters), and sums; prints as a table."""

    def __init__(self, rows, total, trained, nbytes):
        self.rows, self.total_parameters, self.trained_parameters, self.nbytes = rows, total, trained, nbytes

    def __str__(self):
        heads = ('module', 'kind', 'output', 'parameters')
        cells = [(path, kind, output, f'{count:,}' if count else '-') for path, kind, output, count in self.rows]
        widths = [max(len(row[i]) for row in [heads, *cells]) for i in range(4)]
        lines = ['  '.join([*(row[i].ljust(widths[i]) for i in range(3)), row[3].rjust(widths[3])]) for row in [heads, *cells]]
        lines.insert(1, '-' * len(lines[0]))
        lines.append(lines[1])
        lines.append(f'{self.total_parameters:,} parameters, {self.trained_parameters:,} of them trained, '
                     f'{self.nbytes / 1024:,.1f} KiB with buffers')
        return '\n'.join(lines)

    __repr__ = __str__


def summary(model, shape=None, dtype=None, device=None):
    """A table of a network's parts: their kinds, output shapes and parameters.

    `shape` is that of the input, batch included, or a list of shapes if forward takes several; a Tensor in place of a shape gives its
    shape, dtype and device. A forward pass of zeros finds the output shapes. Without `shape` they stay unknown.

    >>> print(tenon.summary(tenon.nn.Sequential(tenon.nn.Linear(4, 2), tenon.nn.ReLU()), (1, 4)))
    module  kind        output  parameters
    --------------------------------------
            Sequential  (1, 2)           -
    0       Linear      (1, 2)          10
    1       ReLU        (1, 2)           -
    --------------------------------------
    10 parameters, 10 of them trained, 0.0 KiB with buffers
    """
    if not isinstance(model, Module):
        raise TypeError(f'[summary] wants a Module, not {type(model).__name__}')
    outputs = _find_outputs(model, shape, dtype, device) if shape is not None else {}
    rows = []
    for path, module in model.named_modules():
        own = [x for _, x, is_buffer in module._own() if not is_buffer]
        rows.append((path, type(module).__name__, outputs.get(id(module), '?'), sum(x.size for x in own)))
    parameters = list(model.parameters())
    nbytes = sum(x.nbytes for x in [*parameters, *model.buffers()])
    return Summary(rows, sum(x.size for x in parameters), sum(x.size for x in parameters if x.requires_grad), nbytes)


def _is_shape(value):
    return isinstance(value, (tuple, list)) and all(hasattr(size, '__index__') and not isinstance(size, Tensor) for size in value)


def _zeros(model, shape, dtype, device):
    """The inputs of forward: zeros of each shape; for a Tensor, zeros of its shape and dtype on its device."""
    given = [shape] if isinstance(shape, Tensor) or _is_shape(shape) else shape
    if not isinstance(given, (tuple, list)) or not all(isinstance(each, Tensor) or _is_shape(each) for each in given):
        raise TypeError('[summary] shape must be a shape such as (1, 784), a Tensor, or a list of those, not '
                        + (type(shape).__name__ if not isinstance(shape, (tuple, list)) else repr(shape)))
    first = next(model.parameters(), None)
    found = []
    for each in given:
        like = each if isinstance(each, Tensor) else first
        own_dtype = dtype if dtype is not None else tenon.float32 if like is None else like.dtype
        own_device = device if device is not None else None if like is None else like.device
        found.append(tenon.zeros(tuple(getattr(each, 'shape', each)), dtype=own_dtype, device=own_device))
    return found


def _find_outputs(model, shape, dtype, device):
    inputs = _zeros(model, shape, dtype, device)
    outputs, handles, modes = {}, [], {}
    for module in model.modules():
        modes[module] = module.training
        handles.append(module.register_forward_hook(
            lambda module, args, output: outputs.__setitem__(id(module), _shapes(output))))
    try:
        model.eval()  # so that no running statistics change
        with tenon.no_grad():
            model(*inputs)
    finally:
        for handle in handles:
            handle.remove()
        for module, training in modes.items():
            module._set('training', training)
    return outputs
