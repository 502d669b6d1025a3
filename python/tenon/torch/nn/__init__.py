"""torch.nn: tenon's modules with PyTorch's arguments, and those that are functions of nn.functional."""
from ...nn.activation import Sigmoid, Tanh
from ...nn.container import ModuleDict, ModuleList, ParameterList, Sequential
from ...nn.linear import Flatten, Unflatten
from ...nn.module import Module, Parameter
from . import functional, init, utils
from .modules import *
from .recurrent import *
from .attention import MultiheadAttention
from .transformer import *
