"""Learns to learn sine waves from ten points (Finn et al. 2017), with torch.func: gradients through gradients, over all tasks at once."""
import copy

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, stack_module_state, vjp, vmap


class Net(nn.Module):
    def __init__(self, seed=0):
        super().__init__()
        self.l1, self.l2, self.l3 = nn.Linear(1, 10), nn.Linear(10, 10), nn.Linear(10, 1)
        rng = np.random.default_rng(seed)
        for p in self.parameters():
            p.data = torch.from_numpy(rng.normal(0, 0.5, p.shape).astype('f'))

    def forward(self, x):
        return self.l3(torch.tanh(self.l2(F.relu(self.l1(x)))))


def adapted_loss(net, params, x1, y1, x2, y2, rate=0.01):
    """The loss at (x2, y2) after one step at (x1, y1)."""
    def loss(params, x, y):
        return F.mse_loss(functional_call(net, params, (x,)), y)
    gradients = grad(loss)(params, x1, y1)
    return loss({name: params[name] - rate * gradients[name] for name in gradients}, x2, y2)


def ensemble(x):
    nets = [Net(seed) for seed in range(3)]
    params, buffers = stack_module_state(nets)
    base = copy.deepcopy(nets[0])
    return vmap(lambda params, buffers, x: functional_call(base, (params, buffers), (x,)), (0, 0, None))(params, buffers, x)


def main():
    rng = np.random.default_rng(0)
    amplitude, phase = (torch.tensor(rng.uniform(0.1, high, (4, 1, 1)), dtype=torch.float32) for high in (5, 3))
    x1, x2 = (torch.tensor(rng.uniform(-5, 5, (4, 10, 1)), dtype=torch.float32) for _ in range(2))
    y1, y2 = (amplitude * torch.sin(x + phase) for x in (x1, x2))
    net, losses = Net(), []
    params = dict(net.named_parameters())
    optimizer = torch.optim.Adam(list(params.values()), lr=1e-2)
    for _ in range(12):
        tasks = vmap(lambda *task: adapted_loss(net, params, *task))(x1, y1, x2, y2)
        optimizer.zero_grad()
        tasks.mean().backward()
        optimizer.step()
        losses.append(tasks.mean().item())

    def f(t):
        return (t.sin() * t.prod()).sum()
    t = torch.tensor([0.5, 1.0, 2.0])
    value, tangent = jvp(f, (t,), (torch.ones(3),))
    _, pull = vjp(lambda a: (a.exp(), a.sum()), t)
    found = [hessian(f)(t), jacrev(jacfwd(f))(t), value, tangent, *pull((torch.ones(3), torch.tensor(2.0))), ensemble(x1[0])]
    return losses, [x.tolist() for x in found]
