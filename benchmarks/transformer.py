"""The transformer of gpt2.py and models.py, in the words that both libraries share."""


def transformer(nn, layers, heads, width, vocabulary, context, causal):
    """Pre-norm blocks, tanh's gelu. Causal: GPT-2, whose last layer is the embedding (Radford et al. 2019); else the mean of the tokens."""
    f = nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            b, n, _ = x.shape
            q, k, v = self.qkv(self.norm1(x)).reshape(b, n, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
            y = f.scaled_dot_product_attention(q, k, v, is_causal=causal)
            x = x + self.out(y.permute(0, 2, 1, 3).reshape(b, n, width))
            return x + self.down(f.gelu(self.up(self.norm2(x)), approximate='tanh'))

    class Transformer(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
            self.blocks = nn.ModuleList([Block() for _ in range(layers)])
            self.norm = nn.LayerNorm(width)

        def forward(self, index, places=None):
            """`places` of the tokens, (N); default: from the first on."""
            x = self.tokens(index) + (self.places.weight[:index.shape[1]] if places is None else self.places(places))
            for block in self.blocks:
                x = block(x)
            x = self.norm(x)
            return f.linear(x, self.tokens.weight) if causal else x.mean(1)
    return Transformer()
