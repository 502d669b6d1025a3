"""Subclassing: a module, a dataset, a function with a custom gradient, and a hook.

    python custom_module.py              some seconds
    python custom_module.py --short

A residual network with a learned activation, whose gradient is compared with differences, finds y = sin(3x)·x at 256 points.
To reach: a mean squared error of 0.001 over the curve. Writes the loss as it falls.
"""
import math

import common
import tenon
from tenon import data, nn, optim
from tenon.autograd import Function


class Curve(data.Dataset):
    """Points of the curve, made on demand."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        x = 4 * index / self.count - 2
        return tenon.tensor([x]), tenon.tensor([math.sin(3 * x) * x])


class Swish(Function):
    """x·sigmoid(beta·x) with a handwritten gradient."""

    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x, beta)
        return x * (x * beta).sigmoid()

    @staticmethod
    def backward(ctx, gradient):
        x, beta = ctx.saved_tensors
        s = (x * beta).sigmoid()
        slope = s * (1 - s) * x
        return gradient * (s + beta * slope), (gradient * x * slope).sum()


class Residual(nn.Module):
    """x + W₂·swish(W₁·norm(x)), where the slope of the swish is learned too."""

    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.first = nn.Linear(width, 2 * width)
        self.second = nn.Linear(2 * width, width)
        self.beta = nn.Parameter(tenon.tensor(1.0))

    def forward(self, x):
        return x + self.second(Swish.apply(self.first(self.norm(x)), self.beta))


class Net(nn.Module):
    def __init__(self, width=32, depth=2):
        super().__init__()
        self.inside = nn.Linear(1, width)
        self.blocks = nn.ModuleList([Residual(width) for _ in range(depth)])
        self.outside = nn.Linear(width, 1)
        self.register_buffer('scale', tenon.tensor(2.0))  # saved and moved with the weights, but not trained

    def forward(self, x):
        x = self.inside(x / self.scale)
        for block in self.blocks:
            x = block(x)
        return self.outside(x)


def main():
    p = common.parser(__doc__)
    p.add_argument('--steps', type=int, default=600)
    p.add_argument('--lr', type=float, default=5e-3)
    p.add_argument('--reach', type=float, default=0.001)
    o = common.parse(p, short=dict(steps=100, reach=0.1))

    x = tenon.tensor([0.5, -1.0], dtype=tenon.float64, requires_grad=True)
    beta = tenon.tensor(1.5, dtype=tenon.float64, requires_grad=True)
    print('gradient of Swish is right:', tenon.testing.gradcheck(Swish.apply, (x, beta)))

    net = Net().to(o.device)
    print(net)
    shapes = []

    def note(module, args, output):
        shapes.append(output.shape)
    handle = net.blocks[0].register_forward_hook(note)
    net(tenon.zeros((5, 1), device=o.device))
    handle.remove()
    print(f'the hook saw {shapes}')
    optimizer = optim.AdamW(net.parameters(), lr=o.lr)
    schedule = optim.OneCycleLR(optimizer, o.lr, max(o.steps, 2))
    loader, step = data.DataLoader(Curve(256), batch_size=64, shuffle=True, seed=o.seed), 0
    with common.Curve(o, 'loss', every=20 if o.short else 100, steps=o.steps) as curve:
        while step < o.steps:
            for x, y in loader:
                if step == o.steps:
                    break
                step += 1
                loss = nn.functional.mse_loss(net(x.to(o.device)), y.to(o.device))
                optimizer.zero_grad()
                loss.backward()
                optim.clip_grad_norm_(net.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                curve.add(step, loss=loss.item())
    x, y = next(iter(data.DataLoader(Curve(256), batch_size=256)))
    with tenon.no_grad():
        error = nn.functional.mse_loss(net(x.to(o.device)), y.to(o.device)).item()
    common.figure('mean squared error', error, o.reach, at_most=True)


if __name__ == '__main__':
    main()
