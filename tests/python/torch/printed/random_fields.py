"""A linear-chain CRF: forward algorithm in log space, Viterbi, BiLSTM tagger; batched version with masks."""
import numpy as np
import torch


def numpy_init(model, seed=0, scale=0.2):
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.from_numpy(rng.uniform(-scale, scale, tuple(p.shape))).to(p.dtype))
    return model


from typing import List, Optional
import torch.nn as nn

START_TAG, STOP_TAG = '<START>', '<STOP>'


def argmax(vec):
    _, idx = torch.max(vec, 1)
    return idx.item()


def log_sum_exp(vec):
    max_score = vec[0, argmax(vec)]
    max_score_broadcast = max_score.view(1, -1).expand(1, vec.size()[1])
    return max_score + torch.log(torch.sum(torch.exp(vec - max_score_broadcast)))


class BiLSTM_CRF(nn.Module):
    def __init__(self, vocab_size, tag_to_ix, embedding_dim, hidden_dim):
        super(BiLSTM_CRF, self).__init__()
        self.hidden_dim, self.tag_to_ix, self.tagset_size = hidden_dim, tag_to_ix, len(tag_to_ix)
        self.word_embeds = nn.Embedding(vocab_size, embedding_dim)
        self.lstm = nn.LSTM(embedding_dim, hidden_dim // 2, num_layers=1, bidirectional=True)
        self.hidden2tag = nn.Linear(hidden_dim, self.tagset_size)
        self.transitions = nn.Parameter(torch.randn(self.tagset_size, self.tagset_size))
        self.transitions.data[tag_to_ix[START_TAG], :] = -10000
        self.transitions.data[:, tag_to_ix[STOP_TAG]] = -10000

    def init_hidden(self):
        return (torch.zeros(2, 1, self.hidden_dim // 2), torch.ones(2, 1, self.hidden_dim // 2) * 0.1)

    def _forward_alg(self, feats):
        init_alphas = torch.full((1, self.tagset_size), -10000.)
        init_alphas[0][self.tag_to_ix[START_TAG]] = 0.
        forward_var = init_alphas
        for feat in feats:
            alphas_t = []
            for next_tag in range(self.tagset_size):
                emit_score = feat[next_tag].view(1, -1).expand(1, self.tagset_size)
                trans_score = self.transitions[next_tag].view(1, -1)
                alphas_t.append(log_sum_exp(forward_var + trans_score + emit_score).view(1))
            forward_var = torch.cat(alphas_t).view(1, -1)
        return log_sum_exp(forward_var + self.transitions[self.tag_to_ix[STOP_TAG]])

    def _get_lstm_features(self, sentence):
        self.hidden = self.init_hidden()
        embeds = self.word_embeds(sentence).view(len(sentence), 1, -1)
        lstm_out, self.hidden = self.lstm(embeds, self.hidden)
        return self.hidden2tag(lstm_out.view(len(sentence), self.hidden_dim))

    def _score_sentence(self, feats, tags):
        score = torch.zeros(1)
        tags = torch.cat([torch.tensor([self.tag_to_ix[START_TAG]], dtype=torch.long), tags])
        for i, feat in enumerate(feats):
            score = score + self.transitions[tags[i + 1], tags[i]] + feat[tags[i + 1]]
        return score + self.transitions[self.tag_to_ix[STOP_TAG], tags[-1]]

    def _viterbi_decode(self, feats):
        backpointers = []
        init_vvars = torch.full((1, self.tagset_size), -10000.)
        init_vvars[0][self.tag_to_ix[START_TAG]] = 0
        forward_var = init_vvars
        for feat in feats:
            bptrs_t, viterbivars_t = [], []
            for next_tag in range(self.tagset_size):
                next_tag_var = forward_var + self.transitions[next_tag]
                best_tag_id = argmax(next_tag_var)
                bptrs_t.append(best_tag_id)
                viterbivars_t.append(next_tag_var[0][best_tag_id].view(1))
            forward_var = (torch.cat(viterbivars_t) + feat).view(1, -1)
            backpointers.append(bptrs_t)
        terminal_var = forward_var + self.transitions[self.tag_to_ix[STOP_TAG]]
        best_tag_id = argmax(terminal_var)
        path_score, best_path = terminal_var[0][best_tag_id], [best_tag_id]
        for bptrs_t in reversed(backpointers):
            best_tag_id = bptrs_t[best_tag_id]
            best_path.append(best_tag_id)
        start = best_path.pop()
        assert start == self.tag_to_ix[START_TAG]
        best_path.reverse()
        return path_score, best_path

    def neg_log_likelihood(self, sentence, tags):
        feats = self._get_lstm_features(sentence)
        return self._forward_alg(feats) - self._score_sentence(feats, tags)

    def forward(self, sentence):
        return self._viterbi_decode(self._get_lstm_features(sentence))


tag_to_ix = {'B': 0, 'I': 1, 'O': 2, START_TAG: 3, STOP_TAG: 4}
data = [('the wall street journal reported today'.split(), 'B I I I O O'.split()), ('georgia tech is a university in georgia'.split(), 'B I O O O O B'.split())]
word_to_ix = {}
for sentence, tags in data:
    for word in sentence:
        word_to_ix.setdefault(word, len(word_to_ix))
prepare = lambda seq, to_ix: torch.tensor([to_ix[w] for w in seq], dtype=torch.long)
model = numpy_init(BiLSTM_CRF(len(word_to_ix), tag_to_ix, 5, 4), 1, 0.8)
with torch.no_grad():
    model.transitions[3, :] = -10000
    model.transitions[:, 4] = -10000
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, weight_decay=1e-4)
with torch.no_grad():
    print(model(prepare(data[0][0], word_to_ix)))
for epoch in range(4):
    for sentence, tags in data:
        model.zero_grad()
        loss = model.neg_log_likelihood(prepare(sentence, word_to_ix), prepare(tags, tag_to_ix))
        loss.backward()
        optimizer.step()
        print(epoch, loss)
with torch.no_grad():
    print(model(prepare(data[0][0], word_to_ix)))


class CRF(nn.Module):
    def __init__(self, num_tags: int, batch_first: bool = False) -> None:
        super().__init__()
        self.num_tags, self.batch_first = num_tags, batch_first
        self.start_transitions, self.end_transitions = nn.Parameter(torch.empty(num_tags)), nn.Parameter(torch.empty(num_tags))
        self.transitions = nn.Parameter(torch.empty(num_tags, num_tags))

    def __repr__(self) -> str:
        return f'{self.__class__.__name__}(num_tags={self.num_tags})'

    def forward(self, emissions, tags: torch.LongTensor, mask: Optional[torch.ByteTensor] = None, reduction: str = 'sum'):
        if mask is None:
            mask = torch.ones_like(tags, dtype=torch.uint8)
        if self.batch_first:
            emissions, tags, mask = emissions.transpose(0, 1), tags.transpose(0, 1), mask.transpose(0, 1)
        llh = self._compute_score(emissions, tags, mask) - self._compute_normalizer(emissions, mask)
        return {'none': llh, 'sum': llh.sum(), 'mean': llh.mean()}.get(reduction, llh.sum() / mask.float().sum())

    def _compute_score(self, emissions, tags, mask):
        seq_length, batch_size = tags.shape
        mask = mask.float()
        score = self.start_transitions[tags[0]]
        score += emissions[0, torch.arange(batch_size), tags[0]]
        for i in range(1, seq_length):
            score += self.transitions[tags[i - 1], tags[i]] * mask[i]
            score += emissions[i, torch.arange(batch_size), tags[i]] * mask[i]
        seq_ends = mask.long().sum(dim=0) - 1
        last_tags = tags[seq_ends, torch.arange(batch_size)]
        score += self.end_transitions[last_tags]
        return score

    def _compute_normalizer(self, emissions, mask):
        score = self.start_transitions + emissions[0]
        for i in range(1, emissions.size(0)):
            next_score = score.unsqueeze(2) + self.transitions + emissions[i].unsqueeze(1)
            next_score = torch.logsumexp(next_score, dim=1)
            score = torch.where(mask[i].unsqueeze(1).bool(), next_score, score)
        return torch.logsumexp(score + self.end_transitions, dim=1)

    def decode(self, emissions, mask) -> List[List[int]]:
        if self.batch_first:
            emissions, mask = emissions.transpose(0, 1), mask.transpose(0, 1)
        score, history = self.start_transitions + emissions[0], []
        for i in range(1, emissions.size(0)):
            next_score, indices = (score.unsqueeze(2) + self.transitions + emissions[i].unsqueeze(1)).max(dim=1)
            score = torch.where(mask[i].unsqueeze(1), next_score, score)
            history.append(indices)
        score += self.end_transitions
        seq_ends, best = mask.long().sum(dim=0) - 1, []
        for idx in range(emissions.size(1)):
            _, best_last_tag = score[idx].max(dim=0)
            tags = [best_last_tag.item()]
            for hist in reversed(history[:seq_ends[idx]]):
                tags.append(hist[idx][tags[-1]].item())
            best.append(tags[::-1])
        return best


crf = numpy_init(CRF(4, batch_first=True), 2, 0.5)
rng = np.random.default_rng(0)
emissions = torch.tensor(rng.normal(size=(3, 5, 4)), dtype=torch.float, requires_grad=True)
tags = torch.tensor(rng.integers(0, 4, (3, 5)))
mask = torch.arange(5)[None, :] < torch.tensor([5, 3, 4])[:, None]
print(crf, mask)
for reduction in ('none', 'sum', 'mean', 'token_mean'):
    print(reduction, crf(emissions, tags, mask, reduction))
(-crf(emissions, tags, mask=mask.byte())).backward()
print(emissions.grad, crf.transitions.grad, crf.start_transitions.grad)
print(crf.decode(emissions, mask))
