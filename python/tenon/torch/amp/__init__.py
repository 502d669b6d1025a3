"""torch.amp, mixed precision: autocast, and GradScaler for losses in float16."""
from . import autocast_mode, grad_scaler
from .autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from .grad_scaler import GradScaler

__all__ = ['GradScaler', 'autocast', 'custom_bwd', 'custom_fwd', 'is_autocast_available']
