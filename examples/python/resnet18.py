"""ResNet-18 (He et al. 2015, arXiv:1512.03385) on Fashion-MNIST, with random crops and mirrored images.

    python resnet18.py                     many minutes on two cores; each epoch 60,000 images
    python resnet18.py --width 16          a network a fourth as wide, a tenth of the time
    python resnet18.py --short             some seconds

The images are small, so the network begins with a 3×3 convolution and does not pool at once, like the paper's networks for CIFAR.
To reach: 94 % of the test images, with --width 64.
"""
import time

import common
import tenon
from tenon import data, nn, optim


def convolution(a, b, size, stride=1):
    return nn.Sequential(nn.Conv2d(a, b, size, stride, size // 2, bias=False), nn.BatchNorm2d(b))


class Block(nn.Module):
    """Two convolutions whose result is added to their input; where sizes change, the input goes through a 1×1 convolution."""

    def __init__(self, before, width, stride):
        super().__init__()
        self.first, self.second = convolution(before, width, 3, stride), convolution(width, width, 3)
        self.short = nn.Identity() if stride == 1 and before == width else convolution(before, width, 1, stride)

    def forward(self, x):
        return (self.second(self.first(x).relu()) + self.short(x)).relu()


class ResNet18(nn.Module):
    def __init__(self, width=64, classes=10):
        super().__init__()
        widths = [width, 2 * width, 4 * width, 8 * width]
        self.begin = convolution(1, width, 3)
        self.blocks = nn.Sequential(*[Block(widths[max(i - (j == 0), 0)], w, 2 if i and not j else 1)
                                      for i, w in enumerate(widths) for j in range(2)])
        self.out = nn.Linear(8 * width, classes)

    def forward(self, x):
        return self.out(self.blocks(self.begin(x).relu()).mean([2, 3]))


def augment(images):
    """Each image (N, 1, H, W) shifted by up to two pixels, half of them mirrored."""
    n, _, h, w = images.shape
    wide = tenon.pad(images, [2, 2, 2, 2])
    rows = tenon.randint((n, 1), 0, 5) + tenon.arange(h)
    columns = tenon.randint((n, 1), 0, 5) + tenon.arange(w)
    columns = tenon.where(tenon.rand(n, 1) < 0.5, columns, columns.flip(1))
    return wide[tenon.arange(n)[:, None, None], 0, rows[:, :, None], columns[:, None, :]].unsqueeze(1)


def normalise(images):
    return (images - 0.2860) / 0.3530


@tenon.no_grad()
def accuracy(net, images, labels, device):
    """The share of right answers, each averaged over an image and its mirror image."""
    net.eval()
    right = 0
    for x, y in data.DataLoader(data.TensorDataset(images, labels), batch_size=500):
        x = normalise(x.to(device))
        right += ((net(x) + net(x.flip(3))).argmax(1).cpu() == y).sum().item()
    net.train()
    return right / len(labels)


def main():
    p = common.parser(__doc__)
    p.add_argument('--data', default='/usr/share/datasets/fashion-mnist', help='folder of the four .gz files')
    p.add_argument('--steps', type=int, help='fewer than the epochs have')
    p.add_argument('--epochs', type=int, default=15)
    p.add_argument('--batch-size', type=int, default=128)
    p.add_argument('--width', type=int, default=64, help='channels of the first blocks')
    p.add_argument('--lr', type=float, default=0.1)
    p.add_argument('--reach', type=float, default=0.94)
    o = common.parse(p, short=dict(epochs=2, steps=62, width=8, batch_size=64, lr=0.05, reach=0.6))

    images, labels = common.clothes(o, count=2000 if o.short else None)
    test_images, test_labels = common.clothes(o, train=False, count=500 if o.short else None)
    net = ResNet18(o.width).to(o.device)
    print(f'{len(labels)} images to learn from, {len(test_labels)} to test with; {net.parameter_count()} parameters')
    optimizer = optim.SGD(net.parameters(), lr=o.lr, momentum=0.9, weight_decay=5e-4, nesterov=True)
    loader = data.DataLoader(data.TensorDataset(images, labels), batch_size=o.batch_size, shuffle=True, seed=o.seed, drop_last=True)
    steps = min(o.steps or o.epochs * len(loader), o.epochs * len(loader))
    schedule = optim.OneCycleLR(optimizer, o.lr, max(steps, 2))
    step, start = 0, time.perf_counter()
    with common.Curve(o, 'loss', every=5 if o.short else 50, steps=steps, state=net.state_dict) as curve:
        for epoch in range(1, o.epochs + 1):
            for x, y in loader:
                if step == steps:
                    break
                step += 1
                loss = nn.functional.cross_entropy(net(normalise(augment(x)).to(o.device)), y.to(o.device), label_smoothing=0.05)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
                curve.add(step, loss=loss.item())
            found = accuracy(net, test_images, test_labels, o.device)
            print(f'epoch {epoch}: test accuracy {100 * found:.2f} %, {time.perf_counter() - start:.0f} s')
    common.figure('test accuracy', found, o.reach)


if __name__ == '__main__':
    main()
