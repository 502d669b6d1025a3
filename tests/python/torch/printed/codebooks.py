"""VQ-VAE: straight-through, EMA codebook with Laplace smoothing, perplexity; FSQ; Gumbel-softmax with hard samples' shapes."""
import numpy as np
import torch


def numpy_init(model, seed=0, scale=0.2):
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.from_numpy(rng.uniform(-scale, scale, tuple(p.shape))).to(p.dtype))
    return model


import torch.nn as nn
import torch.nn.functional as F


class VectorQuantizer(nn.Module):
    def __init__(self, num_embeddings, embedding_dim, commitment_cost):
        super().__init__()
        self._embedding_dim, self._num_embeddings = embedding_dim, num_embeddings
        self._embedding = nn.Embedding(num_embeddings, embedding_dim)
        self._embedding.weight.data.uniform_(-1 / num_embeddings, 1 / num_embeddings)
        self._commitment_cost = commitment_cost

    def forward(self, inputs):
        inputs = inputs.permute(0, 2, 3, 1).contiguous()
        input_shape = inputs.shape
        flat_input = inputs.view(-1, self._embedding_dim)
        distances = (torch.sum(flat_input ** 2, dim=1, keepdim=True) + torch.sum(self._embedding.weight ** 2, dim=1)
                     - 2 * torch.matmul(flat_input, self._embedding.weight.t()))
        encoding_indices = torch.argmin(distances, dim=1).unsqueeze(1)
        encodings = torch.zeros(encoding_indices.shape[0], self._num_embeddings, device=inputs.device)
        encodings.scatter_(1, encoding_indices, 1)
        quantized = torch.matmul(encodings, self._embedding.weight).view(input_shape)
        e_latent_loss = F.mse_loss(quantized.detach(), inputs)
        q_latent_loss = F.mse_loss(quantized, inputs.detach())
        loss = q_latent_loss + self._commitment_cost * e_latent_loss
        quantized = inputs + (quantized - inputs).detach()
        avg_probs = torch.mean(encodings, dim=0)
        perplexity = torch.exp(-torch.sum(avg_probs * torch.log(avg_probs + 1e-10)))
        return loss, quantized.permute(0, 3, 1, 2).contiguous(), perplexity, encodings


class VectorQuantizerEMA(VectorQuantizer):
    def __init__(self, num_embeddings, embedding_dim, commitment_cost, decay, epsilon=1e-5):
        super().__init__(num_embeddings, embedding_dim, commitment_cost)
        self._embedding.weight.data.normal_()
        self.register_buffer('_ema_cluster_size', torch.zeros(num_embeddings))
        self._ema_w = nn.Parameter(torch.Tensor(num_embeddings, self._embedding_dim))
        self._ema_w.data.normal_()
        self._decay, self._epsilon = decay, epsilon

    def forward(self, inputs):
        inputs = inputs.permute(0, 2, 3, 1).contiguous()
        flat_input = inputs.view(-1, self._embedding_dim)
        encoding_indices = torch.argmin(torch.cdist(flat_input, self._embedding.weight), dim=1).unsqueeze(1)
        encodings = torch.zeros(encoding_indices.shape[0], self._num_embeddings).scatter_(1, encoding_indices, 1)
        quantized = torch.matmul(encodings, self._embedding.weight).view(inputs.shape)
        if self.training:
            self._ema_cluster_size = self._ema_cluster_size * self._decay + (1 - self._decay) * torch.sum(encodings, 0)
            n = torch.sum(self._ema_cluster_size.data)
            self._ema_cluster_size = ((self._ema_cluster_size + self._epsilon) / (n + self._num_embeddings * self._epsilon) * n)
            dw = torch.matmul(encodings.t(), flat_input)
            self._ema_w = nn.Parameter(self._ema_w * self._decay + (1 - self._decay) * dw)
            self._embedding.weight = nn.Parameter(self._ema_w / self._ema_cluster_size.unsqueeze(1))
        loss = self._commitment_cost * F.mse_loss(quantized.detach(), inputs)
        quantized = inputs + (quantized - inputs).detach()
        return loss, quantized.permute(0, 3, 1, 2).contiguous(), torch.tensor(0.), encodings


class Residual(nn.Module):
    def __init__(self, in_channels, num_hiddens, num_residual_hiddens):
        super().__init__()
        self._block = nn.Sequential(nn.ReLU(), nn.Conv2d(in_channels, num_residual_hiddens, 3, 1, 1, bias=False),
                                    nn.ReLU(True), nn.Conv2d(num_residual_hiddens, num_hiddens, 1, 1, bias=False))

    def forward(self, x):
        return x + self._block(x)


class Model(nn.Module):
    def __init__(self, ema):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(3, 6, 4, 2, 1), nn.ReLU(), Residual(6, 6, 4), nn.Conv2d(6, 4, 1))
        self.vq = VectorQuantizerEMA(7, 4, 0.25, 0.9) if ema else VectorQuantizer(7, 4, 0.25)
        self.decoder = nn.Sequential(nn.Conv2d(4, 6, 3, padding=1), Residual(6, 6, 4), nn.ReLU(), nn.ConvTranspose2d(6, 3, 4, 2, 1))

    def forward(self, x):
        loss, quantized, perplexity, _ = self.vq(self.encoder(x))
        return loss, self.decoder(quantized), perplexity


data = torch.tensor(np.random.default_rng(1).normal(size=(3, 3, 8, 8)), dtype=torch.float)
data_variance = np.var(data.numpy() / 255.0)
print(f'{data_variance:.8f}')
for ema in (False, True):
    model = numpy_init(Model(ema), 7, 0.5)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, amsgrad=True)
    for i in range(4):
        optimizer.zero_grad()
        vq_loss, recon, perplexity = model(data)
        recon_error = F.mse_loss(recon, data) / data.var()
        loss = recon_error + vq_loss
        loss.backward()
        optimizer.step()
        print('%d iterations recon_error: %.4f perplexity: %.4f vq: %.4f' % (i + 1, recon_error.item(), perplexity.item(), vq_loss))
    print(sorted(model.state_dict().keys()), len(optimizer.state))


def round_ste(z):
    zhat = z.round()
    return z + (zhat - z).detach()


class FSQ(nn.Module):
    def __init__(self, levels):
        super().__init__()
        self.register_buffer('_levels', torch.tensor(levels, dtype=torch.int32), persistent=False)
        self.register_buffer('_basis', torch.cumprod(torch.tensor([1] + levels[:-1]), dim=0, dtype=torch.int32), persistent=False)
        self.codebook_size = self._levels.prod().item()

    def bound(self, z, eps: float = 1e-3):
        half_l = (self._levels - 1) * (1 + eps) / 2
        offset = torch.where(self._levels % 2 == 0, 0.5, 0.0)
        shift = (offset / half_l).atanh()
        return (z + shift).tanh() * half_l - offset

    def quantize(self, z):
        return round_ste(self.bound(z)) / (self._levels // 2)

    def codes_to_indices(self, zhat):
        half_width = self._levels // 2
        return (((zhat * half_width) + half_width) * self._basis).sum(dim=-1).to(torch.int32)

    def indices_to_codes(self, indices):
        indices = indices[..., None]
        codes = (indices // self._basis) % self._levels
        return (codes - self._levels // 2) / (self._levels // 2)


fsq = FSQ([8, 5, 5])
z = torch.linspace(-2, 2, 12).reshape(4, 3).requires_grad_()
codes = fsq.quantize(z)
print(fsq._basis, fsq.codebook_size, codes)
indices = fsq.codes_to_indices(codes)
print(indices, fsq.indices_to_codes(indices), torch.allclose(fsq.indices_to_codes(indices), codes), fsq.state_dict())
(codes ** 2).sum().backward()
print(z.grad)
h = F.gumbel_softmax(z, tau=0.7, hard=True)
print(h.sum(-1), h.shape, h.requires_grad)
