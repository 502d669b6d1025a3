"""A masked language model with tied weights, groups of decay and a warm-up; pruned heads, resized embeddings, spans."""
import torch
from torch import nn
import math
from torch.nn import CrossEntropyLoss
from collections import OrderedDict


class ModelOutput(OrderedDict):
    def __getattr__(self, k):
        return self[k] if k in self else super().__getattribute__(k)


class NewGELU(nn.Module):
    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return 0.5 * input * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (input + 0.044715 * torch.pow(input, 3.0))))


ACT2FN = {
    "gelu": nn.functional.gelu,
    "relu": nn.functional.relu,
    "gelu_new": NewGELU(),
    'tanh': torch.tanh,
    'gelu_pt': lambda x: nn.functional.gelu(x, approximate='tanh'),
}


class Emb(nn.Module):
    def __init__(self, v, d, m):
        super().__init__()
        self.word_embeddings = nn.Embedding(v, d, padding_idx=0)
        self.position_embeddings = nn.Embedding(m, d)
        self.token_type_embeddings = nn.Embedding(2, d)
        self.LayerNorm = nn.LayerNorm(d, eps=1e-12)
        self.register_buffer("position_ids", torch.arange(m).expand((1, -1)), persistent=False)
        self.register_buffer("token_type_ids", torch.zeros(self.position_ids.size(), dtype=torch.long), persistent=False)

    def forward(self, ids, tt=None):
        s = ids.size()
        tt = self.token_type_ids[:, : s[1]].expand(s[0], s[1]) if tt is None else tt
        e = self.word_embeddings(ids) + self.token_type_embeddings(tt)
        e += self.position_embeddings(self.position_ids[:, 0 : s[1]])
        return self.LayerNorm(e)


class SelfAtt(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.num_attention_heads, self.attention_head_size, self.all_head_size = h, d // h, d
        self.query = nn.Linear(d, d)
        self.key = nn.Linear(d, d)
        self.value = nn.Linear(d, d)
        self.dropout = nn.Dropout(0.0)

    def tfs(self, x):
        return x.view(x.size()[:-1] + (self.num_attention_heads, self.attention_head_size)).permute(0, 2, 1, 3)

    def forward(self, x, mask=None, head_mask=None):
        q, k, v = self.tfs(self.query(x)), self.tfs(self.key(x)), self.tfs(self.value(x))
        s = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.attention_head_size)
        if mask is not None:
            s = s + mask
        p = nn.functional.softmax(s, dim=-1)
        p = self.dropout(p)
        if head_mask is not None:
            p = p * head_mask
        c = torch.matmul(p, v).permute(0, 2, 1, 3).contiguous()
        return c.view(c.size()[:-2] + (self.all_head_size,)), p


class Bert(nn.Module):
    def __init__(self, v=12, d=8, h=2, m=8):
        super().__init__()
        self.embeddings = Emb(v, d, m)
        self.att = SelfAtt(d, h)
        self.inter = nn.Linear(d, 16)
        self.out = nn.Linear(16, d)
        self.pooler = nn.Sequential(OrderedDict(dense=nn.Linear(d, d), activation=nn.Tanh()))
        self.predictions = nn.Linear(d, v, bias=False)
        self.bias = nn.Parameter(torch.zeros(v))
        self.predictions.bias = self.bias
        self.cls = nn.Linear(d, 3)
        self.tie()

    def tie(self):
        self.predictions.weight = self.embeddings.word_embeddings.weight

    @property
    def dtype(self):
        return next(self.parameters()).dtype

    def forward(self, input_ids, attention_mask=None, labels=None, mlm=None, **kw):
        em = attention_mask[:, None, None, :].to(dtype=self.dtype)
        em = (1.0 - em) * torch.finfo(self.dtype).min
        h = self.embeddings(input_ids)
        a, p = self.att(h, em)
        h = h + a
        h = h + self.out(ACT2FN['gelu_new'](self.inter(h)))
        lg = self.predictions(h)
        pool = self.pooler(h[:, 0])
        c = self.cls(pool)
        loss = None
        if mlm is not None:
            loss = CrossEntropyLoss(ignore_index=-100)(lg.view(-1, lg.size(-1)), mlm.view(-1))
        if labels is not None:
            loss = loss + CrossEntropyLoss()(c.view(-1, 3), labels.view(-1))
        return ModelOutput(loss=loss, logits=lg, attentions=p, pooled=pool)


net = Bert()
for i, p in enumerate(net.parameters()):
    p.data.normal_(mean=0.0, std=0.02)
    p.data = torch.sin(torch.arange(p.numel()) * 1.7 + i).view_as(p) * 0.5
net.embeddings.word_embeddings.weight.data[net.embeddings.word_embeddings.padding_idx].zero_()
print(net)
print(len(net.state_dict()), len(list(net.parameters())), net.predictions.weight is net.embeddings.word_embeddings.weight, net.predictions)
ids = torch.tensor([[2, 5, 7, 3, 0], [2, 8, 1, 4, 3]])
am = (ids != 0).long()
lab = ids.clone()
sel = torch.tensor([[0, 1, 0, 0, 0], [0, 0, 1, 1, 0]]).bool()
lab[~sel] = -100
ids[sel & torch.full(ids.shape, True)] = 1
nd = ["bias", "LayerNorm.weight"]
groups = [
    {"params": [p for n, p in net.named_parameters() if not any(d in n for d in nd)], "weight_decay": 0.01},
    {"params": [p for n, p in net.named_parameters() if any(d in n for d in nd)], "weight_decay": 0.0},
]
opt = torch.optim.AdamW(groups, lr=5e-3, eps=1e-8)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: float(s) / 2 if s < 2 else max(0.0, (6 - s) / 4), -1)
for i in range(4):
    o = net(input_ids=ids, attention_mask=am, labels=torch.tensor([0, 2]), mlm=lab)
    o.loss.backward()
    n = torch.nn.utils.clip_grad_norm_(net.parameters(), max_norm=1.0)
    opt.step()
    sched.step()
    net.zero_grad()
    print(o.loss.item(), n.item(), sched.get_lr() if i < 0 else sched.get_last_lr())
print(o.attentions[0, 0], o.pooled, (o.logits.softmax(-1)[sel].topk(2, dim=-1)), list(o))
hm = torch.ones(1, 2)
hm = hm.unsqueeze(0).unsqueeze(-1).unsqueeze(-1).expand(1, -1, -1, -1, -1).to(dtype=net.dtype)
print(hm.shape)
heads = {1}
m = torch.ones(2, 4)
[m.__setitem__(h, 0) for h in heads]
m = m.view(-1).contiguous().eq(1)
index = torch.arange(len(m))[m].long()
W = net.att.query.weight.index_select(0, index).clone().detach()
nl = nn.Linear(W.size(1), W.size(0))
nl.weight.requires_grad = False
nl.weight.copy_(W.contiguous())
nl.weight.requires_grad = True
print(nl, index, nl.weight.is_leaf)
old = net.embeddings.word_embeddings
new = nn.Embedding(14, old.embedding_dim)
new.weight.data[:12, :] = old.weight.data[:12, :]
print(new, new.weight.data[:12].equal(old.weight), nn.Embedding.from_pretrained(old.weight, freeze=True, padding_idx=0))
x = torch.linspace(-2, 2, 5)
print({k: f(x) for k, f in ACT2FN.items()})
st, en = torch.sin(torch.arange(10.0)).view(2, 5), torch.cos(torch.arange(10.0)).view(2, 5)
lg = torch.stack([st, en], -1)
s, e = lg.split(1, dim=-1)
s = s.squeeze(-1).contiguous()
sp = torch.tensor([[1], [7]])
sp = sp.squeeze(-1)
sp.clamp_(0, 5)
print(nn.CrossEntropyLoss(ignore_index=5)(s, sp), (s[:, :, None] + e[:, None, :].squeeze(-1)).triu().flatten(1).max(1))
tok = o.pooled.unsqueeze(1).expand(-1, 5, -1) * am.unsqueeze(-1).expand(2, 5, 8).float()
print(torch.sum(tok, 1) / torch.clamp(am.unsqueeze(-1).expand(tok.size()).float().sum(1), min=1e-9))
print(
    torch.tensor([[True, False]]).repeat(2, 2),
    net.num_parameters if hasattr(net, 'num_parameters') else sum(t.numel() for t in net.parameters()),
)
