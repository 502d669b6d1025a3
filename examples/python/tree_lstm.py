"""A network over trees of different shapes: TreeLSTM (Tai et al. 2015, arXiv:1503.00075) computes nested expressions.

    python tree_lstm.py                  some minutes
    python tree_lstm.py --short          some seconds

Expressions are generated as in ListOps (Nangia & Bowman 2018, arXiv:1804.06028): a number from 0 to 9, or max, min or the sum modulo
ten of two expressions, up to five deep. The answer depends on how they are nested, which a bag of words cannot see. Trees of a batch
are computed together, level by level: all nodes whose children are known are one step of the network (Looks et al. 2017,
arXiv:1702.02181), whatever their tree.
To reach: a share of right answers 0.25 above that of the bag of words; prints how much faster a batch is than one tree after another.
"""
import random
import time

import common
import tenon
from tenon import nn, optim

f = nn.functional
OPS = {'max': max, 'min': min, 'sum': lambda a, b: (a + b) % 10}
WORDS = [*map(str, range(10)), *OPS]


def expression(rng, depth):
    """A word, or (word, left, right)."""
    if depth == 0 or rng.random() < 0.25:
        return str(rng.randrange(10))
    return rng.choice(list(OPS)), expression(rng, depth - 1), expression(rng, depth - 1)


def value(tree):
    return int(tree) if isinstance(tree, str) else OPS[tree[0]](value(tree[1]), value(tree[2]))


def words(tree):
    return [tree] if isinstance(tree, str) else [tree[0], *words(tree[1]), *words(tree[2])]


class Levels:
    """A batch of trees, level by level: the words of all nodes of one height, and where their children are among earlier nodes.

    The first level has each number once, whichever trees use it.
    """

    def __init__(self, trees, device):
        by_height = {}

        def height(tree):
            if isinstance(tree, str):
                return 0
            found = 1 + max(height(tree[1]), height(tree[2]))
            by_height.setdefault(found, []).append(tree)
            return found
        for tree in trees:
            height(tree)
        place = {str(number): number for number in range(10)}  # of a number by its text, of any other node by its identity

        def where(tree):
            return place[tree if isinstance(tree, str) else id(tree)]
        self.levels = [(tenon.arange(10, device=device), None)]
        for _, nodes in sorted(by_height.items()):
            children = [[where(tree[1]), where(tree[2])] for tree in nodes]
            for tree in nodes:
                place[id(tree)] = len(place)
            index = [WORDS.index(tree[0]) for tree in nodes]
            self.levels.append((tenon.tensor(index, device=device), tenon.tensor(children, device=device)))
        self.roots = tenon.tensor([where(tree) for tree in trees], device=device)


class TreeLSTM(nn.Module):
    """The N-ary cell with two children: equations 9 to 14 of the paper."""

    def __init__(self, width, classes=10):
        super().__init__()
        self.embed, self.out = nn.Embedding(len(WORDS), width), nn.Linear(width, classes)
        self.word, self.below = nn.Linear(width, 5 * width), nn.Linear(2 * width, 5 * width, bias=False)

    def forward(self, batch):
        h = c = None
        for index, children in batch.levels:
            gates = self.word(self.embed(index))
            if children is not None:
                gates = gates + self.below(h[children].flatten(1))
            i, o, u, left, right = gates.chunk(5, 1)
            new = i.sigmoid() * u.tanh()
            if children is not None:
                new = new + left.sigmoid() * c[children[:, 0]] + right.sigmoid() * c[children[:, 1]]
            state = o.sigmoid() * new.tanh()
            h, c = (state, new) if h is None else (tenon.concat([h, state]), tenon.concat([c, new]))
        return self.out(h[batch.roots])


class Bag(nn.Module):
    """A network over word counts, which ignore the order."""

    def __init__(self, width, classes=10):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(len(WORDS), 2 * width), nn.ReLU(), nn.Linear(2 * width, 2 * width), nn.ReLU(), nn.Linear(2 * width, classes))

    def forward(self, counts):
        return self.net(counts)


def prepare(kind, trees, device):
    if kind is TreeLSTM:
        return Levels(trees, device)
    return tenon.tensor([[words(tree).count(word) for word in WORDS] for tree in trees], dtype=tenon.float32, device=device)


def train(o, name, kind, trees, test):
    """Trains a network of that kind and returns its share of right answers."""
    net, rng = kind(o.width).to(o.device), random.Random(o.seed)
    optimizer = optim.Adam(net.parameters(), lr=o.lr)
    schedule = optim.OneCycleLR(optimizer, o.lr, max(o.steps, 2))
    with common.Curve(o, name, every=o.steps // 5 or 1, steps=o.steps) as curve:
        for step in range(1, o.steps + 1):
            some = rng.sample(trees, o.batch_size)
            loss = f.cross_entropy(net(prepare(kind, some, o.device)), tenon.tensor([value(tree) for tree in some], device=o.device))
            optimizer.zero_grad()
            loss.backward()
            optim.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            curve.add(step, loss=loss.item())
    with tenon.no_grad():
        right = net(prepare(kind, test, o.device)).argmax(1).cpu() == tenon.tensor([value(tree) for tree in test])
    found = right.to(tenon.float32).mean().item()
    print(f'{kind.__name__}: {found:.4f} right')
    return found, net


@tenon.no_grad()
def speed_up(net, trees, device):
    """The time of one tree after another relative to that of all together."""
    begin = time.perf_counter()
    together = net(Levels(trees, device)).tolist()
    middle = time.perf_counter()
    alone = [net(Levels([tree], device)).tolist()[0] for tree in trees]
    assert all(abs(a - b) < 1e-3 for x, y in zip(together, alone) for a, b in zip(x, y))
    return (time.perf_counter() - middle) / (middle - begin)


def main():
    p = common.parser(__doc__)
    p.add_argument('--steps', type=int, default=3000)
    p.add_argument('--batch-size', type=int, default=128)
    p.add_argument('--width', type=int, default=96)
    p.add_argument('--depth', type=int, default=5)
    p.add_argument('--trees', type=int, default=20000)
    p.add_argument('--lr', type=float, default=5e-3)
    p.add_argument('--reach', type=float, default=0.25)
    o = common.parse(p, short=dict(steps=120, width=48, depth=2, trees=2000, lr=1e-2, reach=0.05))
    rng = random.Random(o.seed)
    trees = [(rng.choice(list(OPS)), expression(rng, o.depth - 1), expression(rng, o.depth - 1)) for _ in range(o.trees)]
    test, trees = trees[:500], trees[500:]
    print('for example', test[0], '=', value(test[0]))
    bag, _ = train(o, 'bag', Bag, trees, test)
    tree, net = train(o, 'loss', TreeLSTM, trees, test)
    print(f'128 trees at once are {speed_up(net, test[:128], o.device):.1f} times as fast as one by one')
    common.figure('right answers beyond the bag of words:', tree - bag, o.reach)


if __name__ == '__main__':
    main()
