"""A network too large for one device, half of it on another (Huang et al. 2018, arXiv:1811.06965): layers move, and tensors follow.

    python two_devices.py --device cpu --second vulkan:0
    python two_devices.py --device cpu --second gpusim:0

Each half is where its weights are; between them is one `to`, through which gradients flow back. Batches are processed in parts, so that
on asynchronous devices one half computes while the other works on the previous part. For comparison the same network is trained on one
device.
To reach: both have the same losses, to 1e-4.
"""
import common
import tenon
from tenon import nn, optim


class Halves(nn.Module):
    def __init__(self, first, second, devices, parts):
        super().__init__()
        self.first, self.second, self.devices, self.parts = first.to(devices[0]), second.to(devices[1]), devices, parts

    def forward(self, x):
        """(N, …) in, on the first device; logits on the second."""
        return tenon.concat([self.second(self.first(part).to(self.devices[1])) for part in x.chunk(self.parts)])


def halves():
    first = nn.Sequential(nn.Flatten(), nn.Linear(784, 256), nn.ReLU(), nn.LayerNorm(256))
    return first, nn.Sequential(nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10))


def train(net, optimizer, x, labels):
    """The loss of a step; labels are on the device of the logits."""
    loss = nn.functional.cross_entropy(net(x), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def main():
    p = common.parser(__doc__)
    p.add_argument('--second', help='the device of the second half (default: another one where there is one)')
    p.add_argument('--data', default='/usr/share/datasets/fashion-mnist', help='folder of the four .gz files')
    p.add_argument('--steps', type=int, default=200)
    p.add_argument('--batch-size', type=int, default=64)
    p.add_argument('--parts', type=int, default=2, help='of a batch')
    p.add_argument('--lr', type=float, default=0.1)
    p.add_argument('--reach', type=float, default=1e-4)
    o = common.parse(p, short=dict(steps=10, batch_size=16))
    others = [device.id for device in tenon.devices() if device.id != o.device.id]
    second = tenon.device(o.second or (others[0] if others else o.device.id))
    print(f'first half on {o.device}, second on {second}')
    images, labels = common.clothes(o, count=10000)

    split = Halves(*halves(), (o.device, second), o.parts)
    whole = nn.Sequential(*halves()).to(o.device)
    with tenon.no_grad():  # start from the same weights
        for a, b in zip(whole.parameters(), [*split.first.parameters(), *split.second.parameters()]):
            a[...] = b.to(a.device)
    optimizers = [optim.SGD(net.parameters(), lr=o.lr, momentum=0.9) for net in (split, whole)]
    worst = 0.0
    with common.Curve(o, 'loss', every=5 if o.short else 50, steps=o.steps) as curve:
        for step in range(1, o.steps + 1):
            some = tenon.randint((o.batch_size,), 0, len(images))
            x, y = images[some].to(o.device), labels[some]
            a, b = train(split, optimizers[0], x, y.to(second)), train(whole, optimizers[1], x, y.to(o.device))
            worst = max(worst, abs(a - b) / b)
            curve.add(step, loss=a, whole=b)
    common.figure('largest relative difference of the losses:', worst, o.reach, at_most=True)


if __name__ == '__main__':
    main()
