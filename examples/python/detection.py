"""Objects in generated scenes, by their centres: CenterNet (Zhou et al. 2019, arXiv:1904.07850), and the class of each pixel (U-Net).

    python detection.py                  some minutes
    python detection.py --short          some seconds

A scene of 48×48 pixels has one to four discs, squares and crosses of random size, position and brightness, in front of noise. One
network has two heads: a map at a quarter of the size says where centres are, of which kind and how large; the other gives the class of
each pixel.
To reach: a mean average precision of 0.80 at an overlap of 0.5, and a mean IoU of the pixels' classes of 0.80. Writes scenes with
boxes.
"""
import common
import pictures
import tenon
from tenon import nn, optim

f = nn.functional
SIDE, STEP, KINDS = 48, 4, ('disc', 'square', 'cross')


def scenes(count, rng_device='cpu'):
    """Images (N, 1, 48, 48), classes of their pixels (N, 48, 48; 0 is the ground), and objects (N, 4, 5): kind or -1, x, y, half sizes."""
    y, x = tenon.arange(SIDE)[:, None].to(tenon.float32), tenon.arange(SIDE)[None].to(tenon.float32)
    images, classes = 0.3 * tenon.rand(count, 1, SIDE, SIDE), tenon.zeros(count, SIDE, SIDE, dtype=tenon.int64)
    kinds, there = tenon.randint((count, 4), 0, 3), tenon.rand(count, 4) < tenon.tensor([1.0, 0.7, 0.5, 0.3])
    # Each object has a quarter of the scene to itself.
    corner = tenon.tensor([[0, 0], [1, 0], [0, 1], [1, 1]]).to(tenon.float32)
    half = 4 + 5 * tenon.rand(count, 4)
    centre = 10 + 24 * corner + 4 * tenon.rand(count, 4, 2)
    bright = 0.4 + 0.6 * tenon.rand(count, 4)
    for i in range(4):
        dx, dy = ((axis - centre[:, i, j, None, None]).abs() for j, axis in ((0, x), (1, y)))
        r = half[:, i, None, None]
        square = tenon.maximum(dx, dy) <= r
        shapes = tenon.stack([dx ** 2 + dy ** 2 <= r ** 2, square, square & (tenon.minimum(dx, dy) <= r / 3)])
        inside = shapes[kinds[:, i], tenon.arange(count)] & there[:, i, None, None]
        images = images + inside[:, None] * bright[:, i, None, None, None]
        classes = tenon.where(inside, kinds[:, i, None, None] + 1, classes)
    objects = tenon.concat([tenon.where(there, kinds, -1)[..., None].to(tenon.float32), centre, half[..., None], half[..., None]], -1)
    return images.clamp(0, 1), classes, objects


def targets(objects):
    """The maps that the first head should produce: (N, 3, 12, 12) centres as soft spots, (N, 4, 12, 12) offsets and sizes; and where
    they count."""
    n, side = len(objects), SIDE // STEP
    place = objects[..., 1:3] / STEP
    cell = place.floor().to(tenon.int64).clamp(0, side - 1)
    y, x = tenon.arange(side)[:, None], tenon.arange(side)[None]
    spot = (-((x - cell[..., 0, None, None]) ** 2 + (y - cell[..., 1, None, None]) ** 2) / 2.0).exp()  # (N, 4, side, side)
    heat = tenon.stack([(spot * (objects[..., 0] == kind)[..., None, None]).amax(1) for kind in range(3)], 1)
    box, count = tenon.zeros(n, 4, side, side), tenon.zeros(n, 1, side, side)
    row, i = (objects[..., 0] >= 0).nonzero().T
    cx, cy = cell[row, i].T
    box[row, :, cy, cx] = tenon.concat([place[row, i] - cell[row, i].to(tenon.float32), objects[row, i, 3:] / 10], 1)
    count[row, 0, cy, cx] = 1
    return heat, box, count


class Net(nn.Module):
    """Down to a quarter and an eighth of the size and up again, with one head at a quarter and one at full size."""

    def __init__(self, width=24):
        super().__init__()
        def layer(a, b, stride=1):
            return nn.Sequential(nn.Conv2d(a, b, 3, stride, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU())
        self.one, self.two = layer(1, width), layer(width, width, 2)
        self.four = nn.Sequential(layer(width, 2 * width, 2), layer(2 * width, 2 * width))
        self.eight = nn.Sequential(layer(2 * width, 2 * width, 2), layer(2 * width, 2 * width))
        self.up4, self.up2, self.up1 = layer(4 * width, 2 * width), layer(3 * width, width), layer(2 * width, width)
        self.centres, self.boxes, self.pixels = nn.Conv2d(2 * width, 3, 1), nn.Conv2d(2 * width, 4, 1), nn.Conv2d(width, 4, 1)
        with tenon.no_grad():
            self.centres.bias.fill_(-3.0)  # centres are rare

    def forward(self, x):
        def up(y):
            return f.interpolate(y, scale_factor=2)
        one = self.one(x)
        two = self.two(one)
        four = self.four(two)
        four = self.up4(tenon.concat([four, up(self.eight(four))], 1))
        whole = self.up1(tenon.concat([one, up(self.up2(tenon.concat([two, up(four)], 1)))], 1))
        return self.centres(four), self.boxes(four), self.pixels(whole)


def loss_of(net, images, classes, heat, box, count):
    """Equations 1 and 2 of the paper: a focal loss for the centres; plus the pixels' cross entropy."""
    centres, boxes, pixels = net(images)
    chance = centres.sigmoid()
    exact = (heat > 0.999).to(tenon.float32)
    focal = exact * (1 - chance) ** 2 * f.logsigmoid(centres) + (1 - exact) * (1 - heat) ** 4 * chance ** 2 * f.logsigmoid(-centres)
    n = count.sum().clamp(min=1)
    return (f.cross_entropy(pixels, classes) - focal.sum() / n + ((boxes - box).abs() * count).sum() / n)


@tenon.no_grad()
def detect(net, images, most=8):
    """For each image up to `most` of (kind, score, x, y, half width, half height), and the classes of its pixels."""
    centres, boxes, pixels = net(images)
    chance = centres.sigmoid()
    peak = chance * (f.max_pool2d(chance, 3, 1, 1) == chance)
    best, side = peak.flatten(1).topk(most), SIDE // STEP
    found = []
    for scores, places, box in zip(best.values.cpu().tolist(), best.indices.cpu().tolist(), boxes.cpu()):
        rows = []
        for score, place in zip(scores, places):
            kind, y, x = place // side ** 2, place // side % side, place % side
            dx, dy, w, h = box[:, y, x].tolist()
            rows.append((kind, score, STEP * (x + dx), STEP * (y + dy), 10 * w, 10 * h))
        found.append(rows)
    return found, pixels.argmax(1)


def overlap(a, b):
    """Intersection over union of two boxes (x, y, half width, half height)."""
    w, h = (max(0.0, min(a[i] + a[i + 2], b[i] + b[i + 2]) - max(a[i] - a[i + 2], b[i] - b[i + 2])) for i in (0, 1))
    return w * h / max(4 * a[2] * a[3] + 4 * b[2] * b[3] - w * h, 1e-9)


def average_precision(found, objects, kind):
    """The area under precision over recall, at an overlap of 0.5 (Everingham et al. 2010)."""
    truth = [[row[1:] for row in rows if row[0] == kind] for rows in objects.tolist()]
    every = sorted(((row[1], i, row[2:]) for i, rows in enumerate(found) for row in rows if row[0] == kind), reverse=True)
    right, area, total = 0, 0.0, sum(map(len, truth))
    for count, (_, i, box) in enumerate(every, 1):
        best = max(truth[i], key=lambda other: overlap(box, other), default=None)
        if best is not None and overlap(box, best) >= 0.5:
            truth[i].remove(best)
            right += 1
            area += right / count / total
    return area


def outline(images, found, least=0.3):
    """The images in grey with white boxes."""
    sheet = images.clone() * 0.8
    for image, rows in zip(sheet, found):
        for _, score, x, y, w, h in rows:
            if score >= least:
                x0, x1, y0, y1 = (min(max(round(v), 0), SIDE - 1) for v in (x - w, x + w, y - h, y + h))
                for part in ((y0, slice(x0, x1 + 1)), (y1, slice(x0, x1 + 1)), (slice(y0, y1 + 1), x0), (slice(y0, y1 + 1), x1)):
                    image[(0, *part)] = 1.0
    return sheet


def main():
    p = common.parser(__doc__)
    p.add_argument('--steps', type=int, default=1500)
    p.add_argument('--batch-size', type=int, default=32)
    p.add_argument('--width', type=int, default=24)
    p.add_argument('--lr', type=float, default=4e-3)
    p.add_argument('--reach', type=float, default=0.8)
    o = common.parse(p, short=dict(steps=60, width=8, batch_size=16, lr=1e-2, reach=0.15))
    net = Net(o.width).to(o.device)
    optimizer = optim.AdamW(net.parameters(), lr=o.lr)
    schedule = optim.OneCycleLR(optimizer, o.lr, max(o.steps, 2))
    with common.Curve(o, 'loss', every=10 if o.short else 100, steps=o.steps, state=net.state_dict) as curve:
        for step in range(1, o.steps + 1):
            images, classes, objects = scenes(o.batch_size)
            loss = loss_of(net, *(part.to(o.device) for part in (images, classes, *targets(objects))))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            curve.add(step, loss=loss.item())
    net.eval()
    images, classes, objects = scenes(40 if o.short else 400)
    found, pixels = detect(net, images.to(o.device))
    pictures.save_grid(o.output / 'scenes.png', outline(images[:16], found), 8, scale=3)
    pixels = pixels.cpu()
    shares = [((pixels == k) & (classes == k)).sum().item() / max(((pixels == k) | (classes == k)).sum().item(), 1) for k in range(4)]
    common.figure('mean IoU of the pixels:', sum(shares) / 4, o.reach)
    common.figure('mean average precision:', sum(average_precision(found, objects, kind) for kind in range(3)) / 3, o.reach)


if __name__ == '__main__':
    main()
