"""Trains, stops half-way, and continues from a file, as scripts for PyTorch do."""
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Function
from torch.func import functional_call, grad, vmap
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info


class Spiral(Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        angle = torch.tensor(index * 0.3)
        point = torch.stack([torch.cos(angle), torch.sin(angle)]) * (index % 7 + 1) / 7
        return {'point': point, 'label': index % 2, 'name': f'example {index}'}


class Stream(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(first, 12, step))


class Clipped(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, limit):
        return torch.clamp(x, -limit, limit)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.limit = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, gradient):
        x, = ctx.saved_tensors
        return gradient * (torch.abs(x) <= 2 * ctx.limit), None


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(2, 8)
        self.out = nn.Linear(8, 2)
        with torch.no_grad():
            for number, parameter in enumerate(self.parameters()):
                count = parameter.numel()
                parameter.copy_(torch.sin(torch.arange(float(count)) + number).reshape(parameter.shape) / 2)

    def forward(self, x):
        return self.out(Clipped.apply(torch.tanh(self.hidden(x)), 0.8))


def epoch(net, optimizer, loader):
    losses = []
    for batch in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(net(batch['point']), batch['label'])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def gradients_by_example(net, loader):
    weights = {name: x.detach() for name, x in net.named_parameters()}

    def loss(weights, point, label):
        return F.cross_entropy(functional_call(net, weights, (point.unsqueeze(0),)), label.unsqueeze(0))
    batch = next(iter(loader))
    found = vmap(grad(loss), in_dims=(None, 0, 0))(weights, batch['point'], batch['label'])
    return {name: x.reshape(-1).tolist() for name, x in found.items()}


def main():
    loader = DataLoader(Spiral(40), batch_size=8, num_workers=2)
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
    losses = epoch(net, optimizer, loader)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'checkpoint.pt')
        torch.save({'epoch': 1, 'net': net.state_dict(), 'optimizer': optimizer.state_dict(), 'losses': losses}, path)
        expected = epoch(net, optimizer, loader)
        checkpoint = torch.load(path, map_location='cpu', weights_only=True)
    again = Net()
    again.load_state_dict(checkpoint['net'])
    optimizer = torch.optim.Adam(again.parameters(), lr=0.05)
    optimizer.load_state_dict(checkpoint['optimizer'])
    resumed = epoch(again, optimizer, loader)
    assert resumed == expected and checkpoint['epoch'] == 1 and checkpoint['losses'] == losses
    numbers = [x.tolist() for x in DataLoader(Stream(), batch_size=2, num_workers=2)]
    return losses + resumed, gradients_by_example(again, loader), numbers
