"""A diffusion model draws clothes from noise: DDPM (Ho et al. 2020, arXiv:2006.11239) with a cosine schedule (Nichol & Dhariwal 2021).

    python diffusion.py                  ten minutes on two cores
    python diffusion.py --short          some seconds

Noise is added to an image in many small steps; a U-Net (Ronneberger et al. 2015) learns to predict that noise. To draw, begin with pure
noise and remove what the network predicts, step by step. It also learns the kind of clothing, so each row of the picture is one kind.
To reach: a Fréchet distance (common.frechet) of 0.1 to test images; two halves of those are 0.004 apart, and noise is 5.9 away.
"""
import math

import common
import pictures
import tenon
from tenon import nn, optim

f = nn.functional


class Block(nn.Module):
    """Two convolutions with a projection of the time added between them, and a skip connection around both."""

    def __init__(self, before, width, time):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(8, before), nn.Conv2d(before, width, 3, padding=1)
        self.time = nn.Linear(time, width)
        self.norm2, self.conv2 = nn.GroupNorm(8, width), nn.Conv2d(width, width, 3, padding=1)
        self.short = nn.Identity() if before == width else nn.Conv2d(before, width, 1)

    def forward(self, x, t):
        y = self.conv1(f.silu(self.norm1(x))) + self.time(t)[:, :, None, None]
        return self.short(x) + self.conv2(f.silu(self.norm2(y)))


class UNet(nn.Module):
    """28×28, 14×14, 7×7 and back; each size on the way up also sees the one on the way down."""

    def __init__(self, width=32, classes=10):
        super().__init__()
        w, time = [width, 2 * width, 2 * width], 4 * width
        self.width = width
        self.time = nn.Sequential(nn.Linear(width, time), nn.SiLU(), nn.Linear(time, time), nn.SiLU())
        self.kind = nn.Embedding(classes, time)
        self.begin, self.out = nn.Conv2d(1, w[0], 3, padding=1), nn.Conv2d(w[0], 1, 3, padding=1)
        self.down = nn.ModuleList([Block(a, b, time) for a, b in ((w[0], w[0]), (w[0], w[1]), (w[1], w[2]))])
        self.middle = Block(w[2], w[2], time)
        self.up = nn.ModuleList([Block(a, b, time) for a, b in ((2 * w[2], w[1]), (2 * w[1], w[0]), (2 * w[0], w[0]))])
        self.norm = nn.GroupNorm(8, w[0])

    def forward(self, x, t, kind):
        """The noise in images x (B, 1, 28, 28) at times t from 0 to 1, for clothes of these kinds."""
        angle = 1000 * t[:, None] * (-math.log(1e4) * tenon.arange(self.width // 2, device=t.device) / (self.width // 2)).exp()
        t = self.time(tenon.concat([angle.sin(), angle.cos()], 1)) + self.kind(kind)
        x, kept = self.begin(x), []
        for i, block in enumerate(self.down):
            x = block(f.avg_pool2d(x, 2) if i else x, t)
            kept.append(x)
        x = self.middle(x, t)
        for i, block in enumerate(self.up):
            x = block(tenon.concat([f.interpolate(x, scale_factor=2) if i else x, kept.pop()], 1), t)
        return self.out(f.silu(self.norm(x)))


def kept_at(t):
    """The share of the image's variance that is left at time t, from 1 to 0."""
    return ((t + 0.008) / 1.008 * math.pi / 2).cos() ** 2


def loss_of(net, x, kind):
    t = tenon.rand(len(x), device=x.device)
    noise, kept = tenon.randn(*x.shape, device=x.device), kept_at(t)[:, None, None, None]
    return f.mse_loss(net(x * kept.sqrt() + noise * (1 - kept).sqrt(), t, kind), noise)


@tenon.no_grad()
def draw(net, kinds, steps):
    """An image (-1 to 1) for each kind: algorithm 2 of the paper."""
    device = kinds.device
    x = tenon.randn(len(kinds), 1, 28, 28, device=device)
    for i in range(steps, 0, -1):
        now, before = (kept_at(tenon.tensor(j / steps)).item() for j in (i, i - 1))
        noise = net(x, tenon.full((len(kinds),), i / steps, device=device), kinds)
        image = ((x - (1 - now) ** 0.5 * noise) / max(now, 1e-4) ** 0.5).clamp(-1, 1)
        alpha = now / before
        mean = (image * before ** 0.5 * (1 - alpha) + x * alpha ** 0.5 * (1 - before)) / (1 - now)
        x = mean + ((1 - alpha) * (1 - before) / (1 - now)) ** 0.5 * tenon.randn(*x.shape, device=device) if i > 1 else image
    return x


def main():
    p = common.parser(__doc__)
    p.add_argument('--data', default='/usr/share/datasets/fashion-mnist', help='folder of the four .gz files')
    p.add_argument('--steps', type=int, default=4000)
    p.add_argument('--batch-size', type=int, default=64)
    p.add_argument('--width', type=int, default=32)
    p.add_argument('--lr', type=float, default=2e-3)
    p.add_argument('--draw-steps', type=int, default=100)
    p.add_argument('--drawn', type=int, default=1000, help='images to compare with real ones')
    p.add_argument('--reach', type=float, default=0.1)
    o = common.parse(p, short=dict(steps=40, width=16, batch_size=32, lr=5e-3, draw_steps=10, drawn=50, reach=4.5))

    images, kinds = common.clothes(o, count=4000 if o.short else None)
    test = common.clothes(o, train=False, count=1000 if o.short else 5000)[0]
    images, kinds = images.to(o.device) * 2 - 1, kinds.to(o.device)
    net = UNet(o.width).to(o.device)
    print(f'{len(images)} images; {net.parameter_count()} parameters')
    optimizer = optim.AdamW(net.parameters(), lr=o.lr)
    schedule = optim.OneCycleLR(optimizer, o.lr, max(o.steps, 2))
    with common.Curve(o, 'loss', every=10 if o.short else 100, steps=o.steps, state=net.state_dict) as curve:
        for step in range(1, o.steps + 1):
            some = tenon.randint((o.batch_size,), 0, len(images), device=o.device)
            loss = loss_of(net, images[some], kinds[some])
            optimizer.zero_grad()
            loss.backward()
            optim.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            curve.add(step, loss=loss.item())
    drawn = draw(net, tenon.arange(o.drawn, device=o.device) % 10, o.draw_steps) / 2 + 0.5
    rows = drawn[:min(o.drawn, 120) // 10 * 10].reshape(-1, 10, 1, 28, 28).transpose(0, 1).flatten(0, 1)
    pictures.save_grid(o.output / 'drawn.png', rows, len(rows) // 10)
    common.figure('Fréchet distance', common.frechet(drawn, test), o.reach, at_most=True)


if __name__ == '__main__':
    main()
