"""Optimizers and schedules of the learning rate, with the defaults and the names of state that C++ has (tenon/optim.hpp)."""
from .clip import clip_grad_norm_, clip_grad_value_
from .optimizer import Optimizer
from .optimizers import SGD, Adagrad, Adam, AdamW, RMSprop
from .schedulers import (CosineAnnealingLR, ExponentialLR, LambdaLR, LinearLR, MultiStepLR, OneCycleLR, ReduceLROnPlateau,
                         Scheduler, StepLR)

__all__ = ['SGD', 'Adagrad', 'Adam', 'AdamW', 'CosineAnnealingLR', 'ExponentialLR', 'LambdaLR', 'LinearLR', 'MultiStepLR',
           'OneCycleLR', 'Optimizer', 'RMSprop', 'ReduceLROnPlateau', 'Scheduler', 'StepLR', 'clip_grad_norm_',
           'clip_grad_value_']
