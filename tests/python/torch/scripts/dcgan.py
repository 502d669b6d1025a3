"""Trains a generator of small pictures against a discriminator, as the DCGAN tutorials for PyTorch do."""
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

LATENT, FEATURES, STEPS = 16, 8, 20


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find('Conv') != -1:
        nn.init.normal_(m.weight.data, 0.0, 0.02)
    elif classname.find('BatchNorm') != -1:
        nn.init.normal_(m.weight.data, 1.0, 0.02)
        nn.init.constant_(m.bias.data, 0)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(LATENT, FEATURES * 2, 4, 1, 0, bias=False),
            nn.BatchNorm2d(FEATURES * 2),
            nn.ReLU(True),
            nn.ConvTranspose2d(FEATURES * 2, FEATURES, 4, 2, 1, bias=False),
            nn.BatchNorm2d(FEATURES),
            nn.ReLU(True),
            nn.ConvTranspose2d(FEATURES, 1, 4, 2, 1, bias=False),
            nn.Tanh())

    def forward(self, input):
        return self.main(input)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, FEATURES, 4, 2, 1, bias=False),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(FEATURES, FEATURES * 2, 4, 2, 1, bias=False),
            nn.BatchNorm2d(FEATURES * 2),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(FEATURES * 2, 1, 4, 1, 0, bias=False),
            nn.Sigmoid())

    def forward(self, input):
        return self.main(input)


def discs(count, rng):
    """Pictures of bright discs on a dark ground, from -1 to 1."""
    x, y = np.meshgrid(np.arange(16), np.arange(16))
    centre, radius = rng.uniform(5, 11, (count, 2, 1, 1)), rng.uniform(2, 5, (count, 1, 1))
    inside = (x - centre[:, 0]) ** 2 + (y - centre[:, 1]) ** 2 < radius ** 2
    return torch.from_numpy(np.where(inside, 0.9, -0.9).astype(np.float32)[:, None])


def first_weights(net, rng):
    """The same first weights whoever draws them."""
    net.apply(weights_init)
    with torch.no_grad():
        for p in net.parameters():
            mean, std = (0.0, 0.1) if p.dim() > 1 else (1.0 if p.mean().item() > 0.5 else 0.0, 0.02)
            p.copy_(torch.tensor(rng.normal(mean, std, tuple(p.shape)), dtype=p.dtype))


def main():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    device = torch.device('cuda:0' if torch.cuda.is_available() else 'cpu')
    netG, netD = Generator().to(device), Discriminator().to(device)
    first_weights(netG, rng)
    first_weights(netD, rng)
    criterion = nn.BCELoss()
    optimizerD = optim.Adam(netD.parameters(), lr=0.0005, betas=(0.5, 0.999))
    optimizerG = optim.Adam(netG.parameters(), lr=0.0005, betas=(0.5, 0.999))
    loader = DataLoader(TensorDataset(discs(32 * STEPS, rng)), batch_size=32)

    real_label, fake_label, losses = 1., 0., []
    for (data,) in loader:
        # Discriminator: log(D(x)) + log(1 - D(G(z)))
        netD.zero_grad()
        real_cpu = data.to(device)
        b_size = real_cpu.size(0)
        label = torch.full((b_size,), real_label, dtype=torch.float, device=device)
        output = netD(real_cpu).view(-1)
        errD_real = criterion(output, label)
        errD_real.backward()
        noise = torch.tensor(rng.normal(size=(b_size, LATENT, 1, 1)), dtype=torch.float, device=device)
        fake = netG(noise)
        label.fill_(fake_label)
        output = netD(fake.detach()).view(-1)
        errD_fake = criterion(output, label)
        errD_fake.backward()
        errD = errD_real + errD_fake
        optimizerD.step()
        # Generator: log(D(G(z)))
        netG.zero_grad()
        label.fill_(real_label)
        output = netD(fake).view(-1)
        errG = criterion(output, label)
        errG.backward()
        optimizerG.step()
        losses += [errD.item(), errG.item()]

    with torch.no_grad():
        netG.eval()
        fixed_noise = torch.tensor(rng.normal(size=(4, LATENT, 1, 1)), dtype=torch.float, device=device)
        pictures = netG(fixed_noise).detach().cpu()
    return losses, pictures.numpy().mean(axis=(1, 2, 3)).tolist()


if __name__ == '__main__':
    print(main())
