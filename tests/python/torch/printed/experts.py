"""A mixture of experts, sets pooled under masks, and the family of scatter and index ops."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from typing import List, Optional, Tuple
import numpy as np


def numpy_init(model, seed=0, scale=0.1):
    """The same first weights whoever draws them."""
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.tensor(rng.uniform(-scale, scale, tuple(p.shape))).to(p.dtype))
    return model


class Expert(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.w1, self.w2, self.w3 = nn.Linear(d, h, bias=False), nn.Linear(h, d, bias=False), nn.Linear(d, h, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class SparseMoE(nn.Module):
    def __init__(self, d, h, n, k):
        super().__init__()
        self.gate = nn.Linear(d, n, bias=False)
        self.experts = nn.ModuleList([Expert(d, h) for _ in range(n)])
        self.n, self.k = n, k

    def forward(self, hidden_states: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        b, s, d = hidden_states.shape
        hidden_states = hidden_states.view(-1, d)
        router_logits = self.gate(hidden_states)
        routing_weights = F.softmax(router_logits, dim=1, dtype=torch.float)
        routing_weights, selected_experts = torch.topk(routing_weights, self.k, dim=-1)
        routing_weights /= routing_weights.sum(dim=-1, keepdim=True)
        routing_weights = routing_weights.to(hidden_states.dtype)
        final = torch.zeros((b * s, d), dtype=hidden_states.dtype, device=hidden_states.device)
        expert_mask = F.one_hot(selected_experts, num_classes=self.n).permute(2, 1, 0)
        for expert_idx in range(self.n):
            idx, top_x = torch.where(expert_mask[expert_idx])
            if top_x.shape[0] == 0:
                continue
            current = hidden_states[None, top_x].reshape(-1, d)
            out = self.experts[expert_idx](current) * routing_weights[top_x, idx, None]
            final.index_add_(0, top_x, out.to(hidden_states.dtype))
        me = F.softmax(router_logits, -1).mean(0)
        ce = expert_mask.float().sum((1, 2)) / expert_mask.sum()
        return final.reshape(b, s, d), (me * ce).sum() * self.n


moe = numpy_init(SparseMoE(6, 8, 4, 2), 0, 0.5)
rng = np.random.default_rng(1)
x = torch.tensor(rng.normal(size=(2, 5, 6)), dtype=torch.float32, requires_grad=True)
opt = torch.optim.AdamW(moe.parameters(), lr=1e-2)
for i in range(4):
    y, aux = moe(x)
    loss = (y - x.flip(1)).pow(2).mean() + 0.01 * aux
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, f'{loss.item():.5f} {aux.item():.5f}', x.grad.norm())
# capacity dispatch by scatter
logits = moe.gate(x.view(-1, 6))
gates = logits.softmax(-1)
val, top = gates.max(-1)
onehot = F.one_hot(top, 4)
pos = torch.cumsum(onehot, 0) * onehot - 1
keep = (pos < 2) & (pos >= 0)
disp = torch.zeros(10, 4, 2)
r, c = keep.nonzero(as_tuple=True)
disp[r, c, pos[r, c]] = 1.0
buf = torch.einsum('tec,td->ecd', disp, x.view(-1, 6))
comb = torch.einsum('tec,ecd,t->td', disp, buf, val)
print(keep.sum(), disp.sum((0, 2)), comb.norm(), buf.shape)
order = top.argsort(stable=True)
counts = torch.bincount(top, minlength=4).tolist()
chunks = x.view(-1, 6)[order].split(counts)
print([tuple(c.shape) for c in chunks], order, counts)
inv = torch.empty_like(order)
inv[order] = torch.arange(order.numel())
print(torch.cat(chunks)[inv].equal(x.view(-1, 6)), inv)
# deep sets / set transformer
class DeepSet(nn.Module):
    def __init__(self, dims: List[int], pool: str = 'sum'):
        super().__init__()
        self.phi = nn.Sequential(*[m for a, b in zip(dims, dims[1:]) for m in (nn.Linear(a, b), nn.ReLU())])
        self.rho = nn.Linear(dims[-1], 1)
        self.pool = pool

    def forward(self, x, mask: Optional[torch.Tensor] = None):
        h = self.phi(x)
        if mask is not None:
            h = h * mask.unsqueeze(-1)
        if self.pool == 'sum':
            h = h.sum(-2)
        elif self.pool == 'max':
            h = h.masked_fill(~mask.bool().unsqueeze(-1), -torch.inf).amax(-2) if mask is not None else h.max(dim=-2)[0]
        else:
            h = h.sum(-2) / mask.sum(-1, keepdim=True).clamp_min(1)
        return self.rho(h).squeeze(-1)
sets = torch.tensor(rng.normal(size=(3, 4, 2)), dtype=torch.float32)
mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 0, 0]])
for pool in ('sum', 'max', 'mean'):
    ds = numpy_init(DeepSet([2, 8, 8], pool), 1, 0.5)
    o = ds(sets, mask)
    o.sum().backward()
    print(pool, o, ds.phi[0].weight.grad.norm(), ds(sets, mask).sub(ds(sets[:, torch.tensor([3, 2, 1, 0])], mask.flip(-1))).abs().max() < 1e-5)
# scatter family
idx = torch.tensor([[0, 1, 2, 0], [1, 2, 0, 0]])
src = torch.arange(1., 9.).view(2, 4)
print(torch.zeros(3, 4).scatter_(0, idx[:1], src), torch.zeros(2, 3).scatter_add(1, idx, src), torch.ones(2, 3).scatter_reduce(1, idx, src, reduce='prod'), torch.zeros(2, 3).scatter(1, idx, 1.5, reduce='add'))
print(torch.gather(src, 1, idx), torch.take(src, torch.tensor([0, 5])), src.index_select(1, torch.tensor([3, 0])), torch.take_along_dim(src, idx.clamp(max=1), 0))
z = torch.zeros(3, 3)
z.index_put_((torch.tensor([0, 0, 1]), torch.tensor([1, 1, 2])), torch.tensor([1., 2., 3.]), accumulate=True)
z.index_fill_(1, torch.tensor([0]), -1).index_copy_(0, torch.tensor([2]), torch.ones(1, 3) * 7)
print(z, z.masked_select(z > 1), z.masked_scatter(z < 0, torch.tensor([10., 20., 30.])), torch.where(z > 0), torch.where(z > 0, z, torch.tensor(0.)), torch.where(z > 0, 1., 0.), torch.where(z < 0, z, 5))
