"""torch.distributions beside PyTorch's: densities, moments, samples' statistics, transforms and divergences."""
import itertools
import math
import pathlib
import sys

import pytest

import tenon.torch as ours

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from beside import same


def vec(*values):
    """A parameter: numbers as a tensor of float64 in either library."""
    return lambda library: library.tensor(values if len(values) > 1 else values[0], dtype=library.float64)


def single(*values):
    """The same in float32, for what PyTorch has only in that dtype."""
    return lambda library: library.tensor(values if len(values) > 1 else values[0])


def matrix(scale, n=3):
    def make(library):
        rows = [[scale * (2.0 if i == j else 0.3 / (1 + i + j)) for j in range(n)] for i in range(n)]
        return library.tensor(rows, dtype=library.float64)
    return make


def tril(n=3):
    return lambda library: library.tensor([[0.3 * (i - j) if i > j else 1.0 + 0.5 * i if i == j else 0.0 for j in range(n)] for i in range(n)],
                                          dtype=library.float64)


ONE, THREE = vec(1.3), vec(0.5, 1.0, 2.5)
SIMPLEX, LOGITS = vec(0.2, 0.5, 0.3), vec(-1.0, 0.3, 2.0)
TABLE = {
    'Bernoulli': [{'probs': vec(0.3)}, {'logits': LOGITS}],
    'Beta': [{'concentration1': THREE, 'concentration0': ONE}],
    'Binomial': [{'total_count': 5, 'probs': vec(0.2, 0.7)}, {'total_count': 3, 'logits': LOGITS}],
    'Categorical': [{'probs': SIMPLEX}, {'logits': LOGITS}],
    'Cauchy': [{'loc': ONE, 'scale': THREE}],
    'Chi2': [{'df': THREE}],
    'ContinuousBernoulli': [{'probs': vec(0.1, 0.5, 0.9)}, {'logits': LOGITS}],
    'Dirichlet': [{'concentration': THREE}],
    'Exponential': [{'rate': THREE}],
    'FisherSnedecor': [{'df1': vec(3.0, 5.0), 'df2': vec(6.0, 9.0)}],
    'Gamma': [{'concentration': THREE, 'rate': ONE}],
    'GeneralizedPareto': [{'loc': single(1.3), 'scale': single(0.7), 'concentration': single(-0.3, 0.0, 0.2)}],
    'Geometric': [{'probs': vec(0.3, 0.8)}, {'logits': LOGITS}],
    'Gumbel': [{'loc': LOGITS, 'scale': ONE}],
    'HalfCauchy': [{'scale': THREE}],
    'HalfNormal': [{'scale': THREE}],
    'InverseGamma': [{'concentration': vec(2.5, 4.0), 'rate': ONE}],
    'Kumaraswamy': [{'concentration1': vec(1.5, 2.0), 'concentration0': vec(2.5, 3.0)}],
    'LKJCholesky': [{'dim': 3, 'concentration': vec(1.5)}],
    'Laplace': [{'loc': LOGITS, 'scale': THREE}],
    'LogNormal': [{'loc': vec(0.1, -0.2), 'scale': vec(0.3, 0.5)}],
    'LogisticNormal': [{'loc': LOGITS, 'scale': THREE}],
    'LowRankMultivariateNormal': [{'loc': LOGITS, 'cov_factor': lambda library: tril()(library)[:, :2], 'cov_diag': THREE}],
    'Multinomial': [{'total_count': 4, 'probs': SIMPLEX}, {'total_count': 2, 'logits': LOGITS}],
    'MultivariateNormal': [{'loc': LOGITS, 'scale_tril': tril()}, {'loc': LOGITS, 'covariance_matrix': matrix(1.0)},
                           {'loc': LOGITS, 'precision_matrix': matrix(2.0)}],
    'NegativeBinomial': [{'total_count': vec(3.0, 5.0), 'probs': vec(0.2, 0.6)}, {'total_count': ONE, 'logits': vec(-1.0, -0.2)}],
    'Normal': [{'loc': LOGITS, 'scale': THREE}, {'loc': ONE, 'scale': ONE}],
    'OneHotCategorical': [{'probs': SIMPLEX}, {'logits': LOGITS}],
    'OneHotCategoricalStraightThrough': [{'probs': SIMPLEX}],
    'Pareto': [{'scale': ONE, 'alpha': vec(2.5, 4.5)}],
    'Poisson': [{'rate': vec(0.5, 4.0, 40.0)}],
    'RelaxedBernoulli': [{'temperature': vec(0.7), 'probs': vec(0.3, 0.6)}],
    'RelaxedOneHotCategorical': [{'temperature': vec(0.7), 'logits': LOGITS}],
    'StudentT': [{'df': vec(3.0, 6.0), 'loc': ONE, 'scale': ONE}],
    'Uniform': [{'low': vec(-1.0, 0.5), 'high': vec(1.0, 3.0)}],
    'VonMises': [{'loc': LOGITS, 'concentration': THREE}],
    'Weibull': [{'scale': ONE, 'concentration': vec(1.5, 3.0)}],
    'Wishart': [{'df': vec(5.0), 'covariance_matrix': matrix(1.0)}, {'df': vec(4.5), 'scale_tril': tril()}],
}
CASES = [(name, i) for name, sets in TABLE.items() for i in range(len(sets))]
# PyTorch's Bessel functions have eight digits, and its generalized Pareto float32.
LOOSE = {'VonMises': 1e-6, 'GeneralizedPareto': 1e-4}
REFUTED = {('Kumaraswamy', 'mode')}  # NaN in PyTorch: it takes the logarithm of a negative number


def made(library, name, number=0, grad=False):
    given = {key: value(library) if callable(value) else value for key, value in TABLE[name][number].items()}
    if grad:
        for value in given.values():
            if hasattr(value, 'requires_grad_'):
                value.requires_grad_()
    return getattr(library.distributions, name)(**given), [x for x in given.values() if hasattr(x, 'requires_grad_')]


def moved(x):
    return ours.tensor(x.detach().tolist(), dtype=getattr(ours, str(x.dtype)[6:]))


def check(mine, theirs, what, rel=1e-9):
    assert tuple(mine.shape) == tuple(theirs.shape), what
    assert mine.detach().reshape(-1).tolist() == pytest.approx(theirs.detach().reshape(-1).tolist(), rel=rel, abs=1e-10, nan_ok=True), what


def test_every_name_exists(torch):
    assert [name for name in torch.distributions.__all__ if not hasattr(ours.distributions, name)] == []


@pytest.mark.parametrize('name, number', CASES)
def test_densities(torch, name, number):
    (mine, leaves), (theirs, their_leaves) = made(ours, name, number, True), made(torch, name, number, True)
    assert mine.batch_shape == tuple(theirs.batch_shape) and mine.event_shape == tuple(theirs.event_shape)
    assert mine.has_rsample == theirs.has_rsample or name == 'VonMises'
    torch.manual_seed(0)
    value = theirs.sample((5,))
    found, expected = mine.log_prob(moved(value)), theirs.log_prob(value)
    check(found, expected, 'log_prob', LOOSE.get(name, 1e-9))
    found.sum().backward()
    expected.sum().backward()
    for i, (a, b) in enumerate(zip(leaves, their_leaves)):
        if b.grad is not None and name != 'Geometric':
            lower = 'scale_tril' in TABLE[name][number] and a.ndim == 2  # beyond it nothing is determined
            check(a.grad.tril() if lower else a.grad, b.grad.tril() if lower else b.grad, f'gradient {i}', LOOSE.get(name, 1e-7) * 10)
    for function in ('cdf', 'icdf'):
        try:
            at = theirs.cdf(value) if function == 'icdf' else value
            expected = getattr(theirs, function)(at)
        except NotImplementedError:
            continue
        check(getattr(mine, function)(moved(at)), expected, function, LOOSE.get(name, 1e-7))


@pytest.mark.parametrize('name, number', CASES)
def test_moments(torch, name, number):
    (mine, _), (theirs, _) = made(ours, name, number), made(torch, name, number)
    for what in ('mean', 'variance', 'stddev', 'mode', 'entropy', 'perplexity', 'support'):
        try:
            expected = getattr(theirs, what)
            expected = expected() if callable(expected) and what != 'support' else expected
        except (NotImplementedError, ValueError):
            continue
        if (name, what) in REFUTED:
            continue
        found = getattr(mine, what)
        if what == 'support':
            assert found.event_dim == expected.event_dim and found.is_discrete == expected.is_discrete
        else:
            check(found() if callable(found) else found, expected, what, LOOSE.get(name, 1e-7))
    if theirs.has_enumerate_support:
        for expand in (True, False):
            check(mine.enumerate_support(expand).double(), theirs.enumerate_support(expand).double(), 'enumerate_support')
    shape = (2, *mine.batch_shape)
    wide, other = mine.expand(shape), theirs.expand(torch.Size(shape))
    assert wide.batch_shape == shape
    value = other.sample()
    check(wide.log_prob(moved(value)), other.log_prob(value), 'log_prob of expand()', LOOSE.get(name, 1e-9))


@pytest.mark.parametrize('name, number', CASES)
def test_samples(torch, name, number):
    """Means and variances of 20,000 samples lie within 6 deviations of what theory, or PyTorch's samples, say."""
    (mine, _), (theirs, _) = made(ours, name, number), made(torch, name, number)
    ours.manual_seed(1)
    x = mine.sample((20000,))
    assert x.shape == (20000, *mine.batch_shape, *mine.event_shape) and mine.sample().shape == (*mine.batch_shape, *mine.event_shape)
    assert bool(mine.support.check(x).all())
    ours.manual_seed(1)
    assert ours.equal(mine.sample((20000,)), x)
    torch.manual_seed(1)
    y = theirs.sample((20000,)).double()
    for function in (lambda t: t.tanh(), lambda t: t.tanh() ** 2, lambda t: (t > 0.7).double()):  # of everything bounded
        a, b = function(x.double()), function(y)
        deviation = (b.var(0) / 20000 * 2).sqrt()
        difference = (torch.tensor(a.mean(0).tolist(), dtype=torch.float64) - b.mean(0)).abs()
        assert bool((difference <= 6 * deviation + 1e-9).all()), (difference / deviation)


@pytest.mark.parametrize('device', ['gpusim:0', 'vulkan:0'])
@pytest.mark.parametrize('name', TABLE)
def test_every_backend_draws_the_same(there, device, name):
    """One seed gives one sample and density, wherever the parameters are."""
    there(device)
    given = {key: value(ours).float() if callable(value) else value for key, value in TABLE[name][0].items()}

    def drawn(place):
        there = getattr(ours.distributions, name)(**{key: x.to(place) if hasattr(x, 'to') else x for key, x in given.items()})
        ours.manual_seed(5)
        x = there.sample((20,))
        found = [x, there.log_prob(x)]
        assert {each.device.id for each in found} == {place}
        return [each.cpu().double().reshape(-1).tolist() for each in found]

    for mine, host in zip(drawn(device), drawn('cpu:0'), strict=True):
        assert mine == pytest.approx(host, rel=2e-4, abs=2e-4)


@pytest.mark.parametrize('concentration', [0.3, 1.0, 4.0, 60.0])
def test_gradients_of_gamma_samples(torch, concentration):
    """PyTorch's implicit gradients at our samples."""
    a = ours.full((50,), concentration, dtype=ours.float64, requires_grad=True)
    x = ours.distributions.Gamma(a, 1.0).rsample()
    x.sum().backward()
    expected = torch._standard_gamma_grad(torch.full((50,), concentration, dtype=torch.float64), torch.tensor(x.tolist(), dtype=torch.float64))
    assert a.grad.tolist() == pytest.approx(expected.tolist(), rel=1e-3, abs=1e-7)  # PyTorch's have four digits


@pytest.mark.parametrize('name', ['Normal', 'Laplace', 'Gumbel', 'Exponential', 'Uniform', 'Weibull', 'Dirichlet', 'MultivariateNormal', 'Beta'])
def test_samples_have_gradients(name):
    distribution, leaves = made(ours, name, 0, True)
    distribution.rsample((3,)).sum().backward()
    assert all(x.grad is not None and bool(ours.isfinite(x.grad).all()) for x in leaves)
    assert not distribution.sample().requires_grad


def test_divergences(torch):
    def all_of(library):
        found = {name: made(library, name)[0] for name in TABLE}
        found['Independent'] = library.distributions.Independent(found['Normal'], 1)
        for name in 'Beta Exponential Gamma Gumbel HalfNormal Laplace LogNormal Normal Pareto Poisson Uniform'.split():  # with other parameters
            given = {key: value(library) if callable(value) else value for key, value in TABLE[name][0].items()}
            found[name + '2'] = getattr(library.distributions, name)(**{key: value + 0.25 for key, value in given.items()})
        found['wide'] = library.distributions.Uniform(*(library.tensor([end, end], dtype=library.float64) for end in (-9.0, 9.0)))
        return found
    mine, theirs = all_of(ours), all_of(torch)
    compared = 0
    for p, q in itertools.product(theirs, theirs):
        try:
            expected = torch.distributions.kl_divergence(theirs[p], theirs[q])
        except (NotImplementedError, RuntimeError, ValueError):
            continue
        check(ours.distributions.kl_divergence(mine[p], mine[q]), expected, (p, q), 1e-7)
        compared += 1
    assert compared > 100


TRANSFORMS = {
    'ExpTransform': ((), LOGITS), 'SigmoidTransform': ((), LOGITS), 'TanhTransform': ((), LOGITS), 'SoftplusTransform': ((), LOGITS),
    'AffineTransform': ((vec(1.0, 2.0, -3.0), vec(0.5, -2.0, 1.5)), LOGITS), 'PowerTransform': ((vec(1.7),), THREE),
    'StickBreakingTransform': ((), LOGITS), 'CorrCholeskyTransform': ((), vec(0.3, -0.4, 0.9, 0.1, 0.5, -1.0)),
    'ReshapeTransform': (((3,), (3, 1)), LOGITS), 'LowerCholeskyTransform': ((), matrix(0.5)), 'PositiveDefiniteTransform': ((), matrix(0.5)),
}


@pytest.mark.parametrize('name', TRANSFORMS)
def test_transforms(torch, name):
    args, x = TRANSFORMS[name]
    sides = []
    for library in (ours, torch):
        transform = getattr(library.distributions, name)(*[each(library) if callable(each) else each for each in args], cache_size=1)
        value = x(library)
        y = transform(value)
        assert transform.inv(y) is value and transform.inv.inv is transform
        found = [y, transform.with_cache(0).inv(y * 1.0)]
        if name not in ('LowerCholeskyTransform', 'PositiveDefiniteTransform'):
            found.append(transform.log_abs_det_jacobian(value, y))
        sides.append((found, transform.forward_shape(value.shape), transform.bijective))
    for i, (a, b) in enumerate(zip(sides[0][0], sides[1][0])):
        check(a, b, i, 1e-8)
    assert tuple(sides[0][1]) == tuple(sides[1][1]) and sides[0][2] == sides[1][2]


def composed(library):
    D = library.distributions
    base = D.Normal(vec(0.0, 0.5, 1.0)(library), vec(1.0, 2.0, 0.5)(library))
    return [D.TransformedDistribution(base, [D.AffineTransform(1.0, 2.0), D.ExpTransform()]),
            D.TransformedDistribution(base, [D.StickBreakingTransform()]),
            D.TransformedDistribution(base, [D.ExpTransform(), D.ReshapeTransform((3,), (3, 1))]),
            D.Independent(base, 1),
            D.MixtureSameFamily(D.Categorical(SIMPLEX(library)), base),
            D.MixtureSameFamily(D.Categorical(SIMPLEX(library)), D.Independent(D.Normal(tril()(library), 1.0), 1)),
            D.TransformedDistribution(D.Uniform(vec(0.0)(library), vec(1.0)(library)), [D.SigmoidTransform().inv, D.AffineTransform(0.5, -2.0)])]


@pytest.mark.parametrize('number', range(7))
def test_compositions(torch, number):
    mine, theirs = composed(ours)[number], composed(torch)[number]
    assert mine.batch_shape == tuple(theirs.batch_shape) and mine.event_shape == tuple(theirs.event_shape)
    torch.manual_seed(3)
    value = theirs.sample((4,))
    check(mine.log_prob(moved(value)), theirs.log_prob(value), 'log_prob')
    assert mine.sample((4,)).shape == tuple(value.shape)
    for what in ('cdf', 'icdf'):
        try:
            expected = getattr(theirs, what)(value if what == 'cdf' else theirs.cdf(value))
        except (NotImplementedError, ValueError, AttributeError):
            continue
        check(getattr(mine, what)(moved(value if what == 'cdf' else theirs.cdf(value))), expected, what, 1e-7)


@pytest.mark.parametrize('name', ['real', 'positive', 'nonnegative', 'unit_interval', 'simplex', 'corr_cholesky', 'lower_cholesky', 'real_vector',
                                  'positive_definite'])
def test_constraints_have_transforms(torch, name):
    x = vec(0.3, -0.4, 0.9)
    for which in ('transform_to', 'biject_to'):
        sides = []
        for library in (ours, torch):
            D = library.distributions
            value = matrix(0.4)(library) if name in ('lower_cholesky', 'positive_definite') else x(library)
            try:
                constraint = getattr(D.constraints, name)
                y = getattr(D, which)(constraint)(value)
                assert bool(constraint.check(y).all())
                sides.append(y)
            except NotImplementedError:
                sides.append(None)
        assert (sides[0] is None) == (sides[1] is None)
        if sides[0] is not None:
            check(sides[0], sides[1], which)


@pytest.mark.parametrize('call, error, text', [
    (lambda D: D.Normal(0.0, -1.0), ValueError, 'scale'),
    (lambda D: D.Bernoulli(), ValueError, 'either probs or logits'),
    (lambda D: D.Bernoulli(0.3).log_prob(ours.tensor(0.5)), ValueError, 'support'),
    (lambda D: D.Normal(ours.zeros(3), 1.0).log_prob(ours.zeros(2)), ValueError, 'does not fit'),
    (lambda D: D.Normal(0.0, 1.0).log_prob(3), ValueError, 'must be a Tensor'),
    (lambda D: D.Uniform(1.0, 0.0), ValueError, 'Expected parameter low .Tensor of shape ...* of distribution Uniform.* to satisfy the constraint LessThan'),
    (lambda D: D.kl_divergence(D.Normal(0.0, 1.0), D.Poisson(1.0)), NotImplementedError, 'register_kl'),
    (lambda D: D.MultivariateNormal(ours.zeros(2)), ValueError, 'give one of'),
    (lambda D: D.Wishart(1.0, ours.eye(3)), ValueError, 'df'),
    (lambda D: D.Independent(D.Normal(ours.zeros(2), 1.0), 2), ValueError, "batch's rank"),
    (lambda D: D.Poisson(1.0).rsample(), NotImplementedError, 'without|no samples with gradients'),
])
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call(ours.distributions)


@pytest.mark.parametrize('name', ['Gamma', 'Chi2', 'VonMises'])
def test_samples_beyond_the_parameters_end(name):
    """Rejection would wait for them forever."""
    limits = {'Gamma': (lambda a: ours.distributions.Gamma(a, 1.0, validate_args=False), math.inf),
              'Chi2': (lambda a: ours.distributions.Chi2(a, validate_args=False), math.inf),
              'VonMises': (lambda a: ours.distributions.VonMises(0.5, a, validate_args=False), 0.5)}
    make, limit = limits[name]
    drawn = make(ours.tensor([math.inf, math.nan, -1.0, 2.0])).sample().tolist()
    assert drawn[0] == pytest.approx(limit) and math.isnan(drawn[1]) and math.isnan(drawn[2]) and math.isfinite(drawn[3])


def test_validation_can_be_left_out():
    distribution = ours.distributions.Normal(0.0, -1.0, validate_args=False)
    assert math.isnan(distribution.log_prob(ours.tensor(0.0)).item())


def test_constraints_print_alike(torch):
    def texts(t):
        c = t.distributions.constraints
        return [repr(x) for x in (c.positive, c.nonnegative, c.unit_interval, c.interval(0, 2), c.less_than(3.0), c.real, c.simplex, c.nonnegative_integer,
                                  c.integer_interval(0, 4), c.half_open_interval(0.0, 1.0), c.positive_integer)]
    assert texts(ours) == texts(torch)


@pytest.mark.parametrize('call', [lambda D, t: D.Normal(0.0, -1.0), lambda D, t: D.Normal(t.zeros(2), t.tensor([1.0, -1.0])), lambda D, t: D.Bernoulli(2.0),
                                  lambda D, t: D.MultivariateNormal(t.zeros(2), covariance_matrix=t.tensor([[-1.0, 0.5], [0.5, 1.0]])), lambda D, t: D.Gamma(-1.0, 1.0)])
def test_parameters_are_refused_in_pytorchs_words(torch, call):
    texts = []
    for t in torch, ours:
        with pytest.raises(ValueError) as caught:
            call(t.distributions, t)
        texts.append(str(caught.value).split('] ', 1)[-1] if t is ours else str(caught.value))
    assert texts[0] == texts[1]


def of_a_program(t):
    d = t.distributions

    class Shifted(d.Normal):
        def __init__(self, loc, scale, shift):
            super().__init__(loc, scale)
            self.shift = shift

        def expand(self, batch_shape, _instance=None):
            made = self._get_checked_instance(Shifted, _instance)
            made.shift = self.shift.expand(batch_shape)
            return super().expand(batch_shape, made)

    class Plain(d.Normal):
        def __init__(self, loc):
            super().__init__(loc, t.ones(()))

    wide = Shifted(t.zeros(2), t.ones(2), t.tensor(3.0)).expand((3, 2))
    try:
        refused = Plain(t.zeros(2))._get_checked_instance(Plain.__base__)
    except NotImplementedError:
        refused = 'refused'
    return type(wide).__name__, wide.batch_shape, wide.shift, wide.loc, wide.log_prob(t.ones(3, 2)), refused, repr(d.ExpTransform().inv)


def test_distributions_of_a_program_expand(torch):
    same(torch, of_a_program)
