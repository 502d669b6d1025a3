"""Trains a decoder with rotary embeddings, grouped heads and checkpointed layers, and writes with it: a cache of keys, beams, samples."""
import numpy as np
import torch
import torch.nn.functional as F
import torch.utils.checkpoint
from torch import nn

VOCAB, WIDTH, HEADS, GROUPS = 40, 32, 4, 2
SIZE = WIDTH // HEADS


class RMSNorm(nn.Module):
    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(width)), eps

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x)


def precompute_freqs_cis(dim, end, theta=10000.0):
    freqs = 1.0 / (theta ** (torch.arange(0, dim, 2)[: (dim // 2)].float() / dim))
    freqs = torch.outer(torch.arange(end, device=freqs.device, dtype=torch.float32), freqs)
    return torch.polar(torch.ones_like(freqs), freqs)


def rotated(x, freqs_cis):
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * freqs_cis[None, :, None, :]).flatten(3).type_as(x)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.wq = nn.Linear(WIDTH, HEADS * SIZE, bias=False)
        self.wk, self.wv = (nn.Linear(WIDTH, GROUPS * SIZE, bias=False) for _ in range(2))
        self.wo = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x, freqs_cis, cache=None):
        b, n, _ = x.shape
        q, k, v = (layer(x).view(b, n, -1, SIZE) for layer in (self.wq, self.wk, self.wv))
        q, k, v = rotated(q, freqs_cis).transpose(1, 2), rotated(k, freqs_cis).transpose(1, 2), v.transpose(1, 2)
        if cache is not None:
            if 'k' in cache:
                k, v = torch.cat([cache['k'], k], dim=-2), torch.cat([cache['v'], v], dim=-2)
            cache['k'], cache['v'] = k, v
        k, v = (each[:, :, None].expand(-1, -1, HEADS // GROUPS, -1, -1).reshape(b, HEADS, -1, SIZE) for each in (k, v))
        out = F.scaled_dot_product_attention(q, k, v, is_causal=n > 1)
        return self.wo(out.transpose(1, 2).contiguous().view(b, n, -1))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.norm1, self.norm2 = Attention(), RMSNorm(WIDTH), RMSNorm(WIDTH)
        self.w1, self.w3 = (nn.Linear(WIDTH, 2 * WIDTH, bias=False) for _ in range(2))
        self.w2 = nn.Linear(2 * WIDTH, WIDTH, bias=False)

    def forward(self, x, freqs_cis, cache=None):
        x = x + self.attention(self.norm1(x), freqs_cis, cache)
        h = self.norm2(x)
        return x + self.w2(F.silu(self.w1(h)) * self.w3(h))


class Decoder(nn.Module):
    def __init__(self, layers=2):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, WIDTH)
        self.layers = nn.ModuleList(Block() for _ in range(layers))
        self.norm, self.head = RMSNorm(WIDTH), nn.Linear(WIDTH, VOCAB, bias=False)
        self.head.weight = self.embed.weight
        self.register_buffer('freqs_cis', precompute_freqs_cis(SIZE, 64), persistent=False)

    def forward(self, tokens, caches=None):
        start = caches[0]['k'].shape[-2] if caches and 'k' in caches[0] else 0
        x, freqs = self.embed(tokens), self.freqs_cis[start:start + tokens.shape[1]]
        for i, layer in enumerate(self.layers):
            if self.training:
                x = torch.utils.checkpoint.checkpoint(layer, x, freqs, use_reentrant=False)
            else:
                x = layer(x, freqs, caches[i] if caches else None)
        return self.head(self.norm(x))


@torch.inference_mode()
def greedy(model, tokens, steps):
    caches, new = [{} for _ in model.layers], tokens
    for _ in range(steps):
        new = model(new, caches)[:, -1:].argmax(-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


@torch.no_grad()
def beams(model, tokens, steps, width=3):
    b, caches = tokens.shape[0], [{} for _ in model.layers]
    tokens = new = tokens.repeat_interleave(width, 0)
    scores = torch.full((b, width), -1e9)
    scores[:, 0] = 0.0
    for _ in range(steps):
        found = F.log_softmax(model(new, caches)[:, -1], dim=-1).view(b, width, -1) + scores[..., None]
        scores, best = found.view(b, -1).topk(width)
        rows = (torch.arange(b)[:, None] * width + torch.div(best, VOCAB, rounding_mode='floor')).view(-1)
        new = (best % VOCAB).view(-1, 1)
        tokens = torch.cat([tokens[rows], new], dim=1)
        for cache in caches:
            cache.update((key, value.index_select(0, rows)) for key, value in cache.items())
    return tokens, scores


def likely(logits, seen, top_k=10, top_p=0.8, penalty=1.3):
    """The probabilities that a sampler with these filters draws from."""
    score = torch.gather(logits, 1, seen)
    logits = logits.scatter(1, seen, torch.where(score < 0, score * penalty, score / penalty))
    logits = logits.masked_fill(logits < torch.topk(logits, top_k)[0][..., -1, None], -float('inf'))
    ordered, places = torch.sort(logits, descending=True)
    drop = ordered.softmax(-1).cumsum(-1) > top_p
    drop[..., 1:] = drop[..., :-1].clone()
    drop[..., 0] = False
    return logits.masked_fill(drop.scatter(1, places, drop), -float('inf')).softmax(-1)


def main():
    rng = np.random.default_rng(0)
    model = Decoder()
    with torch.no_grad():
        for p in model.parameters():
            if p.dim() > 1:
                p.copy_(torch.from_numpy(rng.normal(0, 0.15, tuple(p.shape)).astype('f')))
    text = torch.from_numpy((np.arange(400) * 7 % 31 + rng.integers(0, 3, 400)) % VOCAB)
    groups = [{'params': [p for p in model.parameters() if p.dim() > 1], 'weight_decay': 0.1},
              {'params': [p for p in model.parameters() if p.dim() < 2], 'weight_decay': 0.0}]
    optimizer, losses = torch.optim.AdamW(groups, lr=3e-3, betas=(0.9, 0.95)), []
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, total_steps=12, pct_start=0.3)
    for _ in range(12):
        for _ in range(2):  # gradients of two batches
            starts = rng.integers(0, 380, 4)
            x, y = (torch.stack([text[i + shift:i + shift + 16] for i in starts]) for shift in (0, 1))
            loss = F.cross_entropy(model(x).view(-1, VOCAB), y.view(-1), ignore_index=-1) / 2
            loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.item())
    model.eval()
    written, (tokens, scores) = greedy(model, x[:2, :5], 10), beams(model, x[:2, :5], 6)
    agree = torch.equal(written[:, -1], model(written[:, :-1].clone())[:, -1].argmax(-1))
    return losses, [written.tolist(), agree, tokens.tolist(), scores.tolist(), likely(model(x)[:, -1].detach(), x).tolist()]
