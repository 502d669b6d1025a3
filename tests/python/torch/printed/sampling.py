"""Distributions as printed, with moments, supports and transforms; for samples only shapes and dtypes."""
import torch
from torch.distributions import (Bernoulli, Beta, Binomial, Categorical, Cauchy, Chi2, ContinuousBernoulli, Dirichlet, Exponential,
                                 FisherSnedecor, Gamma, Geometric, Gumbel, HalfCauchy, HalfNormal, Independent, InverseGamma, Kumaraswamy,
                                 Laplace, LKJCholesky, LogNormal, LowRankMultivariateNormal, MixtureSameFamily, Multinomial,
                                 MultivariateNormal, NegativeBinomial, Normal, OneHotCategorical, Pareto, Poisson, RelaxedBernoulli,
                                 StudentT, TransformedDistribution, Uniform, VonMises, Weibull, Wishart, constraints, kl_divergence)
from torch.distributions.transforms import (AbsTransform, AffineTransform, CatTransform, ComposeTransform, CorrCholeskyTransform,
                                            CumulativeDistributionTransform, ExpTransform, IndependentTransform, LowerCholeskyTransform,
                                            PowerTransform, ReshapeTransform, SigmoidTransform, SoftmaxTransform, SoftplusTransform,
                                            StickBreakingTransform, TanhTransform)

torch.manual_seed(0)


def tell(distribution):
    print(distribution)
    sample = distribution.sample((2,))
    print(' ', distribution.batch_shape, distribution.event_shape, distribution.has_rsample, sample.shape, sample.dtype, distribution.support)
    print(' ', distribution.arg_constraints)
    print(' ', distribution.log_prob(sample).shape, distribution.expand(torch.Size([2]) + distribution.batch_shape))
    for name in 'mean', 'variance', 'mode':
        try:
            print(' ', name, getattr(distribution, name))
        except NotImplementedError:
            print(' ', name, 'is not known')
    try:
        print('  entropy', distribution.entropy())
    except NotImplementedError:
        print('  entropy is not known')


for each in (Normal(0.0, 1.0), Normal(torch.zeros(2), torch.ones(2)), Normal(torch.tensor([0.5], requires_grad=True), 1.0),
             Bernoulli(logits=torch.tensor([0.3, -1.0])), Categorical(torch.tensor([0.2, 0.3, 0.5])), Beta(1.0, 2.0),
             MultivariateNormal(torch.zeros(2), torch.eye(2)), MultivariateNormal(torch.zeros(2), scale_tril=torch.eye(2)),
             Gamma(torch.tensor(2.0), 1.0), Dirichlet(torch.ones(3)), Uniform(0.0, 2.0), Laplace(0.0, 1.0), Exponential(2.0), Poisson(3.0),
             StudentT(4.0), Cauchy(0.0, 1.0), Gumbel(0.0, 1.0), HalfNormal(1.0), HalfCauchy(1.0), LogNormal(0.0, 1.0), Geometric(0.3),
             Binomial(5, torch.tensor(0.5)), Weibull(1.0, 2.0), Pareto(1.0, 3.0), Multinomial(4, torch.tensor([0.5, 0.5])),
             VonMises(0.0, 1.0), OneHotCategorical(torch.tensor([0.4, 0.6])), NegativeBinomial(5, 0.4), Kumaraswamy(0.5, 2.0),
             LowRankMultivariateNormal(torch.zeros(2), torch.ones(2, 1), torch.ones(2)), Chi2(3.0), FisherSnedecor(3.0, 5.0),
             RelaxedBernoulli(torch.tensor(0.5), torch.tensor([0.3])), InverseGamma(2.0, 3.0), LKJCholesky(3, 1.0),
             Wishart(torch.tensor(3.0), torch.eye(2)), ContinuousBernoulli(0.3), Independent(Normal(torch.zeros(3, 2), 1.0), 1)):
    tell(each)

print('mixtures and transforms')
mixture = MixtureSameFamily(Categorical(torch.tensor([0.3, 0.7])), Normal(torch.tensor([-1.0, 1.0]), torch.tensor([1.0, 1.0])))
print(mixture, mixture.mean, mixture.variance, mixture.log_prob(torch.tensor([0.0, 1.0])), mixture.cdf(torch.tensor(0.0)))
changed = TransformedDistribution(Normal(torch.zeros(2), torch.ones(2)), [AffineTransform(1.0, 2.0), ExpTransform()])
at = torch.tensor([1.0, 3.0])
print(changed, changed.log_prob(at), changed.cdf(at), changed.icdf(torch.tensor([0.2, 0.5])), changed.rsample((3,)).shape)
print(changed.transforms, ComposeTransform(changed.transforms))
for transform, x in ((SigmoidTransform(), [0.1, 0.3]), (TanhTransform(), [0.1, 0.3]), (SoftmaxTransform(), [0.1, 0.3]),
                     (StickBreakingTransform(), [0.1, 0.3]), (PowerTransform(2.0), [0.1, 0.3]), (ReshapeTransform((4,), (2, 2)), [1.0, 2.0, 3.0, 4.0]),
                     (AbsTransform(), [-0.1, 0.3]), (CorrCholeskyTransform(), [0.1, 0.2, 0.3]), (LowerCholeskyTransform(), [[0.1, 0.2], [0.3, 0.4]]),
                     (SoftplusTransform(), [0.1, 0.3]), (CumulativeDistributionTransform(Normal(0.0, 1.0)), [0.1, 0.3]),
                     (IndependentTransform(ExpTransform(), 1), [0.1, 0.3]),
                     (CatTransform([ExpTransform(), TanhTransform()], lengths=[1, 1]), [0.1, 0.3])):
    x = torch.tensor(x)
    y = transform(x)
    print(transform, transform.domain, transform.codomain, transform.bijective, transform.inv, y)
    if transform.bijective:
        print(' ', transform.inv(y), transform.log_abs_det_jacobian(x, y))

print('divergences and constraints')
print(kl_divergence(Normal(0.0, 1.0), Normal(1.0, 2.0)), kl_divergence(Bernoulli(0.3), Bernoulli(0.6)),
      kl_divergence(Independent(Normal(torch.zeros(3, 2), 1.0), 1), Independent(Normal(torch.ones(3, 2), 1.0), 1)))
print(constraints.positive.check(torch.tensor([1.0, -1.0])), constraints.interval(0, 1), constraints.integer_interval(0, 3),
      constraints.greater_than(2.0), constraints.independent(constraints.real, 1), constraints.dependent,
      constraints.cat([constraints.real, constraints.positive], 0, [1, 1]), constraints.stack([constraints.real]))
