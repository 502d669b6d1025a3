"""Actor-critic, Q-learning with replay and a clipped objective on a toy cart."""
from collections import deque, namedtuple
from itertools import count
import random
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Categorical, Normal, Bernoulli, Beta, Dirichlet, MultivariateNormal, kl_divergence, Uniform


def numpy_init(model, seed=0, scale=0.1):
    """The same first weights whoever draws them."""
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.tensor(rng.uniform(-scale, scale, tuple(p.shape))).to(p.dtype))
    return model

eps = np.finfo(np.float32).eps.item()
SavedAction = namedtuple('SavedAction', ['log_prob', 'value'])
Transition = namedtuple('Transition', ('state', 'action', 'next_state', 'reward'))


class Policy(nn.Module):
    def __init__(self):
        super(Policy, self).__init__()
        self.affine1 = nn.Linear(4, 24)
        self.action_head = nn.Linear(24, 2)
        self.value_head = nn.Linear(24, 1)
        self.saved_actions = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.affine1(x))
        return F.softmax(self.action_head(x), dim=-1), self.value_head(x)


class Cart:
    def reset(self):
        self.s, self.t = np.array([0.01, -0.02, 0.03, 0.0]), 0
        return self.s.copy(), {}

    def step(self, a):
        x, v, th, w = self.s
        f = 1.0 if a == 1 else -1.0
        self.s = np.array([x + 0.1 * v, v + 0.1 * f, th + 0.1 * w, w + 0.1 * (th * 2 - f)])
        self.t += 1
        return self.s.copy(), 1.0 - abs(th), bool(abs(self.s[2]) > 0.5 or self.t >= 20), False, {}


model = numpy_init(Policy(), 0, 0.3)
optimizer = optim.Adam(model.parameters(), lr=3e-2)
rng = np.random.default_rng(0)


def select_action(state):
    state = torch.from_numpy(state).float()
    probs, state_value = model(state)
    m = Categorical(probs)
    m.sample()
    action = torch.tensor(int(rng.random() < m.probs[1].item()))
    model.saved_actions.append(SavedAction(m.log_prob(action), state_value))
    return action.item(), m.entropy()


def finish_episode():
    R = 0
    policy_losses, value_losses, returns = [], [], deque()
    for r in model.rewards[::-1]:
        R = r + 0.99 * R
        returns.appendleft(R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + eps)
    for (log_prob, value), R in zip(model.saved_actions, returns):
        advantage = R - value.item()
        policy_losses.append(-log_prob * advantage)
        value_losses.append(F.smooth_l1_loss(value, torch.tensor([R])))
    optimizer.zero_grad()
    loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum()
    loss.backward()
    optimizer.step()
    del model.rewards[:]
    del model.saved_actions[:]
    return loss


env = Cart()
for i_episode in range(5):
    state, _ = env.reset()
    for t in range(30):
        action, ent = select_action(state)
        state, reward, done, _, _ = env.step(action)
        model.rewards.append(reward)
        if done:
            break
    loss = finish_episode()
    print(f'Episode {i_episode}\tLast length: {t}\tloss: {loss:.4f}\tentropy {ent:.4f}')


class ReplayMemory(object):
    def __init__(self, capacity):
        self.memory = deque([], maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, batch_size):
        return random.sample(self.memory, batch_size)

    def __len__(self):
        return len(self.memory)


random.seed(0)
class DQN(nn.Module):
    def __init__(self, n_observations, n_actions):
        super(DQN, self).__init__()
        self.layer1 = nn.Linear(n_observations, 16)
        self.layer3 = nn.Linear(16, n_actions)

    def forward(self, x):
        return self.layer3(F.relu(self.layer1(x)))


policy_net, target_net = numpy_init(DQN(4, 2), 1, 0.3), DQN(4, 2)
target_net.load_state_dict(policy_net.state_dict())
opt = optim.AdamW(policy_net.parameters(), lr=1e-2, amsgrad=True)
memory = ReplayMemory(100)
state, info = env.reset()
state = torch.tensor(state, dtype=torch.float32).unsqueeze(0)
for t in count():
    with torch.no_grad():
        action = policy_net(state).max(1).indices.view(1, 1) if t % 2 else torch.tensor([[t // 2 % 2]], dtype=torch.long)
    observation, reward, terminated, truncated, _ = env.step(action.item())
    reward = torch.tensor([reward])
    next_state = None if terminated else torch.tensor(observation, dtype=torch.float32).unsqueeze(0)
    memory.push(state, action, next_state, reward)
    state = next_state
    if len(memory) >= 6:
        batch = Transition(*zip(*memory.sample(6)))
        non_final_mask = torch.tensor(tuple(map(lambda s: s is not None, batch.next_state)), dtype=torch.bool)
        non_final_next_states = torch.cat([s for s in batch.next_state if s is not None])
        state_batch, action_batch, reward_batch = torch.cat(batch.state), torch.cat(batch.action), torch.cat(batch.reward)
        state_action_values = policy_net(state_batch).gather(1, action_batch)
        next_state_values = torch.zeros(6)
        with torch.no_grad():
            next_state_values[non_final_mask] = target_net(non_final_next_states).max(1).values
        expected = (next_state_values * 0.99) + reward_batch
        loss = nn.SmoothL1Loss()(state_action_values, expected.unsqueeze(1).float())
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
        opt.step()
        tsd, psd = target_net.state_dict(), policy_net.state_dict()
        for key in psd:
            tsd[key] = psd[key] * 0.1 + tsd[key] * 0.9
        target_net.load_state_dict(tsd)
        print(f'{t} {loss.item():.5f} {non_final_mask.sum().item()} {reward_batch.dtype}')
    if terminated:
        break
# PPO ratios
mu, log_std = torch.tensor([[0.1, -0.2]], requires_grad=True), nn.Parameter(torch.zeros(2))
dist = Normal(mu, log_std.exp())
a = torch.tensor([[0.3, 0.4], [1., -1.]])
logp = dist.log_prob(a).sum(-1)
ratio = (logp - logp.detach() + 0.1).exp()
adv = torch.tensor([1.0, -0.5])
surr = torch.min(ratio * adv, torch.clamp(ratio, 0.8, 1.05) * adv)
(-surr.mean() - 0.01 * dist.entropy().mean()).backward()
print(mu.grad, log_std.grad, ratio)
print(dist, Categorical(logits=torch.tensor([0.1, 0.2])), Categorical(torch.tensor([1., 3.])).probs, Bernoulli(0.3).entropy(), Beta(2., 3.).mean, Dirichlet(torch.ones(3)).log_prob(torch.tensor([.2, .3, .5])))
print(MultivariateNormal(torch.zeros(2), torch.tensor([[2., .5], [.5, 1.]])).log_prob(torch.tensor([1., 1.])), kl_divergence(Categorical(torch.tensor([.5, .5])), Categorical(torch.tensor([.1, .9]))))
for bad in (lambda: Normal(0., -1.), lambda: Categorical(torch.tensor([-1., 2.])), lambda: Bernoulli(1.5), lambda: Normal(0., 1.).log_prob(torch.tensor(float('nan'))), lambda: Uniform(1., 0.), lambda: Categorical(torch.ones(2)).log_prob(torch.tensor(5))):
    try:
        bad()
        print('no error')
    except ValueError:
        print('ValueError')
print(Normal(0, 1).sample().shape, Normal(torch.zeros(2), 1).rsample((3,)).shape, Categorical(torch.ones(4, 3)).sample((5,)).shape, Normal(0., 1.).cdf(torch.tensor(1.96)), Normal(0., 1.).icdf(torch.tensor(0.975)))
