"""Learns the field of a differential equation by its adjoint, a Gaussian process and a physics-informed network, with optimizers of one's own."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.net, self.calls = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2)), 0

    def forward(self, t, y):
        self.calls += 1
        return self.net(y ** 3)


def rk4(f, y, times):
    path = [y]
    for t0, t1 in zip(times[:-1], times[1:]):
        h = t1 - t0
        k1 = f(t0, y)
        k2 = f(t0 + h / 2, y + h * k1 / 2)
        k3 = f(t0 + h / 2, y + h * k2 / 2)
        k4 = f(t1, y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        path.append(y)
    return torch.stack(path)


class Adjoint(torch.autograd.Function):
    """rk4() that keeps only the path: each step is computed again, backwards, for its gradient."""

    @staticmethod
    def forward(ctx, f, y, times, *params):
        ctx.f = f
        with torch.no_grad():
            path = rk4(f, y, times)
        ctx.save_for_backward(times, path, *params)
        return path

    @staticmethod
    def backward(ctx, grad):
        times, path, *params = ctx.saved_tensors
        a, sums = grad[-1], [torch.zeros_like(p) for p in params]
        for i in range(len(times) - 1, 0, -1):
            with torch.enable_grad():
                y = path[i - 1].detach().requires_grad_(True)
                end = rk4(ctx.f, y, times[i - 1:i + 1])[-1]
                found = torch.autograd.grad(end, (y, *params), a, allow_unused=True)
            a = found[0] + grad[i - 1]
            sums = [p if g is None else p + g for p, g in zip(sums, found[1:])]
        return (None, a, None, *sums)


class Process(nn.Module):
    """A Gaussian process with one length scale."""

    def __init__(self):
        super().__init__()
        self.raw_length, self.raw_scale, self.raw_noise = (nn.Parameter(torch.tensor(value)) for value in (0.0, 0.0, -2.0))

    def kernel(self, a, b):
        length = F.softplus(self.raw_length)
        return F.softplus(self.raw_scale) * torch.exp(-0.5 * torch.cdist(a / length, b / length).pow(2))

    def forward(self, x, y):
        noisy = self.kernel(x, x) + (F.softplus(self.raw_noise) + 1e-3) * torch.eye(len(x))
        self.factor = torch.linalg.cholesky(noisy)
        self.weights = torch.cholesky_solve(y[:, None], self.factor)
        return 0.5 * (y @ self.weights).squeeze() + self.factor.diagonal().log().sum() + len(x) / 2 * math.log(2 * math.pi)

    def predict(self, x, at):
        between = self.kernel(x, at)
        v = torch.linalg.solve_triangular(self.factor, between, upper=False)
        return (between.T @ self.weights).squeeze(-1), self.kernel(at, at).diagonal() - (v * v).sum(0)


class Lion(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, {'lr': lr, 'betas': betas, 'weight_decay': weight_decay})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            beta1, beta2 = group['betas']
            for p in group['params']:
                state = self.state[p]
                if len(state) == 0:
                    state['exp_avg'] = torch.zeros_like(p, memory_format=torch.preserve_format)
                p.mul_(1 - group['lr'] * group['weight_decay'])
                p.add_(state['exp_avg'].clone().mul_(beta1).add(p.grad, alpha=1 - beta1).sign_(), alpha=-group['lr'])
                state['exp_avg'].mul_(beta2).add_(p.grad, alpha=1 - beta2)
        return loss


def burgers(net, x, t):
    """How far a network is from Burgers' equation."""
    u = net(torch.stack([x, t], -1))[..., 0]
    ux, ut = torch.autograd.grad(u, (x, t), torch.ones_like(u), create_graph=True)
    uxx = torch.autograd.grad(ux.sum(), x, create_graph=True)[0]
    return (ut + u * ux - 0.01 / math.pi * uxx).pow(2).mean()


def main():
    rng = np.random.default_rng(0)

    def seeded(module):
        with torch.no_grad():
            for p in module.parameters():
                p.copy_(torch.from_numpy(rng.normal(0, 0.3, tuple(p.shape)).astype('f')))
        return module
    field, start, times, losses = seeded(Field()), torch.tensor([[2.0, 0.0]]), torch.linspace(0.0, 0.5, 6), []
    optimizer = torch.optim.RMSprop(field.parameters(), lr=1e-3)
    for i in range(8):
        optimizer.zero_grad()
        path = Adjoint.apply(field, start, times, *field.parameters()) if i % 2 else rk4(field, start, times)
        loss = (path - start).abs().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())

    net = seeded(nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1)))
    x, t, lion = torch.linspace(-1, 1, 9).requires_grad_(), torch.full((9,), 0.4).requires_grad_(), Lion(net.parameters(), weight_decay=0.1)

    def closure():
        lion.zero_grad()
        loss = burgers(net, x, t)
        loss.backward()
        return loss
    losses += [lion.step(closure).item() for _ in range(5)]

    process, inputs = Process(), torch.linspace(-2, 2, 12)[:, None]
    values, lbfgs = torch.sin(2 * inputs[:, 0]), torch.optim.LBFGS(process.parameters(), lr=0.5, max_iter=8, line_search_fn='strong_wolfe')

    def likelihood():
        lbfgs.zero_grad()
        loss = process(inputs, values)
        loss.backward()
        return loss
    losses.append(lbfgs.step(likelihood).item())
    mean, variance = process.predict(inputs, torch.tensor([[0.3], [3.0]]))
    return losses, [path.tolist(), field.calls, mean.tolist(), variance.tolist(), net[0].weight.tolist()]
