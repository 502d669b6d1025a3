"""torch.cpu.amp: the older names of torch.amp."""
from ... import _core
from ..amp.of_kind import of_kind

__all__ = ['GradScaler', 'autocast', 'custom_bwd', 'custom_fwd']

autocast, GradScaler, custom_fwd, custom_bwd = of_kind('cpu', _core.bfloat16)
