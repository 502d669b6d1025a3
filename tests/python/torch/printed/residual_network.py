"""A residual network on drawn shapes: transforms by hand, meters, accuracy of the best k, a confusion matrix."""
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import Dataset, DataLoader, Subset, random_split, ConcatDataset


def numpy_init(model, seed=0, scale=0.1):
    """The same first weights whoever draws them."""
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.tensor(rng.uniform(-scale, scale, tuple(p.shape))).to(p.dtype))
    return model


class Compose:
    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, img):
        for t in self.transforms:
            img = t(img)
        return img


class ToTensor:
    def __call__(self, pic):
        img = torch.from_numpy(pic.transpose((2, 0, 1))).contiguous()
        if isinstance(img, torch.ByteTensor):
            return img.to(dtype=torch.get_default_dtype()).div(255)
        return img


class Normalize:
    def __init__(self, mean, std, inplace=False):
        self.mean, self.std, self.inplace = mean, std, inplace

    def __call__(self, tensor):
        if not self.inplace:
            tensor = tensor.clone()
        dtype = tensor.dtype
        mean = torch.as_tensor(self.mean, dtype=dtype, device=tensor.device)
        std = torch.as_tensor(self.std, dtype=dtype, device=tensor.device)
        if (std == 0).any():
            raise ValueError('std evaluated to zero')
        if mean.ndim == 1:
            mean = mean.view(-1, 1, 1)
        if std.ndim == 1:
            std = std.view(-1, 1, 1)
        return tensor.sub_(mean).div_(std)

    def __repr__(self):
        return f'{self.__class__.__name__}(mean={self.mean}, std={self.std})'


class Shapes(Dataset):
    def __init__(self, n, transform=None, target_transform=None):
        rng = np.random.default_rng(0)
        self.images = rng.integers(0, 60, (n, 16, 16, 3), dtype=np.uint8)
        self.targets = []
        for i in range(n):
            c = i % 4
            y, x = rng.integers(0, 8, 2)
            if c == 0:
                self.images[i, y:y + 8, x:x + 8, 0] = 255
            elif c == 1:
                self.images[i, y:y + 8, x, :] = 255
            elif c == 2:
                self.images[i, y, x:x + 8, :] = 200
            else:
                self.images[i, ::2, :, 2] = 255
            self.targets.append(c)
        self.classes = ['square', 'vline', 'hline', 'stripes']
        self.transform, self.target_transform = transform, target_transform

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, idx):
        if torch.is_tensor(idx):
            idx = idx.tolist()
        img, target = self.images[idx], self.targets[idx]
        if self.transform:
            img = self.transform(img)
        return img, target


class BasicBlock(nn.Module):
    expansion: int = 1

    def __init__(self, inplanes, planes, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, kernel_size=3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.downsample = None
        if stride != 1 or inplanes != planes:
            self.downsample = nn.Sequential(nn.Conv2d(inplanes, planes, 1, stride, bias=False), nn.BatchNorm2d(planes))

    def forward(self, x):
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self, num_classes=4):
        super().__init__()
        self.inplanes = 8
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 1, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU(True), nn.MaxPool2d(kernel_size=3, stride=2, padding=1))
        self.layer1 = self._make_layer(8, 1)
        self.layer2 = self._make_layer(16, 1, stride=2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(16, num_classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode='fan_out', nonlinearity='relu')
            elif isinstance(m, (nn.BatchNorm2d, nn.GroupNorm)):
                nn.init.constant_(m.weight, 1)
                nn.init.constant_(m.bias, 0)

    def _make_layer(self, planes, blocks, stride=1):
        layers = [BasicBlock(self.inplanes, planes, stride)]
        self.inplanes = planes
        for _ in range(1, blocks):
            layers.append(BasicBlock(self.inplanes, planes))
        return nn.Sequential(*layers)

    def forward(self, x):
        x = self.layer2(self.layer1(self.stem(x)))
        return self.fc(torch.flatten(self.avgpool(x), 1))


class AverageMeter(object):
    def __init__(self, name, fmt=':f'):
        self.name, self.fmt = name, fmt
        self.reset()

    def reset(self):
        self.val = self.avg = self.sum = self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count

    def __str__(self):
        return ('{name} {val' + self.fmt + '} ({avg' + self.fmt + '})').format(**self.__dict__)


def accuracy(output, target, topk=(1,)):
    with torch.no_grad():
        maxk = max(topk)
        batch_size = target.size(0)
        _, pred = output.topk(maxk, 1, True, True)
        pred = pred.t()
        correct = pred.eq(target.view(1, -1).expand_as(pred))
        return [correct[:k].reshape(-1).float().sum(0, keepdim=True).mul_(100.0 / batch_size) for k in topk]


device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
torch.manual_seed(0)
tf = Compose([ToTensor(), Normalize((0.5, 0.5, 0.5), (0.25, 0.25, 0.25))])
print(tf.transforms[1])
ds = Shapes(64, tf)
train = Subset(ds, list(range(48)))
val = Subset(ds, range(48, 64))
loader = DataLoader(train, batch_size=16, shuffle=False, num_workers=0, pin_memory=False, drop_last=True)
model = ResNet().to(device)
numpy_init(model, 0, 0.3)
print(model)
criterion = nn.CrossEntropyLoss(label_smoothing=0.1).to(device)
optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4, nesterov=True)
scheduler = optim.lr_scheduler.MultiStepLR(optimizer, milestones=[2, 3], gamma=0.1)
for epoch in range(4):
    losses, top1, top3 = AverageMeter('Loss', ':.4f'), AverageMeter('Acc@1', ':6.2f'), AverageMeter('Acc@3', ':6.2f')
    model.train()
    for i, (images, target) in enumerate(loader):
        images, target = images.to(device, non_blocking=True), target.to(device, non_blocking=True)
        output = model(images)
        loss = criterion(output, target)
        acc1, acc3 = accuracy(output, target, topk=(1, 3))
        losses.update(loss.item(), images.size(0))
        top1.update(acc1[0], images.size(0))
        top3.update(acc3[0].item(), images.size(0))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    scheduler.step()
    print(epoch, losses, top1, top3, scheduler.get_last_lr(), optimizer.param_groups[0]['lr'])
model.eval()
confusion = torch.zeros(4, 4, dtype=torch.int64)
with torch.no_grad():
    for images, target in DataLoader(val, batch_size=5):
        _, predicted = torch.max(model(images).data, 1)
        for t, p in zip(target.view(-1), predicted.view(-1)):
            confusion[t.long(), p.long()] += 1
print(confusion.sum(), confusion.dtype, confusion.sum(1))
print((confusion.diag() / confusion.sum(1).clamp(min=1)).shape)
print(optimizer)
print(sum(p.numel() for p in model.parameters() if p.requires_grad), len(list(model.buffers())))
print(model.stem[1].num_batches_tracked, model.stem[1].running_mean)
print([tuple(x.shape) for x in model.state_dict().values()][:6])
a, b = random_split(ds, [0.75, 0.25], generator=torch.Generator().manual_seed(42))
print(len(a), len(b), len(ConcatDataset([a, b])), type(a).__name__)
