"""torch.distributed.optim: optimizers that share their state among processes; a process that is alone keeps all of it."""
from ..._errors import InvalidArgumentError
from .._common import absent
from ..optim import Optimizer
from . import _group, _only

__all__ = ['ZeroRedundancyOptimizer']


class ZeroRedundancyOptimizer(Optimizer):
    """An optimizer of optimizer_class whose state is divided among the processes of the group. Its state_dict() is that which
    consolidate_state_dict() collected last.
    """

    def __init__(self, params, optimizer_class, process_group=None, parameters_as_bucket_view=False, overlap_with_ddp=False, **defaults):
        self.process_group = _group(process_group)
        if overlap_with_ddp:
            raise InvalidArgumentError('[ZeroRedundancyOptimizer] overlap_with_ddp is for several processes: one process trains here')
        self.optim, self._collected = optimizer_class(params, **defaults), None
        super().__init__(self.optim.param_groups, self.optim.defaults)

    @property
    def param_groups(self):
        """Those of the optimizer itself."""
        return self.optim.param_groups

    @param_groups.setter
    def param_groups(self, groups):
        self.optim.param_groups = groups

    @property
    def state(self):
        """That of the optimizer itself."""
        return self.optim.state

    @state.setter
    def state(self, states):
        self.optim.state = states

    def step(self, closure=None, **kwargs):
        """A step of the optimizer."""
        self._opt_called = True
        return self.optim.step(closure, **kwargs)

    def consolidate_state_dict(self, to=0):
        """Collects the state of all processes for state_dict()."""
        _only(to, 'to')
        self._collected = self.optim.state_dict()

    def state_dict(self):
        """What consolidate_state_dict() collected last."""
        if self._collected is None:
            raise RuntimeError('[ZeroRedundancyOptimizer] the state lies on several processes: call consolidate_state_dict(to=0) first')
        return self._collected

    def load_state_dict(self, state_dict):
        """Loads a state that was collected, or that of a single optimizer."""
        self.optim.load_state_dict(state_dict)


__getattr__ = absent(__name__, dict.fromkeys(('DistributedOptimizer', 'PostLocalSGDOptimizer'), 'one process trains here'))
