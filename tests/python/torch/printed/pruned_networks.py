"""Pruning, parametrizations, vectors of parameters, clipped gradients, folded layers and initial weights."""
import torch
import torch.nn as nn
import torch.nn.utils.prune as prune
import torch.nn.utils.parametrize as P
from torch.nn.utils import (
    parametrizations,
    parameters_to_vector,
    vector_to_parameters,
    clip_grad_norm_,
    clip_grad_value_,
    get_total_norm,
    fuse_conv_bn_eval,
    skip_init,
)


def lin(a=3, b=2):
    m = nn.Linear(a, b)
    m.weight.data = torch.arange(1.0, a * b + 1).view(b, a) * torch.tensor([1, -1]).repeat((a * b + 1) // 2)[: a * b].view(b, a)
    m.bias.data.fill_(0.5)
    return m


m = lin()
prune.l1_unstructured(m, 'weight', amount=2)
print(m.weight, list(m.state_dict()), [n for n, _ in m.named_parameters()], [n for n, _ in m.named_buffers()])
prune.random_unstructured(m, name='bias', amount=0.5)
print(m.bias_mask.sum())
prune.ln_structured(m, 'weight', amount=1, n=2, dim=0)
print(m.weight_mask, prune.is_pruned(m))
m(torch.ones(1, 3)).sum().backward()
print(m.weight_orig.grad)
prune.remove(m, 'weight')
print(m.weight, list(m.state_dict()))
net = nn.Sequential(lin(), nn.ReLU(), lin(2, 2))
prune.global_unstructured([(net[0], 'weight'), (net[2], 'weight')], pruning_method=prune.L1Unstructured, amount=0.3)
print(net[0].weight_mask, net[2].weight_mask)
print(net)


class Every(prune.BasePruningMethod):
    PRUNING_TYPE = 'unstructured'

    def compute_mask(self, t, default_mask):
        mask = default_mask.clone()
        mask.view(-1)[::2] = 0
        return mask


def every(module, name):
    Every.apply(module, name)
    return module


m = every(lin(), 'weight')
print(m.weight, type(list(m._forward_pre_hooks.values())[0]).__name__)
prune.custom_from_mask(m, 'weight', torch.tensor([[1, 1, 1], [0, 0, 0]]))
print(m.weight)
prune.identity(m, 'bias')
print(m.bias_mask)


class Sym(nn.Module):
    def forward(self, X):
        return X.triu() + X.triu(1).transpose(-1, -2)

    def right_inverse(self, A):
        return A.triu()


class Exp(nn.Module):
    def forward(self, x):
        return torch.matrix_exp(x - x.T)


l = lin(3, 3)
P.register_parametrization(l, 'weight', Sym())
print(l, l.weight.equal(l.weight.T), l.parametrizations.weight.original, P.is_parametrized(l))
P.register_parametrization(l, 'weight', Exp(), unsafe=False) if False else None
l.weight = torch.ones(3, 3)
print(l.weight)
with P.cached():
    print(l.weight is l.weight)
P.remove_parametrizations(l, 'weight', leave_parametrized=True)
print(l, l.weight)
o = parametrizations.orthogonal(lin(3, 3))
print(torch.dist(o.weight @ o.weight.T, torch.eye(3)) < 1e-5, o)
w = parametrizations.weight_norm(lin())
print(w.parametrizations.weight.original0, w.weight.detach(), w)
s = parametrizations.spectral_norm(lin(), n_power_iterations=30)
print(torch.linalg.matrix_norm(s.eval().weight, 2) < 1.5, list(s.state_dict()))
v = parameters_to_vector(net.parameters())
print(v.shape, v[:4])
vector_to_parameters(torch.zeros_like(v), net.parameters())
print([p.abs().sum().item() for p in net.parameters()])
ps = [nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(3))]
[setattr(p, 'grad', torch.full_like(p, 3.0)) for p in ps]
print(
    clip_grad_norm_(ps, 2.0, norm_type='inf'),
    ps[0].grad,
    clip_grad_norm_(ps, 1.0),
    clip_grad_norm_(iter(ps), max_norm=0.5, norm_type=1),
    get_total_norm([p.grad for p in ps]),
    nn.utils.clip_grads_with_norm_(ps, 0.1, torch.tensor(1.0)) if hasattr(nn.utils, 'clip_grads_with_norm_') else None,
    clip_grad_value_(ps, 0.01),
    ps[1].grad,
)
c, b = nn.Conv2d(1, 2, 1).eval(), nn.BatchNorm2d(2).eval()
c.weight.data.fill_(2.0)
c.bias.data.fill_(1.0)
b.running_mean.fill_(0.5)
b.running_var.fill_(4.0)
f = fuse_conv_bn_eval(c, b)
print(f, f.weight.flatten(), f.bias, b(c(torch.ones(1, 1, 1, 1))).flatten())
k = skip_init(nn.Linear, 2, 3)
print(k)
for f in (
    'xavier_uniform_',
    'xavier_normal_',
    'kaiming_uniform_',
    'kaiming_normal_',
    'orthogonal_',
    'normal_',
    'uniform_',
    'zeros_',
    'ones_',
    'eye_',
    'trunc_normal_',
):
    w = torch.empty(50, 40)
    r = getattr(nn.init, f)(w)
    print(f, r is w, w.std().item() < 1.1)
print(
    nn.init.calculate_gain('leaky_relu', 0.2),
    nn.init.calculate_gain('tanh'),
    nn.init._calculate_fan_in_and_fan_out(torch.empty(3, 4, 5, 5)),
    nn.init._calculate_correct_fan(torch.empty(3, 4), 'fan_in'),
    nn.init.dirac_(torch.empty(2, 2, 3))[0],
    nn.init.constant_(torch.empty(2), 3.0),
    nn.init.sparse_(torch.empty(4, 4), 0.5).eq(0).sum(),
)
