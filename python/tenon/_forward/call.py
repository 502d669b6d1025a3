"""The call whose tangents a rule gives, and the table of rules."""
from .. import _core, _vmap
from .._core import Tensor, ops
from .._vmap.call import NamedCall

# What gives the tangents of an op's results, by its name: rule(call) -> one, or a tuple of them; None for those that are zero.
RULES = {}


def rule(*names):
    """Makes a function the rule of ops."""
    def add(function):
        for name in names:
            RULES[name] = function
        return function
    return add


def is_differentiable(x):
    """Whether x is a tensor of a dtype that has tangents."""
    return isinstance(x, Tensor) and (x.dtype.is_floating_point or x.dtype.is_complex)


def zeros_like(x):
    """Zeros of the shape of x, which take no memory."""
    return ops['expand'](ops['full']((), 0, x.dtype, x.device), x.shape)


class Call(NamedCall):
    """One call of an op of which some tensors have a tangent. Arguments go by name."""

    def __init__(self, name, args, tangents, level):
        super().__init__(name, args)
        self.tangents, self.level = tangents, level
        self._results = None

    def tangent(self, name):
        """That of an argument, or None."""
        return self.tangents[self._at[name]] if isinstance(self[name], Tensor) else None

    def tangent_or_zeros(self, name):
        """That of an argument, of a list one for each entry; 0 for a number."""
        x, t = self[name], self.tangents[self._at[name]]
        if isinstance(x, (list, tuple)):
            return [None if each is None else zeros_like(each) if tangent is None else tangent for each, tangent in zip(x, t)]
        return (zeros_like(x) if t is None else t) if isinstance(x, Tensor) else None if x is None else 0

    def leaf(self, x, tangent):
        """A tensor with the elements of x whose gradient can be asked for; what is recorded of it has this tangent."""
        found = _vmap.leaf(x)
        self.level.set(found, tangent)
        return found

    @property
    def results(self):
        """What the op gives, as a tuple."""
        if self._results is None:
            found = self.run()
            self._results = (found,) if isinstance(found, Tensor) else tuple(found)
        return self._results

    @results.setter
    def results(self, values):
        self._results = values

    @property
    def y(self):
        """The first result."""
        return self.results[0]


def records():
    """Whether calls are recorded for gradients."""
    return bool(_core._get_modes() & 1)


def has_history(*tensors):
    """Whether what is computed from the tensors shall have one."""
    return records() and any(isinstance(x, Tensor) and x.requires_grad for x in tensors)
