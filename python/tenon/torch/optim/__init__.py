"""torch.optim: optimizers with PyTorch's state, and schedules of their rates in lr_scheduler."""
from . import lr_scheduler, swa_utils
from .adam import Adam, Adamax, AdamW, NAdam, RAdam
from .adaptive import Adadelta, Adagrad, RMSprop
from .descent import ASGD, SGD, Rprop
from .lbfgs import LBFGS
from .matrices import Adafactor, Muon
from .optimizer import Optimizer
from .sparse import SparseAdam
from .._common import absent

__all__ = ['ASGD', 'SGD', 'Adadelta', 'Adafactor', 'Adagrad', 'Adam', 'AdamW', 'Adamax', 'LBFGS', 'Muon', 'NAdam', 'Optimizer', 'RAdam',
           'RMSprop', 'Rprop', 'SparseAdam', 'lr_scheduler', 'swa_utils']


__getattr__ = absent(__name__, {})
