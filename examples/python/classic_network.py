"""The classic network (a perceptron of three layers with ReLU between them) on eight kinds of clothing, 32×32 pixels.

    python classic_network.py                              on the best device there is
    python classic_network.py --batch-size 512 --lr 0.4
"""
import argparse

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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--device', default='auto', help='auto, or one that tenon.devices() lists')
    parser.add_argument('--data', default='/usr/share/datasets/fashion-mnist', help='folder of the four .gz files')
    parser.add_argument('--epochs', type=int, default=5)
    parser.add_argument('--batch-size', type=int, default=64)
    parser.add_argument('--lr', type=float, default=0.1)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--workers', type=int, default=0, help='processes that prepare batches')
    o = parser.parse_args()

    device = tenon.device(o.device)
    tenon.manual_seed(o.seed)
    train_set, test_set = eight_classes(o.data, True), eight_classes(o.data, False)
    net = nn.Sequential(nn.Flatten(), nn.Linear(32 * 32, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 8))
    net.to(device)
    print(tenon.summary(net, (o.batch_size, 1, 32, 32)))
    print(f'{len(train_set)} images to learn from, on {device}')

    optimizer = optim.SGD(net.parameters(), lr=o.lr)
    loader = data.DataLoader(train_set, batch_size=o.batch_size, shuffle=True, seed=o.seed, num_workers=o.workers)
    schedule = optim.CosineAnnealingLR(optimizer, o.epochs * len(loader))
    for epoch in range(1, o.epochs + 1):
        recent = None
        for x, labels in loader:
            loss = nn.functional.cross_entropy(net(x.to(device)), labels.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            recent = loss.item() if recent is None else 0.95 * recent + 0.05 * loss.item()
        print(f'epoch {epoch}: loss {recent:.4f}, test accuracy {100 * accuracy(net, test_set, device):.2f} %')


if __name__ == '__main__':
    main()
