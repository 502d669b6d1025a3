"""A language model with rotary positions, grouped queries, a cache of keys and mixed experts; T5's and ALiBi's biases, windows."""
import torch
import torch.nn as nn
import torch.nn.functional as F
import math
from dataclasses import dataclass
from typing import Optional


@dataclass
class ModelArgs:
    dim: int = 8
    n_layers: int = 2
    n_heads: int = 4
    n_kv_heads: Optional[int] = 2
    vocab_size: int = 11
    norm_eps: float = 1e-5
    max_batch_size: int = 2
    max_seq_len: int = 16


class RMSNorm(torch.nn.Module):
    def __init__(self, dim: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def _norm(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        output = self._norm(x.float()).type_as(x)
        return output * self.weight


def precompute_freqs_cis(dim: int, end: int, theta: float = 10000.0):
    freqs = 1.0 / (theta ** (torch.arange(0, dim, 2)[: (dim // 2)].float() / dim))
    t = torch.arange(end, device=freqs.device, dtype=torch.float32)
    freqs = torch.outer(t, freqs)
    return torch.polar(torch.ones_like(freqs), freqs)


def reshape_for_broadcast(freqs_cis, x):
    ndim = x.ndim
    assert freqs_cis.shape == (x.shape[1], x.shape[-1])
    shape = [d if i == 1 or i == ndim - 1 else 1 for i, d in enumerate(x.shape)]
    return freqs_cis.view(*shape)


def apply_rotary_emb(xq, xk, freqs_cis):
    xq_ = torch.view_as_complex(xq.float().reshape(*xq.shape[:-1], -1, 2))
    xk_ = torch.view_as_complex(xk.float().reshape(*xk.shape[:-1], -1, 2))
    freqs_cis = reshape_for_broadcast(freqs_cis, xq_)
    return torch.view_as_real(xq_ * freqs_cis).flatten(3).type_as(xq), torch.view_as_real(xk_ * freqs_cis).flatten(3).type_as(xk)


def repeat_kv(x, n_rep):
    bs, slen, n, d = x.shape
    return x if n_rep == 1 else x[:, :, :, None, :].expand(bs, slen, n, n_rep, d).reshape(bs, slen, n * n_rep, d)


def rotate_half(x):
    x1, x2 = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return torch.cat((-x2, x1), dim=-1)


class Attention(nn.Module):
    def __init__(self, a):
        super().__init__()
        self.n_kv = a.n_heads if a.n_kv_heads is None else a.n_kv_heads
        self.nh, self.rep, self.hd = a.n_heads, a.n_heads // self.n_kv, a.dim // a.n_heads
        self.wq = nn.Linear(a.dim, self.nh * self.hd, bias=False)
        self.wk = nn.Linear(a.dim, self.n_kv * self.hd, bias=False)
        self.wv = nn.Linear(a.dim, self.n_kv * self.hd, bias=False)
        self.wo = nn.Linear(self.nh * self.hd, a.dim, bias=False)
        self.cache_k = torch.zeros((a.max_batch_size, a.max_seq_len, self.n_kv, self.hd))
        self.cache_v = torch.zeros((a.max_batch_size, a.max_seq_len, self.n_kv, self.hd))

    def forward(self, x, start_pos, fc, mask):
        b, s, _ = x.shape
        xq, xk, xv = (
            self.wq(x).view(b, s, self.nh, self.hd),
            self.wk(x).view(b, s, self.n_kv, self.hd),
            self.wv(x).view(b, s, self.n_kv, self.hd),
        )
        xq, xk = apply_rotary_emb(xq, xk, freqs_cis=fc)
        self.cache_k = self.cache_k.to(xq)
        self.cache_k[:b, start_pos : start_pos + s] = xk
        self.cache_v[:b, start_pos : start_pos + s] = xv
        k, v = repeat_kv(self.cache_k[:b, : start_pos + s], self.rep), repeat_kv(self.cache_v[:b, : start_pos + s], self.rep)
        xq, k, v = xq.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        sc = torch.matmul(xq, k.transpose(2, 3)) / math.sqrt(self.hd)
        if mask is not None:
            sc = sc + mask
        sc = F.softmax(sc.float(), dim=-1).type_as(xq)
        return self.wo(torch.matmul(sc, v).transpose(1, 2).contiguous().view(b, s, -1))


class MoE(nn.Module):
    def __init__(self, d, n=4, k=2):
        super().__init__()
        self.experts = nn.ModuleList(
            [
                nn.ModuleDict(dict(w1=nn.Linear(d, 12, bias=False), w2=nn.Linear(12, d, bias=False), w3=nn.Linear(d, 12, bias=False)))
                for _ in range(n)
            ]
        )
        self.gate = nn.Linear(d, n, bias=False)
        self.k, self.n = k, n

    def forward(self, x):
        b, s, d = x.shape
        x = x.view(-1, d)
        logits = self.gate(x)
        rw = F.softmax(logits, dim=1, dtype=torch.float)
        rw, sel = torch.topk(rw, self.k, dim=-1)
        rw /= rw.sum(dim=-1, keepdim=True)
        rw = rw.to(x.dtype)
        out = torch.zeros((b * s, d), dtype=x.dtype)
        em = F.one_hot(sel, num_classes=self.n).permute(2, 1, 0)
        for e in range(self.n):
            idx, top = torch.where(em[e])
            if top.shape[0] == 0:
                continue
            m = self.experts[e]
            cur = x[None, top].reshape(-1, d)
            h = m['w2'](F.silu(m['w1'](cur)) * m['w3'](cur)) * rw[top, idx, None]
            out.index_add_(0, top, h.to(x.dtype))
        self.aux = self.n * torch.sum(F.one_hot(sel, self.n).float().mean(0) * logits.softmax(-1).mean(0).unsqueeze(0))
        return out.reshape(b, s, d)


class Llama(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p
        self.tok_embeddings = nn.Embedding(p.vocab_size, p.dim)
        self.att = nn.ModuleList(Attention(p) for _ in range(p.n_layers))
        self.ffn = nn.ModuleList(MoE(p.dim) for _ in range(p.n_layers))
        self.n1 = nn.ModuleList(RMSNorm(p.dim) for _ in range(p.n_layers))
        self.n2 = nn.ModuleList(RMSNorm(p.dim) for _ in range(p.n_layers))
        self.norm = RMSNorm(p.dim, eps=p.norm_eps)
        self.output = nn.Linear(p.dim, p.vocab_size, bias=False)
        self.freqs_cis = precompute_freqs_cis(p.dim // p.n_heads, p.max_seq_len * 2)

    def forward(self, tokens, start_pos=0):
        b, s = tokens.shape
        h = self.tok_embeddings(tokens)
        fc = self.freqs_cis[start_pos : start_pos + s]
        mask = None
        if s > 1:
            mask = torch.full((s, s), float("-inf"))
            mask = torch.triu(mask, diagonal=1)
            mask = torch.hstack([torch.zeros((s, start_pos)), mask]).type_as(h)
        for a, f, n1, n2 in zip(self.att, self.ffn, self.n1, self.n2):
            h = h + a(n1(h), start_pos, fc, mask)
            h = h + f(n2(h))
        return self.output(self.norm(h)).float()


net = Llama(ModelArgs())
for i, p in enumerate(net.parameters()):
    p.data.copy_(torch.sin(torch.arange(p.numel()) * 1.3 + i).view(p.shape) * 0.7)
toks = torch.tensor([[1, 4, 7, 2], [3, 3, 9, 10]])
loss = F.cross_entropy(net(toks)[:, :-1].flatten(0, 1), toks[:, 1:].reshape(-1)) + 0.01 * sum(f.aux for f in net.ffn)
loss.backward()
print(loss, [tuple(p.grad.shape) if p.grad is not None else None for p in net.parameters()][:6], net.ffn[0].gate.weight.grad.norm())
for a in net.att:
    a.cache_k.detach_()
    a.cache_v.detach_()


def sample_top_p(probs, p):
    ps, pi = torch.sort(probs, dim=-1, descending=True)
    cs = torch.cumsum(ps, dim=-1)
    mask = cs - ps > p
    ps[mask] = 0.0
    ps.div_(ps.sum(dim=-1, keepdim=True))
    nt = ps.argmax(-1, keepdim=True)
    return torch.gather(pi, -1, nt)


with torch.inference_mode():
    net.eval()
    full = net(toks)
    out = net(toks[:, :2], 0)
    a = [out[:, -1]]
    [a.append(net(toks[:, i : i + 1], i)[:, -1]) for i in (2, 3)]
    print(torch.allclose(torch.stack(a, 1), full[:, 1:], atol=1e-5), full[0, -1])
    nxt = sample_top_p(torch.softmax(full[:, -1] / 0.8, dim=-1), 0.9)
    print(nxt.reshape(-1))
    seen = torch.where(toks == 3, -1, toks)
    print(seen)
sc = torch.gather(full[:, -1], 1, toks)
sc = torch.where(sc < 0, sc * 1.2, sc / 1.2)
print(
    full[:, -1].scatter(1, toks, sc)[0],
    torch.topk(full[:, -1], 3)[0][..., -1, None],
    full[0, -1].masked_fill(full[0, -1] < torch.topk(full[0, -1], 2)[0][-1], -float('Inf')),
)
print(net.freqs_cis[:3], rotate_half(torch.arange(4.0)), net.freqs_cis.abs().mean(), net.freqs_cis.dtype)


# T5 buckets, ALiBi, sliding windows, attention fallbacks
def bucket(rp, bidirectional=True, nb=8, md=16):
    rb = 0
    if bidirectional:
        nb //= 2
        rb += (rp > 0).to(torch.long) * nb
        rp = torch.abs(rp)
    else:
        rp = -torch.min(rp, torch.zeros_like(rp))
    me = nb // 2
    small = rp < me
    large = me + (torch.log(rp.float() / me) / math.log(md / me) * (nb - me)).to(torch.long)
    large = torch.min(large, torch.full_like(large, nb - 1))
    rb += torch.where(small, rp, large)
    return rb


ctx = torch.arange(6, dtype=torch.long)[:, None]
mem = torch.arange(6, dtype=torch.long)[None, :]
print(bucket(mem - ctx))
print(bucket(mem - ctx, False))
slopes = torch.pow(2, -torch.arange(1, 5).float() * 8 / 4)
al = slopes.view(4, 1, 1) * (torch.arange(5)[None, None, :] - torch.arange(5)[None, :, None]).abs().neg()
print(slopes, al[1])
q, k, v = (torch.sin(torch.arange(80.0) * s).view(1, 4, 5, 4) for s in (0.3, 0.5, 0.7))
print(
    F.scaled_dot_product_attention(q, k, v, attn_mask=al, is_causal=False, scale=0.5)[0, 0],
    F.scaled_dot_product_attention(q, k, v, is_causal=True)[0, 3, -1],
)
w = torch.ones(5, 5, dtype=torch.bool).tril(0).triu(-1)
print(
    w.int(),
    F.scaled_dot_product_attention(q, k[:, :2], v[:, :2], attn_mask=w, enable_gqa=True)[0, 2, 2],
    hasattr(F, 'scaled_dot_product_attention'),
)
with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
    print(F.scaled_dot_product_attention(q, k, v).sum())
