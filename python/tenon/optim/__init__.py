"""Optimizers and schedules of the learning rate: names, defaults, checks and state are those of C++ (tenon/optim.hpp)."""
from .._generous import others
from .clip import clip_grad_norm_, clip_grad_value_
from .optimizer import Optimizer
from .optimizers import SGD, Adagrad, Adam, AdamW, RMSprop
from .schedulers import (CosineAnnealingLR, ExponentialLR, LambdaLR, LinearLR, LRScheduler, MultiStepLR, OneCycleLR,
                         ReduceLROnPlateau, SequentialLR, StepLR)

__all__ = ['SGD', 'Adagrad', 'Adam', 'AdamW', 'CosineAnnealingLR', 'ExponentialLR', 'LRScheduler', 'LambdaLR', 'LinearLR',
           'MultiStepLR', 'OneCycleLR', 'Optimizer', 'RMSprop', 'ReduceLROnPlateau', 'SequentialLR', 'StepLR',
           'clip_grad_norm_', 'clip_grad_value_']

__getattr__ = others(__name__)  # PyTorch's other names
