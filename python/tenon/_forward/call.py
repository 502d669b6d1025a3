"""The call that a rule sees, and the table of rules."""
from .. import _core, _vmap
from .._core import Tensor, ops
from .._vmap.call import NamedCall, rule_table

# rule(call) -> the tangent of the op's result, or a tuple for several; None where a tangent is zero.
RULES, rule = rule_table()


def is_differentiable(x):
    """Whether x is a tensor of a dtype that has tangents."""
    return isinstance(x, Tensor) and (x.dtype.is_floating_point or x.dtype.is_complex)


def zeros_like(x):
    """Zeros in the shape of x that take no memory."""
    return ops['expand'](ops['full']((), 0, x.dtype, x.device), x.shape)


class Call(NamedCall):
    """A call of an op with tangents for some tensors. Its arguments are found by name."""

    def __init__(self, name, args, tangents, level):
        super().__init__(name, args)
        self.tangents, self.level = tangents, level
        self._results = None

    def tangent(self, name):
        """The tangent of an argument, or None."""
        return self.tangents[self._at[name]] if isinstance(self[name], Tensor) else None

    def tangent_or_zeros(self, name):
        """The tangent of an argument, for a list one for each entry; 0 for a number."""
        x, t = self[name], self.tangents[self._at[name]]
        if isinstance(x, (list, tuple)):
            return [None if each is None else zeros_like(each) if tangent is None else tangent for each, tangent in zip(x, t)]
        return (zeros_like(x) if t is None else t) if isinstance(x, Tensor) else None if x is None else 0

    def leaf(self, x, tangent):
        """A leaf with the elements of x, for asking a gradient of; what is recorded from it has this tangent."""
        found = _vmap.leaf(x)
        self.level.set(found, tangent)
        return found

    @property
    def results(self):
        """The op's results as a tuple."""
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
    """Whether results computed from the tensors need a history."""
    return records() and any(isinstance(x, Tensor) and x.requires_grad for x in tensors)
