"""torch.nn.grad: gradients of convolutions as functions of the gradient of their result."""
from ..._core import ops
from ...autograd import enable_grad, grad
from . import functional

__all__ = ['conv1d_input', 'conv1d_weight', 'conv2d_input', 'conv2d_weight', 'conv3d_input', 'conv3d_weight']


def _gradient(dims, shape, other, grad_output, of_input, options):
    with enable_grad():
        leaf = ops['full'](tuple(shape), 0.0, grad_output.dtype, grad_output.device).requires_grad_()
        operands = (leaf, other.detach()) if of_input else (other.detach(), leaf)
        found = getattr(functional, f'conv{dims}d')(*operands, None, *options)
    return grad(found, [leaf], grad_output)[0]


def _pair(dims):
    def of_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
        return _gradient(dims, input_size, weight, grad_output, True, (stride, padding, dilation, groups))

    def of_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
        return _gradient(dims, weight_size, input, grad_output, False, (stride, padding, dilation, groups))
    for function, name, doc in (of_input, 'input', 'input, which has this shape'), (of_weight, 'weight', 'weight, which has this shape'):
        function.__name__ = function.__qualname__ = f'conv{dims}d_{name}'
        function.__doc__ = f'The gradient of conv{dims}d() for its {doc}.'
    return of_input, of_weight


conv1d_input, conv1d_weight = _pair(1)
conv2d_input, conv2d_weight = _pair(2)
conv3d_input, conv3d_weight = _pair(3)
