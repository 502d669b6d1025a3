"""torch.distributions.constraints: sets of values; check(value) says for each event whether it belongs to the set."""
from typing import Any

import tenon.torch as torch

__all__ = ['Constraint', 'boolean', 'cat', 'corr_cholesky', 'dependent', 'dependent_property', 'greater_than', 'greater_than_eq',
           'half_open_interval', 'independent', 'integer_interval', 'interval', 'is_dependent', 'less_than', 'lower_cholesky',
           'lower_triangular', 'MixtureSameFamilyConstraint', 'multinomial', 'nonnegative', 'nonnegative_integer', 'one_hot', 'positive',
           'positive_definite', 'positive_integer', 'positive_semidefinite', 'real', 'real_vector', 'simplex', 'square', 'stack',
           'symmetric', 'unit_interval']


class Constraint:
    """A set: check(value) returns a bool for each event of event_dim dimensions."""

    is_discrete = False
    event_dim = 0

    def check(self, value):
        """Whether each event of value belongs to the set."""
        raise NotImplementedError(f'[{type(self).__name__}] defines no check()')

    def __repr__(self):
        name = type(self).__name__.removeprefix('_')
        return name[:1].upper() + name[1:] + '()'


class _Dependent(Constraint):
    """A set that depends on other parameters."""

    def __init__(self, *, is_discrete=False, event_dim=0):
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def __call__(self, *, is_discrete=None, event_dim=None):
        return _Dependent(is_discrete=self.is_discrete if is_discrete is None else is_discrete,
                          event_dim=self.event_dim if event_dim is None else event_dim)

    def check(self, value):
        raise ValueError('[constraints] what depends on other parameters cannot be checked alone')


def is_dependent(constraint):
    """Whether a constraint depends on other parameters."""
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property of a distribution that is a constraint, and represents one in the class."""

    def __init__(self, fn=None, *, is_discrete=False, event_dim=0):
        property.__init__(self, fn)
        _Dependent.__init__(self, is_discrete=is_discrete, event_dim=event_dim)

    def __call__(self, fn):
        return _DependentProperty(fn, is_discrete=self.is_discrete, event_dim=self.event_dim)


class independent(Constraint):
    """A constraint whose last dimensions count as one event."""

    def __init__(self, base_constraint, reinterpreted_batch_ndims):
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims
        self.is_discrete, self.event_dim = base_constraint.is_discrete, base_constraint.event_dim + reinterpreted_batch_ndims

    def check(self, value):
        found = self.base_constraint.check(value)
        if found.dim() < self.reinterpreted_batch_ndims:
            raise ValueError(f'[constraints] value has rank {value.dim()}, must be at least {self.event_dim}')
        return found.flatten(found.dim() - self.reinterpreted_batch_ndims).all(-1) if self.reinterpreted_batch_ndims else found

    def __repr__(self):
        return f'IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})'


class _OfElements(Constraint):
    """A set given by a function of a tensor, and of the set's bounds where it has some."""

    _bounds: Any = ()
    _holds: Any = None

    def __init__(self, *args, **kwargs):
        named = {**dict(zip(self._bounds, args)), **kwargs}
        if len(args) > len(self._bounds) or set(named) != set(self._bounds):
            raise TypeError(f'[{type(self).__name__}] needs {" and ".join(self._bounds) or "no argument"}')
        vars(self).update(named)

    def check(self, value):
        return self._holds(value, *(getattr(self, name) for name in self._bounds))

    def __repr__(self):
        name, bounds = super().__repr__()[:-1], ', '.join(f'{name}={getattr(self, name)}' for name in self._bounds)
        return f'{name}{bounds})'


def _kind(name, holds, bounds='', event_dim=0, is_discrete=False):
    """The class of the sets whose elements a function holds for; the module has it by its name, too, as in PyTorch."""
    globals()[name] = made = type(name, (_OfElements,), {'_bounds': bounds.split(), '_holds': staticmethod(holds), 'event_dim': event_dim, 'is_discrete': is_discrete})
    return made


_BOTH = 'lower_bound upper_bound'
integer_interval = _kind('_IntegerInterval', lambda x, low, high: (x % 1 == 0) & (low <= x) & (x <= high), _BOTH, is_discrete=True)
greater_than = _kind('_GreaterThan', lambda x, low: low < x, 'lower_bound')
greater_than_eq = _kind('_GreaterThanEq', lambda x, low: low <= x, 'lower_bound')
less_than = _kind('_LessThan', lambda x, high: x < high, 'upper_bound')
interval = _kind('_Interval', lambda x, low, high: (low <= x) & (x <= high), _BOTH)
half_open_interval = _kind('_HalfOpenInterval', lambda x, low, high: (low <= x) & (x < high), _BOTH)
_from_integer = _kind('_IntegerGreaterThan', lambda x, low: (x % 1 == 0) & (x >= low), 'lower_bound', is_discrete=True)
multinomial = _kind('_Multinomial', lambda x, high: (x >= 0).all(-1) & (x.sum(-1) <= high), 'upper_bound', event_dim=1, is_discrete=True)
multinomial.__repr__ = Constraint.__repr__  # PyTorch prints this one without its bound


def _lower(x):
    return (x.tril() == x).flatten(-2).all(-1)


def _symmetric(x):
    return torch.isclose(x, x.mT, atol=1e-6).flatten(-2).all(-1) if x.shape[-1] == x.shape[-2] else torch.zeros(x.shape[:-2], dtype=torch.bool)


def _definite(x):
    return _symmetric(x) & (torch.linalg.cholesky_ex(x).info == 0)


def _unit_rows(x):
    return ((x.norm(dim=-1) - 1).abs() < torch.finfo(x.dtype).eps * x.shape[-1] * 10).all(-1)


def _diagonal(x):
    return x.diagonal(dim1=-2, dim2=-1)


dependent, dependent_property = _Dependent(), _DependentProperty
boolean = _kind('_Boolean', lambda x: (x == 0) | (x == 1), is_discrete=True)()
one_hot = _kind('_OneHot', lambda x: ((x == 0) | (x == 1)).all(-1) & (x.sum(-1) == 1), event_dim=1, is_discrete=True)()
nonnegative_integer, positive_integer = _from_integer(0), _from_integer(1)
real = _kind('_Real', lambda x: x == x)()
real_vector = independent(real, 1)
positive, nonnegative = greater_than(0.0), greater_than_eq(0.0)
unit_interval = interval(0.0, 1.0)
simplex = _kind('_Simplex', lambda x: (x >= 0).all(-1) & ((x.sum(-1) - 1).abs() < 1e-6), event_dim=1)()
lower_triangular = _kind('_LowerTriangular', _lower, event_dim=2)()
lower_cholesky = _kind('_LowerCholesky', lambda x: _lower(x) & (_diagonal(x) > 0).all(-1), event_dim=2)()
corr_cholesky = _kind('_CorrCholesky', lambda x: _lower(x) & (_diagonal(x) > 0).all(-1) & _unit_rows(x), event_dim=2)()
square = _kind('_Square', lambda x: torch.full(x.shape[:-2], x.shape[-1] == x.shape[-2], dtype=torch.bool), event_dim=2)()
symmetric = _kind('_Symmetric', _symmetric, event_dim=2)()
positive_semidefinite = _kind('_PositiveSemidefinite', lambda x: _symmetric(x) & (torch.linalg.eigvalsh(x) >= 0).all(-1), event_dim=2)()
positive_definite = _kind('_PositiveDefinite', _definite, event_dim=2)()


class _Parts(Constraint):
    """Several constraints, each for a part along a dimension."""

    def __init__(self, constraints, dim, lengths):
        self.cseq, self.dim, self.lengths = list(constraints), dim, lengths
        self.is_discrete = any(each.is_discrete for each in self.cseq)
        self.event_dim = max(each.event_dim for each in self.cseq)


class cat(_Parts):
    """Constraints of consecutive parts along dim."""

    def __init__(self, cseq, dim=0, lengths=None):
        super().__init__(cseq, dim, [1] * len(list(cseq)) if lengths is None else list(lengths))

    def check(self, value):
        parts = value.split(self.lengths, self.dim)
        return torch.cat([each.check(part) for each, part in zip(self.cseq, parts)], self.dim)


class stack(_Parts):
    """Constraints of the entries along dim."""

    def __init__(self, cseq, dim=0):
        super().__init__(cseq, dim, None)

    def check(self, value):
        return torch.stack([each.check(part) for each, part in zip(self.cseq, value.unbind(self.dim))], self.dim)


class MixtureSameFamilyConstraint(Constraint):
    """The constraint of one component, for values of a mixture."""

    def __init__(self, base_constraint):
        self.base_constraint, self.event_dim, self.is_discrete = base_constraint, base_constraint.event_dim, base_constraint.is_discrete

    def check(self, value):
        dim = value.dim() - self.event_dim
        found = self.base_constraint.check(value.unsqueeze(dim))
        return found.squeeze(-1) if found.dim() == dim + 1 else found
