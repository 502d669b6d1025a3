"""Trains a small convolutional network on pictures of bars, as scripts for PyTorch do."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, kernel_size=3, padding='same', bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1),
            nn.LeakyReLU(0.1),
            nn.AdaptiveAvgPool2d((2, 2)),
        )
        self.dropout = nn.Dropout(0.0)
        self.fc1 = nn.Linear(64, 32)
        self.fc2 = nn.Linear(32, 4)

    def forward(self, x):
        x = self.features(x)
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(self.dropout(x)))
        return F.log_softmax(self.fc2(x), dim=1)


def pictures(count, rng):
    """Bars that lie, stand, or go one or the other way across."""
    labels = rng.integers(0, 4, count)
    images = rng.normal(0, 0.3, (count, 1, 12, 12)).astype(np.float32)
    for image, label in zip(images, labels):
        at = rng.integers(2, 10)
        for i in range(12):
            row, column = ((at, i), (i, at), (i, i), (i, 11 - i))[label]
            image[0, row, column] += 2
    return torch.from_numpy(images), torch.from_numpy(labels)


def first_weights(model, rng):
    """The same first weights whoever draws them."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1:
                values = rng.normal(0, np.sqrt(2 / np.prod(parameter.shape[1:])), tuple(parameter.shape))
                parameter.copy_(torch.tensor(values, dtype=torch.float32))
            elif name.endswith('bias'):
                nn.init.zeros_(parameter)


def train(model, device, loader, optimizer, scheduler, losses):
    model.train()
    for data, target in loader:
        data, target = data.to(device), target.to(device)
        optimizer.zero_grad()
        output = model(data)
        loss = F.nll_loss(output, target)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=5.0)
        optimizer.step()
        losses.append(loss.item())
    scheduler.step()


def test(model, device, loader):
    model.eval()
    test_loss, correct, confusion = 0.0, 0, torch.zeros(4, 4, dtype=torch.int64)
    with torch.no_grad():
        for data, target in loader:
            data, target = data.to(device), target.to(device)
            output = model(data)
            test_loss += F.nll_loss(output, target, reduction='sum').item()
            _, predicted = torch.max(output, 1)
            correct += torch.eq(predicted, target).sum().item()
            confusion += torch.bincount(target * 4 + predicted, minlength=16).reshape(4, 4)
    return test_loss / len(loader.dataset), correct / len(loader.dataset), confusion.tolist()


def main():
    torch.manual_seed(1)
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    rng = np.random.default_rng(0)
    training, held_out = TensorDataset(*pictures(320, rng)), TensorDataset(*pictures(128, rng))
    train_loader = DataLoader(training, batch_size=64, shuffle=False, num_workers=0, pin_memory=False, drop_last=True)
    test_loader = DataLoader(held_out, batch_size=100)
    model = Net().to(device)
    first_weights(model, rng)
    optimizer = optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-2)
    scheduler = StepLR(optimizer, step_size=2, gamma=0.5)
    losses = []
    for _ in range(4):
        train(model, device, train_loader, optimizer, scheduler, losses)
    return losses, test(model, device, test_loader)


if __name__ == '__main__':
    print(main())
