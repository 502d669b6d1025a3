"""Subclassing: a module, a dataset, a function with a custom gradient, and a hook.

    python custom_module.py --steps 300

A residual network with a learned activation finds y = sin(3x)·x at 256 points.
"""
import argparse
import math

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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--steps', type=int, default=300)
    parser.add_argument('--seed', type=int, default=1)
    o = parser.parse_args()

    x = tenon.tensor([0.5, -1.0], dtype=tenon.float64, requires_grad=True)
    beta = tenon.tensor(1.5, dtype=tenon.float64, requires_grad=True)
    print('gradient of Swish is right:', tenon.testing.gradcheck(Swish.apply, (x, beta)))

    tenon.manual_seed(o.seed)
    net = Net()
    print(net)
    shapes = []

    def note(module, args, output):
        shapes.append(output.shape)
    handle = net.blocks[0].register_forward_hook(note)
    net(tenon.zeros((5, 1)))
    handle.remove()
    print(f'the hook saw {shapes}')
    optimizer = optim.AdamW(net.parameters(), lr=5e-3)
    loader = data.DataLoader(Curve(256), batch_size=64, shuffle=True, seed=o.seed)
    step, first = 0, None
    while step < o.steps:
        for x, y in loader:
            loss = nn.functional.mse_loss(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optim.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            first = loss.item() if first is None else first
            step += 1
    print(f'loss {first:.4f} at first, {loss.item():.4f} after {step} steps')


if __name__ == '__main__':
    main()
