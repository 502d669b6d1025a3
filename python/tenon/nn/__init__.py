"""Networks: modules with named parameters, the same names, defaults and initial values as in C++ (tenon/nn.hpp).

>>> net = tenon.nn.Sequential(tenon.nn.Linear(3, 4), tenon.nn.ReLU(), tenon.nn.Linear(4, 2))
>>> [name for name, _ in net.named_parameters()]
['0.weight', '0.bias', '2.weight', '2.bias']
"""
from .._generous import others
from . import functional, init
from .activation import (ELU, GELU, SELU, Hardsigmoid, Hardswish, LeakyReLU, LogSigmoid, LogSoftmax, Mish, ReLU, Sigmoid, SiLU,
                         Softmax, Softplus, Tanh)
from .container import ModuleDict, ModuleList, ParameterList, Sequential
from .conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from .linear import Dropout, Embedding, Flatten, Identity, Linear, QuantizedLinear, Unflatten
from .loss import (BCELoss, BCEWithLogitsLoss, CrossEntropyLoss, KLDivLoss, L1Loss, MSELoss, NLLLoss, SmoothL1Loss)
from .module import Module, Parameter
from .norm import BatchNorm, BatchNorm1d, BatchNorm2d, BatchNorm3d, GroupNorm, LayerNorm, RMSNorm
from .pool import (AdaptiveAvgPool, AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d, AdaptiveMaxPool, AdaptiveMaxPool1d,
                   AdaptiveMaxPool2d, AdaptiveMaxPool3d, AvgPool, AvgPool1d, AvgPool2d, AvgPool3d, MaxPool, MaxPool1d,
                   MaxPool2d, MaxPool3d, Upsample)

__all__ = ['AdaptiveAvgPool', 'AdaptiveAvgPool1d', 'AdaptiveAvgPool2d', 'AdaptiveAvgPool3d', 'AdaptiveMaxPool',
           'AdaptiveMaxPool1d', 'AdaptiveMaxPool2d', 'AdaptiveMaxPool3d', 'AvgPool', 'AvgPool1d', 'AvgPool2d',
           'AvgPool3d', 'BCELoss', 'BCEWithLogitsLoss', 'BatchNorm', 'BatchNorm1d', 'BatchNorm2d', 'BatchNorm3d',
           'Conv1d', 'Conv2d', 'Conv3d', 'ConvTranspose1d', 'ConvTranspose2d', 'ConvTranspose3d', 'CrossEntropyLoss',
           'Dropout', 'ELU', 'Embedding', 'Flatten', 'GELU', 'GroupNorm', 'Hardsigmoid', 'Hardswish', 'Identity',
           'KLDivLoss', 'L1Loss', 'LayerNorm', 'LeakyReLU', 'Linear', 'LogSigmoid', 'LogSoftmax', 'MSELoss', 'MaxPool',
           'MaxPool1d', 'MaxPool2d', 'MaxPool3d', 'Mish', 'Module', 'ModuleDict', 'ModuleList', 'NLLLoss', 'Parameter',
           'ParameterList', 'QuantizedLinear', 'RMSNorm', 'ReLU', 'SELU', 'Sequential', 'SiLU', 'Sigmoid', 'SmoothL1Loss', 'Softmax',
           'Softplus', 'Tanh', 'Unflatten', 'Upsample', 'functional', 'init']

__getattr__ = others(__name__)  # PyTorch's other names
