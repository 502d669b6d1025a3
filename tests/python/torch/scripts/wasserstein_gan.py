"""A generator against a critic whose gradient has norm 1 (Gulrajani et al. 2017): gradients of gradients, through a custom function."""
import numpy as np
import torch
import torch.nn as nn
from torch import autograd
from torch.nn.utils import weight_norm


class SquaredReLU(autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0).pow(2)

    @staticmethod
    def backward(ctx, gradient):
        x, = ctx.saved_tensors
        return gradient * 2 * x.clamp(min=0)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), weight_norm(nn.Linear(16, 16)), nn.Softplus(beta=2), nn.Linear(16, 1))

    def forward(self, x):
        found = self.main(x)
        return SquaredReLU.apply(found) + found


def fill(model):
    rng = np.random.default_rng(7)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.from_numpy(rng.normal(0, 0.4, p.shape)))
    return model


def penalty(critic, real, fake, share):
    between = autograd.Variable(share * real + (1 - share) * fake, requires_grad=True)
    found = critic(between)
    gradient = autograd.grad(outputs=found, inputs=between, grad_outputs=torch.ones(found.size()), create_graph=True, retain_graph=True)[0]
    return ((gradient.view(gradient.size(0), -1).norm(2, dim=1) - 1) ** 2).mean() * 10


def main():
    rng = np.random.default_rng(0)
    critic, generator = fill(Critic()), fill(nn.Sequential(nn.Linear(3, 16), nn.LeakyReLU(0.2), nn.Linear(16, 2)))
    of_critic = torch.optim.Adam(critic.parameters(), lr=5e-3, betas=(0.0, 0.9))
    of_generator = torch.optim.Adam(generator.parameters(), lr=5e-3, betas=(0.5, 0.9))
    losses, penalties = [], []
    for _ in range(12):
        for p in critic.parameters():
            p.requires_grad = True
        real = torch.tensor(rng.normal(2, 1, (8, 2)), dtype=torch.float32)
        noise = torch.from_numpy(rng.standard_normal((8, 3)).astype(np.float32))
        share = torch.from_numpy(rng.random((8, 1), dtype=np.float32)).expand(real.size())
        critic.zero_grad()
        fake = generator(noise).detach()
        penalties.append(penalty(critic, real.data, fake.data, share))
        loss = critic(fake).mean() - critic(real).mean() + penalties[-1]
        loss.backward()
        of_critic.step()
        for p in critic.parameters():
            p.requires_grad = False
        generator.zero_grad()
        (-critic(generator(noise)).mean()).backward()
        of_generator.step()
        losses.append(loss.item())
    x = torch.tensor([0.5, -1.0, 2.0], dtype=torch.double, requires_grad=True)
    assert autograd.gradcheck(SquaredReLU.apply, (x,)) and sorted(critic.state_dict())[3] == 'main.2.weight_g'
    return losses, [each.item() for each in penalties]
