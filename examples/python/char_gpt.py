"""A small GPT learns the King James Bible character by character, then writes verses of its own (Radford et al. 2019).

    python char_gpt.py                      ten minutes on two cores
    python char_gpt.py --short              some seconds
    python char_gpt.py --prompt "And God said" --temperature 0.5

To reach: 1.45 nats a character on chapters that it has not seen. Each block is attention and a small network, each preceded by a
normalisation and added to its input; the last layer reuses the embedding. Data: Debian's bible-kjv.
"""
import common
import tenon
from tenon import nn, optim

f = nn.functional


class Block(nn.Module):
    """Causal self-attention with several heads, then a network for each position (Vaswani et al. 2017, norms first)."""

    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        b, n, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).reshape(b, n, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        y = f.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.dropout(self.out(y.transpose(1, 2).reshape(b, n, width)))
        return x + self.dropout(self.down(f.gelu(self.up(self.norm2(x)), approximate='tanh')))


class CharGPT(nn.Module):
    def __init__(self, symbols, width, layers, heads, context, dropout):
        super().__init__()
        self.context = context
        self.tokens, self.places = nn.Embedding(symbols, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList([Block(width, heads, dropout) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        for name, parameter in self.named_parameters():
            if parameter.ndim > 1:  # GPT-2's; layers whose outputs add up over the network start smaller
                last = name.endswith(('out.weight', 'down.weight'))
                nn.init.normal_(parameter, std=0.02 / (2 * layers) ** 0.5 if last else 0.02)

    def forward(self, x):
        """Logits (B, T, symbols) of the characters that follow x (B, T); T is at most the context."""
        x = self.tokens(x) + self.places.weight[:x.shape[1]]
        for block in self.blocks:
            x = block(x)
        return f.linear(self.norm(x), self.tokens.weight)


def loss_of(net, windows):
    """Mean loss over windows of context + 1 characters, (B, T + 1)."""
    return f.cross_entropy(net(windows[:, :-1]).flatten(0, 1), windows[:, 1:].reshape(-1))


@tenon.no_grad()
def nats(net, text):
    """Mean loss over a text cut into windows. This is harsh, because each window begins without context."""
    net.eval()
    step = net.context
    starts = tenon.arange(0, len(text) - step, step, device=text.device)
    places = starts[:, None] + tenon.arange(step + 1, device=text.device)
    losses = [loss_of(net, text[part]).item() * len(part) for part in places.split(32)]
    net.train()
    return sum(losses) / len(places)


@tenon.no_grad()
def sample(net, symbols, x, count, temperature):
    """Yields one character at a time after x (1, N), given as many earlier ones as fit into the context."""
    net.eval()
    for _ in range(count):
        logits = net(x[:, -net.context:])[0, -1:]
        drawn = tenon.multinomial((logits / temperature).softmax(-1), 1)
        x = tenon.concat([x, drawn], 1)
        yield symbols[drawn.item()]
    net.train()


def main():
    p = common.parser(__doc__)
    p.add_argument('--steps', type=int, default=4000)
    p.add_argument('--batch-size', type=int, default=32)
    p.add_argument('--context', type=int, default=128, help='characters that a prediction may look at')
    p.add_argument('--width', type=int, default=128)
    p.add_argument('--layers', type=int, default=4)
    p.add_argument('--heads', type=int, default=4)
    p.add_argument('--dropout', type=float, default=0.0)
    p.add_argument('--lr', type=float, default=3e-3)
    p.add_argument('--prompt', default='In the beginning')
    p.add_argument('--temperature', type=float, default=0.7)
    p.add_argument('--reach', type=float, default=1.45)
    o = common.parse(p, short=dict(steps=100, context=64, width=64, layers=2, lr=4e-3, reach=2.8))

    symbols, train, test = common.bible_characters()
    prompt = common.indices(o.prompt, symbols).to(o.device)
    train, test = train.to(o.device), test[:6000 if o.short else None].to(o.device)
    net = CharGPT(len(symbols), o.width, o.layers, o.heads, o.context, o.dropout).to(o.device)
    print(f'{len(train)} characters to learn from, {len(test)} to test with; {len(symbols)} symbols, {net.parameter_count()} parameters')
    optimizer = optim.AdamW(net.parameters(), lr=o.lr, betas=(0.9, 0.95), weight_decay=0.1)
    schedule = optim.OneCycleLR(optimizer, o.lr, max(o.steps, 2), pct_start=0.1)
    within = tenon.arange(o.context + 1, device=o.device)
    with common.Curve(o, 'loss', every=10 if o.short else 100, steps=o.steps, state=net.state_dict) as curve:
        for step in range(1, o.steps + 1):
            starts = tenon.randint((o.batch_size, 1), 0, len(train) - o.context, device=o.device)
            loss = loss_of(net, train[starts + within])
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
    common.figure('held-out loss', nats(net, test), o.reach, at_most=True, unit=' nats a character')


if __name__ == '__main__':
    main()
