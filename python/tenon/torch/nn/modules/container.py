"""Modules made of modules."""
from ....nn.container import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential

__all__ = ['ModuleDict', 'ModuleList', 'ParameterDict', 'ParameterList', 'Sequential']
