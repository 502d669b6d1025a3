"""torch.utils.benchmark: how long statements take."""
from .measurement import Measurement, TaskSpec, select_unit, trim_sigfig
from .timer import Language, Timer, timer
from .compare import Compare

__all__ = ['Compare', 'Language', 'Measurement', 'TaskSpec', 'Timer', 'select_unit', 'timer', 'trim_sigfig']
