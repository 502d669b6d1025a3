"""Trains a small convolutional network on the images of Fashion-MNIST (LeCun et al. 1998), saves it, loads it back and names some images.

    python fashion_mnist.py                        a minute on two cores
    python fashion_mnist.py --epochs 1             a quick look
    python fashion_mnist.py --short                some seconds

To reach: 0.92 of the test images. Data: Debian's dataset-fashion-mnist.
"""
import common
import pictures
import tenon
from tenon import data, nn, optim


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
    p = common.parser(__doc__)
    p.add_argument('--data', default='/usr/share/datasets/fashion-mnist', help='folder of the four .gz files')
    p.add_argument('--steps', type=int, help='fewer than the epochs have')
    p.add_argument('--epochs', type=int, default=8)
    p.add_argument('--batch-size', type=int, default=128)
    p.add_argument('--lr', type=float, default=5e-3, help='the highest learning rate')
    p.add_argument('--workers', type=int, default=1, help='processes that prepare batches')
    p.add_argument('--reach', type=float, default=0.92)
    o = common.parse(p, short=dict(epochs=1, steps=120, workers=0, reach=0.75))

    train_set, test_set = data.FashionMNIST(o.data), data.FashionMNIST(o.data, train=False)
    net = Net().to(o.device)
    print(f'{len(train_set)} images to learn from, {len(test_set)} to test with; {net.parameter_count()} parameters')
    optimizer = optim.AdamW(net.parameters(), lr=o.lr)
    loader = data.DataLoader(train_set, batch_size=o.batch_size, shuffle=True, seed=o.seed, num_workers=o.workers)
    steps = min(o.steps or o.epochs * len(loader), o.epochs * len(loader))
    schedule = optim.OneCycleLR(optimizer, o.lr, max(steps, 2))
    step, found = 0, 0.0
    with common.Curve(o, 'loss', every=20 if o.short else 100, steps=steps, state=net.state_dict) as curve:
        for epoch in range(1, o.epochs + 1):
            for x, labels in loader:
                if step == steps:
                    break
                step += 1
                loss = nn.functional.cross_entropy(net(normalise(x.to(o.device))), labels.to(o.device))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
                curve.add(step, loss=loss.item())
            found = accuracy(net, test_set, o.device)
            print(f'epoch {epoch}: test accuracy {100 * found:.2f} %')

    loaded = Net()
    loaded.load_state_dict(tenon.io.load(curve.weights))
    print(f'saved {curve.weights}; loaded back it says:')
    classify(loaded.to(o.device), test_set, o.device)
    pictures.save_grid(o.output / 'named.png', test_set.tensors[0][:10].to(tenon.float32) / 255, 10)
    common.figure('test accuracy', found, o.reach)


if __name__ == '__main__':
    main()
