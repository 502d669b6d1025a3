"""torch.cuda.amp and torch.cpu.amp: older names, each for one kind of device."""
from .autocast_mode import autocast, custom_bwd, custom_fwd
from .grad_scaler import GradScaler


def of_kind(kind, dtype):
    """autocast, GradScaler, custom_fwd and custom_bwd for a kind of device."""
    class Autocast(autocast):
        """torch.autocast for this kind of device."""

        def __init__(self, enabled=True, dtype=dtype, cache_enabled=True):
            super().__init__(kind, dtype, enabled, cache_enabled)

    class Scaler(GradScaler):
        """torch.amp.GradScaler for this kind of device."""

        def __init__(self, init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
            super().__init__(kind, init_scale, growth_factor, backoff_factor, growth_interval, enabled)

    def forward(fwd=None, *, cast_inputs=None):
        return custom_fwd(fwd, device_type=kind, cast_inputs=cast_inputs)

    def backward(bwd):
        return custom_bwd(bwd, device_type=kind)
    return Autocast, Scaler, forward, backward
