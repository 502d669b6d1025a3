"""Module."""
from ....nn.module import Module

__all__ = ['Module']
