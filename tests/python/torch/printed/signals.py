"""Fourier transforms, windows and spectrograms, complex numbers and their gradients, layers in the frequency domain."""
import torch
import torch.fft
import torch.nn as nn
import torch.nn.functional as F
import math

x = torch.sin(torch.arange(16.0))
c = torch.complex(x, x.flip(0))
A = x.view(4, 4)
print(
    torch.fft.fft(x)[:3],
    torch.fft.rfft(x, norm='ortho')[:3],
    torch.fft.irfft(torch.fft.rfft(x), n=16).allclose(x, atol=1e-6),
    torch.fft.fft2(A)[0],
    torch.fft.rfft2(A).shape,
    torch.fft.ifftshift(torch.arange(5)),
    torch.fft.fftshift(A, dim=1)[0],
    torch.fft.fftfreq(4, d=0.5),
    torch.fft.rfftfreq(5),
    torch.fft.hfft(c[:4]),
    torch.fft.ihfft(x)[:2],
    torch.fft.fftn(A, s=(2, 3)),
    torch.fft.irfftn(torch.fft.rfftn(A), s=A.shape)[0],
    torch.fft.fft(c, dim=-1, n=4),
    c.abs()[:2],
    c.angle()[:2],
    c.real[:2],
    c.imag[:2],
    c.conj()[:2],
    c.conj().resolve_conj()[:1],
    torch.view_as_real(c)[0],
    torch.polar(torch.tensor(1.0), torch.tensor(math.pi / 2)),
    c * 1j,
    (c + 1)[:1],
    c.pow(2)[:1],
    c.exp()[:1],
    c.sqrt()[:1],
    c.log()[:1],
    c.mean(),
    c.sum(),
    c.prod(),
    c.sgn()[:1],
    (c @ c),
    torch.vdot(c, c),
    c.norm(),
    c.isreal()[:1],
    c.to(torch.complex128).dtype,
    torch.is_complex(c),
    c.real.sum().item(),
    abs(c.sum().item()),
    torch.tensor(1 + 2j).item(),
    c.reciprocal()[:1],
    c.tanh()[:1],
    c.sigmoid()[:1],
    c.numpy().dtype,
    c == c.clone(),
    c.view(4, 4).mH[0, :2],
    c.view(4, 4).T.conj()[0, :2],
    torch.linalg.det(c.view(4, 4) + torch.eye(4)),
    sep='\n',
)


class SpectralConv1d(nn.Module):
    def __init__(self, i, o, m):
        super().__init__()
        self.m = m
        self.scale = 1 / (i * o)
        self.weights1 = nn.Parameter(self.scale * torch.rand(i, o, m, dtype=torch.cfloat))

    def forward(self, x):
        B = x.shape[0]
        xf = torch.fft.rfft(x)
        out = torch.zeros(B, self.weights1.shape[1], x.size(-1) // 2 + 1, dtype=torch.cfloat)
        out[:, :, : self.m] = torch.einsum("bix,iox->box", xf[:, :, : self.m], self.weights1)
        return torch.fft.irfft(out, n=x.size(-1))


net = SpectralConv1d(2, 2, 3)
net.weights1.data = torch.polar(torch.linspace(0.1, 1, 12), torch.linspace(0, 3, 12)).view(2, 2, 3)
o = torch.optim.Adam(net.parameters(), lr=0.1, weight_decay=1e-4)
inp = x.view(1, 2, 8)
for i in range(4):
    l = F.mse_loss(net(inp), inp.roll(1, -1))
    o.zero_grad()
    l.backward()
    o.step()
    print(l.item(), net.weights1.grad.abs().sum().item())
print(net.weights1[0, 0], net.weights1.grad[0, 0], net)
w = torch.hann_window(16)
s = torch.stft(torch.cat([x, x, x]), 16, 4, 16, w, return_complex=True, normalized=True, onesided=True, pad_mode='constant')
print(s.shape, s[:3, 2], torch.view_as_real(s).shape, torch.istft(s, 16, 4, 16, w, normalized=True)[:6])
mag, ph = s.abs(), s.angle()
print(torch.istft(torch.polar(mag, ph), 16, 4, window=w, normalized=True, length=48)[-4:])
for win in (
    torch.hann_window(6, periodic=False),
    torch.hamming_window(5, True, 0.5, 0.5),
    torch.blackman_window(4),
    torch.bartlett_window(5),
    torch.kaiser_window(5, True, beta=8.0),
    torch.signal.windows.gaussian(4, std=2.0),
    torch.signal.windows.cosine(4),
    torch.signal.windows.exponential(3),
    torch.signal.windows.general_hamming(4),
    torch.signal.windows.nuttall(4),
):
    print(win)
k = torch.tensor([1.0, 2.0, 1.0]) / 4
n = 18
print(
    torch.fft.irfft(torch.fft.rfft(x, n) * torch.fft.rfft(k, n), n)[:4],
    F.conv1d(x.view(1, 1, -1), k.flip(0).view(1, 1, -1), padding=2)[0, 0, :4],
)
ac = torch.fft.irfft(torch.fft.rfft(x - x.mean(), 32).abs() ** 2)[:16]
print(ac / ac[0])
X = torch.fft.fft(torch.cat([x, x.flip(0)]))[:16]
ang = -torch.arange(16.0) * math.pi / 32
print((X.real * ang.cos() - X.imag * ang.sin())[:4])
z = torch.fft.rfft(x)
idx = z.abs().topk(2).indices
print(idx, torch.fft.rfftfreq(16)[idx])
an = torch.fft.fft(x)
h = torch.zeros(16)
h[0] = h[8] = 1
h[1:8] = 2
print(torch.fft.ifft(an * h).abs()[:4])
z = torch.tensor([1.0 + 1j, 2 - 1j], requires_grad=True)
(z.abs() ** 2).sum().backward()
print(z.grad, z.is_leaf)
z.grad = None
torch.view_as_real(z).pow(2).sum().backward()
print(z.grad)
print(
    torch.autograd.gradcheck(lambda a: torch.fft.fft(a).abs().sum(), (c[:4].to(torch.complex128).detach().requires_grad_(),)),
    torch.complex(torch.tensor([1.0]), torch.tensor([2.0])).dtype,
    torch.tensor([1j]).real.dtype,
    torch.zeros(2, dtype=torch.cdouble),
)
