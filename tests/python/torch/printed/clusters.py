"""k-means with cdist, scatter means, k-means++ by fixed draws, EM of a Gaussian mixture, DBSCAN-like connected parts, PCA, t-SNE steps."""
import numpy as np
import torch


def numpy_init(model, seed=0, scale=0.2):
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.from_numpy(rng.uniform(-scale, scale, tuple(p.shape))).to(p.dtype))
    return model


import torch.nn.functional as F
import math

rng = np.random.default_rng(0)
x = torch.tensor(np.concatenate([rng.normal(c, 0.4, (12, 2)) for c in ((0, 0), (3, 1), (-1, 3))]).astype(np.float32))


def kmeans(x, k, iters=10, tol=1e-4):
    centers = x[:1]
    while len(centers) < k:
        d = torch.cdist(x, centers).min(dim=1).values ** 2
        centers = torch.vstack([centers, x[d.argmax()]])
    for i in range(iters):
        dist = torch.cdist(x, centers, p=2.0)
        labels = dist.argmin(dim=-1)
        one = F.one_hot(labels, k).type_as(x)
        new = (one.T @ x) / one.sum(0).clamp_min_(1)[:, None]
        alt = torch.zeros_like(centers).scatter_reduce_(0, labels[:, None].expand(-1, x.shape[1]), x, reduce='mean', include_self=False)
        assert torch.allclose(new, alt, atol=1e-5)
        shift = (new - centers).norm(dim=1).max()
        centers = new
        if shift < tol:
            break
    return labels, centers, i, dist.gather(1, labels.unsqueeze(1)).square().sum().item()


labels, centers, n, inertia = kmeans(x, 3)
print(labels, centers, n, f'{inertia:.4f}')
print(torch.unique(labels, return_counts=True), torch.bincount(labels), [x[labels == c].mean(0) for c in range(3)])
sil_a, sil_b = [], []
D = torch.cdist(x, x)
for i in range(len(x)):
    own = (labels == labels[i]) & (torch.arange(len(x)) != i)
    sil_a.append(D[i][own].mean())
    sil_b.append(min(D[i, labels == c].mean() for c in labels.unique() if c != labels[i]))
a, b = torch.stack(sil_a), torch.tensor(sil_b)
print(((b - a) / torch.maximum(a, b)).mean())


class GMM:
    def __init__(self, mu, k):
        self.k, self.mu = k, mu.clone()
        self.var = torch.eye(2).repeat(k, 1, 1)
        self.log_pi = torch.full((k,), -math.log(k))

    def log_likelihood(self, x):
        precision = torch.linalg.inv(self.var)
        diff = x[:, None] - self.mu
        maha = torch.einsum('nki,kij,nkj->nk', diff, precision, diff)
        return -0.5 * (maha + torch.logdet(self.var) + 2 * math.log(2 * math.pi)) + self.log_pi

    def step(self, x):
        ll = self.log_likelihood(x)
        norm = torch.logsumexp(ll, dim=1, keepdim=True)
        resp = (ll - norm).exp()
        nk = resp.sum(0)
        self.mu = resp.t().mm(x) / nk.unsqueeze(-1)
        diff = x.unsqueeze(1) - self.mu.unsqueeze(0)
        self.var = torch.sum(diff.unsqueeze(-1).matmul(diff.unsqueeze(-2)) * resp[..., None, None], 0) / nk[:, None, None] + torch.eye(2) * 1e-3
        self.log_pi = (nk / len(x)).log()
        return norm.mean()


g = GMM(x[[0, 15, 30]], 3)
for i in range(5):
    print(i, g.step(x))
print(g.mu, g.var, g.log_pi.exp())
near = D < 0.6
reach = near.clone()
for _ in range(6):
    reach = (reach.float() @ reach.float()) > 0
component = torch.where(reach, torch.arange(len(x)), len(x)).amin(1)
_, compact = torch.unique(component, return_inverse=True)
print(compact, reach.sum(), near.float().triu(1).nonzero().shape, torch.triu_indices(3, 3, offset=1), torch.tril(torch.ones(3, 3), -1).bool())
mean = x.mean(dim=0, keepdim=True)
U, S, V = torch.pca_lowrank(x, q=2, center=True)
cov = (x - mean).T @ (x - mean) / (len(x) - 1)
w, v = torch.linalg.eigh(cov)
print(S ** 2 / (len(x) - 1), w.flip(0), v.abs())


def hbeta(D, beta):
    P = torch.exp(-D * beta)
    s = P.sum()
    return torch.log(s) + beta * torch.sum(D * P) / s, P / s


def x2p(X, perplexity=5.0):
    n = X.shape[0]
    sum_X = torch.sum(X * X, 1)
    D = torch.add(torch.add(-2 * torch.mm(X, X.t()), sum_X).t(), sum_X)
    P, beta, logU, n_list = torch.zeros(n, n), torch.ones(n, 1), torch.log(torch.tensor([perplexity])), [i for i in range(n)]
    for i in range(n):
        lo, hi = None, None
        Di = D[i, n_list[0:i] + n_list[i + 1:n]]
        H, thisP = hbeta(Di, beta[i])
        Hdiff, tries = H - logU, 0
        while torch.abs(Hdiff) > 1e-5 and tries < 20:
            if Hdiff > 0:
                lo = beta[i].clone()
                beta[i] = beta[i] * 2. if hi is None else (beta[i] + hi) / 2.
            else:
                hi = beta[i].clone()
                beta[i] = beta[i] / 2. if lo is None else (beta[i] + lo) / 2.
            H, thisP = hbeta(Di, beta[i])
            Hdiff, tries = H - logU, tries + 1
        P[i, n_list[0:i] + n_list[i + 1:n]] = thisP
    return P


P = x2p(x)
P = P + P.t()
P = torch.max(P / torch.sum(P) * 4., torch.tensor([1e-21]))
Y = (x * 1e-2).clone()
iY, gains = torch.zeros_like(Y), torch.ones_like(Y)
for it in range(6):
    sum_Y = torch.sum(Y * Y, 1)
    num = -2. * torch.mm(Y, Y.t())
    num = 1. / (1. + torch.add(torch.add(num, sum_Y).t(), sum_Y))
    num[range(36), range(36)] = 0.
    Q = torch.max(num / torch.sum(num), torch.tensor([1e-12]))
    PQ, dY = P - Q, torch.zeros_like(Y)
    for i in range(36):
        dY[i, :] = torch.sum((PQ[:, i] * num[:, i]).repeat(2, 1).t() * (Y[i, :] - Y), 0)
    gains = (gains + 0.2) * ((dY > 0.) != (iY > 0.)).double() + (gains * 0.8) * ((dY > 0.) == (iY > 0.)).double()
    gains[gains < 0.01] = 0.01
    iY = 0.5 * iY - 50 * (gains * dY)
    Y = Y + iY
    Y = Y - torch.mean(Y, 0)
    print(it, torch.sum(P * torch.log(P / Q)), Y.dtype, Y.abs().mean())
