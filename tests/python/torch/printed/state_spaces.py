"""Selective scan (Mamba), S4D kernel by FFT, associative scan by cumsum of logs."""
import numpy as np
import torch


def numpy_init(model, seed=0, scale=0.2):
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.from_numpy(rng.uniform(-scale, scale, tuple(p.shape))).to(p.dtype))
    return model


import math
from dataclasses import dataclass
from typing import Union
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class ModelArgs:
    d_model: int
    n_layer: int
    vocab_size: int
    d_state: int = 4
    expand: int = 2
    dt_rank: Union[int, str] = 'auto'
    d_conv: int = 4
    conv_bias: bool = True
    bias: bool = False

    def __post_init__(self):
        self.d_inner = int(self.expand * self.d_model)
        if self.dt_rank == 'auto':
            self.dt_rank = math.ceil(self.d_model / 16)


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class MambaBlock(nn.Module):
    def __init__(self, args: ModelArgs):
        super().__init__()
        self.args = args
        self.in_proj = nn.Linear(args.d_model, args.d_inner * 2, bias=args.bias)
        self.conv1d = nn.Conv1d(in_channels=args.d_inner, out_channels=args.d_inner, bias=args.conv_bias, kernel_size=args.d_conv,
                                groups=args.d_inner, padding=args.d_conv - 1)
        self.x_proj = nn.Linear(args.d_inner, args.dt_rank + args.d_state * 2, bias=False)
        self.dt_proj = nn.Linear(args.dt_rank, args.d_inner, bias=True)
        A = torch.arange(1, args.d_state + 1).repeat(args.d_inner, 1)
        self.A_log = nn.Parameter(torch.log(A))
        self.D = nn.Parameter(torch.ones(args.d_inner))
        self.out_proj = nn.Linear(args.d_inner, args.d_model, bias=args.bias)

    def forward(self, x):
        (b, l, d) = x.shape
        x_and_res = self.in_proj(x)
        (x, res) = x_and_res.split(split_size=[self.args.d_inner, self.args.d_inner], dim=-1)
        x = self.conv1d(x.transpose(1, 2))[:, :, :l].transpose(1, 2)
        x = F.silu(x)
        return self.out_proj(self.ssm(x) * F.silu(res))

    def ssm(self, x):
        (d_in, n) = self.A_log.shape
        A, D = -torch.exp(self.A_log.float()), self.D.float()
        x_dbl = self.x_proj(x)
        (delta, B, C) = x_dbl.split(split_size=[self.args.dt_rank, n, n], dim=-1)
        delta = F.softplus(self.dt_proj(delta))
        return self.selective_scan(x, delta, A, B, C, D)

    def selective_scan(self, u, delta, A, B, C, D):
        (b, l, d_in) = u.shape
        n = A.shape[1]
        deltaA = torch.exp(torch.einsum('bld,dn->bldn', delta, A))
        deltaB_u = torch.einsum('bld,bln,bld->bldn', delta, B, u)
        x = torch.zeros((b, d_in, n), device=deltaA.device)
        ys = []
        for i in range(l):
            x = deltaA[:, i] * x + deltaB_u[:, i]
            ys.append(torch.einsum('bdn,bn->bd', x, C[:, i, :]))
        return torch.stack(ys, dim=1) + u * D


class Mamba(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.embedding = nn.Embedding(args.vocab_size, args.d_model)
        self.layers = nn.ModuleList([nn.ModuleDict(dict(mixer=MambaBlock(args), norm=RMSNorm(args.d_model))) for _ in range(args.n_layer)])
        self.norm_f = RMSNorm(args.d_model)
        self.lm_head = nn.Linear(args.d_model, args.vocab_size, bias=False)
        self.lm_head.weight = self.embedding.weight

    def forward(self, ids):
        x = self.embedding(ids)
        for layer in self.layers:
            x = layer['mixer'](layer['norm'](x)) + x
        return self.lm_head(self.norm_f(x))


args = ModelArgs(d_model=6, n_layer=2, vocab_size=9)
print(args)
model = numpy_init(Mamba(args), 3, 0.5)
print(sum(p.numel() for p in model.parameters()), [tuple(p.shape) for p in model.layers[0].parameters()])
ids = torch.tensor(np.random.default_rng(0).integers(0, 9, (2, 7)))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(3):
    logits = model(ids)
    loss = F.cross_entropy(logits[:, :-1].reshape(-1, 9), ids[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    print(loss, nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True))
    optimizer.step()
with torch.no_grad():
    for _ in range(3):
        next_token_logits = model(ids)[:, -1]
        probs = F.softmax(next_token_logits, dim=-1)
        (values, indices) = torch.topk(probs, k=3)
        probs[probs < values[:, -1, None]] = 0
        probs = probs / probs.sum(axis=1, keepdims=True)
        next_indices = probs.argmax(1)[:, None]
        ids = torch.cat([ids, next_indices], dim=1)
print(ids)


class S4DKernel(nn.Module):
    def __init__(self, d_model, N=8, dt_min=0.001, dt_max=0.1):
        super().__init__()
        H = d_model
        log_dt = torch.linspace(0, 1, H) * (math.log(dt_max) - math.log(dt_min)) + math.log(dt_min)
        C = torch.complex(torch.linspace(-1, 1, H * N // 2), torch.linspace(1, 0, H * N // 2)).view(H, N // 2)
        self.C = nn.Parameter(torch.view_as_real(C))
        self.log_dt = nn.Parameter(log_dt)
        self.log_A_real = nn.Parameter(torch.log(0.5 * torch.ones(H, N // 2)))
        self.A_imag = nn.Parameter(math.pi * torch.arange(N // 2).expand(H, N // 2).float().clone())

    def forward(self, L):
        dt = torch.exp(self.log_dt)
        C = torch.view_as_complex(self.C)
        A = -torch.exp(self.log_A_real) + 1j * self.A_imag
        dtA = A * dt.unsqueeze(-1)
        K = dtA.unsqueeze(-1) * torch.arange(L, device=A.device)
        C = C * (torch.exp(dtA) - 1.) / A
        return 2 * torch.einsum('hn, hnl -> hl', C, torch.exp(K)).real


kernel = S4DKernel(3)
u = torch.tensor(np.random.default_rng(2).normal(size=(2, 3, 10)).astype('f'), requires_grad=True)
L = u.size(-1)
k = kernel(L=L)
k_f, u_f = torch.fft.rfft(k, n=2 * L), torch.fft.rfft(u, n=2 * L)
y = torch.fft.irfft(u_f * k_f, n=2 * L)[..., :L]
print(k, y.shape, y.dtype)
y.square().mean().backward()
print(u.grad, [(n, p.grad) for n, p in kernel.named_parameters()])
log_coeffs, log_values = torch.linspace(-0.5, -0.1, 6)[None], torch.linspace(-1, 1, 6)[None]
a_star = F.pad(torch.cumsum(log_coeffs, dim=1), (1, 0))
log_h0_plus_b_star = torch.logcumsumexp(F.pad(log_values, (1, 0), value=-2.0) - a_star, dim=1)
print(torch.exp(a_star + log_h0_plus_b_star)[:, 1:])
