"""Deep Q-learning (Mnih et al. 2015, Nature 518) balances a pole, with the double estimate of van Hasselt et al. (arXiv:1509.06461).

    pip install gymnasium
    python dqn.py                        CartPole-v1, some minutes
    python dqn.py --short                some seconds

A network learns the return of each action from moves kept in a memory; a slow copy of it estimates what comes after a move.
To reach: a return of 475 over 100 episodes, played by the best actions. The network that did best along the way is kept.
"""
import common
import tenon
from tenon import nn, optim

try:
    import gymnasium as gym
    import numpy as np
except ImportError:
    common.install('pip install gymnasium', 'plays the worlds of gymnasium')


class Memory:
    """The last moves: observation, action, reward, next observation, and whether the episode ended there."""

    def __init__(self, size, width):
        self.size, self.count = size, 0
        self.parts = [np.zeros((size, width), np.float32), np.zeros(size, np.int64), np.zeros(size, np.float32),
                      np.zeros((size, width), np.float32), np.zeros(size, np.float32)]

    def add(self, *move):
        for part, value in zip(self.parts, move):
            part[self.count % self.size] = value
        self.count += 1

    def sample(self, rng, count, device):
        rows = rng.integers(0, min(self.count, self.size), count)
        return [tenon.asarray(part[rows]).to(device) for part in self.parts]


def network(inside, actions, width=128):
    return nn.Sequential(nn.Linear(inside, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, actions))


def loss_of(net, slow, gamma, seen, action, reward, after, ended):
    """Huber loss of the temporal difference; `net` chooses the next action, `slow` estimates its value."""
    with tenon.no_grad():
        best = net(after).argmax(1, keepdim=True)
        target = reward + gamma * (1 - ended) * slow(after).gather(1, best)[:, 0]
    return nn.functional.smooth_l1_loss(net(seen).gather(1, action[:, None])[:, 0], target)


@tenon.no_grad()
def mean_return(net, world, count, seed, device):
    envs = gym.vector.SyncVectorEnv([lambda: gym.make(world)] * count, autoreset_mode=gym.vector.AutoresetMode.SAME_STEP)
    seen, _ = envs.reset(seed=seed)
    total, over = np.zeros(count), np.zeros(count, bool)
    while not over.all():
        seen, reward, ended, cut, _ = envs.step(net(tenon.asarray(seen).to(device)).argmax(1).cpu().numpy())
        total += reward * ~over
        over |= ended | cut
    return total.mean()


def main():
    p = common.parser(__doc__)
    p.add_argument('--world', default='CartPole-v1')
    p.add_argument('--steps', type=int, default=40000, help='moves')
    p.add_argument('--batch-size', type=int, default=128)
    p.add_argument('--lr', type=float, default=1e-3)
    p.add_argument('--gamma', type=float, default=0.99)
    p.add_argument('--begin', type=int, default=1000, help='moves before learning begins')
    p.add_argument('--reach', type=float, default=475)
    o = common.parse(p, short=dict(steps=2500, begin=200, batch_size=64, reach=60))
    env, rng = gym.make(o.world), np.random.default_rng(o.seed)
    actions, width = int(env.action_space.n), env.observation_space.shape[0]
    net, slow = network(width, actions).to(o.device), network(width, actions).to(o.device)
    slow.load_state_dict(net.state_dict())
    optimizer = optim.Adam(net.parameters(), lr=o.lr)
    schedule = optim.LinearLR(optimizer, 1.0, 0.05, o.steps)
    memory, best, kept = Memory(20000, width), -1.0, net.state_dict()
    seen, _ = env.reset(seed=o.seed)
    with common.Curve(o, 'loss', every=o.steps // 20 or 1, steps=o.steps) as curve:
        for step in range(1, o.steps + 1):
            curious = max(0.05, 1 - step / (0.3 * o.steps))
            if rng.random() < curious:
                action = int(rng.integers(actions))
            else:
                with tenon.no_grad():
                    action = net(tenon.asarray(seen).to(o.device)[None]).argmax(1).item()
            after, reward, ended, cut, _ = env.step(action)
            memory.add(seen, action, reward, after, ended)
            seen = env.reset()[0] if ended or cut else after
            if step >= min(o.begin, o.steps - 2) and (step % 2 == 0 or o.steps < 50):
                loss = loss_of(net, slow, o.gamma, *memory.sample(rng, o.batch_size, o.device))
                optimizer.zero_grad()
                loss.backward()
                optim.clip_grad_norm_(net.parameters(), 10.0)
                optimizer.step()
                curve.add(step, loss=loss.item())
            schedule.step()
            if step % 200 == 0:
                slow.load_state_dict(net.state_dict())
            if step % max(o.steps // 20, 1) == 0:
                found = mean_return(net, o.world, 20, o.seed + 500, o.device)
                if found > best:
                    best, kept = found, {name: x.clone() for name, x in net.state_dict().items()}
    net.load_state_dict(kept)
    common.figure('mean return of 100 episodes', mean_return(net, o.world, 100, o.seed + 1000, o.device), o.reach)


if __name__ == '__main__':
    main()
