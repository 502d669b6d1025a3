"""A variational autoencoder of clothes (Kingma & Welling 2013, arXiv:1312.6114), or with --plain an autoencoder.

    python vae.py                        some minutes
    python vae.py --plain                no noise, no prior: small codes, but nothing to draw from
    python vae.py --short                some seconds

The encoder gives each image a normal distribution of codes, and the decoder says how bright each pixel is. The loss is a bound on the
negative log-likelihood: the pixels' cross entropy, and how far the codes' distribution is from the prior.
To reach: 240 nats an image on the test images. Writes images beside their reconstructions, and images of codes drawn from the prior.
"""
import common
import pictures
import tenon
from tenon import data, nn, optim

f = nn.functional


class VAE(nn.Module):
    def __init__(self, code=16, width=32, plain=False):
        super().__init__()
        self.plain, self.code = plain, code
        self.encoder = nn.Sequential(nn.Conv2d(1, width, 3, 2, 1), nn.SiLU(), nn.Conv2d(width, 2 * width, 3, 2, 1), nn.SiLU(), nn.Flatten(),
                                     nn.Linear(2 * width * 49, 256), nn.SiLU(), nn.Linear(256, 2 * code))
        self.decoder = nn.Sequential(nn.Linear(code, 256), nn.SiLU(), nn.Linear(256, 2 * width * 49), nn.SiLU(),
                                     nn.Unflatten(1, (2 * width, 7, 7)), nn.ConvTranspose2d(2 * width, width, 4, 2, 1), nn.SiLU(),
                                     nn.ConvTranspose2d(width, 1, 4, 2, 1))

    def forward(self, x):
        """The pixels' logits, and the mean and log-variance of the codes."""
        mean, log_variance = self.encoder(x).chunk(2, 1)
        noise = 0 if self.plain else tenon.randn(*mean.shape, device=x.device) * (log_variance / 2).exp()
        return self.decoder(mean + noise), mean, log_variance


def bound(net, x):
    """Nats per image: appendix B of the paper has the second term in closed form."""
    logits, mean, log_variance = net(x)
    pixels = f.binary_cross_entropy_with_logits(logits, x, reduction='sum') / len(x)
    if net.plain:
        return pixels
    return pixels + 0.5 * (mean ** 2 + log_variance.exp() - 1 - log_variance).sum() / len(x)


def main():
    p = common.parser(__doc__)
    p.add_argument('--data', default='/usr/share/datasets/fashion-mnist', help='folder of the four .gz files')
    p.add_argument('--plain', action='store_true', help='an autoencoder')
    p.add_argument('--steps', type=int, default=5000)
    p.add_argument('--batch-size', type=int, default=128)
    p.add_argument('--code', type=int, default=16, help='numbers that stand for an image')
    p.add_argument('--width', type=int, default=32)
    p.add_argument('--lr', type=float, default=2e-3)
    p.add_argument('--reach', type=float, default=240)
    o = common.parse(p, short=dict(steps=60, width=8, lr=5e-3, reach=330))

    images = common.clothes(o, count=4000 if o.short else None)[0]
    test = common.clothes(o, train=False, count=500 if o.short else None)[0]
    net = VAE(o.code, o.width, o.plain).to(o.device)
    optimizer = optim.Adam(net.parameters(), lr=o.lr)
    schedule = optim.OneCycleLR(optimizer, o.lr, max(o.steps, 2))
    loader, step = data.DataLoader(data.TensorDataset(images), batch_size=o.batch_size, shuffle=True, seed=o.seed, drop_last=True), 0
    with common.Curve(o, 'loss', every=10 if o.short else 200, steps=o.steps, state=net.state_dict) as curve:
        while step < o.steps:
            for x, in loader:
                if step == o.steps:
                    break
                step += 1
                loss = bound(net, x.to(o.device))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
                curve.add(step, loss=loss.item())

    with tenon.no_grad():
        some = test[:32].to(o.device)
        again = net(some)[0].sigmoid()
        pictures.save_grid(o.output / 'reconstructions.png', tenon.stack([some, again], 1).flatten(0, 1), 16)
        if not o.plain:
            drawn = net.decoder(tenon.randn(64, o.code, device=o.device)).sigmoid()
            pictures.save_grid(o.output / 'drawn.png', drawn, 16)
        parts = test.split(500)
        found = sum(bound(net, x.to(o.device)).item() * len(x) for x in parts) / len(test)
    common.figure('reconstruction' if o.plain else 'bound', found, o.reach, at_most=True, unit=' nats an image')


if __name__ == '__main__':
    main()
