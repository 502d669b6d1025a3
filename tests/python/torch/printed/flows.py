"""Normalizing flows: RealNVP couplings with masks, MAF-like masked linear, planar flow, base by MultivariateNormal, log_prob training."""
import numpy as np
import torch


def numpy_init(model, seed=0, scale=0.2):
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.from_numpy(rng.uniform(-scale, scale, tuple(p.shape))).to(p.dtype))
    return model


import torch.nn as nn
import torch.nn.functional as F
from torch import distributions
from torch.distributions import TransformedDistribution, AffineTransform, Normal, Independent
from torch.nn.parameter import Parameter


class RealNVP(nn.Module):
    def __init__(self, nets, nett, mask, prior):
        super().__init__()
        self.prior = prior
        self.mask = nn.Parameter(mask, requires_grad=False)
        self.t = torch.nn.ModuleList([nett() for _ in range(len(mask))])
        self.s = torch.nn.ModuleList([nets() for _ in range(len(mask))])

    def g(self, z):
        x = z
        for i in range(len(self.t)):
            x_ = x * self.mask[i]
            s = self.s[i](x_) * (1 - self.mask[i])
            t = self.t[i](x_) * (1 - self.mask[i])
            x = x_ + (1 - self.mask[i]) * (x * torch.exp(s) + t)
        return x

    def f(self, x):
        log_det_J, z = x.new_zeros(x.shape[0]), x
        for i in reversed(range(len(self.t))):
            z_ = self.mask[i] * z
            s = self.s[i](z_) * (1 - self.mask[i])
            t = self.t[i](z_) * (1 - self.mask[i])
            z = (1 - self.mask[i]) * (z - t) * torch.exp(-s) + z_
            log_det_J -= s.sum(dim=1)
        return z, log_det_J

    def log_prob(self, x):
        z, logp = self.f(x)
        return self.prior.log_prob(z) + logp

    def sample(self, batchSize):
        z = self.prior.sample((batchSize, 1))
        return self.g(z)


nets = lambda: nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(), nn.Linear(8, 8), nn.LeakyReLU(), nn.Linear(8, 2), nn.Tanh())
nett = lambda: nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(), nn.Linear(8, 8), nn.LeakyReLU(), nn.Linear(8, 2))
masks = torch.from_numpy(np.array([[0, 1], [1, 0]] * 3).astype(np.float32))
prior = distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
flow = numpy_init(RealNVP(nets, nett, masks, prior), 1, 0.4)
with torch.no_grad():
    flow.mask.copy_(masks)
optimizer = torch.optim.Adam([p for p in flow.parameters() if p.requires_grad == True], lr=1e-2)
moons = np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32) * [1.0, 0.3] + 0.2
for t in range(5):
    loss = -flow.log_prob(torch.from_numpy(moons.astype(np.float32))).mean()
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    optimizer.step()
    print('iter %s:' % t, 'loss = %.4f' % loss)
x = torch.from_numpy(moons[:3].astype('f'))
z, ld = flow.f(x)
print(torch.allclose(flow.g(z), x, atol=1e-5), z, ld, flow.sample(5).shape)
J = torch.autograd.functional.jacobian(lambda v: flow.f(v[None])[0][0], x[0])
print(J, torch.linalg.slogdet(J), torch.logdet(J), flow.f(x[:1])[1])


class MaskedLinear(nn.Linear):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__(in_features, out_features, bias)
        self.register_buffer('mask', torch.ones(out_features, in_features))

    def set_mask(self, mask):
        self.mask.data.copy_(torch.from_numpy(mask.astype(np.uint8).T))

    def forward(self, input):
        return F.linear(input, self.mask * self.weight, self.bias)


made = numpy_init(nn.Sequential(MaskedLinear(3, 6), nn.ReLU(), MaskedLinear(6, 3)), 5)
m0, m1 = np.arange(3), np.array([0, 1, 0, 1, 0, 1])
made[0].set_mask(m0[:, None] <= m1[None, :])
made[2].set_mask(m1[:, None] < m0[None, :])
print(made[0].mask, made[2].mask, torch.autograd.functional.jacobian(made, torch.tensor([0.3, -0.4, 0.9])))


class PlanarFlow(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight, self.bias, self.scale = (Parameter(torch.Tensor(1, dim)), Parameter(torch.Tensor(1)), Parameter(torch.Tensor(1, dim)))
        self.reset_parameters()

    def reset_parameters(self):
        for p in (self.weight, self.scale, self.bias):
            p.data.uniform_(-0.01, 0.01)

    def forward(self, z):
        activation = F.linear(z, self.weight, self.bias)
        psi = (1 - torch.tanh(activation) ** 2) * self.weight
        return z + self.scale * torch.tanh(activation), torch.log(torch.abs(1 + torch.mm(psi, self.scale.t())) + 1e-4)


planar = numpy_init(nn.ModuleList([PlanarFlow(2) for _ in range(3)]), 9, 0.9)
h, total = x, 0
for layer in planar:
    h, d = layer(h)
    total = total + d
print(h, total)
base = Independent(Normal(torch.zeros(2), torch.ones(2)), 1)
d = TransformedDistribution(base, [AffineTransform(torch.tensor([1.0, 2.0]), torch.tensor([0.5, 2.0]), event_dim=1), distributions.TanhTransform(cache_size=1)])
value = torch.tensor([[0.3, 0.4], [-0.5, 0.9]], requires_grad=True)
lp = d.log_prob(value)
lp.sum().backward()
print(lp, value.grad, d.event_shape, d.batch_shape, base)
mixture = distributions.MixtureSameFamily(distributions.Categorical(logits=torch.tensor([0.1, 0.5])), Independent(Normal(torch.tensor([[0., 1], [2, 3]]), torch.tensor([[1., 1], [0.5, 2]])), 1))
print(mixture.log_prob(x), mixture.mean, mixture.variance, mixture)
