"""Derivatives: of each example, in directions, of functions of the program's own, with penalties of gradients and LBFGS."""
import functools
import warnings
import torch
from torch import nn
import torch.nn.functional as F
from torch.func import vmap, grad, jacrev, jacfwd, hessian, functional_call, stack_module_state, vjp, jvp, linearize, grad_and_value
from torch.autograd import Function, gradcheck
from torch.autograd.function import once_differentiable
import torch.autograd.functional as AF
import copy


def fill(m, s=0.3):
    with torch.no_grad():
        for k, p in enumerate(m.parameters()):
            p.copy_((torch.arange(p.numel(), dtype=p.dtype) * 12.9898 + 78.233 * k).sin().reshape(p.shape) * s)


x = torch.linspace(-1, 1, 12, dtype=torch.float64).reshape(4, 3)
net = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2)).double()
fill(net)
params = {k: v.detach() for k, v in net.named_parameters()}
y = torch.tensor([0, 1, 1, 0])


def loss_fn(p, xi, yi):
    return F.cross_entropy(functional_call(net, p, (xi.unsqueeze(0),)), yi.unsqueeze(0))


per = vmap(grad(loss_fn), in_dims=(None, 0, 0))(params, x, y)
print({k: (tuple(v.shape), v.sum()) for k, v in per.items()})
gn = torch.sqrt(sum(g.flatten(1).pow(2).sum(1) for g in per.values()))
print('per-sample norms', gn)
print('hess', hessian(lambda v: functional_call(net, params, v).pow(2).sum())(x[0]))
print('jac', jacrev(lambda v: functional_call(net, params, v))(x[0]), jacfwd(lambda v: functional_call(net, params, v))(x[0]))
bj = vmap(jacrev(functools.partial(functional_call, net, params)))(x)
print(bj.shape, bj.sum())
models = [copy.deepcopy(net) for _ in range(3)]
for i, m in enumerate(models):
    fill(m, 0.1 * (i + 1))
ps, bs = stack_module_state(models)
base = models[0]
print(vmap(lambda p, b, v: functional_call(base, (p, b), (v,)), in_dims=(0, 0, None))(ps, bs, x).sum((1, 2)))
print(vmap(lambda a, b: a @ b, in_dims=(0, None), out_dims=1)(x, x.t()).shape)
f = lambda v: (v ** 3).sum() + (v[0] * v[1]) ** 2
v0, t0 = torch.tensor([1., 2., 3.], dtype=torch.float64), torch.ones(3, dtype=torch.float64)
print(jvp(grad(f), (v0,), (t0,))[1], vjp(grad(f), v0)[1](t0)[0], AF.hvp(f, v0, t0)[1], AF.vhp(f, v0, t0)[1], AF.hessian(f, v0).diagonal())
print(vmap(lambda e: jvp(grad(f), (v0,), (e,))[1])(torch.eye(3, dtype=torch.float64)).trace())
print(grad_and_value(f, has_aux=False)(v0), grad(lambda a, b: (a * b).sum(), argnums=(0, 1))(v0, t0))
try:
    grad(lambda a: a * 2)(v0)
except RuntimeError:
    print('RuntimeError')


class Swish(Function):
    @staticmethod
    def forward(ctx, i, beta):
        s = torch.sigmoid(beta * i)
        ctx.save_for_backward(i, s)
        ctx.beta = beta
        return i * s

    @staticmethod
    def backward(ctx, g):
        i, s = ctx.saved_tensors
        return g * (s + ctx.beta * i * s * (1 - s)), None


class Exp(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(i):
        return i.exp()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)
        ctx.save_for_forward(output)

    @staticmethod
    def backward(ctx, g):
        r, = ctx.saved_tensors
        return g * r

    @staticmethod
    def jvp(ctx, t):
        r, = ctx.saved_tensors
        return t * r


class RoundSTE(Function):
    @staticmethod
    def forward(ctx, i, scale):
        ctx.mark_non_differentiable()
        ctx.set_materialize_grads(False)
        return torch.round(i / scale) * scale

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        assert ctx.needs_input_grad == (True, False)
        return g, None


class GradReverse(Function):
    @staticmethod
    def forward(ctx, x, lam):
        ctx.lam = lam
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return g.neg() * ctx.lam, None


z = x.clone().requires_grad_()
print(gradcheck(lambda i: Swish.apply(i, 1.5), (z,)), gradcheck(Exp.apply, (z,), check_forward_ad=True))
print(vmap(Exp.apply)(x).sum(), grad(lambda v: Exp.apply(v).sum())(v0), jvp(Exp.apply, (v0,), (t0,))[1])
a = (RoundSTE.apply(z, 0.25) * torch.arange(3.)).sum() + GradReverse.apply(z, 0.1).sum()
a.backward()
print(z.grad[0], z.grad.dtype)
try:
    h = z.clone()
    s = h.sigmoid()
    s.add_(1)
    s.sum().backward()
except RuntimeError as e:
    print('in-place', 'modified by an inplace operation' in str(e) or 'changed' in str(e))
# double backward: gradient penalty
D = nn.Sequential(nn.Linear(3, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1)).double()
fill(D)
i = (0.3 * x + 0.7 * x.flip(0)).requires_grad_(True)
g, = torch.autograd.grad(outputs=D(i), inputs=i, grad_outputs=torch.ones(4, 1, dtype=torch.float64), create_graph=True, retain_graph=True, only_inputs=True)
gp = ((g.view(4, -1).norm(2, dim=1) - 1) ** 2).mean()
gp.backward()
print(gp, D[0].weight.grad.abs().sum(), D[2].bias.grad)
# LBFGS, multi outputs, allow_unused, is_grads_batched
w = torch.tensor([1., -1.], dtype=torch.float64, requires_grad=True)
o = torch.optim.LBFGS([w], lr=1, max_iter=20, line_search_fn='strong_wolfe', history_size=5)
def closure():
    o.zero_grad()
    l = (1 - w[0]) ** 2 + 100 * (w[1] - w[0] ** 2) ** 2
    l.backward()
    return l
for _ in range(3):
    print(o.step(closure))
print(w)
u = torch.ones(2, requires_grad=True)
print(torch.autograd.grad(w.sum() * 2, [w, u], allow_unused=True), torch.autograd.grad(w.sum(), [w, u], materialize_grads=True, allow_unused=True))
print(torch.autograd.grad(w * w, w, torch.eye(2, dtype=torch.float64), is_grads_batched=True))
with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().numpy(), lambda n: torch.from_numpy(n)):
    q = (w.exp() * w).sum()
q.backward()
print(w.grad)
with torch.autograd.set_detect_anomaly(True), warnings.catch_warnings():
    warnings.simplefilter('ignore')
    try:
        k = torch.tensor([0.], requires_grad=True)
        (k.sqrt() * 0).sum().backward()
    except RuntimeError as e:
        print('nan' in str(e).lower())
c1 = torch.randn(3, requires_grad=True)
print(c1.grad_fn, c1.is_leaf, (c1 * 2).grad_fn is not None, (c1 * 2).requires_grad, c1.detach().requires_grad)
h1 = c1.register_hook(lambda g: g * 2)
h2 = c1.register_post_accumulate_grad_hook(lambda p: print('acc', p.grad))
(c1 * torch.tensor([1., 2., 3.])).sum().backward()
h1.remove()
h2.remove()
c1.grad = None
m, s = linearize(torch.sin, v0)
print(m, s(t0))
print(torch.func.functionalize(lambda t: t.clone().add_(1))(v0))
