"""torch.optim.lr_scheduler: tenon's schedules."""
from ...optim.schedulers import (CosineAnnealingLR, ExponentialLR, LambdaLR, LinearLR, LRScheduler, MultiStepLR, OneCycleLR,
                                 ReduceLROnPlateau, SequentialLR, StepLR)

_LRScheduler = LRScheduler
__all__ = ['CosineAnnealingLR', 'ExponentialLR', 'LRScheduler', 'LambdaLR', 'LinearLR', 'MultiStepLR', 'OneCycleLR',
           'ReduceLROnPlateau', 'SequentialLR', 'StepLR']
