"""Classifies the nodes of a generated graph by two layers of graph attention (Veličković et al. 2018, eq. 1-6), edge by edge."""
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

NODES, CLASSES, FEATURES = 120, 3, 12


class GATConv(nn.Module):
    def __init__(self, in_features, out_features, heads=1, concat=True, dropout=0.0, negative_slope=0.2):
        super().__init__()
        self.heads, self.out_features, self.concat = heads, out_features, concat
        self.dropout, self.negative_slope = dropout, negative_slope
        self.lin = nn.Linear(in_features, heads * out_features, bias=False)
        self.att_src = nn.Parameter(torch.empty(1, heads, out_features))
        self.att_dst = nn.Parameter(torch.empty(1, heads, out_features))
        self.bias = nn.Parameter(torch.zeros(heads * out_features if concat else out_features))
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.xavier_uniform_(self.lin.weight)
        nn.init.xavier_uniform_(self.att_src)
        nn.init.xavier_uniform_(self.att_dst)

    def forward(self, x, edge_index):
        n = x.size(0)
        src, dst = edge_index
        h = self.lin(x).view(n, self.heads, self.out_features)
        alpha = (h * self.att_src).sum(dim=-1)[src] + (h * self.att_dst).sum(dim=-1)[dst]
        alpha = F.leaky_relu(alpha, self.negative_slope)
        # A softmax over the edges that end in a node.
        index = dst.unsqueeze(-1).expand_as(alpha)
        top = torch.full((n, self.heads), -math.inf).scatter_reduce(0, index, alpha.detach(), reduce='amax', include_self=True)
        alpha = (alpha - top[dst]).exp()
        total = torch.zeros(n, self.heads).scatter_add_(0, index, alpha)
        alpha = F.dropout(alpha / (total[dst] + 1e-16), p=self.dropout, training=self.training)
        out = torch.zeros(n, self.heads, self.out_features)
        out.index_add_(0, dst, h[src] * alpha.unsqueeze(-1))
        out = out.flatten(1) if self.concat else out.mean(dim=1)
        return out + self.bias


class GAT(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = GATConv(FEATURES, 8, heads=4)
        self.conv2 = GATConv(32, CLASSES, heads=2, concat=False)

    def forward(self, x, edge_index):
        x = F.elu(self.conv1(x, edge_index))
        return self.conv2(x, edge_index)


def graph(rng):
    """Nodes of some classes whose edges lead mostly to their own; features that tell little alone."""
    y = rng.integers(0, CLASSES, NODES)
    x = rng.normal(0, 1.5, (NODES, FEATURES))
    x[np.arange(NODES), y] += 1.5
    near = np.where(y[:, None] == y[None], 0.15, 0.01)
    src, dst = np.nonzero(rng.uniform(size=near.shape) < near)
    src, dst = np.concatenate([src, np.arange(NODES)]), np.concatenate([dst, np.arange(NODES)])
    return torch.tensor(x, dtype=torch.float32), torch.from_numpy(y), torch.from_numpy(np.stack([src, dst]))


def first_weights(model, rng):
    """The same first weights whoever draws them."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                values = rng.normal(0, 1 / math.sqrt(parameter.shape[-1]), tuple(parameter.shape))
                parameter.copy_(torch.from_numpy(values))


def main():
    rng = np.random.default_rng(0)
    x, y, edge_index = graph(rng)
    order = torch.from_numpy(rng.permutation(NODES))
    train_mask = torch.zeros(NODES, dtype=torch.bool)
    train_mask[order[:60]] = True

    model = GAT()
    first_weights(model, rng)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    losses = []
    for _ in range(40):
        model.train()
        optimizer.zero_grad(set_to_none=True)
        out = model(x, edge_index)
        loss = F.cross_entropy(out[train_mask], y[train_mask])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())

    model.eval()
    with torch.no_grad():
        pred = model(x, edge_index).argmax(dim=1)
    correct = pred[~train_mask] == y[~train_mask]
    return losses, int(correct.sum()) / int((~train_mask).sum())


if __name__ == '__main__':
    print(main())
