"""A conformer with relative positions and a CTC loss, and features of sound."""
import torch
from torch import nn
import torch.nn.functional as F
import math


class Swish(nn.Module):
    def forward(self, x):
        return x * x.sigmoid()


class RelPos(nn.Module):
    def __init__(self, d, max_len=20):
        super().__init__()
        self.d, self.pe = d, None
        self.extend_pe(torch.tensor(0.0).expand(1, max_len))

    def extend_pe(self, x):
        if self.pe is not None and self.pe.size(1) >= x.size(1) * 2 - 1:
            return
        pp = torch.zeros(x.size(1), self.d)
        pn = torch.zeros(x.size(1), self.d)
        pos = torch.arange(0, x.size(1), dtype=torch.float32).unsqueeze(1)
        div = torch.exp(torch.arange(0, self.d, 2, dtype=torch.float32) * -(math.log(10000.0) / self.d))
        pp[:, 0::2] = torch.sin(pos * div)
        pp[:, 1::2] = torch.cos(pos * div)
        pn[:, 0::2] = torch.sin(-1 * pos * div)
        pn[:, 1::2] = torch.cos(-1 * pos * div)
        pp = torch.flip(pp, [0]).unsqueeze(0)
        pn = pn[1:].unsqueeze(0)
        self.pe = torch.cat([pp, pn], dim=1).to(device=x.device, dtype=x.dtype)

    def forward(self, x):
        self.extend_pe(x)
        return self.pe[:, self.pe.size(1) // 2 - x.size(1) + 1 : self.pe.size(1) // 2 + x.size(1)]


class RelMHA(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.dk = h, d // h
        self.q, self.k, self.v, self.p, self.o = (nn.Linear(d, d, bias=i != 3) for i in range(5))
        self.u = nn.Parameter(torch.Tensor(h, d // h))
        self.vb = nn.Parameter(torch.Tensor(h, d // h))
        torch.nn.init.xavier_uniform_(self.u)
        torch.nn.init.xavier_uniform_(self.vb)

    @staticmethod
    def rel_shift(x):
        z = torch.zeros((*x.size()[:3], 1), device=x.device, dtype=x.dtype)
        xp = torch.cat([z, x], dim=-1)
        xp = xp.view(*x.size()[:2], x.size(3) + 1, x.size(2))
        return xp[:, :, 1:].view_as(x)[:, :, :, : x.size(-1) // 2 + 1]

    def forward(self, x, pos, mask):
        B = x.size(0)
        q, k, v = (l(x).view(B, -1, self.h, self.dk).transpose(1, 2) for l in (self.q, self.k, self.v))
        p = self.p(pos).view(1, -1, self.h, self.dk).transpose(1, 2)
        q = q.transpose(1, 2)
        ac = torch.matmul((q + self.u).transpose(1, 2), k.transpose(-2, -1))
        bd = self.rel_shift(torch.matmul((q + self.vb).transpose(1, 2), p.transpose(-2, -1)))
        s = (ac + bd) / math.sqrt(self.dk)
        m = mask.unsqueeze(1).eq(0)
        mv = float(torch.finfo(s.dtype).min)
        s = s.masked_fill(m, mv)
        a = torch.softmax(s, dim=-1).masked_fill(m, 0.0)
        return self.o(torch.matmul(a, v).transpose(1, 2).contiguous().view(B, -1, self.h * self.dk))


class ConvModule(nn.Module):
    def __init__(self, c, k=3):
        super().__init__()
        self.p1 = nn.Conv1d(c, 2 * c, 1)
        self.dw = nn.Conv1d(c, c, k, padding=(k - 1) // 2, groups=c)
        self.n = nn.BatchNorm1d(c)
        self.p2 = nn.Conv1d(c, c, kernel_size=1, stride=1, padding=0)
        self.act = Swish()

    def forward(self, x):
        x = F.glu(self.p1(x.transpose(1, 2)), dim=1)
        return self.p2(self.act(self.n(self.dw(x)))).transpose(1, 2)


class Conformer(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.sub = nn.Sequential(nn.Conv2d(1, 4, 3, 2), nn.ReLU(), nn.Conv2d(4, 4, 3, 2), nn.ReLU())
        self.proj = nn.Linear(4 * 2, d)
        self.pos = RelPos(d)
        self.ff1 = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 16), Swish(), nn.Dropout(0.0), nn.Linear(16, d))
        self.ff2 = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 16), Swish(), nn.Linear(16, d))
        self.mha = RelMHA(d, 2)
        self.n = nn.LayerNorm(d)
        self.conv = ConvModule(d)
        self.out = nn.Linear(d, 5)

    def forward(self, x, lens):
        x = self.sub(x.unsqueeze(1))
        b, c, t, f = x.size()
        x = self.proj(x.transpose(1, 2).contiguous().view(b, t, c * f))
        lens = ((lens - 1) // 2 - 1) // 2
        mask = (torch.arange(t).unsqueeze(0) < lens.unsqueeze(-1)).unsqueeze(1)
        x = x + 0.5 * self.ff1(x)
        x = x + self.mha(self.n(x), self.pos(x), mask)
        x = x + self.conv(x)
        x = x + 0.5 * self.ff2(x)
        return self.out(x).log_softmax(-1), lens


net = Conformer()
with torch.no_grad():
    for i, p in enumerate(net.parameters()):
        p.copy_((torch.arange(p.numel()).mul(0.77 + 0.01 * i).sin() / math.sqrt(max(1, p.size(-1)))).reshape(p.shape))
x = torch.sin(torch.arange(2 * 23 * 11.0) * 0.3).view(2, 23, 11)
opt = torch.optim.AdamW(net.parameters(), 5e-3)
ctc = nn.CTCLoss(blank=0, reduction='mean', zero_infinity=True)
sch = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min((s + 1) ** -0.5, (s + 1) * 3**-1.5))
for i in range(4):
    lp, ln = net(x, torch.tensor([23, 17]))
    loss = ctc(lp.transpose(0, 1), torch.tensor([[1, 2, 3], [4, 1, 0]]), ln, torch.tensor([3, 2]))
    opt.zero_grad()
    loss.backward()
    opt.step()
    sch.step()
    print(loss.item(), opt.param_groups[0]['lr'])
best = lp.argmax(-1)
print(best, [torch.unique_consecutive(b).tolist() for b in best], ln, net.pos.pe.shape)
print([tuple(p.shape) for p in net.mha.parameters()])
print(net)
# Spec augment, features
spec = torch.stft(
    torch.sin(torch.arange(400.0) * 0.2),
    n_fft=64,
    hop_length=32,
    win_length=64,
    window=torch.hann_window(64),
    center=True,
    return_complex=True,
)
power = spec.abs().pow(2)
print(spec.shape, spec.dtype, power.sum(0)[:4], 10 * torch.log10(torch.clamp(power[:3, 1], min=1e-10)))
fb = torch.linspace(0, 1, 33)
mel = torch.clamp(1 - torch.abs(fb[:, None] * 8 - torch.arange(8.0)[None]), min=0)
lm = torch.log(torch.matmul(power.T, mel) + 1e-6)
print(lm[0], (lm - lm.mean(dim=0, keepdim=True)).std(0))
dct = torch.cos(math.pi / 8 * (torch.arange(8.0) + 0.5) * torch.arange(4.0).unsqueeze(1))
dct[0] *= 1 / math.sqrt(2)
print((lm @ dct.t() * math.sqrt(2 / 8))[1])
sp = lm.clone()
sp[2:4, :] = 0
sp.narrow(1, 1, 2).fill_(0)
print(sp.eq(0).sum())
print(
    torch.istft(spec, 64, 32, window=torch.hann_window(64), length=400)[:5],
    torch.stft(torch.ones(64), 16, window=torch.hamming_window(16), return_complex=True)[0].real,
)
