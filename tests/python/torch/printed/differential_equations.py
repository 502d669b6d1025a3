"""A neural ODE with its adjoint, a sine network with its Laplacian, a physics-informed network under L-BFGS."""
import torch
import torch.nn as nn
from torch.autograd import grad
import numpy as np
import math


def numpy_init(model, seed=0, scale=0.1):
    """The same first weights whoever draws them."""
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.tensor(rng.uniform(-scale, scale, tuple(p.shape))).to(p.dtype))
    return model


class ODEFunc(nn.Module):
    def __init__(self):
        super(ODEFunc, self).__init__()
        self.net = nn.Sequential(nn.Linear(2, 20), nn.Tanh(), nn.Linear(20, 2))
        for m in self.net.modules():
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, mean=0, std=0.1)
                nn.init.constant_(m.bias, val=0)
        self.nfe = 0

    def forward(self, t, y):
        self.nfe += 1
        return self.net(y ** 3)


def rk4_step(f, t, dt, y):
    k1 = f(t, y)
    k2 = f(t + dt / 2, y + dt * k1 / 2)
    k3 = f(t + dt / 2, torch.add(y, k2, alpha=dt.item() / 2))
    k4 = f(t + dt, y + dt * k3)
    return y + dt / 6. * (k1 + 2 * k2 + 2 * k3 + k4)


def odeint(func, y0, t):
    ys = [y0]
    for t0, t1 in zip(t[:-1], t[1:]):
        ys.append(rk4_step(func, t0, t1 - t0, ys[-1]))
    return torch.stack(ys)


class OdeintAdjoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, func, y0, t, *params):
        with torch.no_grad():
            ans = odeint(func, y0, t)
        ctx.func = func
        ctx.save_for_backward(t, ans, *params)
        return ans

    @staticmethod
    def backward(ctx, grad_y):
        func = ctx.func
        t, ans, *params = ctx.saved_tensors
        params = tuple(params)
        adj_y = grad_y[-1].clone()
        adj_p = [torch.zeros_like(p) for p in params]
        for i in range(len(t) - 1, 0, -1):
            with torch.enable_grad():
                y = ans[i - 1].detach().requires_grad_(True)
                out = rk4_step(func, t[i - 1], t[i] - t[i - 1], y)
                gy, *gp = torch.autograd.grad(out, (y,) + params, adj_y, allow_unused=True)
            adj_y = gy + grad_y[i - 1]
            adj_p = [a + g for a, g in zip(adj_p, gp)]
        return (None, adj_y, None, *adj_p)


true_A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
true_y0 = torch.tensor([[2., 0.]])
t = torch.linspace(0., 2., 21)


class Lambda(nn.Module):
    def forward(self, t, y):
        return torch.mm(y ** 3, true_A)


with torch.no_grad():
    true_y = odeint(Lambda(), true_y0, t)
print(true_y.shape, true_y[-1])
func = numpy_init(ODEFunc(), 0, 0.2)
optimizer = torch.optim.RMSprop(func.parameters(), lr=1e-2)
for itr in range(1, 7):
    optimizer.zero_grad()
    pred_y = odeint(func, true_y0, t)
    loss = torch.mean(torch.abs(pred_y - true_y))
    loss.backward()
    g1 = [p.grad.clone() for p in func.parameters()]
    optimizer.zero_grad()
    OdeintAdjoint.apply(func, true_y0, t, *func.parameters()).sub(true_y).abs().mean().backward()
    assert all(torch.allclose(a, p.grad, atol=1e-5) for a, p in zip(g1, func.parameters()))
    optimizer.step()
    if itr % 2 == 0:
        print('Iter {:04d} | Total Loss {:.6f} | nfe {}'.format(itr, loss.item(), func.nfe))


class SineLayer(nn.Module):
    def __init__(self, in_features, out_features, bias=True, is_first=False, omega_0=30):
        super().__init__()
        self.omega_0, self.is_first, self.in_features = omega_0, is_first, in_features
        self.linear = nn.Linear(in_features, out_features, bias=bias)
        self.init_weights()

    def init_weights(self):
        with torch.no_grad():
            if self.is_first:
                self.linear.weight.uniform_(-1 / self.in_features, 1 / self.in_features)
            else:
                self.linear.weight.uniform_(-np.sqrt(6 / self.in_features) / self.omega_0, np.sqrt(6 / self.in_features) / self.omega_0)

    def forward(self, input):
        return torch.sin(self.omega_0 * self.linear(input))


def gradient(y, x, grad_outputs=None):
    if grad_outputs is None:
        grad_outputs = torch.ones_like(y)
    return torch.autograd.grad(y, [x], grad_outputs=grad_outputs, create_graph=True)[0]


def divergence(y, x):
    div = 0.
    for i in range(y.shape[-1]):
        div += torch.autograd.grad(y[..., i], x, torch.ones_like(y[..., i]), create_graph=True)[0][..., i:i + 1]
    return div


def get_mgrid(sidelen, dim=2):
    tensors = tuple(dim * [torch.linspace(-1, 1, steps=sidelen)])
    mgrid = torch.stack(torch.meshgrid(*tensors, indexing='ij'), dim=-1)
    return mgrid.reshape(-1, dim)


siren = numpy_init(nn.Sequential(SineLayer(2, 16, is_first=True, omega_0=5), SineLayer(16, 16, omega_0=5), nn.Linear(16, 1)), 1, 0.3)
coords = get_mgrid(6).requires_grad_()
opt = torch.optim.Adam(lr=1e-3, params=siren.parameters())
for i in range(4):
    out = siren(coords)
    g = gradient(out, coords)
    lap = divergence(g, coords)
    loss = ((lap - 1) ** 2).mean() + (out ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, f'{loss:.5f}', g.norm().item(), lap.mean().item())


class PINN(nn.Module):
    def __init__(self):
        super().__init__()
        self.u = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))
        self.nu = nn.Parameter(torch.tensor(0.05))

    def forward(self, x, t):
        return self.u(torch.hstack([x, t]))

    def residual(self, x, t):
        u = self(x, t)
        u_t = grad(u, t, torch.ones_like(u), retain_graph=True, create_graph=True)[0]
        u_x = grad(u, x, torch.ones_like(u), retain_graph=True, create_graph=True)[0]
        u_xx = grad(u_x, x, torch.ones_like(u_x), create_graph=True)[0]
        return u_t + u * u_x - self.nu * u_xx


pinn = numpy_init(PINN(), 2, 0.5)
x, tt = torch.meshgrid(torch.linspace(-1, 1, 6), torch.linspace(0, 1, 5), indexing='ij')
x, tt = x.reshape(-1, 1).requires_grad_(), tt.reshape(-1, 1).requires_grad_(True)
x0 = torch.linspace(-1, 1, 9).unsqueeze(1)
opt = torch.optim.LBFGS(pinn.parameters(), lr=0.5, max_iter=6, line_search_fn='strong_wolfe')
hist = []
def closure():
    opt.zero_grad()
    l = pinn.residual(x, tt).pow(2).mean() + (pinn(x0, torch.zeros_like(x0)) + torch.sin(math.pi * x0)).square().mean()
    l.backward()
    hist.append(l.item())
    return l
opt.step(closure)
print(len(hist), ['%.4f' % h for h in hist], pinn.nu.grad.isfinite())
