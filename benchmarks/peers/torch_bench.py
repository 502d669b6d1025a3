"""The classic network's step in PyTorch, as its users run it. Prints {"classic_step/8": seconds, ...}."""

import json
import time

import torch


def make_step(batch):
    widths = [1024, 256, 256, 8]
    layers = []
    for i, (n, m) in enumerate(zip(widths, widths[1:])):
        layers.append(torch.nn.Linear(n, m))
        if i + 2 < len(widths):
            layers.append(torch.nn.ReLU())
    net = torch.nn.Sequential(*layers)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    x, target = torch.randn(batch, widths[0]), torch.randint(widths[-1], (batch,))

    def step():
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(x), target).backward()
        optimizer.step()

    return step


def seconds(step, at_least=0.3):
    for _ in range(5):
        step()
    repeats, start = 0, time.perf_counter()
    while time.perf_counter() - start < at_least:
        step()
        repeats += 1
    return (time.perf_counter() - start) / repeats


if __name__ == "__main__":
    print(json.dumps({f"classic_step/{batch}": seconds(make_step(batch)) for batch in (8, 64, 512)}))
