"""Handwritten digits from scikit-learn (1,797 images, 8×8): a split by scikit-learn, a network by Tenon, a report by both.

    pip install scikit-learn
    python digits.py                     some seconds
    python digits.py --short

To reach: 0.97 of the images that it has not seen.
"""
import common
import tenon
from tenon import data, nn, optim


def main():
    p = common.parser(__doc__)
    p.add_argument('--epochs', type=int, default=30)
    p.add_argument('--reach', type=float, default=0.97)
    o = common.parse(p, short=dict(epochs=10, reach=0.93))
    try:
        from sklearn.datasets import load_digits
        from sklearn.metrics import classification_report
        from sklearn.model_selection import train_test_split
    except ImportError:
        common.install('pip install scikit-learn', 'needs the images of scikit-learn')

    images, labels = load_digits(return_X_y=True)
    parts = train_test_split(images.astype('float32') / 16, labels, test_size=0.25, random_state=o.seed, stratify=labels)
    x_train, x_test, y_train, y_test = (tenon.asarray(part).to(o.device) for part in parts)
    net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 10)).to(o.device)
    optimizer = optim.AdamW(net.parameters(), lr=3e-3)
    loader = data.DataLoader(data.TensorDataset(x_train, y_train), batch_size=32, shuffle=True, seed=o.seed)
    with common.Curve(o, 'loss', every=10, steps=o.epochs) as curve:
        for epoch in range(1, o.epochs + 1):
            for x, y in loader:
                loss = nn.functional.cross_entropy(net(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            curve.add(epoch, loss=loss.item())
    net.eval()
    with tenon.no_grad():
        guesses = net(x_test).argmax(1).cpu()
    y_test = y_test.cpu()
    print(classification_report(y_test.numpy(), guesses.numpy(), digits=3))
    common.figure('right answers', (guesses == y_test).to(tenon.float32).mean().item(), o.reach)


if __name__ == '__main__':
    main()
