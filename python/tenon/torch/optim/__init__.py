"""torch.optim: tenon's optimizers, and its schedules as lr_scheduler."""
from ...optim import SGD, Adagrad, Adam, AdamW, Optimizer, RMSprop
from . import lr_scheduler

__all__ = ['SGD', 'Adagrad', 'Adam', 'AdamW', 'Optimizer', 'RMSprop', 'lr_scheduler']
