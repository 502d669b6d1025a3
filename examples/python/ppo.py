"""PPO (Schulman et al. 2017, arXiv:1707.06347) balances a pole, or finds its way from pixels.

    pip install gymnasium
    python ppo.py                        CartPole-v1
    python ppo.py --world grid           a grid world that it sees as an image: reach the goal, avoid the pits
    python ppo.py --short                some seconds

Several copies of the world are played for a while; each action then becomes likelier or rarer by how much better than expected it went
(Schulman et al. 2015, arXiv:1506.02438), but only as far as the policy stays close to the one that played.
To reach: a return of 475 over 100 episodes of CartPole, or 0.9 of the grid world's 100 (1 for the goal, -1 for a pit).
"""
import common
import tenon
from tenon import nn, optim

try:
    import gymnasium as gym
    import numpy as np
except ImportError:
    common.install('pip install gymnasium', 'plays the worlds of gymnasium')


class GridWorld(gym.Env):
    """Seven by seven fields as an image with three channels: the player, the goal, the pits. Four directions; at most 30 moves."""
    observation_space = gym.spaces.Box(0, 1, (3, 7, 7), np.float32)
    action_space = gym.spaces.Discrete(4)

    def image(self):
        x = np.zeros((3, 7, 7), np.float32)
        for channel, places in enumerate(([self.player], [self.goal], self.pits)):
            for place in places:
                x[channel, place // 7, place % 7] = 1
        return x

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.player, self.goal, *self.pits = map(int, self.np_random.permutation(49)[:7])
        self.moves = 0
        return self.image(), {}

    def step(self, action):
        row, column = divmod(self.player, 7)
        down, right = ((-1, 0), (1, 0), (0, -1), (0, 1))[action]
        self.player = min(max(row + down, 0), 6) * 7 + min(max(column + right, 0), 6)
        self.moves += 1
        reward = 1.0 if self.player == self.goal else -1.0 if self.player in self.pits else 0.0
        return self.image(), reward, reward != 0, self.moves == 30, {}


def worlds(name, count):
    make = GridWorld if name == 'grid' else lambda: gym.make(name)
    return gym.vector.SyncVectorEnv([make] * count, autoreset_mode=gym.vector.AutoresetMode.SAME_STEP)


class Player(nn.Module):
    """The logits of the actions, and the expected return."""

    def __init__(self, shape, actions, width=64):
        super().__init__()
        def body():
            if len(shape) == 3:
                return [nn.Conv2d(shape[0], 16, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(16 * shape[1] * shape[2], width), nn.ReLU()]
            return [nn.Linear(shape[0], width), nn.Tanh(), nn.Linear(width, width), nn.Tanh()]
        self.actor, self.critic = nn.Sequential(*body(), nn.Linear(width, actions)), nn.Sequential(*body(), nn.Linear(width, 1))
        with tenon.no_grad():
            self.actor[-1].weight *= 0.01

    def forward(self, x):
        return self.actor(x), self.critic(x).squeeze(-1)


@tenon.no_grad()
def play(player, envs, seen, length, gamma, smoothing, device):
    """Observations, actions and expectations over some steps of all worlds, with advantages and returns; and the current
    observations."""
    rows = []
    for _ in range(length):
        x = tenon.asarray(seen).to(device)
        logits, value = player(x)
        action = tenon.multinomial(logits.softmax(-1), 1)
        chance = logits.log_softmax(-1).gather(1, action).squeeze(1)
        seen, reward, ended, cut, info = envs.step(action[:, 0].cpu().numpy())
        reward = tenon.asarray(reward.astype(np.float32)).to(device)
        if cut.any():  # it would have continued, so the rest of the return is estimated
            rest = [player(tenon.asarray(last)[None].to(device))[1].item() if over else 0.0 for last, over in zip(info['final_obs'], cut)]
            reward = reward + gamma * tenon.tensor(rest, device=device)
        goes_on = tenon.asarray(~(ended | cut)).to(device).to(tenon.float32)
        rows.append((x, action[:, 0], chance, value, reward, goes_on))
    ahead, advantage, advantages = player(tenon.asarray(seen).to(device))[1], 0.0, []
    for _, _, _, value, reward, goes_on in reversed(rows):
        advantage = reward + gamma * ahead * goes_on - value + gamma * smoothing * goes_on * advantage
        advantages.append(advantage)
        ahead = value
    x, action, chance, value = (tenon.concat(list(part)) for part in list(zip(*rows))[:4])
    advantages = tenon.concat(advantages[::-1])
    return (x, action, chance, advantages, advantages + value), seen


def loss_of(player, x, action, chance, advantage, returns, clip):
    """Equation 9 of the paper."""
    logits, value = player(x)
    log = logits.log_softmax(-1)
    ratio = (log.gather(1, action[:, None])[:, 0] - chance).exp()
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    gain = tenon.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage).mean()
    entropy = -(log.exp() * log).sum(-1).mean()
    return 0.5 * ((value - returns) ** 2).mean() - gain - 0.01 * entropy


@tenon.no_grad()
def mean_return(player, name, seed, device, count=100):
    """The mean return of that many episodes played at once, always with the likeliest actions."""
    envs = worlds(name, count)
    seen, _ = envs.reset(seed=seed)
    total, over = np.zeros(count), np.zeros(count, bool)
    while not over.all():
        seen, reward, ended, cut, _ = envs.step(player(tenon.asarray(seen).to(device))[0].argmax(1).cpu().numpy())
        total += reward * ~over
        over |= ended | cut
    return total.mean()


def main():
    p = common.parser(__doc__)
    p.add_argument('--world', default='CartPole-v1', help='grid, or a name of gymnasium with few actions')
    p.add_argument('--steps', type=int, default=100, help='rounds of playing and learning')
    p.add_argument('--worlds', type=int, default=8)
    p.add_argument('--length', type=int, default=128, help='moves in a round')
    p.add_argument('--lr', type=float, default=2.5e-3)
    p.add_argument('--gamma', type=float, default=0.99)
    p.add_argument('--reach', type=float, help='default: 475, and 0.9 in the grid world')
    o = common.parse(p, short=dict(steps=12, reach=100))
    envs = worlds(o.world, o.worlds)
    seen, _ = envs.reset(seed=o.seed)
    player = Player(envs.single_observation_space.shape, int(envs.single_action_space.n)).to(o.device)
    optimizer = optim.Adam(player.parameters(), lr=o.lr, eps=1e-5)
    schedule = optim.LinearLR(optimizer, 1.0, 0.05, o.steps)
    with common.Curve(o, 'loss', every=2 if o.short else 10, steps=o.steps) as curve:
        for step in range(1, o.steps + 1):
            rows, seen = play(player, envs, seen, o.length, o.gamma, 0.95, o.device)
            for _ in range(4):
                for some in tenon.randperm(len(rows[0])).to(o.device).split(256):
                    loss = loss_of(player, *(part[some] for part in rows), clip=0.2)
                    optimizer.zero_grad()
                    loss.backward()
                    optim.clip_grad_norm_(player.parameters(), 0.5)
                    optimizer.step()
            schedule.step()
            curve.add(step, loss=loss.item(), returns=rows[4].mean().item())
    reach = o.reach if o.reach is not None else 0.9 if o.world == 'grid' else 475
    common.figure('mean return of 100 episodes', mean_return(player, o.world, o.seed + 1000, o.device), reach)


if __name__ == '__main__':
    main()
