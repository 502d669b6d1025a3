"""An LSTM learns the King James Bible character by character, then writes verses of its own (Graves 2013, arXiv:1308.0850).

    python char_lstm.py                     ten minutes on two cores
    python char_lstm.py --short             some seconds
    python char_lstm.py --prompt "And God said" --temperature 0.5

To reach: 1.50 nats a character on chapters that it has not seen. The text is cut into as many streams as a batch has rows; each step
continues where the last one stopped and keeps its state, so the network remembers further than gradients reach. Data: Debian's
bible-kjv.
"""
import math

import common
import tenon
from tenon import nn, optim


class CharLSTM(nn.Module):
    def __init__(self, symbols, width, layers):
        super().__init__()
        self.embed = nn.Embedding(symbols, width)
        self.lstm = nn.LSTM(width, width, layers, batch_first=True)
        self.out = nn.Linear(width, symbols)

    def forward(self, x, state=None):
        """Logits (B, T, symbols) of the characters that follow x (B, T), and the state after the last one."""
        y, state = self.lstm(self.embed(x), state)
        return self.out(y), state


def streams(text, rows):
    """The text as parallel streams, (rows, N)."""
    length = len(text) // rows
    return text[:rows * length].reshape(rows, length)


def loss_of(net, x, targets, state):
    logits, state = net(x, state)
    return nn.functional.cross_entropy(logits.flatten(0, 1), targets.reshape(-1)), state


@tenon.no_grad()
def nats(net, text, length=256):
    """Mean loss over a text, in nats per character."""
    net.eval()
    rows, state, total, count = streams(text, 32), None, 0.0, 0
    for at in range(0, rows.shape[1] - 1, length):
        stop = min(at + length, rows.shape[1] - 1)
        loss, state = loss_of(net, rows[:, at:stop], rows[:, at + 1:stop + 1], state)
        total += loss.item() * (stop - at)
        count += stop - at
    net.train()
    return total / count


@tenon.no_grad()
def sample(net, symbols, x, count, temperature):
    """Yields one character at a time after x (1, N); the state is all that the network keeps of earlier ones."""
    net.eval()
    state = None
    for _ in range(count):
        logits, state = net(x, state)
        x = tenon.multinomial((logits[0, -1:] / temperature).softmax(-1), 1)
        yield symbols[x.item()]
    net.train()


def main():
    p = common.parser(__doc__)
    p.add_argument('--steps', type=int, default=4000)
    p.add_argument('--batch-size', type=int, default=32, help='streams')
    p.add_argument('--length', type=int, default=128, help='characters that gradients flow back through')
    p.add_argument('--width', type=int, default=256)
    p.add_argument('--layers', type=int, default=2)
    p.add_argument('--lr', type=float, default=4e-3)
    p.add_argument('--prompt', default='In the beginning')
    p.add_argument('--temperature', type=float, default=0.7)
    p.add_argument('--reach', type=float, default=1.5)
    o = common.parse(p, short=dict(steps=60, width=96, layers=1, length=64, lr=1e-2, reach=2.5))

    symbols, train, test = common.bible_characters()
    prompt = common.indices(o.prompt, symbols).to(o.device)
    rows, test = streams(train, o.batch_size).to(o.device), test[:6000 if o.short else None].to(o.device)
    net = CharLSTM(len(symbols), o.width, o.layers).to(o.device)
    print(f'{len(train)} characters to learn from, {len(test)} to test with; {len(symbols)} symbols, {net.parameter_count()} parameters')
    optimizer = optim.AdamW(net.parameters(), lr=o.lr, weight_decay=0.01)
    schedule = optim.OneCycleLR(optimizer, o.lr, max(o.steps, 2))
    state, at = None, 0
    with common.Curve(o, 'loss', every=10 if o.short else 100, steps=o.steps, state=net.state_dict) as curve:
        for step in range(1, o.steps + 1):
            if at + o.length >= rows.shape[1]:
                state, at = None, 0
            loss, state = loss_of(net, rows[:, at:at + o.length], rows[:, at + 1:at + o.length + 1], state)
            state, at = tuple(part.detach() for part in state), at + o.length
            optimizer.zero_grad()
            loss.backward()
            optim.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            curve.add(step, loss=loss.item())

    print(o.prompt, end='')
    for character in sample(net, symbols, prompt, 30 if o.short else 600, o.temperature):
        print(character, end='', flush=True)
    print()
    found = nats(net, test)
    print(f'{found / math.log(2):.3f} bits a character')
    common.figure('held-out loss', found, o.reach, at_most=True, unit=' nats a character')


if __name__ == '__main__':
    main()
