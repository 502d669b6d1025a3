"""Graph networks tell to which part of the Bible a verse belongs: GCN (Kipf & Welling 2016, arXiv:1609.02907) and GAT (Veličković et
al. 2017, arXiv:1710.10903).

    python graph_networks.py             some minutes
    python graph_networks.py --short     some seconds

The nodes of the graph are verses, each with edges to the two before and the two after it in its chapter; the text is Debian's
bible-kjv. Nodes know their words. There are six parts: law, history, wisdom, prophets, gospels with Acts, letters. Only twenty verses
of each have a label. Logistic regression learns from the words of those alone; a graph network also sees the words around them, up to
four verses away.
To reach: right answers on the other verses, 0.25 more than logistic regression.
"""
import collections
import re

import common
import tenon
from tenon import nn, optim

f = nn.functional
PARTS = 5, 12, 5, 17, 5, 22  # the number of books in each


def verses(every):
    """(texts, chapters, parts) of the verses of each `every`th chapter: words, and numbers of chapter and part as tensors."""
    chapters, books, texts, places = {}, {}, [], []
    for place, text in common.bible():
        chapter = chapters.setdefault(place.split(':')[0], len(chapters))
        book = books.setdefault(re.match(r'\d*\D+', place)[0], len(books))
        if chapter % every == 0:
            texts.append(re.findall(r'[a-z]+', text.lower()))
            places.append((chapter, book))
    part_of = [part for part, count in enumerate(PARTS) for _ in range(count)]
    return texts, tenon.tensor([chapter for chapter, _ in places]), tenon.tensor([part_of[book] for _, book in places])


def bag_of_words(texts, count):
    """(N, count): 10 for a text with one of the most frequent words; less for each of several, and for words that occur in many
    texts."""
    frequent = collections.Counter(word for text in texts for word in sorted(set(text))).most_common(count)
    column = {word: i for i, (word, _) in enumerate(frequent)}
    x = tenon.zeros(len(texts), count)
    places = [(row, column[word]) for row, text in enumerate(texts) for word in set(text) if word in column]
    x[tuple(map(tenon.tensor, map(list, zip(*places))))] = 1.0
    rare = (len(texts) / tenon.tensor([float(times) for _, times in frequent])).log()
    return 10 * f.normalize(x * rare, dim=1)


def edges_within(chapters, distance):
    """Edges (from, to) between each verse and those at most `distance` places away in its chapter, including itself."""
    n, found = len(chapters), []
    for d in range(distance + 1):
        a = (chapters[:n - d] == chapters[d:]).nonzero().reshape(-1)
        found += [(a, a + d), (a + d, a)][:2 if d else 1]
    return tuple(map(tenon.concat, zip(*found)))


class GCN(nn.Module):
    """Two layers, each a mean over neighbours (weighted by both degrees) of a linear map: equation 9 of the paper."""

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
    """Heads that weight each edge: equations 1 to 4 of the paper."""

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
    """Learns from the labels of the `known` nodes; returns the share of right answers on all others."""
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
    print(f'{name}: {found:.4f} of the verses without a label')
    return found


def main():
    p = common.parser(__doc__)
    p.add_argument('--every', type=int, default=8, help='chapters, of which one is kept: 8 leaves 3,869 verses')
    p.add_argument('--words', type=int, default=1000)
    p.add_argument('--labels', type=int, default=20, help='verses of each part that have one')
    p.add_argument('--steps', type=int, default=150)
    p.add_argument('--width', type=int, default=64)
    p.add_argument('--reach', type=float, default=0.25)
    o = common.parse(p, short=dict(every=32, words=400, steps=60, width=32, reach=0.1))
    texts, chapters, labels = verses(o.every)
    x, edges = bag_of_words(texts, o.words).to(o.device), tuple(part.to(o.device) for part in edges_within(chapters, 2))
    order = tenon.randperm(len(labels))
    known = tenon.concat([order[labels[order] == part][:o.labels] for part in range(len(PARTS))]).to(o.device)
    labels = labels.to(o.device)
    print(f'{len(x)} nodes, {len(edges[0])} edges, {len(known)} labels')
    linear = train(o, 'logistic-regression', nn.Linear(o.words, len(PARTS)), x, labels, known)
    gcn = train(o, 'GCN', GCN(o.words, len(PARTS), o.width, edges, len(x)), x, labels, known)
    gat = train(o, 'GAT', GAT(o.words, len(PARTS), o.width, edges), x, labels, known)
    common.figure('right answers beyond logistic regression, the lower of GCN and GAT:', min(gcn, gat) - linear, o.reach)


if __name__ == '__main__':
    main()
