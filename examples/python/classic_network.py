"""The classic network (a perceptron of three layers with ReLU between them) on eight kinds of clothing, 32×32 pixels.

    python classic_network.py                              half a minute
    python classic_network.py --batch-size 512 --lr 0.4
    python classic_network.py --short                      some seconds

To reach: 0.86 of the test images. Data: Debian's dataset-fashion-mnist.
"""
import common
import tenon
from tenon import data, nn, optim


def eight_classes(folder, train):
    """The first eight classes, with a border of two pixels: floats (N, 1, 32, 32) and labels."""
    whole = data.FashionMNIST(folder, train)
    images, labels = whole.tensors
    kept = labels < 8
    pixels = (images[kept].to(tenon.float32) / 255 - 0.2860) / 0.3530
    return data.TensorDataset(tenon.pad(pixels, [2, 2, 2, 2], 'constant', -0.2860 / 0.3530), labels[kept])


@tenon.no_grad()
def accuracy(net, dataset, device):
    right = 0
    for x, labels in data.DataLoader(dataset, batch_size=1000):
        right += (net(x.to(device)).argmax(1) == labels.to(device)).sum().item()
    return right / len(dataset)


def main():
    p = common.parser(__doc__)
    p.add_argument('--data', default='/usr/share/datasets/fashion-mnist', help='folder of the four .gz files')
    p.add_argument('--steps', type=int, help='fewer than the epochs have')
    p.add_argument('--epochs', type=int, default=5)
    p.add_argument('--batch-size', type=int, default=64)
    p.add_argument('--lr', type=float, default=0.1)
    p.add_argument('--workers', type=int, default=0, help='processes that prepare batches')
    p.add_argument('--reach', type=float, default=0.86)
    o = common.parse(p, short=dict(epochs=1, steps=200, reach=0.75))

    train_set, test_set = eight_classes(o.data, True), eight_classes(o.data, False)
    net = nn.Sequential(nn.Flatten(), nn.Linear(32 * 32, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 8))
    net.to(o.device)
    print(tenon.summary(net, (o.batch_size, 1, 32, 32)))
    print(f'{len(train_set)} images to learn from, {len(test_set)} to test with')

    optimizer = optim.SGD(net.parameters(), lr=o.lr)
    loader = data.DataLoader(train_set, batch_size=o.batch_size, shuffle=True, seed=o.seed, num_workers=o.workers)
    steps = min(o.steps or o.epochs * len(loader), o.epochs * len(loader))
    schedule = optim.CosineAnnealingLR(optimizer, steps)
    step, found = 0, 0.0
    with common.Curve(o, 'loss', every=50 if o.short else 500, steps=steps) as curve:
        for epoch in range(1, o.epochs + 1):
            for x, labels in loader:
                if step == steps:
                    break
                step += 1
                loss = nn.functional.cross_entropy(net(x.to(o.device)), labels.to(o.device))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
                curve.add(step, loss=loss.item())
            found = accuracy(net, test_set, o.device)
            print(f'epoch {epoch}: test accuracy {100 * found:.2f} %')
    common.figure('test accuracy', found, o.reach)


if __name__ == '__main__':
    main()
