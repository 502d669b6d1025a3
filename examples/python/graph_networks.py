"""Graph networks sort clothes with ten labels a kind: GCN (Kipf & Welling 2016, arXiv:1609.02907), GAT (Veličković et al. 2017, 1710.10903).

    python graph_networks.py             some minutes
    python graph_networks.py --short     some seconds

The graph: images of Fashion-MNIST are nodes, and each has edges to the eight that look most like it (cosine of the pixels), both ways.
Only ten images of each kind have labels. Logistic regression sees those alone; a graph network also sees the neighbours of each image,
and theirs. To reach: right answers on the other images, 0.03 more than logistic regression.
"""
import common
import tenon
from tenon import nn, optim

f = nn.functional


def neighbours(x, count):
    """Edges (from, to) between each row of x and its `count` nearest, both ways, and of each with itself."""
    unit = f.normalize(x, dim=1)
    near = tenon.concat([(part @ unit.T).topk(count + 1).indices for part in unit.split(500)])
    here = tenon.arange(len(x))[:, None].expand(-1, count + 1).reshape(-1)
    a, b = tenon.concat([here, near.reshape(-1)]), tenon.concat([near.reshape(-1), here])
    both = (a * len(x) + b).unique()
    return both // len(x), both % len(x)


class GCN(nn.Module):
    """Two layers, each the mean over neighbours (weighted by the degrees of both) of a linear map: equation 9 of the paper."""

    def __init__(self, inside, kinds, width, edges, nodes):
        super().__init__()
        self.first, self.second = nn.Linear(inside, width), nn.Linear(width, kinds)
        self.dropout, (self.a, self.b) = nn.Dropout(0.5), edges
        degree = tenon.zeros(nodes, device=self.a.device).index_add(0, self.b, tenon.ones(len(self.b), device=self.a.device))
        self.weight = (degree[self.a] * degree[self.b]).rsqrt()[:, None]

    def spread(self, x):
        return tenon.zeros_like(x).index_add(0, self.b, x[self.a] * self.weight)

    def forward(self, x):
        x = self.spread(self.first(self.dropout(x))).relu()
        return self.spread(self.second(self.dropout(x)))


class Attention(nn.Module):
    """Heads that say of each edge how much it counts: equations 1 to 4 of the paper."""

    def __init__(self, inside, width, heads, edges):
        super().__init__()
        self.heads, (self.a, self.b) = heads, edges
        self.linear = nn.Linear(inside, heads * width, bias=False)
        self.source, self.target = nn.Parameter(0.1 * tenon.randn(heads, width)), nn.Parameter(0.1 * tenon.randn(heads, width))

    def forward(self, x):
        y = self.linear(x).reshape(len(x), self.heads, -1)
        score = f.leaky_relu((y * self.source).sum(-1)[self.a] + (y * self.target).sum(-1)[self.b], 0.2)
        weight = (score - score.max()).exp()  # a softmax over the edges into each node
        whole = tenon.zeros(len(x), self.heads, device=x.device).index_add(0, self.b, weight)
        share = (weight / whole[self.b]).unsqueeze(-1)
        return tenon.zeros_like(y).index_add(0, self.b, y[self.a] * share)


class GAT(nn.Module):
    def __init__(self, inside, kinds, width, edges, heads=4):
        super().__init__()
        self.first, self.second = Attention(inside, width // heads, heads, edges), Attention(width, kinds, heads, edges)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x):
        x = f.elu(self.first(self.dropout(x)).flatten(1))
        return self.second(self.dropout(x)).mean(1)


def train(o, name, net, x, labels, known):
    """Learns from the labels of the `known` nodes; share of right answers on all others."""
    net.to(o.device)
    optimizer = optim.Adam(net.parameters(), lr=0.01, weight_decay=5e-4)
    with common.Curve(o, 'loss' if name == 'GCN' else f'loss-{name}', every=o.steps // 4 or 1, steps=o.steps) as curve:
        for step in range(1, o.steps + 1):
            loss = f.cross_entropy(net(x)[known], labels[known])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            curve.add(step, loss=loss.item())
    net.eval()
    with tenon.no_grad():
        right = (net(x).argmax(1) == labels).to(tenon.float32)
    found = ((right.sum() - right[known].sum()) / (len(labels) - len(known))).item()
    print(f'{name}: {found:.4f} of the images without a label')
    return found


def main():
    p = common.parser(__doc__)
    p.add_argument('--data', default='/usr/share/datasets/fashion-mnist', help='folder of the four .gz files')
    p.add_argument('--nodes', type=int, default=5000)
    p.add_argument('--labels', type=int, default=10, help='images of each kind that have one')
    p.add_argument('--steps', type=int, default=200)
    p.add_argument('--width', type=int, default=64)
    p.add_argument('--reach', type=float, default=0.03)
    o = common.parse(p, short=dict(nodes=1000, steps=60, width=32, reach=0.0))
    images, labels = common.clothes(o, train=False, count=o.nodes)
    x = images.flatten(1)
    edges = tuple(part.to(o.device) for part in neighbours(x, 8))
    known = tenon.concat([(labels == kind).nonzero().reshape(-1)[:o.labels] for kind in range(10)]).to(o.device)
    x, labels = (x - x.mean(0)).to(o.device), labels.to(o.device)
    print(f'{o.nodes} nodes, {len(edges[0])} edges, {len(known)} labels')
    linear = train(o, 'logistic-regression', nn.Linear(784, 10), x, labels, known)
    gcn = train(o, 'GCN', GCN(784, 10, o.width, edges, o.nodes), x, labels, known)
    gat = train(o, 'GAT', GAT(784, 10, o.width, edges), x, labels, known)
    common.figure('right answers beyond logistic regression, the lower of GCN and GAT:', min(gcn, gat) - linear, o.reach)


if __name__ == '__main__':
    main()
