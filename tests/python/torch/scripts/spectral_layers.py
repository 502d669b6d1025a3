"""Layers that multiply frequencies by complex weights (Li et al. 2021), learned by LBFGS and Adam, with convolution by Fourier transforms."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint


class SpectralConv1d(nn.Module):
    def __init__(self, inputs, outputs, modes):
        super().__init__()
        rng, shape = np.random.default_rng(3), (inputs, outputs, modes)
        self.modes = modes
        self.weight = nn.Parameter(torch.from_numpy((rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(np.complex64)) / (inputs * outputs))

    def forward(self, x):
        spectrum = torch.fft.rfft(x)
        found = torch.zeros(x.shape[0], self.weight.shape[1], x.size(-1) // 2 + 1, dtype=torch.cfloat, device=x.device)
        found[:, :, :self.modes] = torch.einsum('bix,iox->box', spectrum[:, :, :self.modes], self.weight)
        return torch.fft.irfft(found, n=x.size(-1))


def convolved(x, kernel):
    n = x.shape[-1] + kernel.shape[-1] - 1
    return torch.fft.irfft(torch.fft.rfft(x, n=n) * torch.fft.rfft(kernel, n=n), n=n)


def main():
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(4, 2, 16)).astype('f'))
    target = x.roll(1, dims=-1).sum(1, keepdim=True)
    net = nn.Sequential(SpectralConv1d(2, 4, 5), nn.GELU(), SpectralConv1d(4, 1, 5))
    lbfgs, adam = torch.optim.LBFGS(net.parameters(), lr=0.5, max_iter=3, line_search_fn='strong_wolfe'), torch.optim.Adam(net.parameters(), lr=1e-3)

    def closure():
        net.zero_grad()
        loss = nn.functional.mse_loss(checkpoint(net, x, use_reentrant=False), target)
        loss.backward()
        return loss
    losses = [lbfgs.step(closure).item() for _ in range(2)] + [adam.step(closure).item() for _ in range(8)]
    a, kernel = torch.arange(6.0), torch.tensor([1.0, 2.0, 3.0])
    direct = nn.functional.conv1d(a.view(1, 1, -1), kernel.flip(0).view(1, 1, -1), padding=2).flatten()
    assert torch.allclose(convolved(a, kernel), direct, atol=1e-4)
    signal, window = torch.sin(torch.arange(64.0)), torch.hann_window(16)
    spectrum = torch.stft(signal, n_fft=16, hop_length=4, window=window, return_complex=True)
    back = torch.istft(spectrum, 16, 4, window=window, length=64)
    return losses, torch.view_as_real(spectrum).flatten().tolist(), back.tolist()
