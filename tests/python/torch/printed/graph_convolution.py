"""Graph convolution over sparse adjacency, and messages by index_add and scatter."""
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parameter import Parameter
from torch.nn.modules.module import Module


def numpy_init(model, seed=0, scale=0.1):
    """The same first weights whoever draws them."""
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.tensor(rng.uniform(-scale, scale, tuple(p.shape))).to(p.dtype))
    return model


class GraphConvolution(Module):
    def __init__(self, in_features, out_features, bias=True):
        super(GraphConvolution, self).__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(torch.FloatTensor(in_features, out_features))
        if bias:
            self.bias = Parameter(torch.FloatTensor(out_features))
        else:
            self.register_parameter('bias', None)
        self.reset_parameters()

    def reset_parameters(self):
        stdv = 1. / math.sqrt(self.weight.size(1))
        self.weight.data.uniform_(-stdv, stdv)
        if self.bias is not None:
            self.bias.data.uniform_(-stdv, stdv)

    def forward(self, input, adj):
        support = torch.mm(input, self.weight)
        output = torch.spmm(adj, support)
        if self.bias is not None:
            return output + self.bias
        else:
            return output

    def __repr__(self):
        return self.__class__.__name__ + ' (' + str(self.in_features) + ' -> ' + str(self.out_features) + ')'


class GCN(nn.Module):
    def __init__(self, nfeat, nhid, nclass, dropout):
        super(GCN, self).__init__()
        self.gc1 = GraphConvolution(nfeat, nhid)
        self.gc2 = GraphConvolution(nhid, nclass)
        self.dropout = dropout

    def forward(self, x, adj):
        x = F.relu(self.gc1(x, adj))
        x = F.dropout(x, self.dropout, training=self.training)
        x = self.gc2(x, adj)
        return F.log_softmax(x, dim=1)


rng = np.random.default_rng(0)
N = 20
edges = np.array([(i, j) for i in range(N) for j in range(N) if i != j and rng.random() < (0.4 if i % 2 == j % 2 else 0.05)]).T
vals = np.ones(edges.shape[1], dtype=np.float32)
deg = np.bincount(edges[0], minlength=N).clip(1)
indices = torch.from_numpy(edges.astype(np.int64))
values = torch.from_numpy((vals / deg[edges[0]]).astype(np.float32))
shape = torch.Size((N, N))
adj = torch.sparse_coo_tensor(indices, values, shape)
print(adj.shape, adj.is_sparse, adj.layout, adj.coalesce().indices().shape, adj._nnz(), torch.sparse.sum(adj, dim=1).to_dense().sum())
old = torch.sparse.FloatTensor(indices, values, shape)
print((old.to_dense() - adj.to_dense()).abs().sum())
features = torch.FloatTensor(rng.normal(size=(N, 6)))
labels = torch.LongTensor(np.arange(N) % 2)
idx_train, idx_test = torch.LongTensor(range(12)), torch.LongTensor(range(12, N))
model = numpy_init(GCN(features.shape[1], 8, labels.max().item() + 1, 0.0), 0, 0.4)
print(model)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05, weight_decay=5e-4)


def accuracy(output, labels):
    preds = output.max(1)[1].type_as(labels)
    correct = preds.eq(labels).double()
    correct = correct.sum()
    return correct / len(labels)


for epoch in range(8):
    model.train()
    optimizer.zero_grad()
    output = model(features, adj)
    loss_train = F.nll_loss(output[idx_train], labels[idx_train])
    acc_train = accuracy(output[idx_train], labels[idx_train])
    loss_train.backward()
    optimizer.step()
    print('Epoch: {:04d}'.format(epoch + 1), 'loss_train: {:.4f}'.format(loss_train.item()), 'acc_train: {:.4f}'.format(acc_train.item()))
model.eval()
output = model(features, adj)
print("test", F.nll_loss(output[idx_test], labels[idx_test]).item(), accuracy(output[idx_test], labels[idx_test]))
# message passing with index_add / scatter
src, dst = indices
msg = features[src]
agg = torch.zeros_like(features).index_add_(0, dst, msg)
cnt = torch.zeros(N).scatter_add_(0, dst, torch.ones(dst.size(0)))
print((agg / cnt.clamp(min=1).unsqueeze(-1))[:2], torch.zeros(N, 6).scatter_reduce(0, dst[:, None].expand(-1, 6), msg, 'amax', include_self=False)[0])
e = (features[src] * features[dst]).sum(-1)
e_max = torch.full((N,), -1e9).scatter_reduce_(0, dst, e, reduce='amax')
alpha = (e - e_max[dst]).exp()
alpha = alpha / torch.zeros(N).index_add(0, dst, alpha)[dst]
print(torch.bincount(dst, weights=alpha.detach(), minlength=N).round(), torch.bincount(dst)[:5])
sp = torch.eye(3).to_sparse()
print(sp, sp.indices(), sp.values(), torch.sparse.mm(sp, torch.ones(3, 2)), (sp * 2).to_dense(), sp.t().to_dense().sum(), torch.sparse.softmax(sp, 1).to_dense())
csr = torch.eye(3).to_sparse_csr()
print(csr, csr.crow_indices(), csr @ torch.ones(3))
dup = torch.sparse_coo_tensor([[0, 0, 1], [1, 1, 0]], [1., 2., 3.], (2, 2))
print(dup.is_coalesced(), dup.coalesce(), dup.to_dense(), (dup + dup).to_dense())
tri = torch.triu(torch.ones(4, 4), 1).nonzero(as_tuple=False).t()
print(tri, torch.unique(tri, return_counts=True), torch.sort(tri[1], descending=True, stable=True)[0])
print(torch.unique(torch.tensor([3, 1, 1, 2]), return_inverse=True, sorted=True), torch.unique_consecutive(torch.tensor([1, 1, 2, 1])))
