"""Two recommenders: a network like DLRM (Naumov et al. 2019, arXiv:1906.00091) ranks, two towers (Yi et al. 2019) retrieve.

    python recommendation.py             a minute
    python recommendation.py --short     some seconds

Clicks are generated: each user and each item has eight hidden traits; how much a user likes an item depends on the product of their
traits, on the item's popularity, and on the hours of the day when such users are awake, an effect of three features together. A tenth
of the clicks is for the test.
To reach: an area under the ROC curve 0.05 above that of logistic regression over the same features; and among the ten items that the
towers retrieve at least 1.7 times as many clicked ones as among the ten most popular.
"""
import common
import tenon
from tenon import nn, optim

f = nn.functional


def generate(count, users, items, hours=24):
    """(user, item, hour) and whether it was clicked, (N, 3) and (N); the traits are discarded."""
    traits, wants, popular = tenon.randn(users, 8), tenon.randn(items, 8), tenon.randn(items)
    awake = tenon.rand(users) * hours
    u, i, h = tenon.randint((count,), 0, users), tenon.randint((count,), 0, items), tenon.randint((count,), 0, hours)
    day = ((h - awake[u]) * (2 * tenon.pi / hours)).cos()
    score = 0.7 * (traits[u] * wants[i]).sum(1) + 0.5 * popular[i] + day * traits[u, 0] - 1.5
    return tenon.stack([u, i, h], 1), (tenon.rand(count) < score.sigmoid()).to(tenon.float32)


def auc(scores, clicked):
    """How often a clicked pair ranks above another one, from the ranks: Mann and Whitney 1947."""
    order = scores.cpu().argsort()
    rank = tenon.zeros(len(order), dtype=tenon.float64)
    rank[order] = tenon.arange(1, len(order) + 1, dtype=tenon.float64)
    good = clicked.cpu().to(tenon.float64)
    n = good.sum()
    return ((rank @ good - n * (n + 1) / 2) / (n * (len(good) - n))).item()


class Linear(nn.Module):
    """Logistic regression: a weight for each user, item and hour."""

    def __init__(self, sizes):
        super().__init__()
        self.tables = nn.ModuleList([nn.Embedding(size, 1) for size in sizes])

    def forward(self, x):
        return sum(table(x[:, i]) for i, table in enumerate(self.tables))[:, 0]


class DLRM(nn.Module):
    """A vector for each feature; their pairwise products and the vectors themselves go into a small network."""

    def __init__(self, sizes, width=16):
        super().__init__()
        self.tables = nn.ModuleList([nn.Embedding(size, width) for size in sizes])
        for table in self.tables:
            nn.init.normal_(table.weight, std=0.1)
        self.linear, n = Linear(sizes), len(sizes)
        self.net = nn.Sequential(nn.Linear(n * width + n * n, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, x):
        vectors = tenon.stack([table(x[:, i]) for i, table in enumerate(self.tables)], 1)
        products = vectors @ vectors.transpose(1, 2)
        return self.net(tenon.concat([vectors.flatten(1), products.flatten(1)], 1))[:, 0] + self.linear(x)


class Towers(nn.Module):
    """A vector for the user and one for the item; their product says how well they match. Item vectors can be searched as a list."""

    def __init__(self, users, items, width=16):
        super().__init__()
        def tower(count):
            return nn.Sequential(nn.Embedding(count, width), nn.Linear(width, 32), nn.ReLU(), nn.Linear(32, width))
        self.user, self.item = tower(users), tower(items)

    def forward(self, x):
        """The products of each user with the items of all rows: items that others clicked stand in for items not clicked."""
        return self.user(x[:, 0]) @ self.item(x[:, 1]).T


def train(o, name, net, features, loss_of, steps):
    net.to(o.device)
    optimizer = optim.Adam(net.parameters(), lr=o.lr)
    schedule = optim.OneCycleLR(optimizer, o.lr, max(steps, 2))
    with common.Curve(o, name, every=steps // 4 or 1, steps=steps) as curve:
        for step in range(1, steps + 1):
            rows = tenon.randint((o.batch_size,), 0, len(features)).to(o.device)
            loss = loss_of(net, rows)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            curve.add(step, loss=loss.item())


@tenon.no_grad()
def hits(scores, clicks, count=10):
    """The mean number, over users, of the `count` best-scored items that are among the user's clicks (a bool for each pair)."""
    return clicks.gather(1, scores.topk(count).indices).to(tenon.float32).sum(1).mean().item()


def main():
    p = common.parser(__doc__)
    p.add_argument('--rows', type=int, default=400000, help='generated impressions')
    p.add_argument('--users', type=int, default=1000)
    p.add_argument('--items', type=int, default=500)
    p.add_argument('--steps', type=int, default=3000)
    p.add_argument('--batch-size', type=int, default=512)
    p.add_argument('--lr', type=float, default=1e-2)
    p.add_argument('--reach', type=float, default=0.05)
    p.add_argument('--reach-hits', type=float, default=1.7)
    o = common.parse(p, short=dict(rows=40000, users=100, items=50, steps=150, lr=2e-2, reach=0.02, reach_hits=1.1))
    sizes = o.users, o.items, 24
    features, clicked = (part.to(o.device) for part in generate(o.rows, o.users, o.items))
    cut = o.rows * 9 // 10
    known, labels = features[:cut], clicked[:cut]
    found = {}
    for name, net in (('linear', Linear(sizes)), ('loss', DLRM(sizes))):
        train(o, name, net, known, lambda net, rows: f.binary_cross_entropy_with_logits(net(known[rows]), labels[rows]), o.steps)
        with tenon.no_grad():
            found[name] = auc(net(features[cut:]), clicked[cut:])
        print(f'{type(net).__name__}: area under the curve {found[name]:.4f}')

    liked = known[labels > 0.5]
    same = tenon.arange(o.batch_size, device=o.device)
    towers = Towers(o.users, o.items)
    popular = tenon.zeros(o.items, device=o.device).index_add(0, liked[:, 1], tenon.ones(len(liked), device=o.device))
    often = (popular / len(liked)).clamp(min=1e-6).log()
    # Popular items also occur often in others' rows; section 3 of the paper corrects for that.
    train(o, 'towers', towers, liked, lambda net, rows: f.cross_entropy(net(liked[rows]) - often[liked[rows, 1]], same), o.steps)
    clicks = tenon.zeros(o.users, o.items, dtype=tenon.bool, device=o.device)
    new = features[cut:][clicked[cut:] > 0.5]
    clicks[new[:, 0], new[:, 1]] = True
    with tenon.no_grad():
        retrieved = hits(towers.user(tenon.arange(o.users, device=o.device)) @ towers.item(tenon.arange(o.items, device=o.device)).T, clicks)
    by_popularity = hits(popular.expand(o.users, -1), clicks)
    print(f'of ten items, clicked later: {retrieved:.3f} by the towers, {by_popularity:.3f} by popularity')
    common.figure('clicked items that the towers retrieve, times those of popularity:', retrieved / max(by_popularity, 1e-9), o.reach_hits)
    common.figure('area under the curve beyond logistic regression:', found['loss'] - found['linear'], o.reach)


if __name__ == '__main__':
    main()
