"""Many threads train at once."""
import threading

import tenon
from tenon import nn, optim


def train(seed, found, barrier):
    try:
        generator = tenon.Generator(seed)
        net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
        for x in net.parameters():
            nn.init.normal_(x, 0.0, 0.3, generator)
        optimizer = optim.AdamW(net.parameters(), lr=1e-2)
        x = tenon.normal((32, 8), generator=generator)
        y = x.sum(1, keepdim=True)
        barrier.wait()
        for _ in range(150):
            loss = nn.functional.mse_loss(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        found[seed] = loss.item()
    except BaseException as error:
        found[seed] = error


def test_threads_train_like_a_single_one():
    alone, together = {}, {}
    for seed in range(6):
        train(seed, alone, threading.Barrier(1))
    barrier = threading.Barrier(6)
    threads = [threading.Thread(target=train, args=(seed, together, barrier)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == alone and all(value < 2 for value in alone.values())
