"""A classifier trained with everything that training loops have: checkpoints, accumulation, autocast, samplers, meters."""
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
import argparse, os, random, logging, math, json
import numpy as np
from torch.utils.data import (BatchSampler, ConcatDataset, DataLoader, Dataset, IterableDataset, RandomSampler, SequentialSampler, Subset,
                              SubsetRandomSampler, TensorDataset, WeightedRandomSampler, default_collate, default_convert, get_worker_info, random_split)
from torch.utils.checkpoint import checkpoint, checkpoint_sequential
from torch.optim.lr_scheduler import CosineAnnealingLR
from typing import Callable, Optional, Tuple


def set_seed(seed: int = 42) -> None:
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)
    os.environ['PYTHONHASHSEED'] = str(seed)


set_seed()
device = (
    'cuda'
    if torch.cuda.is_available() and False
    else 'mps'
    if getattr(torch.backends, 'mps', None) is not None and torch.backends.mps.is_available()
    else 'cpu'
)
print(device, torch.device(device).type, torch.__version__.split('.')[0], torch.get_num_threads() > 0)
ap = argparse.ArgumentParser()
ap.add_argument('--lr', type=float, default=0.05)
ap.add_argument('--amp', action='store_true')
args = ap.parse_args([])


class AverageMeter(object):
    def __init__(self):
        self.reset()

    def reset(self):
        self.val = self.avg = self.sum = self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count


def accuracy(output, target, topk=(1,)):
    with torch.no_grad():
        maxk = max(topk)
        bs = target.size(0)
        _, pred = output.topk(maxk, 1, True, True)
        pred = pred.t()
        correct = pred.eq(target.view(1, -1).expand_as(pred))
        return [correct[:k].reshape(-1).float().sum(0, keepdim=True).mul_(100.0 / bs) for k in topk]


class DS(Dataset):
    def __init__(self, n=24, transform: Optional[Callable] = None):
        r = np.random.RandomState(0)
        self.x = r.randn(n, 1, 6, 6).astype(np.float32)
        self.y = (self.x.mean((1, 2, 3)) > 0).astype(np.int64)
        self.transform = transform

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i: int) -> Tuple[torch.Tensor, int]:
        x = torch.from_numpy(self.x[i])
        return (self.transform(x) if self.transform else x), int(self.y[i])


class Compose:
    def __init__(self, t):
        self.t = t

    def __call__(self, x):
        for t in self.t:
            x = t(x)
        return x


ds = DS(transform=Compose([lambda x: (x - 0.1) / 0.9, lambda x: x.flip(-1)]))
tr, va = Subset(ds, range(16)), Subset(ds, list(range(16, 24)))
loader = DataLoader(tr, batch_size=4, shuffle=False, num_workers=0, pin_memory=False, drop_last=True, collate_fn=None)
vl = DataLoader(dataset=va, batch_size=8)
print(len(loader), len(loader.dataset), loader.batch_size, next(iter(loader))[0].shape, [type(b).__name__ for b in next(iter(vl))])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(kernel_size=2, stride=2)
        )
        self.mid = nn.Sequential(nn.Linear(36, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU())
        self.fc = nn.Linear(8, 2)

    def forward(self, x, ck=True):
        x = self.features(x)
        x = torch.flatten(x, 1)
        x = checkpoint_sequential(self.mid, 2, x, use_reentrant=False) if ck and self.training else self.mid(x)
        x = checkpoint(self.fc, x, use_reentrant=False) if ck else self.fc(x)
        return x


model = Net().to(device)
for i, p in enumerate(model.parameters()):
    p.data.copy_(torch.sin(torch.arange(p.numel()) * 0.9 + i).view_as(p) * 0.4 + (1 if p.dim() == 1 and i == 1 else 0))
crit = nn.CrossEntropyLoss().to(device)
opt = optim.SGD(model.parameters(), args.lr, momentum=0.9, weight_decay=1e-4, nesterov=True)
sched = CosineAnnealingLR(opt, T_max=3)
scaler = torch.amp.GradScaler('cpu', enabled=False)
best = 0.0
for epoch in range(3):
    model.train()
    losses, top1 = AverageMeter(), AverageMeter()
    for i, (images, target) in enumerate(loader):
        images, target = images.to(device, non_blocking=True), target.to(device, non_blocking=True)
        with torch.autocast(device_type='cpu', dtype=torch.bfloat16, enabled=args.amp):
            out = model(images)
            loss = crit(out, target) / 2
        scaler.scale(loss).backward()
        if (i + 1) % 2 == 0:
            scaler.unscale_(opt)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(opt)
            scaler.update()
            opt.zero_grad(set_to_none=True)
        losses.update(loss.item(), images.size(0))
        top1.update(accuracy(out, target)[0].item(), images.size(0))
    sched.step()
    model.eval()
    with torch.no_grad():
        o = torch.cat([model(x) for x, _ in vl])
        t = torch.cat([y for _, y in vl])
        acc = (o.argmax(1) == t).float().mean().item()
        vloss = F.cross_entropy(o, t, reduction='sum').item() / len(va)
    print(
        'Epoch: [{0}] Loss {loss.val:.4f} ({loss.avg:.4f}) Acc@1 {top1.avg:.3f} lr {lr:.5f} val {v:.4f} {a:.3f}'.format(
            epoch, loss=losses, top1=top1, lr=opt.param_groups[0]['lr'], v=vloss, a=acc
        )
    )
print(
    scaler.is_enabled(),
    scaler.get_scale(),
    scaler.state_dict(),
    model.features[1].running_var,
    sum(p.numel() for p in model.parameters()) / 1e6,
)
with torch.autocast('cpu', dtype=torch.bfloat16):
    y = model(images)
    print(
        y.dtype,
        (images @ images.mT).dtype,
        F.softmax(y, 1).dtype,
        y.float().dtype,
        crit(y, target).dtype,
        torch.is_autocast_enabled('cpu'),
        torch.get_autocast_dtype('cpu'),
        images.sum().dtype,
        torch.exp(y).dtype,
        F.layer_norm(y, (2,)).dtype,
        torch.cat([y, y.float()]).dtype,
        F.mse_loss(y, y).dtype,
        nn.LSTM(2, 2)(y)[0].dtype,
        torch.linalg.inv(torch.eye(2)).dtype,
    )
    with torch.autocast('cpu', enabled=False):
        print(
            torch.is_autocast_enabled('cpu'),
            torch.get_autocast_dtype('cpu'),
            model(images).dtype,
            torch.is_autocast_cpu_enabled(),
            torch.get_autocast_cpu_dtype(),
        )
    with torch.autocast('cpu', dtype=torch.float16):
        print(torch.get_autocast_dtype('cpu'), (images @ images.mT).dtype, torch.get_autocast_gpu_dtype())
    with torch.autocast('cuda', dtype=torch.bfloat16, enabled=False):
        print(torch.get_autocast_dtype('cpu'), torch.get_autocast_dtype('cuda'), torch.is_autocast_enabled())
print(torch.get_autocast_dtype('cpu'), torch.get_autocast_dtype('cuda'), torch.is_autocast_enabled('cpu'))
for s in (
    RandomSampler(range(5), replacement=True, num_samples=7),
    SubsetRandomSampler([1, 3]),
    SequentialSampler(range(3)),
    WeightedRandomSampler([0.1, 0.9], 4),
    BatchSampler(SequentialSampler(range(5)), 2, False),
):
    print(type(s).__name__, len(s), len(list(s)))
g = torch.Generator().manual_seed(0)
a, b = random_split(range(10), [7, 3], generator=g)
print(len(a), len(b), sorted([*a, *b]), [len(x) for x in random_split(range(10), [0.5, 0.3, 0.2])])
cd = ConcatDataset([TensorDataset(torch.arange(3)), TensorDataset(torch.arange(3, 5))])
print(len(cd), cd[4], cd.cumulative_sizes, cd[-1])
print(
    default_collate([{'a': 1, 'b': torch.ones(1), 'c': 's', 'd': [1.0, 2.0]}, {'a': 2, 'b': torch.zeros(1), 'c': 't', 'd': [3.0, 4.0]}]),
    default_collate([(1, 2.0), (3, 4.0)]),
    default_collate([np.ones(1), np.zeros(1)]),
    default_collate(['a', 'b']),
    default_convert({'a': np.ones(1)}),
)


class It(IterableDataset):
    def __iter__(self):
        w = get_worker_info()
        return iter(range(5)) if w is None else iter(range(w.id, 5, w.num_workers))


print(
    [b.tolist() for b in DataLoader(It(), batch_size=2)],
    sorted(int(x) for x in DataLoader(It(), batch_size=None)),
    [x for x in DataLoader(range(4), batch_size=None)],
    [b for b in DataLoader([1, 2, 3], batch_sampler=[[0, 2], [1]])],
    [x.tolist() for x in DataLoader(range(5), batch_size=2, sampler=[4, 3, 1])],
    list(DataLoader(TensorDataset(torch.ones(2, 1), torch.zeros(2)), 2))[0],
)
print(
    json.dumps({'loss': loss.item(), 'n': int(target.sum())})[:9],
    logging.getLogger('x').isEnabledFor(10),
    torch.initial_seed() == 42,
    math.isclose(torch.tensor(0.1).item(), 0.1, rel_tol=1e-6),
)
