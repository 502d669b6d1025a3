"""MAML by torch.func: functional_call, grad inside, vmap over tasks; ensembles by stack_module_state; per-sample gradients; NTK; Jacobians."""
import numpy as np
import torch


def numpy_init(model, seed=0, scale=0.2):
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.from_numpy(rng.uniform(-scale, scale, tuple(p.shape))).to(p.dtype))
    return model


import copy
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, grad, vmap, stack_module_state, jacrev, jacfwd, hessian, jvp, vjp, grad_and_value, linearize


class ThreeLayerNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(1, 8), nn.Linear(8, 8), nn.Linear(8, 1)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


net = numpy_init(ThreeLayerNet(), 1, 0.8)
rng = np.random.default_rng(0)


def sample_tasks(outer_batch_size, inner_batch_size):
    As, phases = rng.uniform(0.1, 5.0, outer_batch_size), rng.uniform(0., np.pi, outer_batch_size)

    def get_batch():
        xs = rng.uniform(-5, 5, (outer_batch_size, inner_batch_size))
        return torch.tensor(xs, dtype=torch.float).unsqueeze(-1), torch.tensor(As[:, None] * np.sin(xs + phases[:, None]), dtype=torch.float).unsqueeze(-1)
    return (*get_batch(), *get_batch())


params = dict(net.named_parameters())
opt = torch.optim.Adam(params.values(), lr=1e-2)
alpha, K = 0.1, 5
mse_loss = F.mse_loss
for it in range(3):
    def get_loss_for_task(x1, y1, x2, y2):
        def inner_loss(params, x1, y1):
            return mse_loss(functional_call(net, params, (x1,)), y1)
        grads = grad(inner_loss)(params, x1, y1)
        new_params = {k: params[k] - alpha * grads[k] for k in params}
        return mse_loss(functional_call(net, new_params, x2), y2)
    task = sample_tasks(4, K)
    loss2 = vmap(get_loss_for_task)(*task).mean(0)
    opt.zero_grad()
    loss2.backward()
    opt.step()
    print(f'Iteration {it} -- Outer Loss: {loss2:.4f}')

models = [numpy_init(ThreeLayerNet(), s, 0.9) for s in range(3)]
params, buffers = stack_module_state(models)
base_model = copy.deepcopy(models[0]).to('meta')


def fmodel(params, buffers, x):
    return functional_call(base_model, (params, buffers), (x,))


data = torch.linspace(-1, 1, 12).reshape(3, 4, 1)
print({k: tuple(v.shape) for k, v in params.items()}, buffers)
together = vmap(fmodel)(params, buffers, data)
same_batch = vmap(fmodel, in_dims=(0, 0, None), randomness='same')(params, buffers, data[0])
print(torch.allclose(together, torch.stack([m(d) for m, d in zip(models, data)]), atol=1e-5), same_batch.mean(), together.var(0).mean())
params = {k: v.detach() for k, v in net.named_parameters()}


def compute_loss(params, sample, target):
    return F.mse_loss(functional_call(net, params, (sample.unsqueeze(0),)), target.unsqueeze(0))


x, y = data.flatten(0, 1), data.flatten(0, 1).sin()
ft = vmap(grad(compute_loss), in_dims=(None, 0, 0))(params, x, y)
print({k: tuple(v.shape) for k, v in ft.items()}, [round(v.norm().item(), 4) for v in ft.values()])
norms = torch.stack([g.flatten(1).norm(dim=1) for g in ft.values()], 1).norm(dim=1)
print(norms, (1.0 / norms).clamp(max=1.0))


def fnet_single(params, x):
    return functional_call(net, params, (x.unsqueeze(0),)).squeeze(0)


def empirical_ntk(params, x1, x2):
    jac1 = [j.flatten(2) for j in vmap(jacrev(fnet_single), (None, 0))(params, x1).values()]
    jac2 = [j.flatten(2) for j in vmap(jacrev(fnet_single), (None, 0))(params, x2).values()]
    return torch.stack([torch.einsum('Naf,Mbf->NMab', j1, j2) for j1, j2 in zip(jac1, jac2)]).sum(0)


print(empirical_ntk(params, x[:3], x[3:5]).squeeze())
f = lambda v: torch.tanh(v @ torch.arange(9.).view(3, 3) / 9).pow(2)
v = torch.tensor([0.3, -0.5, 0.9])
print(jacrev(f)(v), torch.allclose(jacfwd(f)(v), jacrev(f)(v)), hessian(lambda u: f(u).sum())(v))
print(jvp(f, (v,), (torch.ones(3),)), vjp(f, v)[1](torch.ones(3)), grad_and_value(lambda u: f(u).sum())(v))
print(grad(lambda p, q: (p['a'] * q).sum() + p['b'], argnums=(0, 1))({'a': v, 'b': v[0]}, v), grad(lambda u: (u.sum(), u * 2), has_aux=True)(v))
print(vmap(torch.dot)(data[..., 0], data[..., 0]), vmap(lambda a, b: a @ b, in_dims=(1, None), out_dims=0)(data[..., 0], torch.ones(3)), vmap(lambda r: F.softmax(r, -1), chunk_size=2)(data[..., 0]))
hvp = lambda f, primals, tangents: jvp(grad(f), primals, tangents)[1]
print(hvp(lambda u: u.sin().sum(), (v,), (torch.ones(3),)))
out, lin = linearize(f, v)
print(out, lin(torch.ones(3)))
