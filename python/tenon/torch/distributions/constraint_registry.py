"""transform_to(constraint) and biject_to(constraint): map unconstrained numbers into a set."""
from . import constraints, transforms
from .transforms import AffineTransform, ComposeTransform, ExpTransform, SigmoidTransform

__all__ = ['ConstraintRegistry', 'biject_to', 'transform_to']


class ConstraintRegistry:
    """A table of functions that make a transform for a constraint, by its kind."""

    def __init__(self):
        self._table = {}

    def register(self, constraint, factory=None):
        """Adds factory(constraint) for a constraint or its kind; without factory it is a decorator."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        self._table[_kind(constraint)] = factory
        return factory

    def __call__(self, constraint):
        factory = self._table.get(_kind(constraint))
        if factory is None:
            raise NotImplementedError(f'[distributions] no transform to {constraint!r} is known: register() adds one')
        return factory(constraint)


def _kind(constraint):
    """What identifies constraints of one kind: the name without bounds, or the type."""
    if isinstance(constraint, type):
        return constraint
    name = getattr(constraint, '_name', None)
    return type(constraint) if name is None else name.partition('(')[0]


biject_to, transform_to = ConstraintRegistry(), ConstraintRegistry()


def _both(constraint, factory):
    biject_to.register(constraint, factory)
    transform_to.register(constraint, factory)


def _above(constraint):
    low = constraint.lower_bound
    return ExpTransform() if isinstance(low, (int, float)) and low == 0 else ComposeTransform([ExpTransform(), AffineTransform(low, 1)])


def _between(constraint):
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, (int, float)) and low == 0 and isinstance(high, (int, float)) and high == 1:
        return SigmoidTransform()
    return ComposeTransform([SigmoidTransform(), AffineTransform(low, high - low)])


_both(constraints.real, lambda constraint: transforms.identity_transform)
_both(constraints.greater_than(0), _above)
_both(constraints.greater_than_eq(0), _above)
_both(constraints.less_than(0), lambda constraint: ComposeTransform([ExpTransform(), AffineTransform(constraint.upper_bound, -1)]))
_both(constraints.interval(0, 1), _between)
_both(constraints.half_open_interval(0, 1), _between)
_both(constraints.corr_cholesky, lambda constraint: transforms.CorrCholeskyTransform())
biject_to.register(constraints.simplex, lambda constraint: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda constraint: transforms.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda constraint: transforms.LowerCholeskyTransform())
for _constraint in (constraints.positive_definite, constraints.positive_semidefinite):
    transform_to.register(_constraint, lambda constraint: transforms.PositiveDefiniteTransform())


def _register_structures(registry):
    registry.register(constraints.independent, lambda c: transforms.IndependentTransform(registry(c.base_constraint), c.reinterpreted_batch_ndims))
    registry.register(constraints.cat, lambda c: transforms.CatTransform([registry(each) for each in c.cseq], c.dim, c.lengths))
    registry.register(constraints.stack, lambda c: transforms.StackTransform([registry(each) for each in c.cseq], c.dim))


_register_structures(biject_to)
_register_structures(transform_to)
