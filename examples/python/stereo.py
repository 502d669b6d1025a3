"""Depth from two eyes: a small network in the style of GC-Net (Kendall et al. 2017, arXiv:1703.04309) on generated pairs of images.

    python stereo.py                     some minutes
    python stereo.py --short             some seconds

A scene has a distant textured background and some textured rectangles in front of it. Nearer things are shifted further between the
images of the left and the right eye, by up to 7 pixels, and hide what is behind them. The eyes differ in brightness and contrast, and
both see noise. The network describes the surroundings of each pixel, compares the left image with the right one shifted by 0 to 7
pixels, smooths these costs, and takes the mean of the shifts, weighted by how well they match.
To reach: a mean error of 0.2 pixels, and at most 0.6 times that of comparing squares of 5×5 pixels. Writes left, truth and answer.
"""
import common
import pictures
import tenon
from tenon import nn, optim

f = nn.functional
SIDE, MOVES = 32, 8


def pairs(count):
    """Left and right images (N, 1, 32, 32), and by how many pixels each pixel of the left one is shifted, (N, 32, 32)."""
    wide = SIDE + MOVES
    y, x = tenon.arange(SIDE)[:, None], tenon.arange(SIDE)[None]
    near = tenon.randint((count, 1), 0, 2).expand(count, SIDE * SIDE).reshape(count, SIDE, SIDE)
    moved = [near]
    for _ in range(3):
        corner, size, move = tenon.randint((count, 2, 1, 1), 0, 22), tenon.randint((count, 2, 1, 1), 8, 18), tenon.randint((count, 1, 1), 2, MOVES)
        inside = (y >= corner[:, 0]) & (y < corner[:, 0] + size[:, 0]) & (x >= corner[:, 1]) & (x < corner[:, 1] + size[:, 1])
        near = tenon.where(inside, tenon.maximum(near, move.expand(count, SIDE, SIDE)), near)
        moved.append(near)
    truth = moved[-1]
    texture = tenon.rand(count, SIDE, wide)
    # From right to left: pixel (y, x) of the left image shows what (y, x - move) of the right one shows, unless something nearer is
    # there.
    right = texture[:, :, :SIDE]
    left = texture.gather(2, (x - truth) % wide)
    right = right * (0.6 + 0.4 * tenon.rand(count, 1, 1)) + 0.2 * tenon.rand(count, 1, 1)  # no two cameras are alike
    left, right = ((x + 0.08 * tenon.randn(count, SIDE, SIDE)).unsqueeze(1) for x in (left, right))
    return left, right, truth.to(tenon.float32)


def shifted(x, move):
    """x (…, W) shifted to the right, filled with zeros from the left."""
    return tenon.pad(x, [move, 0])[..., :x.shape[-1]]


class Stereo(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, width, 3, padding=1), nn.ReLU(),
                                      nn.Conv2d(width, width, 3, padding=1))
        self.smooth = nn.Sequential(nn.Conv2d(MOVES + width, 2 * width, 3, padding=1), nn.ReLU(), nn.Conv2d(2 * width, 2 * width, 3, padding=1),
                                    nn.ReLU(), nn.Conv2d(2 * width, MOVES, 3, padding=1))

    def forward(self, left, right):
        """Moves (N, H, W)."""
        a, b = (f.normalize(self.features(x), dim=1) for x in (left, right))
        fits = tenon.stack([10 * (a * shifted(b, move)).sum(1) for move in range(MOVES)], 1)
        fits = fits + self.smooth(tenon.concat([fits, a], 1))
        return (fits.softmax(1) * tenon.arange(MOVES, dtype=tenon.float32, device=left.device)[:, None, None]).sum(1)


def by_squares(left, right, size=5):
    """The shift at which squares around a pixel differ least."""
    costs = [f.avg_pool2d((left - shifted(right, move)).abs(), size, 1, size // 2) for move in range(MOVES)]
    return tenon.concat(costs, 1).argmin(1).to(tenon.float32)


def main():
    p = common.parser(__doc__)
    p.add_argument('--steps', type=int, default=600)
    p.add_argument('--batch-size', type=int, default=16)
    p.add_argument('--width', type=int, default=24)
    p.add_argument('--lr', type=float, default=3e-3)
    p.add_argument('--reach', type=float, default=0.2)
    o = common.parse(p, short=dict(steps=80, width=12, batch_size=8, reach=0.6))
    net = Stereo(o.width).to(o.device)
    optimizer = optim.AdamW(net.parameters(), lr=o.lr)
    schedule = optim.OneCycleLR(optimizer, o.lr, max(o.steps, 2))
    with common.Curve(o, 'loss', every=20 if o.short else 100, steps=o.steps, state=net.state_dict) as curve:
        for step in range(1, o.steps + 1):
            left, right, truth = (part.to(o.device) for part in pairs(o.batch_size))
            loss = f.smooth_l1_loss(net(left, right), truth)
            optimizer.zero_grad()
            loss.backward()
            optim.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            curve.add(step, loss=loss.item())
    left, right, truth = (part.to(o.device) for part in pairs(64))
    with tenon.no_grad():
        answer = net(left, right)
        squares = (by_squares(left, right) - truth).abs().mean().item()
        error = (answer - truth).abs().mean().item()
    rows = tenon.stack([left[:16, 0], truth[:16] / MOVES, answer[:16] / MOVES], 1).flatten(0, 1).unsqueeze(1)
    pictures.save_grid(o.output / 'depth.png', rows, 12)
    print(f'mean error: {error:.3f} pixels; by squares {squares:.3f}')
    common.figure('mean error, times that of squares:', error / squares, 1.5 if o.short else 0.6, at_most=True)
    common.figure('mean error', error, o.reach, at_most=True, unit=' pixels')


if __name__ == '__main__':
    main()
