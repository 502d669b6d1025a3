"""Tensors that a Module finds among its attributes: those it trains, and those it only keeps."""
import tenon
from .._core import Tensor
from .._overriding import disabled


def _check_data(name, data):
    if not isinstance(data, Tensor):
        raise TypeError(f'[{name}] data must be a Tensor, not {type(data).__name__}: use tenon.tensor(...)')
    return data.detach()


class Parameter(Tensor):
    """A tensor that a Module trains: an attribute of this type is found by `Module.parameters()`.

    Shares the elements of `data` and begins without history; None makes a parameter without elements.

    >>> weight = tenon.nn.Parameter(tenon.zeros((2, 3)))
    >>> weight.requires_grad
    True
    """

    __torch_function__ = disabled  # what is computed from it is a plain Tensor

    def __new__(cls, data=None, requires_grad=True):
        self = Tensor.__new__(cls, tenon.empty((0,)) if data is None else _check_data('Parameter', data))
        if requires_grad:
            self.requires_grad_(True)
        return self

    def __init__(self, data=None, requires_grad=True):
        super().__init__()

    def _like(self, data):
        """Other elements as a parameter of this kind, for a Module that moves or casts."""
        return Parameter(data, self.requires_grad)

    def __deepcopy__(self, memo):
        with tenon.no_grad():
            copy = self._like(self.detach().clone())
        memo[id(self)] = copy
        return copy

    def __reduce_ex__(self, protocol):
        return Parameter, (self.detach(), self.requires_grad)

    def __repr__(self):
        return 'Parameter containing:\n' + Tensor.__repr__(self)


class Buffer(Tensor):
    """A tensor that a Module moves and saves but does not train; assigning it to an attribute registers it.

    Shares the elements of `data`. `persistent=False` keeps it out of the state_dict.
    """

    __torch_function__ = disabled
    persistent: bool

    def __new__(cls, data, *, persistent=True):
        return Tensor.__new__(cls, _check_data('Buffer', data))

    def __init__(self, data, *, persistent=True):
        super().__init__()
        self.persistent = persistent

    def _like(self, data):
        """Other elements as a buffer of this kind."""
        return Buffer(data, persistent=self.persistent)

    def __deepcopy__(self, memo):
        with tenon.no_grad():
            copy = self._like(self.clone())
        memo[id(self)] = copy
        return copy

    def __reduce_ex__(self, protocol):
        return _buffer, (self.detach(), self.persistent)


def _buffer(data, persistent):
    return Buffer(data, persistent=persistent)
