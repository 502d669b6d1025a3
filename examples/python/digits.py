"""Handwritten digits from scikit-learn (1,797 images, 8×8): a split by scikit-learn, a network by Tenon, a report by both.

    pip install scikit-learn
    python digits.py --epochs 30
"""
import argparse
import sys

import tenon
from tenon import data, nn, optim


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--epochs', type=int, default=30)
    parser.add_argument('--seed', type=int, default=1)
    o = parser.parse_args()
    try:
        from sklearn.datasets import load_digits
        from sklearn.metrics import classification_report
        from sklearn.model_selection import train_test_split
    except ImportError:
        sys.exit('digits.py needs the images of scikit-learn: pip install scikit-learn')

    tenon.manual_seed(o.seed)
    images, labels = load_digits(return_X_y=True)
    parts = train_test_split(images.astype('float32') / 16, labels, test_size=0.25, random_state=o.seed, stratify=labels)
    x_train, x_test, y_train, y_test = map(tenon.asarray, parts)
    net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 10))
    optimizer = optim.AdamW(net.parameters(), lr=3e-3)
    loader = data.DataLoader(data.TensorDataset(x_train, y_train), batch_size=32, shuffle=True, seed=o.seed)
    for epoch in range(1, o.epochs + 1):
        for x, y in loader:
            loss = nn.functional.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 10 == 0 or epoch == o.epochs:
            print(f'epoch {epoch}: loss {loss.item():.4f}')
    net.eval()
    with tenon.no_grad():
        guesses = net(x_test).argmax(1)
    print(classification_report(y_test.numpy(), guesses.numpy(), digits=3))
    print(f'accuracy {(guesses == y_test).to(tenon.float32).mean().item():.3f}')


if __name__ == '__main__':
    main()
