"""Rays through a radiance field, sinusoidal networks with their Laplacian, and Burgers' equation by LBFGS."""
import torch
import torch.nn as nn
import torch.nn.functional as F
import numpy as np

torch.set_default_dtype(torch.float32)


class Embedder:
    def __init__(self, n):
        self.fns = [lambda x: x] + [
            (lambda x, p=p, f=f: p(x * f)) for f in 2.0 ** torch.linspace(0.0, n - 1, steps=n) for p in [torch.sin, torch.cos]
        ]

    def embed(self, x):
        return torch.cat([fn(x) for fn in self.fns], -1)


net = nn.Sequential(nn.Linear(15, 8), nn.ReLU(), nn.Linear(8, 4))
[p.data.copy_(torch.sin(torch.arange(p.numel()) * 0.6 + i).view(p.shape) * 0.5) for i, p in enumerate(net.parameters())]


def get_rays(H, W, focal, c2w):
    i, j = torch.meshgrid(torch.linspace(0, W - 1, W), torch.linspace(0, H - 1, H))
    i, j = i.t(), j.t()
    dirs = torch.stack([(i - W * 0.5) / focal, -(j - H * 0.5) / focal, -torch.ones_like(i)], -1)
    rd = torch.sum(dirs[..., np.newaxis, :] * c2w[:3, :3], -1)
    return c2w[:3, -1].expand(rd.shape), rd


def raw2outputs(raw, z, rd):
    d = z[..., 1:] - z[..., :-1]
    d = torch.cat([d, torch.Tensor([1e10]).expand(d[..., :1].shape)], -1)
    d = d * torch.norm(rd[..., None, :], dim=-1)
    rgb = torch.sigmoid(raw[..., :3])
    alpha = 1.0 - torch.exp(-F.relu(raw[..., 3]) * d)
    w = alpha * torch.cumprod(torch.cat([torch.ones((alpha.shape[0], 1)), 1.0 - alpha + 1e-10], -1), -1)[:, :-1]
    return (
        torch.sum(w[..., None] * rgb, -2),
        w,
        torch.sum(w * z, -1),
        1.0 / torch.max(1e-10 * torch.ones_like(w.sum(-1)), torch.sum(w * z, -1) / torch.sum(w, -1)),
    )


def sample_pdf(bins, w, n):
    w = w + 1e-5
    pdf = w / torch.sum(w, -1, keepdim=True)
    cdf = torch.cumsum(pdf, -1)
    cdf = torch.cat([torch.zeros_like(cdf[..., :1]), cdf], -1)
    u = torch.linspace(0.0, 1.0, steps=n).expand(list(cdf.shape[:-1]) + [n]).contiguous()
    inds = torch.searchsorted(cdf, u, right=True)
    below = torch.max(torch.zeros_like(inds - 1), inds - 1)
    above = torch.min((cdf.shape[-1] - 1) * torch.ones_like(inds), inds)
    ig = torch.stack([below, above], -1)
    ms = [ig.shape[0], ig.shape[1], cdf.shape[-1]]
    cg = torch.gather(cdf.unsqueeze(1).expand(ms), 2, ig)
    bg = torch.gather(bins.unsqueeze(1).expand(ms), 2, ig)
    den = cg[..., 1] - cg[..., 0]
    den = torch.where(den < 1e-5, torch.ones_like(den), den)
    return bg[..., 0] + (u - cg[..., 0]) / den * (bg[..., 1] - bg[..., 0])


c2w = torch.eye(4)[:3]
c2w[2, 3] = 2.0
ro, rd = get_rays(3, 3, 2.0, c2w)
ro, rd = ro.reshape(-1, 3), rd.reshape(-1, 3)
print(ro.shape, rd[:3])
t = torch.linspace(0.0, 1.0, steps=6)
z = (1.0 / (1.0 / 1.0 * (1.0 - t) + 1.0 / 4.0 * t)).expand([9, 6])
e = Embedder(2)
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
target = torch.linspace(0, 1, 27).view(9, 3)
for i in range(3):
    pts = ro[..., None, :] + rd[..., None, :] * z[..., :, None]
    flat = torch.reshape(pts, [-1, pts.shape[-1]])
    raw = torch.cat([net(e.embed(flat[j : j + 20])) for j in range(0, flat.shape[0], 20)], 0)
    raw = torch.reshape(raw, list(pts.shape[:-1]) + [raw.shape[-1]])
    rgb, w, depth, disp = raw2outputs(raw, z, rd)
    loss = torch.mean((rgb - target) ** 2)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item(), (-10.0 * torch.log(loss) / torch.log(torch.Tensor([10.0]))).item())
zs = sample_pdf(0.5 * (z[..., 1:] + z[..., :-1]), w[..., 1:-1].detach(), 5)
zz, _ = torch.sort(torch.cat([z, zs], -1), -1)
print(
    zz[0],
    depth[:3],
    disp[:2],
    F.grid_sample(torch.arange(16.0).view(1, 1, 4, 4), rd[None, None, :, :2].clamp(-1, 1), align_corners=True)[0, 0],
)


class Sine(nn.Module):
    def __init__(self, w0=30.0):
        super().__init__()
        self.w0 = w0

    def forward(self, x):
        return torch.sin(self.w0 * x)


siren = nn.Sequential(nn.Linear(2, 6), Sine(2.0), nn.Linear(6, 1))
with torch.no_grad():
    [p.copy_(torch.linspace(-1, 0.9, p.numel()).view_as(p)) for p in siren.parameters()]
xy = torch.stack(torch.meshgrid(torch.linspace(-1, 1, 3), torch.linspace(-1, 1, 3), indexing='ij'), dim=-1).view(-1, 2).requires_grad_(True)


def gradient(y, x):
    return torch.autograd.grad(y, [x], grad_outputs=torch.ones_like(y), create_graph=True)[0]


def divergence(y, x):
    return sum(
        torch.autograd.grad(y[..., i], x, torch.ones_like(y[..., i]), create_graph=True)[0][..., i : i + 1] for i in range(y.shape[-1])
    )


o = torch.optim.Adam(siren.parameters(), 1e-2)
for i in range(3):
    u = siren(xy)
    g = gradient(u, xy)
    lap = divergence(g, xy)
    l = ((lap - 1) ** 2).mean() + (u[[0, 2, 6, 8]] ** 2).sum()
    o.zero_grad(set_to_none=True)
    l.backward()
    o.step()
    print(round(l.item(), 2), lap[4].item())
# Burgers by LBFGS
torch.manual_seed(1)
pn = nn.Sequential(nn.Linear(2, 5), nn.Tanh(), nn.Linear(5, 5), nn.Tanh(), nn.Linear(5, 1))
[p.data.copy_(torch.cos(torch.arange(p.numel()) + i).view(p.shape) * 0.5) for i, p in enumerate(pn.parameters())]
X = torch.tensor(np.random.default_rng(0).uniform(-1, 1, (20, 2)), dtype=torch.float32)
lb = torch.optim.LBFGS(
    pn.parameters(),
    lr=1.0,
    max_iter=6,
    max_eval=20,
    history_size=5,
    tolerance_grad=1e-5,
    tolerance_change=1.0 * np.finfo(float).eps,
    line_search_fn="strong_wolfe",
)
lam = nn.Parameter(torch.tensor([0.0]))
pn.register_parameter('lambda_1', lam)
it = 0


def closure():
    global it
    lb.zero_grad()
    x, t = X[:, 0:1].clone().requires_grad_(), X[:, 1:2].clone().requires_grad_()
    u = pn(torch.cat([x, t], dim=1))
    ut = torch.autograd.grad(u, t, grad_outputs=torch.ones_like(u), retain_graph=True, create_graph=True)[0]
    ux = torch.autograd.grad(u, x, torch.ones_like(u), True, True)[0]
    uxx = torch.autograd.grad(ux.sum(), x, create_graph=True)[0]
    l = torch.mean((ut + u * ux - 0.01 / np.pi * uxx) ** 2) + torch.mean((pn(torch.cat([x, 0 * t], 1)) + torch.sin(np.pi * x)) ** 2)
    l.backward()
    it += 1
    return l


print(lb.step(closure).item() - lb.step(closure).item() > 0, round(lb.step(closure).item(), 2), 'lambda_1' in pn.state_dict(), lam.grad)
