"""The transformer of gpt2.py and models.py, in the words that both libraries share; what Tenon alone has is asked for by `fused`."""


def attend(f, qkv, causal, fused):
    """Of (B, N, 3, heads, width), by heads: (B, N, heads, width)."""
    if fused:
        return f.attention_packed(qkv, is_causal=causal)
    q, k, v = qkv.permute(2, 0, 3, 1, 4)
    return f.scaled_dot_product_attention(q, k, v, is_causal=causal).permute(0, 2, 1, 3)


def add_and_norm(f, norm, x, residual, fused):
    """x + residual normalised, and the sum."""
    if fused:
        return f.add_layer_norm(x, residual, norm.normalized_shape, norm.weight, norm.bias, norm.eps)
    total = x + residual
    return norm(total), total


def transformer(nn, layers, heads, width, vocabulary, context, causal, fused=False):
    """Pre-norm blocks, tanh's gelu; fused: by ops of several steps, which torch.compile makes by itself. Causal: GPT-2, whose last layer is the embedding (Radford et al. 2019); else the mean of the tokens."""
    f = nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x, branch):
            """x and the branch that is added to it next; so each sum and the norm behind it are one op."""
            b, n, _ = x.shape
            normed, x = add_and_norm(f, self.norm1, x, branch, fused)
            y = attend(f, self.qkv(normed).reshape(b, n, 3, heads, width // heads), causal, fused)
            normed, x = add_and_norm(f, self.norm2, x, self.out(y.reshape(b, n, width)), fused)
            return x, self.down(f.gelu(self.up(normed), approximate='tanh'))

    class Transformer(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
            self.blocks = nn.ModuleList([Block() for _ in range(layers)])
            self.norm = nn.LayerNorm(width)

        def forward(self, index, places=None):
            """`places` of the tokens, (N); default: from the first on."""
            x, branch = self.tokens(index), self.places.weight[:index.shape[1]] if places is None else self.places(places)
            branch = branch.expand(x.shape)
            for block in self.blocks:
                x, branch = block(x, branch)
            x, _ = add_and_norm(f, self.norm, x, branch, fused)
            return f.linear(x, self.tokens.weight) if causal else x.mean(1)
    return Transformer()
