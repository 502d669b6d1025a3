"""Translates with a recurrent encoder over packed sequences and additive attention."""
import random
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim, Tensor
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, PackedSequence
from typing import Tuple
import numpy as np


def numpy_init(model, seed=0, scale=0.1):
    """The same first weights whoever draws them."""
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.tensor(rng.uniform(-scale, scale, tuple(p.shape))).to(p.dtype))
    return model

PAD, SOS, EOS = 0, 1, 2


class Encoder(nn.Module):
    def __init__(self, vocab, emb, enc_hid, dec_hid, dropout):
        super().__init__()
        self.embedding = nn.Embedding(vocab, emb, padding_idx=PAD)
        self.rnn = nn.GRU(emb, enc_hid, bidirectional=True)
        self.fc = nn.Linear(enc_hid * 2, dec_hid)
        self.dropout = nn.Dropout(dropout)

    def forward(self, src: Tensor, src_len: Tensor) -> Tuple[Tensor]:
        embedded = self.dropout(self.embedding(src))
        packed = pack_padded_sequence(embedded, src_len.cpu(), enforce_sorted=False)
        outputs, hidden = self.rnn(packed)
        assert isinstance(outputs, PackedSequence)
        outputs, lens = pad_packed_sequence(outputs)
        hidden = torch.tanh(self.fc(torch.cat((hidden[-2, :, :], hidden[-1, :, :]), dim=1)))
        return outputs, hidden


class Attention(nn.Module):
    def __init__(self, enc_hid, dec_hid, attn_dim):
        super().__init__()
        self.attn_in = (enc_hid * 2) + dec_hid
        self.attn = nn.Linear(self.attn_in, attn_dim)
        self.v = nn.Parameter(torch.rand(attn_dim))

    def forward(self, hidden, encoder_outputs, mask):
        src_len = encoder_outputs.shape[0]
        hidden = hidden.unsqueeze(1).repeat(1, src_len, 1)
        encoder_outputs = encoder_outputs.permute(1, 0, 2)
        energy = torch.tanh(self.attn(torch.cat((hidden, encoder_outputs), dim=2)))
        attention = energy.matmul(self.v)
        attention = attention.masked_fill(mask == 0, -1e10)
        return F.softmax(attention, dim=1)


class Decoder(nn.Module):
    def __init__(self, vocab, emb, enc_hid, dec_hid, attention):
        super().__init__()
        self.output_dim = vocab
        self.attention = attention
        self.embedding = nn.Embedding(vocab, emb)
        self.rnn = nn.GRUCell(enc_hid * 2 + emb, dec_hid)
        self.out = nn.Linear(attention.attn_in + emb, vocab)

    def forward(self, input, hidden, encoder_outputs, mask):
        embedded = self.embedding(input)
        a = self.attention(hidden, encoder_outputs, mask).unsqueeze(1)
        weighted = torch.bmm(a, encoder_outputs.permute(1, 0, 2)).squeeze(1)
        hidden = self.rnn(torch.cat((embedded, weighted), dim=1), hidden)
        return self.out(torch.cat((hidden, weighted, embedded), dim=1)), hidden, a.squeeze(1)


class Seq2Seq(nn.Module):
    def __init__(self, encoder, decoder, device):
        super().__init__()
        self.encoder, self.decoder, self.device = encoder, decoder, device

    def forward(self, src, src_len, trg, teacher_forcing_ratio=0.5):
        batch, max_len = src.shape[1], trg.shape[0]
        outputs = torch.zeros(max_len, batch, self.decoder.output_dim).to(self.device)
        encoder_outputs, hidden = self.encoder(src, src_len)
        mask = (src != PAD).permute(1, 0)
        output = trg[0, :]
        attns = []
        for t in range(1, max_len):
            output, hidden, a = self.decoder(output, hidden, encoder_outputs, mask)
            outputs[t] = output
            attns.append(a)
            teacher_force = random.random() < teacher_forcing_ratio
            top1 = output.max(1)[1]
            output = (trg[t] if teacher_force else top1)
        return outputs, torch.stack(attns)


def init_weights(m: nn.Module):
    for name, param in m.named_parameters():
        if 'weight' in name:
            nn.init.normal_(param.data, mean=0, std=0.01)
        else:
            nn.init.constant_(param.data, 0)


random.seed(1)
rng = np.random.default_rng(5)
enc = Encoder(20, 8, 10, 12, 0.0)
model = Seq2Seq(enc, Decoder(20, 8, 10, 12, Attention(10, 12, 6)), 'cpu')
model.apply(init_weights)
numpy_init(model, 3, 0.3)
print(model)
print(f'The model has {sum(p.numel() for p in model.parameters() if p.requires_grad):,} trainable parameters')
lens = torch.tensor([5, 7, 3, 6])
src = torch.zeros(7, 4, dtype=torch.long)
for i, n in enumerate(lens):
    src[:n, i] = torch.from_numpy(rng.integers(3, 20, int(n)))
trg = torch.cat([torch.full((1, 4), SOS), src.flip(0)[:5].clamp(min=3), torch.full((1, 4), EOS)])
optimizer = optim.Adam(model.parameters())
criterion = nn.CrossEntropyLoss(ignore_index=PAD)
for step in range(6):
    optimizer.zero_grad()
    output, attn = model(src, lens, trg)
    loss = criterion(output[1:].view(-1, output.shape[-1]), trg[1:].view(-1))
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1)
    optimizer.step()
    print(step, round(loss.item(), 5), round(norm.item(), 5), f'{np.exp(loss.item()):7.3f}')
print(attn.shape, attn[0].sum(1), attn[0, 2])
print(model.encoder.embedding.weight[PAD].abs().sum() > 0, model.encoder.embedding.weight.grad[PAD])
lstm = nn.LSTM(4, 6, 2, dropout=0.1, bidirectional=True, batch_first=True, proj_size=3)
print(lstm, [n for n, _ in lstm.named_parameters()][:6])
numpy_init(lstm, 1, 0.4).eval()
o, (h, c) = lstm(torch.linspace(-1, 1, 2 * 5 * 4).view(2, 5, 4))
print(o.shape, h.shape, c.shape, o.sum(), h[0])
