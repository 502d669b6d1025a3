"""Translates generated sentences, which are reversed and shifted, with nn.Transformer, as tutorials for PyTorch do."""
import math

import numpy as np
import torch
import torch.nn as nn
from torch.optim.lr_scheduler import LambdaLR

PAD, BOS, EOS, VOCAB, WIDTH = 0, 1, 2, 14, 16


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.0, max_len=50):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer('pe', pe)

    def forward(self, x):
        return self.dropout(x + self.pe[:x.size(0)])


class Seq2Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.transformer = nn.Transformer(d_model=WIDTH, nhead=2, num_encoder_layers=1, num_decoder_layers=1, dim_feedforward=32, dropout=0.0)
        self.generator = nn.Linear(WIDTH, VOCAB)
        self.src_tok_emb, self.tgt_tok_emb = nn.Embedding(VOCAB, WIDTH), nn.Embedding(VOCAB, WIDTH)
        self.positional_encoding = PositionalEncoding(WIDTH)

    def embed(self, tokens, table):
        return self.positional_encoding(table(tokens.long()) * math.sqrt(WIDTH))

    def forward(self, src, tgt, tgt_mask, src_padding_mask, tgt_padding_mask):
        outs = self.transformer(self.embed(src, self.src_tok_emb), self.embed(tgt, self.tgt_tok_emb), None, tgt_mask, None,
                                src_padding_mask, tgt_padding_mask, src_padding_mask)
        return self.generator(outs)


def sentences(rng, count):
    """(T, count) of words and of their translations, padded."""
    src, tgt = [], []
    for _ in range(count):
        words = rng.integers(3, VOCAB, rng.integers(3, 7))
        src.append(torch.tensor([BOS, *words.tolist(), EOS]))
        tgt.append(torch.tensor([BOS, *[3 + (w - 2) % (VOCAB - 3) for w in reversed(words.tolist())], EOS]))
    return tuple(nn.utils.rnn.pad_sequence(each, padding_value=PAD) for each in (src, tgt))


def create_mask(src, tgt):
    size = tgt.shape[0]
    tgt_mask = torch.triu(torch.ones(size, size, dtype=torch.bool), diagonal=1)
    return tgt_mask, (src == PAD).transpose(0, 1), (tgt == PAD).transpose(0, 1)


def first_weights(model, rng):
    """The same first weights whoever draws them."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.dim() > 1:
                p.copy_(torch.from_numpy(rng.normal(0, 1 / math.sqrt(p.size(-1)), tuple(p.shape))))
            elif 'norm' not in name:
                nn.init.zeros_(p)


def greedy_decode(model, src, max_len):
    model.eval()
    memory = model.transformer.encoder(model.embed(src, model.src_tok_emb))
    ys = torch.ones(1, 1).fill_(BOS).type(torch.long)
    for _ in range(max_len):
        mask = nn.Transformer.generate_square_subsequent_mask(ys.size(0))
        out = model.transformer.decoder(model.embed(ys, model.tgt_tok_emb), memory, mask).transpose(0, 1)
        _, next_word = torch.max(model.generator(out[:, -1]), dim=1)
        ys = torch.cat([ys, torch.ones(1, 1).type_as(src.data).fill_(next_word.item())], dim=0)
        if next_word.item() == EOS:
            break
    return ys.flatten().tolist()


def main():
    rng = np.random.default_rng(0)
    model = Seq2Seq()
    first_weights(model, rng)
    loss_fn = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=0.1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-9)
    scheduler = LambdaLR(optimizer, lambda step: WIDTH ** -0.5 * min((step + 1) ** -0.5, (step + 1) * 40 ** -1.5) * 0.2)
    losses = []
    for _ in range(24):
        model.train()
        src, tgt = sentences(rng, 12)
        tgt_input, tgt_out = tgt[:-1, :], tgt[1:, :]
        logits = model(src, tgt_input, *create_mask(src, tgt_input))
        optimizer.zero_grad()
        loss = loss_fn(logits.reshape(-1, logits.shape[-1]), tgt_out.reshape(-1))
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    with torch.no_grad():
        decoded = greedy_decode(model, sentences(rng, 1)[0], 8)
    return losses, decoded


if __name__ == '__main__':
    print(main())
