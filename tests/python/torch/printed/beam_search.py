"""Seq2seq with attention, teacher forcing, packed encoder, greedy and beam search, BLEU-like counting, label smoothing."""
import numpy as np
import torch


def numpy_init(model, seed=0, scale=0.2):
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.from_numpy(rng.uniform(-scale, scale, tuple(p.shape))).to(p.dtype))
    return model


import heapq
import math
import operator
from queue import PriorityQueue
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

PAD, SOS, EOS = 0, 1, 2


class Encoder(nn.Module):
    def __init__(self, n, e, h):
        super().__init__()
        self.embed, self.gru, self.fc = nn.Embedding(n, e, padding_idx=PAD), nn.GRU(e, h, bidirectional=True), nn.Linear(2 * h, h)

    def forward(self, src, lengths):
        packed = pack_padded_sequence(self.embed(src), lengths.cpu(), enforce_sorted=False)
        outputs, hidden = self.gru(packed)
        outputs, _ = pad_packed_sequence(outputs)
        return outputs, torch.tanh(self.fc(torch.cat((hidden[-2, :, :], hidden[-1, :, :]), dim=1)))


class Attention(nn.Module):
    def __init__(self, h):
        super().__init__()
        self.attn, self.v = nn.Linear(3 * h, h), nn.Linear(h, 1, bias=False)

    def forward(self, hidden, encoder_outputs, mask):
        src_len = encoder_outputs.shape[0]
        hidden = hidden.unsqueeze(1).repeat(1, src_len, 1)
        encoder_outputs = encoder_outputs.permute(1, 0, 2)
        energy = torch.tanh(self.attn(torch.cat((hidden, encoder_outputs), dim=2)))
        attention = self.v(energy).squeeze(2).masked_fill(mask == 0, -1e10)
        return F.softmax(attention, dim=1)


class Decoder(nn.Module):
    def __init__(self, n, e, h, attention):
        super().__init__()
        self.n, self.attention, self.embed = n, attention, nn.Embedding(n, e)
        self.gru, self.out = nn.GRU(2 * h + e, h), nn.Linear(3 * h + e, n)

    def forward(self, input, hidden, encoder_outputs, mask):
        embedded = self.embed(input.unsqueeze(0))
        a = self.attention(hidden, encoder_outputs, mask).unsqueeze(1)
        weighted = torch.bmm(a, encoder_outputs.permute(1, 0, 2)).permute(1, 0, 2)
        output, hidden = self.gru(torch.cat((embedded, weighted), dim=2), hidden.unsqueeze(0))
        assert (output == hidden).all()
        prediction = self.out(torch.cat((output.squeeze(0), weighted.squeeze(0), embedded.squeeze(0)), dim=1))
        return prediction, hidden.squeeze(0), a.squeeze(1)


class Seq2Seq(nn.Module):
    def __init__(self, n=9, e=5, h=6):
        super().__init__()
        self.encoder, self.decoder = Encoder(n, e, h), Decoder(n, e, h, Attention(h))

    def create_mask(self, src):
        return (src != PAD).permute(1, 0)

    def forward(self, src, lengths, trg, teacher_forcing_ratio=0.5):
        outputs = torch.zeros(trg.shape[0], src.shape[1], self.decoder.n)
        encoder_outputs, hidden = self.encoder(src, lengths)
        input, mask = trg[0, :], self.create_mask(src)
        for t in range(1, trg.shape[0]):
            output, hidden, _ = self.decoder(input, hidden, encoder_outputs, mask)
            outputs[t] = output
            top1 = output.argmax(1)
            input = trg[t] if t % 2 else top1
        return outputs


rng = np.random.default_rng(0)
sources = [torch.tensor(rng.integers(3, 9, n)) for n in (5, 3, 4, 2)]
targets = [torch.cat([torch.tensor([SOS]), s.flip(0), torch.tensor([EOS])]) for s in sources]
src, trg = pad_sequence(sources, padding_value=PAD), pad_sequence(targets, padding_value=PAD)
lengths = torch.tensor([len(s) for s in sources])
print(src, trg, lengths)
model = numpy_init(Seq2Seq(), 4, 0.6)
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
criterion = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=0.05)
for i in range(25):
    optimizer.zero_grad()
    output = model(src, lengths, trg)
    loss = criterion(output[1:].view(-1, output.shape[-1]), trg[1:].view(-1))
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1)
    optimizer.step()
    if i % 6 == 0:
        print(f'\tTrain Loss: {loss.item():.3f} | Train PPL: {math.exp(loss.item()):7.3f}')


class BeamSearchNode(object):
    def __init__(self, hiddenstate, previousNode, wordId, logProb, length):
        self.h, self.prevNode, self.wordid, self.logp, self.leng = hiddenstate, previousNode, wordId, logProb, length

    def eval(self, alpha=1.0):
        return self.logp / float(self.leng - 1 + 1e-6)

    def __lt__(self, other):
        return self.leng < other.leng


def beam_decode(model, s, width=3, steps=8):
    enc, hidden = model.encoder(s[:, None], torch.tensor([len(s)]))
    mask = torch.ones(1, len(s))
    node = BeamSearchNode(hidden, None, torch.LongTensor([SOS]), 0, 1)
    nodes, ends = PriorityQueue(), []
    nodes.put((-node.eval(), node))
    while not nodes.empty() and len(ends) < width and nodes.qsize() < 200:
        score, n = nodes.get()
        if (n.wordid.item() == EOS and n.prevNode is not None) or n.leng > steps:
            ends.append((score, n))
            continue
        logits, h, _ = model.decoder(n.wordid, n.h, enc, mask)
        log_prob, indexes = torch.topk(F.log_softmax(logits, dim=1), width)
        for k in range(width):
            decoded_t = indexes[0][k].view(-1)
            child = BeamSearchNode(h, n, decoded_t, n.logp + log_prob[0][k].item(), n.leng + 1)
            nodes.put((-child.eval(), child))
    found = []
    for score, n in sorted(ends, key=operator.itemgetter(0)):
        words = [n.wordid.item()]
        while n.prevNode is not None:
            n = n.prevNode
            words.append(n.wordid.item())
        found.append((round(score, 4), words[::-1]))
    return found


model.eval()
with torch.no_grad():
    for s in sources[:2]:
        print(beam_decode(model, s))
        beams = [([SOS], 0.0, model.encoder(s[:, None], torch.tensor([len(s)]))[1])]
        enc = model.encoder(s[:, None], torch.tensor([len(s)]))[0]
        for _ in range(4):
            grown = []
            for seq, score, h in beams:
                logits, h2, _ = model.decoder(torch.tensor([seq[-1]]), h, enc, torch.ones(1, len(s)))
                logp = logits.log_softmax(-1).squeeze(0)
                for lp, ix in zip(*logp.topk(2)):
                    grown.append((seq + [int(ix)], score + float(lp), h2))
            beams = heapq.nlargest(2, grown, key=lambda b: b[1])
        print([(seq, round(score, 3)) for seq, score, _ in beams])
    scores = torch.full((3, 9), -1e9)
    scores[0] = 0
    flat, ix = (scores + torch.linspace(0, 1, 9)).view(-1).topk(4)
    print(flat, torch.div(ix, 9, rounding_mode='floor'), ix % 9, ix.fmod(9))
