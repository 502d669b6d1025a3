"""Learns a generated text letter by letter with an LSTM, as char-rnn scripts for PyTorch do, and writes some of its own."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

SEQ_LEN, BATCH, HIDDEN = 16, 8, 24


class CharLSTM(nn.Module):
    def __init__(self, vocab_size, embed_size, hidden_size, num_layers):
        super().__init__()
        self.num_layers, self.hidden_size = num_layers, hidden_size
        self.embedding = nn.Embedding(vocab_size, embed_size)
        self.lstm = nn.LSTM(embed_size, hidden_size, num_layers, batch_first=True, dropout=0.0)
        self.fc = nn.Linear(hidden_size, vocab_size)

    def forward(self, x, hidden):
        out, hidden = self.lstm(self.embedding(x), hidden)
        return self.fc(out.contiguous().view(-1, self.hidden_size)), hidden

    def init_hidden(self, batch_size):
        weight = next(self.parameters())
        return tuple(weight.new_zeros(self.num_layers, batch_size, self.hidden_size) for _ in range(2))


def text(rng):
    words = ['tenon', 'mortise', 'joint', 'saw', 'chisel']
    return ' '.join(words[i] for i in rng.integers(0, len(words), 560))


def first_weights(model, rng):
    """The same first weights whoever draws them."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.tensor(rng.uniform(-0.2, 0.2, tuple(parameter.shape)), dtype=torch.float32))


def sample(model, char_to_ix, ix_to_char, prime, length):
    model.eval()
    hidden, written = model.init_hidden(1), prime
    with torch.no_grad():
        x = torch.tensor([[char_to_ix[c] for c in prime]], dtype=torch.long)
        for _ in range(length):
            logits, hidden = model(x, hidden)
            p = F.softmax(logits[-1], dim=0)
            _, top = p.topk(1)
            written += ix_to_char[top.item()]
            x = top.view(1, 1)
    return written


def main():
    rng = np.random.default_rng(0)
    data = text(rng)
    chars = sorted(set(data))
    char_to_ix = {c: i for i, c in enumerate(chars)}
    ids = torch.tensor([char_to_ix[c] for c in data], dtype=torch.long)
    steps = ids.numel() // (BATCH * SEQ_LEN)
    ids = ids[:steps * BATCH * SEQ_LEN].view(BATCH, -1)

    model = CharLSTM(len(chars), 12, HIDDEN, num_layers=2)
    first_weights(model, rng)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    hidden, losses = model.init_hidden(BATCH), []
    for i in range(0, min(ids.size(1) - 1, 24 * SEQ_LEN), SEQ_LEN):
        inputs, targets = ids[:, i:i + SEQ_LEN], ids[:, i + 1:i + 1 + SEQ_LEN]
        if targets.size(1) < SEQ_LEN:
            break
        hidden = tuple(each.detach() for each in hidden)
        model.zero_grad()
        output, hidden = model(inputs, hidden)
        loss = criterion(output, targets.reshape(-1))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    written = sample(model, char_to_ix, {i: c for c, i in char_to_ix.items()}, 'te', 12)
    return losses, [char_to_ix[c] for c in written]


if __name__ == '__main__':
    print(main())
