"""A generator of clothes and a critic that it must deceive: DCGAN (Radford et al. 2015, arXiv:1511.06434; Goodfellow et al. 2014).

    python dcgan.py                      ten minutes on two cores
    python dcgan.py --short              some seconds

The critic learns to tell real images from generated ones, the generator to make images that the critic takes for real. The critic's
rate is three times the generator's (two time-scales: Heusel et al. 2017, arXiv:1706.08500), and both fall to 0 over the second half of
the steps.
To reach: a Fréchet distance (common.frechet) of 0.1 to test images; two halves of those are 0.004 apart, and noise is 5.9 away. Writes
drawn.png, with images of the same codes each time.
"""
import common
import pictures
import tenon
from tenon import data, nn, optim

f = nn.functional


def generator(code, width):
    return nn.Sequential(nn.ConvTranspose2d(code, 4 * width, 7, bias=False), nn.BatchNorm2d(4 * width), nn.ReLU(),
                         nn.ConvTranspose2d(4 * width, 2 * width, 4, 2, 1, bias=False), nn.BatchNorm2d(2 * width), nn.ReLU(),
                         nn.ConvTranspose2d(2 * width, 1, 4, 2, 1), nn.Tanh())


def critic(width):
    return nn.Sequential(nn.Conv2d(1, width, 4, 2, 1), nn.LeakyReLU(0.2),
                         nn.Conv2d(width, 2 * width, 4, 2, 1, bias=False), nn.BatchNorm2d(2 * width), nn.LeakyReLU(0.2),
                         nn.Flatten(), nn.Linear(2 * width * 49, 1))


def begin(net):
    """Section 4 of the paper: all weights start small."""
    for module in net.modules():
        if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d)):
            nn.init.normal_(module.weight, std=0.02)
        elif isinstance(module, nn.BatchNorm2d):
            nn.init.normal_(module.weight, 1.0, 0.02)
    return net


def judge(logits, real):
    return f.binary_cross_entropy_with_logits(logits, tenon.full_like(logits, float(real)))


@tenon.no_grad()
def draw(make, codes):
    """Images from 0 to 1."""
    make.eval()
    images = tenon.concat([make(part).cpu() for part in codes.split(250)])
    make.train()
    return images / 2 + 0.5


def main():
    p = common.parser(__doc__)
    p.add_argument('--data', default='/usr/share/datasets/fashion-mnist', help='folder of the four .gz files')
    p.add_argument('--steps', type=int, default=4000)
    p.add_argument('--batch-size', type=int, default=64)
    p.add_argument('--code', type=int, default=64)
    p.add_argument('--width', type=int, default=32)
    p.add_argument('--lr', type=float, default=5e-4, help='of the generator')
    p.add_argument('--critic-lr', type=float, default=1.5e-3)
    p.add_argument('--reach', type=float, default=0.1)
    o = common.parse(p, short=dict(steps=60, width=8, batch_size=32, lr=2e-3, critic_lr=2e-3, reach=2))

    images = common.clothes(o, count=4000 if o.short else None)[0]
    test = common.clothes(o, train=False, count=1000 if o.short else 5000)[0]
    make, tell = begin(generator(o.code, o.width)).to(o.device), begin(critic(o.width)).to(o.device)
    optimizers = [optim.Adam(net.parameters(), lr=lr, betas=(0.5, 0.999)) for net, lr in ((make, o.lr), (tell, o.critic_lr))]
    schedules = [optim.LambdaLR(optimizer, lambda step: min(1, 2 - 2 * step / o.steps)) for optimizer in optimizers]
    codes = tenon.randn(len(test), o.code, 1, 1, device=o.device)
    loader, step = data.DataLoader(data.TensorDataset(images), batch_size=o.batch_size, shuffle=True, seed=o.seed, drop_last=True), 0
    with common.Curve(o, 'loss', every=10 if o.short else 100, steps=o.steps, state=make.state_dict) as curve:
        while step < o.steps:
            for x, in loader:
                if step == o.steps:
                    break
                step += 1
                made = make(tenon.randn(len(x), o.code, 1, 1, device=o.device))
                critical = judge(tell(x.to(o.device) * 2 - 1), True) + judge(tell(made.detach()), False)
                optimizers[1].zero_grad()
                critical.backward()
                optimizers[1].step()
                deceived = judge(tell(made), True)
                optimizers[0].zero_grad()
                deceived.backward()
                optimizers[0].step()
                for schedule in schedules:
                    schedule.step()
                curve.add(step, critic=critical.item(), generator=deceived.item())
                if step % 500 == 0:
                    pictures.save_grid(o.output / 'drawn.png', draw(make, codes[:64]), 16)
    drawn = draw(make, codes)
    pictures.save_grid(o.output / 'drawn.png', drawn[:64], 16)
    common.figure('Fréchet distance', common.frechet(drawn, test), o.reach, at_most=True)


if __name__ == '__main__':
    main()
