"""Trains a small convolutional network on the images of Fashion-MNIST, saves it, loads it back and names some images.

    python fashion_mnist.py                        on the best device there is
    python fashion_mnist.py --epochs 1             a quick look
    python fashion_mnist.py --seed 7 -o net.safetensors

If tqdm is installed, it shows progress bars.
"""
import argparse
import time

import tenon
from tenon import data, nn, optim

try:
    from tqdm import tqdm
except ImportError:
    def tqdm(iterable, **options):
        return iterable


class Net(nn.Module):
    """The same network, with the same names, as in examples/fashion_mnist, so that each program can load the other's weights."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.dropout = nn.Dropout(0.1)
        self.hidden = nn.Linear(32 * 7 * 7, 128)
        self.out = nn.Linear(128, 10)

    def forward(self, x):
        x = self.pool(self.conv1(x)).relu()
        x = self.pool(self.conv2(x)).relu().flatten(1)
        return self.out(self.dropout(self.hidden(x).relu()))


def normalise(images):
    """Pixels with mean 0 and deviation 1."""
    return (images - 0.2860) / 0.3530


@tenon.no_grad()
def accuracy(net, images, device):
    net.eval()
    right = 0
    for x, labels in data.DataLoader(images, batch_size=500):
        right += (net(normalise(x.to(device))).argmax(1) == labels.to(device)).sum().item()
    net.train()
    return right / len(images)


def train_epoch(net, loader, optimizer, schedule, device, title):
    """One pass over the images; returns the mean loss of its second half."""
    losses = []
    for x, labels in tqdm(loader, desc=title, unit='batch', total=len(loader)):
        loss = nn.functional.cross_entropy(net(normalise(x.to(device))), labels.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    late = losses[len(losses) // 2:]
    return sum(late) / len(late)


@tenon.no_grad()
def classify(net, images, device, count=10):
    net.eval()
    x, labels = images.batch(range(min(count, len(images))))
    sure = net(normalise(x.to(device))).softmax(1).cpu()
    for i, (row, truth) in enumerate(zip(sure.tolist(), labels.tolist())):
        guess = max(range(10), key=row.__getitem__)
        note = '' if guess == truth else f'  (it is: {images.classes[truth]})'
        print(f'  image {i}: {images.classes[guess]:12}{100 * row[guess]:4.0f} %{note}')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--device', default='auto', help='auto, or one that tenon.devices() lists')
    parser.add_argument('--data', default='/usr/share/datasets/fashion-mnist', help='folder of the four .gz files')
    parser.add_argument('--epochs', type=int, default=3)
    parser.add_argument('--batch-size', type=int, default=128)
    parser.add_argument('--lr', type=float, default=5e-3)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--workers', type=int, default=1, help='processes that prepare batches')
    parser.add_argument('-o', '--output', default='fashion_mnist.safetensors', help='where the weights are saved')
    o = parser.parse_args()

    device = tenon.device(o.device)
    tenon.manual_seed(o.seed)
    train_set, test_set = data.FashionMNIST(o.data), data.FashionMNIST(o.data, train=False)
    net = Net().to(device)
    print(f'{len(train_set)} images to learn from, {len(test_set)} to test with; {net.parameter_count()} parameters on {device}')
    optimizer = optim.AdamW(net.parameters(), lr=o.lr)
    loader = data.DataLoader(train_set, batch_size=o.batch_size, shuffle=True, seed=o.seed, num_workers=o.workers)
    schedule = optim.OneCycleLR(optimizer, o.lr, max(o.epochs * len(loader), 2))
    seconds = 0.0
    for epoch in range(1, o.epochs + 1):
        start = time.perf_counter()
        loss = train_epoch(net, loader, optimizer, schedule, device, f'epoch {epoch}/{o.epochs}')
        seconds += time.perf_counter() - start
        print(f'epoch {epoch}: loss {loss:.4f}, test accuracy {100 * accuracy(net, test_set, device):.2f} %, '
              f'{seconds:.1f} s of training')

    tenon.io.save(o.output, net.state_dict(), metadata={'format': 'tenon', 'network': 'fashion_mnist'})
    loaded = Net()
    loaded.load_state_dict(tenon.io.load(o.output))
    print(f'saved {o.output}; loaded back it says:')
    classify(loaded.to(device), test_set, device)


if __name__ == '__main__':
    main()
