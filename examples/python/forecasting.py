"""Predicts the next day of an hourly series with a GRU that has seen a week (Cho et al. 2014, arXiv:1406.1078).

    python forecasting.py                a minute
    python forecasting.py --short        some seconds

The series is generated to resemble the load of a power grid: days and weeks repeat, weekends are lower, a slow random walk (the
weather) shifts everything including the height of the evening peak, and each hour depends on the one before. The last fifth is for the
test.
To reach: at most 0.65 times the mean absolute error of the same hour a week ago, and no more than that of linear regression over the
week.
"""
import common
import pictures
import tenon
from tenon import nn, optim

WEEK, DAY = 168, 24


def series(hours):
    """The series by hour, about 0 ± 1."""
    t = tenon.arange(hours).to(tenon.float32)
    weather = (tenon.randn(hours) * 0.03).cumsum(0)
    weather = weather - weather.mean()
    turn = 2 * tenon.pi / DAY
    evening = ((t * turn - 5).cos() * 2 - 2).exp()
    weekend = ((t % WEEK) >= 5 * DAY).to(tenon.float32)
    shocks, hour, echo = (tenon.randn(hours) * 0.1).tolist(), 0.0, []
    for shock in shocks:
        hour = 0.8 * hour + shock
        echo.append(hour)
    y = (t * turn - 2).cos() * 0.6 + evening * (1 + weather.tanh()) - 0.7 * weekend + 0.8 * weather + tenon.tensor(echo)
    return (y - y.mean()) / y.std()


class Forecast(nn.Module):
    """Predicts the next day from what the GRU remembers of the week and from the day a week ago."""

    def __init__(self, width):
        super().__init__()
        self.gru = nn.GRU(DAY, width, batch_first=True)  # one day per step
        self.out = nn.Sequential(nn.Linear(width + WEEK, 2 * width), nn.SiLU(), nn.Linear(2 * width, DAY))

    def forward(self, x):
        """(B, 168) to (B, 24)."""
        _, state = self.gru(x.reshape(len(x), 7, DAY))
        return x[:, :DAY] + self.out(tenon.concat([state[0], x], 1))


def windows(y):
    """Every week and the day after it, (N, 192)."""
    return y[tenon.arange(0, len(y) - WEEK - DAY + 1)[:, None] + tenon.arange(WEEK + DAY)]


def error(prediction, rows):
    return (prediction - rows[:, WEEK:]).abs().mean().item()


def main():
    p = common.parser(__doc__)
    p.add_argument('--hours', type=int, default=24 * 365 * 2)
    p.add_argument('--steps', type=int, default=1500)
    p.add_argument('--batch-size', type=int, default=128)
    p.add_argument('--width', type=int, default=64)
    p.add_argument('--lr', type=float, default=3e-3)
    p.add_argument('--reach', type=float, default=0.65)
    o = common.parse(p, short=dict(hours=24 * 120, steps=60, width=32, lr=1e-2, reach=0.9))
    y = series(o.hours)
    train, test = windows(y[:o.hours * 4 // 5]).to(o.device), windows(y[o.hours * 4 // 5:]).to(o.device)
    net = Forecast(o.width).to(o.device)
    optimizer = optim.AdamW(net.parameters(), lr=o.lr)
    schedule = optim.OneCycleLR(optimizer, o.lr, max(o.steps, 2))
    with common.Curve(o, 'loss', every=10 if o.short else 100, steps=o.steps) as curve:
        for step in range(1, o.steps + 1):
            rows = train[tenon.randint((o.batch_size,), 0, len(train), device=o.device)]
            loss = nn.functional.smooth_l1_loss(net(rows[:, :WEEK]), rows[:, WEEK:])
            optimizer.zero_grad()
            loss.backward()
            optim.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            curve.add(step, loss=loss.item())
    with tenon.no_grad():
        ones = tenon.ones(len(train), 1)
        x, z = tenon.concat([train[:, :WEEK].cpu(), ones], 1).to(tenon.float64), train[:, WEEK:].cpu().to(tenon.float64)
        line = tenon.linalg.solve(x.T @ x + tenon.eye(WEEK + 1, dtype=tenon.float64), x.T @ z)  # ridge regression
        host = test.cpu()
        linear = error((tenon.concat([host[:, :WEEK], tenon.ones(len(host), 1)], 1).to(tenon.float64) @ line).to(tenon.float32), host)
        naive, own = error(test[:, :DAY], test), error(net(test[:, :WEEK]), test)
        pictures.chart(o.output / 'days.png', {'truth': list(enumerate(test[0, WEEK:].tolist())), 'forecast': list(enumerate(net(test[:1, :WEEK])[0].tolist())),
                                             'a week ago': list(enumerate(test[0, :DAY].tolist()))})
    print(f'mean absolute error: {own:.4f}; linear regression {linear:.4f}; the same hour a week ago {naive:.4f}')
    common.figure('error, times that of linear regression:', own / linear, 1.6 if o.short else 1.0, at_most=True)
    common.figure('error, times that of a week ago:', own / naive, o.reach, at_most=True)


if __name__ == '__main__':
    main()
