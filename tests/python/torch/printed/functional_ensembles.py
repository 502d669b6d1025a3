"""torch.func: ensembles, gradients by sample, learning to learn, tangent kernels, products with Hessians."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import (
    functional_call,
    grad,
    vmap,
    stack_module_state,
    grad_and_value,
    jacrev,
    jacfwd,
    hessian,
    jvp,
    vjp,
    linearize,
)
import copy
from functools import partial


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(3, 5), nn.Linear(5, 2)
        self.register_buffer('s', torch.tensor(2.0))

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x))) * self.s


def init(m, k):
    for i, p in enumerate(m.parameters()):
        p.data.copy_(torch.sin(torch.arange(p.numel()) * 0.8 + i + k).view_as(p))
    return m


models = [init(Net(), k) for k in range(3)]
x = torch.cos(torch.arange(12.0)).view(4, 3)
y = torch.tensor([0, 1, 1, 0])
params, buffers = stack_module_state(models)
base = copy.deepcopy(models[0]).to('meta')
print({k: v.shape for k, v in params.items()}, buffers)


def fmodel(p, b, x):
    return functional_call(base, (p, b), (x,))


print(vmap(fmodel, in_dims=(0, 0, None))(params, buffers, x)[:, 0], torch.stack([m(x) for m in models])[:, 0].detach())
print(vmap(fmodel)(params, buffers, x[:3].unsqueeze(1)).shape)
p = {k: v.detach() for k, v in models[0].named_parameters()}
b = {k: v.detach() for k, v in models[0].named_buffers()}


def compute_loss(p, b, s, t):
    return F.cross_entropy(functional_call(models[0], (p, b), (s.unsqueeze(0),)), t.unsqueeze(0))


g = vmap(grad(compute_loss), in_dims=(None, None, 0, 0))(p, b, x, y)
print({k: v.shape for k, v in g.items()}, g['fc2.bias'])
norms = sum(v.flatten(1).pow(2).sum(1) for v in g.values()).sqrt()
clip = (1.0 / norms).clamp(max=1.0)
print(norms, {k: torch.einsum('n,n...->...', clip, v).norm() for k, v in g.items()}['fc1.weight'])
(gr, (l, aux)) = grad_and_value(
    lambda p: (F.mse_loss(functional_call(models[1], p, x), torch.zeros(4, 2)), p['fc2.bias'] * 2), has_aux=True
)(p)
print(l, aux, gr['fc2.bias'])


# MAML on sines
def loss_for_task(p, xs, ys, xt, yt, n=2):
    f = lambda p, x: torch.sin(x @ p[0]) @ p[1]
    for _ in range(n):
        gs = grad(lambda p: F.mse_loss(f(p, xs), ys))(p)
        p = tuple(a - 0.1 * b for a, b in zip(p, gs))
    return F.mse_loss(f(p, xt), yt)


P = (torch.linspace(-1, 1, 4).view(1, 4).requires_grad_(), torch.ones(4, 1, requires_grad=True))
T = [torch.linspace(-1, 1, 10).view(2, 5, 1) * s for s in (1.0, 2.0, 0.5, -1.0)]
opt = torch.optim.Adam(P, lr=0.05)
for i in range(3):
    opt.zero_grad()
    L = vmap(partial(loss_for_task, P))(*T)
    L.mean().backward()
    opt.step()
    print(L.detach())
f = lambda x: x.sin() * x.sum()
z = torch.tensor([0.1, 0.2, 0.3])
print(jacrev(f)(z), jacfwd(f)(z).allclose(jacrev(f)(z)), hessian(lambda x: (x**3).sum())(z))
out, fn = vjp(f, z)
print(out, fn(torch.ones(3))[0])
print(jvp(f, (z,), (torch.ones(3),)))
print(vmap(jacrev(lambda a: a.prod()))(x), vmap(torch.dot)(x, x), vmap(lambda a, b: a @ b, in_dims=(0, None), out_dims=1)(x, torch.eye(3)))
hvp = lambda f, p, v: jvp(grad(f), p, v)[1]
print(hvp(lambda x: x.pow(4).sum(), (z,), (torch.ones(3),)), linearize(torch.sin, z)[1](torch.ones(3)))
rows = vmap(vjp(lambda w: x @ w, z)[1])(torch.eye(4))
print(rows[0])


def ntk(p, a, b):
    j = lambda q: vmap(jacrev(lambda p, x: functional_call(models[0], p, x.unsqueeze(0)).squeeze(0)), (None, 0))(p, q)
    j1, j2 = j(a), j(b)
    return torch.stack([torch.einsum('Naf,Mbf->NMab', u.flatten(2), v.flatten(2)) for u, v in zip(j1.values(), j2.values())]).sum(0)


print(ntk(p, x[:2], x[2:]))
print(
    torch.autograd.functional.jacobian(f, z),
    torch.autograd.functional.hvp(lambda x: x.pow(3).sum(), z, torch.ones(3)),
    torch.autograd.functional.vjp(f, z, torch.ones(3))[1],
)
try:
    vmap(lambda a: a.item())(z)
except RuntimeError:
    print('RuntimeError')
try:
    vmap(torch.add)(x, torch.ones(3))
except ValueError:
    print('ValueError')
print(
    vmap(lambda a: torch.where(a > 0, a, 0.0))(x).sum(),
    vmap(vmap(torch.mul))(x, x).sum(),
    vmap(lambda a: (a.max(), {'k': a.argmax()}))(x),
    vmap(torch.sum, chunk_size=2)(x),
)
tang = torch.func.jvp(lambda p: functional_call(models[0], p, x).sum(), (p,), ({k: torch.ones_like(v) for k, v in p.items()},))
print(tang)
