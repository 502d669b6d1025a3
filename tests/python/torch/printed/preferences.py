"""RLHF: PPO with value clipping, KL controller, GAE, whitening, reward model pairs, DPO, rejection by log-probs of responses."""
import numpy as np
import torch


def numpy_init(model, seed=0, scale=0.2):
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.from_numpy(rng.uniform(-scale, scale, tuple(p.shape))).to(p.dtype))
    return model


import torch.nn as nn
import torch.nn.functional as F
from dataclasses import dataclass, field, asdict


@dataclass
class Config:
    gamma: float = 1.0
    lam: float = 0.95
    cliprange: float = 0.2
    vf_coef: float = 0.1
    target: float = 6.0
    lr: float = 1e-2
    names: list = field(default_factory=lambda: ['policy', 'value'])


class LM(nn.Module):
    def __init__(self, n=11, d=8):
        super().__init__()
        self.wte, self.rnn = nn.Embedding(n, d), nn.LSTM(d, d, num_layers=2, batch_first=True, dropout=0.0)
        self.lm_head, self.v_head = nn.Linear(d, n, bias=False), nn.Sequential(nn.Linear(d, d), nn.Tanh(), nn.Linear(d, 1))
        self.lm_head.weight = self.wte.weight

    def forward(self, ids):
        h, _ = self.rnn(self.wte(ids))
        return self.lm_head(h), self.v_head(h).squeeze(-1)


def logprobs_from_logits(logits, labels):
    logp = F.log_softmax(logits, dim=2)
    return torch.gather(logp, 2, labels.unsqueeze(2)).squeeze(-1)


def entropy_from_logits(logits):
    pd = torch.nn.functional.softmax(logits, dim=-1)
    return torch.logsumexp(logits, axis=-1) - torch.sum(pd * logits, axis=-1)


def masked_mean(values, mask, axis=None):
    return (values * mask).sum(axis=axis) / mask.sum(axis=axis) if axis is not None else (values * mask).sum() / mask.sum()


def masked_var(values, mask, unbiased=True):
    mean = masked_mean(values, mask)
    variance = masked_mean((values - mean) ** 2, mask)
    if unbiased:
        n = mask.sum()
        if n == 0:
            raise ValueError
        variance = variance * (n / (n - 1))
    return variance


def masked_whiten(values, mask, shift_mean=True):
    mean, var = masked_mean(values, mask), masked_var(values, mask)
    whitened = (values - mean) * torch.rsqrt(var + 1e-8)
    return whitened if shift_mean else whitened + mean


def clip_by_value(x, tensor_min, tensor_max):
    return torch.max(torch.min(x, tensor_max), tensor_min)


cfg = Config()
print(asdict(cfg))
policy, ref = numpy_init(LM(), 1, 0.6), numpy_init(LM(), 2, 0.6).eval()
for p in ref.parameters():
    p.requires_grad = False
rng = np.random.default_rng(0)
ids = torch.tensor(rng.integers(0, 11, (4, 9)))
mask = torch.zeros_like(ids[:, 1:])
for i, (s, e) in enumerate([(3, 8), (2, 6), (4, 8), (3, 7)]):
    mask[i, s:e] = 1
mask = mask.to(torch.float32)
with torch.no_grad():
    logits, values = policy(ids)
    ref_logits, _ = ref(ids)
    old_logprobs, ref_logprobs = (logprobs_from_logits(l[:, :-1, :], ids[:, 1:]) for l in (logits, ref_logits))
    values = values[:, :-1] * mask
scores = torch.tensor([1.0, -0.5, 0.3, 2.0])
kl_coef = torch.tensor(0.2)
kl = old_logprobs - ref_logprobs
rewards = -kl_coef * kl
for r, s, m in zip(rewards, scores, mask):
    r[m.nonzero()[-1]] += s
print('rewards', rewards * mask, (kl * mask).sum(axis=-1).mean())
lastgaelam, reversed_adv = 0, []
values, rewards = values * mask, rewards * mask
gen_len = rewards.shape[-1]
for t in reversed(range(gen_len)):
    nextvalues = values[:, t + 1] if t < gen_len - 1 else 0.0
    delta = rewards[:, t] + cfg.gamma * nextvalues - values[:, t]
    lastgaelam = delta + cfg.gamma * cfg.lam * lastgaelam
    reversed_adv.append(lastgaelam)
advantages = torch.stack(reversed_adv[::-1]).transpose(0, 1)
returns = advantages + values
advantages = masked_whiten(advantages, mask).detach()
optimizer = torch.optim.Adam(policy.parameters(), lr=cfg.lr, eps=1e-5)
for epoch in range(4):
    logits, vpred = policy(ids)
    logprob, vpred = logprobs_from_logits(logits[:, :-1], ids[:, 1:]), vpred[:, :-1]
    vpredclipped = clip_by_value(vpred, values - cfg.cliprange, values + cfg.cliprange)
    vf1, vf2 = (vpred - returns) ** 2, (vpredclipped - returns) ** 2
    vf_loss = .5 * masked_mean(torch.max(vf1, vf2), mask)
    ratio = torch.exp(logprob - old_logprobs)
    pg1, pg2 = -advantages * ratio, -advantages * torch.clamp(ratio, 1.0 - cfg.cliprange, 1.0 + cfg.cliprange)
    pg_loss = masked_mean(torch.max(pg1, pg2), mask)
    loss = pg_loss + cfg.vf_coef * vf_loss
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
    optimizer.step()
    clipfrac = masked_mean(torch.gt(pg2, pg1).float(), mask)
    print(epoch, dict(loss=loss.item(), pg=pg_loss.detach().item(), vf=vf_loss.detach().item(), clipfrac=clipfrac.item()),
          masked_mean(entropy_from_logits(logits[:, :-1]), mask), .5 * masked_mean((logprob - old_logprobs) ** 2, mask))
rm = nn.Linear(8, 1)
numpy_init(rm, 4)
chosen, rejected = torch.tensor(rng.normal(size=(5, 8)).astype('f')), torch.tensor(rng.normal(size=(5, 8)).astype('f'))
l = -F.logsigmoid(rm(chosen) - rm(rejected)).mean()
print(l, torch.autograd.grad(l, list(rm.parameters())), (rm(chosen) > rm(rejected)).float().mean())


def dpo(pc, pr, rc, rr, beta=0.1, label_smoothing=0.0, ipo=False):
    h = (pc - pr) - (rc - rr)
    losses = (h - 1 / (2 * beta)) ** 2 if ipo else -F.logsigmoid(beta * h) * (1 - label_smoothing) - F.logsigmoid(-beta * h) * label_smoothing
    return losses, beta * (pc - rc).detach(), beta * (pr - rr).detach()


lp = (logprobs_from_logits(policy(ids)[0][:, :-1], ids[:, 1:]) * mask).sum(-1)
lr_ = (ref_logprobs * mask).sum(-1)
for kw in ({}, {'label_smoothing': 0.1}, {'ipo': True}):
    losses, a, b = dpo(*lp.split(2), *lr_.chunk(2), **kw)
    print(losses, a, b)
group = torch.tensor([[1., 0, 0, 1], [0, 0, 0, 0]])
adv = (group - group.mean(dim=1, keepdim=True)) / (group.std(dim=1, keepdim=True) + 1e-4)
print(adv, torch.einsum('ij->j', adv), adv.view(-1).repeat_interleave(2)[:5])
