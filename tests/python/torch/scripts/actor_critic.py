"""Learns to walk along a corridor to the goal by actor and critic, as reinforcement learning examples for PyTorch do."""
from collections import namedtuple

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Categorical

LENGTH, GAMMA = 6, 0.95
SavedAction = namedtuple('SavedAction', ['log_prob', 'value'])


class Corridor:
    """Cells in a row; the goal is the last. A step costs, the goal pays, and at times the floor is slippery."""

    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.place, self.steps = 0, 0
        return self.state()

    def state(self):
        found = np.zeros(LENGTH, dtype=np.float32)
        found[self.place] = 1
        return found

    def step(self, action):
        move = (1 if action == 1 else -1) * (0 if self.rng.random() < 0.1 else 1)
        self.place, self.steps = min(max(self.place + move, 0), LENGTH - 1), self.steps + 1
        arrived = self.place == LENGTH - 1
        return self.state(), 1.0 if arrived else -0.05, arrived or self.steps == 25


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(LENGTH, 16)
        self.action_head = nn.Linear(16, 2)
        self.value_head = nn.Linear(16, 1)
        self.saved_actions = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.affine1(x))
        return F.softmax(self.action_head(x), dim=-1), self.value_head(x)


def first_weights(model, rng):
    """The same first weights whoever draws them."""
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.from_numpy(rng.normal(0, 0.3, tuple(p.shape)).astype(np.float32)))


def select_action(model, state, rng):
    probs, state_value = model(torch.from_numpy(state).float())
    m = Categorical(probs)
    # Not m.sample(): the two libraries draw other numbers.
    action = torch.tensor(int(rng.random() < probs[1].item()))
    model.saved_actions.append(SavedAction(m.log_prob(action), state_value))
    return action.item(), m.entropy()


def finish_episode(model, optimizer, entropies):
    R, returns = 0, []
    for r in model.rewards[::-1]:
        R = r + GAMMA * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-3)
    policy_losses, value_losses = [], []
    for (log_prob, value), R in zip(model.saved_actions, returns):
        advantage = R - value.item()
        policy_losses.append(-log_prob * advantage)
        value_losses.append(F.smooth_l1_loss(value, torch.tensor([R])))
    optimizer.zero_grad()
    loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum() - 0.01 * torch.stack(entropies).sum()
    loss.backward()
    optimizer.step()
    del model.rewards[:]
    del model.saved_actions[:]
    return loss.item()


def main():
    rng = np.random.default_rng(0)
    env, model = Corridor(rng), Policy()
    first_weights(model, rng)
    optimizer = optim.Adam(model.parameters(), lr=1e-2)
    losses, running_reward = [], 0.0
    for _ in range(25):
        state, done, ep_reward, entropies = env.reset(), False, 0.0, []
        while not done:
            action, entropy = select_action(model, state, rng)
            state, reward, done = env.step(action)
            entropies.append(entropy)
            model.rewards.append(reward)
            ep_reward += reward
        running_reward = 0.05 * ep_reward + (1 - 0.05) * running_reward
        losses.append(finish_episode(model, optimizer, entropies))
    return losses, running_reward


if __name__ == '__main__':
    print(main())
