"""Lines of many a paper: an optimizer and a schedule of one's own, a variational autoencoder, contrastive and distilled losses, rotary
positions, nucleus sampling, boxes, returns and sums over the edges of a graph.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, StepLR, _LRScheduler


def filled(module):
    with torch.no_grad():
        for i, p in enumerate(module.parameters()):
            p.copy_(torch.linspace(-0.4, 0.5, p.numel()).reshape(p.shape) * (1 + i % 3))
    return module


class Lion(Optimizer):
    def __init__(self, params, lr=1e-2, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, {'lr': lr, 'betas': betas, 'weight_decay': weight_decay})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group['params']:
                if p.grad is None:
                    continue
                state = self.state[p]
                if len(state) == 0:
                    state['exp_avg'] = torch.zeros_like(p)
                mean, (first, second) = state['exp_avg'], group['betas']
                p.mul_(1 - group['lr'] * group['weight_decay'])
                p.add_(torch.sign(mean * first + p.grad * (1 - first)), alpha=-group['lr'])
                mean.mul_(second).add_(p.grad, alpha=1 - second)
        return loss


class Warm(LRScheduler):
    def __init__(self, optimizer, steps, last_epoch=-1):
        self.steps = steps
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return [base * min(1.0, (self.last_epoch + 1) / self.steps) for base in self.base_lrs]


net = filled(nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)))
optimizer = Lion(net.parameters(), weight_decay=0.1)
schedule = Warm(optimizer, 3)
x, labels = torch.linspace(-1, 1, 12).reshape(4, 3), torch.tensor([0, 1, 0, 1])
for epoch in range(5):
    optimizer.zero_grad()
    loss = F.cross_entropy(net(x), labels)
    loss.backward()
    optimizer.step()
    schedule.step()
    print(epoch, loss, schedule.get_last_lr(), optimizer.param_groups[0]['lr'])
print(optimizer, len(optimizer.state), optimizer.state_dict().keys(), isinstance(StepLR(optimizer, 1), _LRScheduler))

print('variational autoencoder')


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(4, 4), nn.Linear(2, 4)

    def forward(self, x, noise):
        mu, log_variance = self.encoder(x).chunk(2, dim=-1)
        return torch.sigmoid(self.decoder(mu + noise * torch.exp(0.5 * log_variance))), mu, log_variance


vae, images = filled(VAE()), torch.linspace(0, 1, 8).reshape(2, 4)
optimizer = torch.optim.Adam(vae.parameters(), 1e-2)
for _ in range(3):
    decoded, mu, log_variance = vae(images, torch.tensor([[0.1, -0.2], [0.3, 0.4]]))
    likelihood = F.binary_cross_entropy(decoded, images, reduction='sum')
    divergence = -0.5 * torch.sum(1 + log_variance - mu.pow(2) - log_variance.exp())
    loss = likelihood + divergence
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f'{loss.item():.4f}', likelihood, divergence, mu)

print('contrast, distillation, tied weights, accumulation')
a = torch.linspace(-1, 1, 6).reshape(2, 3).requires_grad_()
both = F.normalize(torch.cat([a, torch.linspace(1, 2, 6).reshape(2, 3)]), dim=1)
similar = both @ both.t() / 0.5
similar.fill_diagonal_(float('-inf'))
loss = F.cross_entropy(similar, torch.tensor([2, 3, 0, 1]))
loss.backward()
print(loss, a.grad)
student, teacher = torch.tensor([[1.0, 2.0, 3.0]], requires_grad=True), torch.tensor([[2.0, 1.0, 0.0]])
loss = F.kl_div(F.log_softmax(student / 2, 1), F.softmax(teacher / 2, 1), reduction='batchmean') * 4
loss.backward()
print(loss, student.grad)
table, out = nn.Embedding(5, 3), nn.Linear(3, 5, bias=False)
out.weight = table.weight
loss = F.cross_entropy(filled(out)(table(torch.tensor([0, 1]))), torch.tensor([1, 2]))
loss.backward()
print(loss, table.weight.grad, len(list(nn.ModuleList([table, out]).parameters())))
net[0].requires_grad_(False)
net.zero_grad()
optimizer = torch.optim.SGD(filter(lambda p: p.requires_grad, net.parameters()), lr=0.1, momentum=0.9)
for i in range(4):
    (F.cross_entropy(net(x[i:i + 1]), labels[i:i + 1]) / 2).backward()
    if i % 2:
        optimizer.step()
        optimizer.zero_grad()
print(net[2].weight, net[2].bias, [p.grad is None for p in net.parameters()])
with torch.no_grad():
    p = net(x).softmax(-1)
    confidence, predicted = p.max(-1)
    print(p, confidence, predicted, (predicted == labels).float().mean(), torch.eye(2)[predicted], -(p * p.log()).sum(-1))
    print(p[torch.arange(4), labels], p.gather(1, labels.unsqueeze(1)).squeeze(1), list(zip(predicted.tolist(), labels.tolist())))
confusion = torch.zeros(2, 2, dtype=torch.long)
for t, q in zip(labels, predicted):
    confusion[t, q] += 1
print(confusion, confusion.diag().sum() / confusion.sum(), confusion / confusion.sum(1, keepdim=True))

print('attention and positions')
q = torch.linspace(-1, 1, 24).reshape(1, 2, 3, 4)
k, v = q.flip(2), q * 2
attention = torch.softmax(q @ k.transpose(-2, -1) / 4 ** 0.5 + torch.full((3, 3), float('-inf')).triu(1), -1)
print(attention, attention @ v, F.scaled_dot_product_attention(q, k, v, is_causal=True))
position, scale = torch.arange(4).unsqueeze(1), torch.exp(torch.arange(0, 6, 2) * (-torch.log(torch.tensor(10000.0)) / 6))
waves = torch.zeros(4, 6)
waves[:, 0::2], waves[:, 1::2] = torch.sin(position * scale), torch.cos(position * scale)
print(waves)
angles = torch.outer(torch.arange(3.0), 1 / 10000 ** (torch.arange(0, 4, 2) / 4))
turned = torch.view_as_complex(q.reshape(1, 2, 3, 2, 2)) * torch.polar(torch.ones_like(angles), angles)
print(torch.view_as_real(turned).flatten(3))
mask = torch.tensor([[1, 1, 0]]).bool()
print((q[0] * mask[0, :, None]).sum(1) / mask.sum(), q[0].masked_fill(~mask[..., None], 0).sum(), torch.where(mask, 1.0, -1e9))

print('sampling, returns, boxes, graphs')
logits = torch.tensor([1.0, 3.0, 2.0, 0.0])
ordered, order = torch.sort(logits, descending=True)
removed = ordered.softmax(0).cumsum(0) > 0.8
removed[1:] = removed[:-1].clone()
removed[0] = False
logits[order[removed]] = -float('inf')
print(logits, removed, logits.softmax(0))
total, returns = 0.0, []
for reward in reversed([1.0, 0.0, 2.0]):
    total = reward + 0.9 * total
    returns.insert(0, total)
returns = torch.tensor(returns)
print((returns - returns.mean()) / (returns.std() + 1e-8))
boxes = torch.tensor([[0.0, 0.0, 2.0, 2.0], [1.0, 1.0, 3.0, 3.0]])
top, bottom = torch.max(boxes[:, None, :2], boxes[None, :, :2]), torch.min(boxes[:, None, 2:], boxes[None, :, 2:])
common, area = (bottom - top).clamp(min=0).prod(-1), (boxes[:, 2:] - boxes[:, :2]).prod(1)
print(common / (area[:, None] + area - common))
source, target, features = torch.tensor([0, 1, 2, 2]), torch.tensor([1, 2, 0, 1]), torch.arange(6.0).reshape(3, 2)
degree = torch.zeros(3).scatter_add_(0, target, torch.ones(4))
print(torch.zeros(3, 2).index_add_(0, target, features[source]) / degree.clamp(min=1).unsqueeze(1))
print(torch.zeros(3, 2).scatter_reduce(0, target.unsqueeze(1).expand(-1, 2), features[source], 'amax', include_self=False))
