"""GradScaler multiplies losses so that small gradients are not lost in float16 (Micikevicius et al. 2018, section 3.2)."""
import enum
import math
import warnings

from ..._core import Tensor, float32, ops
from ..._errors import InvalidArgumentError
from ..func.trees import tree_map
from .autocast_mode import is_autocast_available

__all__ = ['GradScaler', 'OptState']


class OptState(enum.Enum):
    """What has been done with an optimizer since the last update()."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


class GradScaler:
    """Multiplies losses by a scale and divides gradients by it before a step. If gradients are inf or NaN, it skips the step and lowers
    the scale; after growth_interval good steps it raises the scale.

    device: a kind of device; if there is none, the scaler warns and does nothing. bfloat16 needs no scaler.
    """

    def __init__(self, device='cuda', init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        self._device, self._enabled = device, enabled
        if enabled and not is_autocast_available(device):
            warnings.warn(f'[GradScaler] there is no device of kind {device!r}: it does nothing', stacklevel=2)
            self._enabled = False
        self._scale, self._growth_tracker = float(init_scale), 0
        self.set_growth_factor(growth_factor)
        self.set_backoff_factor(backoff_factor)
        self.set_growth_interval(growth_interval)
        self._stages = {}  # by optimizer: (OptState, whether a gradient was inf or NaN)

    def scale(self, outputs):
        """Tensors, nested in lists and tuples, times the scale."""
        if not self._enabled:
            return outputs

        def scaled(x):
            if not isinstance(x, Tensor):
                raise InvalidArgumentError(f'[GradScaler] outputs must be Tensors or lists of them, not {type(x).__name__}')
            return x * self._scale
        return tree_map(scaled, outputs if isinstance(outputs, (Tensor, list, tuple)) else list(outputs))

    def unscale_(self, optimizer):
        """Divides an optimizer's gradients by the scale, for clipping; otherwise step() does it."""
        if not self._enabled:
            return
        stage, _ = self._stage(optimizer)
        if stage is not OptState.READY:
            raise RuntimeError('[GradScaler] unscale_() ' + ('has been called since the last update()' if stage is OptState.UNSCALED
                                                            else 'must come before step()'))
        self._stages[id(optimizer)] = OptState.UNSCALED, self._unscale(optimizer)

    def _stage(self, optimizer):
        return self._stages.get(id(optimizer), (OptState.READY, None))

    def _unscale(self, optimizer):
        """Whether a gradient was inf or NaN; None if there is no gradient."""
        grads = {}  # by device, so that one call handles all gradients there
        for group in optimizer.param_groups:
            for x in group['params']:
                if x.grad is not None:
                    if x.grad.dtype.name == 'float16':
                        raise InvalidArgumentError('[GradScaler] a gradient is float16: keep parameters in float32 under autocast')
                    dense = x.grad.detach()
                    grads.setdefault(dense.device, []).append(dense if isinstance(dense, Tensor) else dense._values())
        found = None
        for device, of_device in grads.items():
            largest = ops['multi_norm'](of_device, math.inf).item()
            found = bool(found) or not math.isfinite(largest)
            ops['multi_scale'](of_device, ops['full']((), 1 / self._scale, float32, device))
        return found

    def step(self, optimizer, *args, **kwargs):
        """optimizer.step(...) with unscaled gradients, unless one is inf or NaN; returns the result of step()."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if 'closure' in kwargs:
            raise RuntimeError('[GradScaler] step() takes no closure')
        if self._stage(optimizer)[0] is OptState.STEPPED:
            raise RuntimeError('[GradScaler] step() has been called since the last update()')
        if self._stage(optimizer)[0] is OptState.READY:
            self.unscale_(optimizer)
        found = self._stage(optimizer)[1]
        if found is None:
            raise RuntimeError('[GradScaler] no parameter of this optimizer has a gradient')
        self._stages[id(optimizer)] = OptState.STEPPED, found
        return None if found else optimizer.step(*args, **kwargs)

    def update(self, new_scale=None):
        """Sets the scale for the next steps; call it once, after the steps of all optimizers."""
        if not self._enabled:
            return
        founds = [found for _, found in self._stages.values() if found is not None]
        self._stages.clear()
        if new_scale is not None:
            self._scale = float(new_scale)
            return
        if not founds:
            raise RuntimeError('[GradScaler] update() without a step() since the last')
        if any(founds):
            self._scale, self._growth_tracker = self._scale * self._backoff_factor, 0
            return
        self._growth_tracker += 1
        if self._growth_tracker >= self._growth_interval:
            if self._scale * self._growth_factor < 3.4e38:  # must fit into float32, as on devices
                self._scale *= self._growth_factor
            self._growth_tracker = 0

    def get_scale(self):
        """The scale; 1.0 if the scaler is disabled."""
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self):
        """The factor by which the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor):
        """Sets the factor by which the scale grows."""
        if not new_factor > 1:
            raise InvalidArgumentError(f'[GradScaler] growth_factor is {new_factor}, must be above 1')
        self._growth_factor = new_factor

    def get_backoff_factor(self):
        """The factor by which the scale falls."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor):
        """Sets the factor by which the scale falls."""
        if not new_factor < 1:
            raise InvalidArgumentError(f'[GradScaler] backoff_factor is {new_factor}, must be below 1')
        self._backoff_factor = new_factor

    def get_growth_interval(self):
        """The number of good steps after which the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval):
        """Sets the number of good steps after which the scale grows."""
        self._growth_interval = new_interval

    def is_enabled(self):
        """Whether the scaler is enabled."""
        return self._enabled

    def state_dict(self):
        """The argument for load_state_dict(); {} if the scaler is disabled."""
        if not self._enabled:
            return {}
        return {'scale': self._scale, 'growth_factor': self._growth_factor, 'backoff_factor': self._backoff_factor,
                'growth_interval': self._growth_interval, '_growth_tracker': self._growth_tracker}

    def load_state_dict(self, state_dict):
        """Continues from a state."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError('[GradScaler] the state is empty: it comes from a scaler that did nothing')
        self._scale, self._growth_tracker = float(state_dict['scale']), int(state_dict['_growth_tracker'])
        self.set_growth_factor(state_dict['growth_factor'])
        self.set_backoff_factor(state_dict['backoff_factor'])
        self.set_growth_interval(state_dict['growth_interval'])
