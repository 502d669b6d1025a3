"""Proximal policy optimisation on recorded steps: generalised advantages, clipped losses, discrete and continuous actions."""
import torch
import numpy as np
import torch.nn as nn
import torch.optim as optim
from torch.distributions.categorical import Categorical
from torch.distributions.normal import Normal


def layer_init(layer, std=np.sqrt(2), bias_const=0.0):
    torch.nn.init.orthogonal_(layer.weight, std)
    torch.nn.init.constant_(layer.bias, bias_const)
    return layer


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(layer_init(nn.Linear(np.array((4,)).prod(), 8)), nn.Tanh(), layer_init(nn.Linear(8, 1), std=1.0))
        self.actor = nn.Sequential(layer_init(nn.Linear(4, 8)), nn.Tanh(), layer_init(nn.Linear(8, 3), std=0.01))
        self.actor_logstd = nn.Parameter(torch.zeros(1, 3))

    def get_value(self, x):
        return self.critic(x)

    def get_action_and_value(self, x, action=None):
        logits = self.actor(x)
        probs = Categorical(logits=logits)
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action), probs.entropy(), self.critic(x)

    def cont(self, x, action):
        mean = self.actor(x)
        std = torch.exp(self.actor_logstd.expand_as(mean))
        p = Normal(mean, std)
        return p.log_prob(action).sum(1), p.entropy().sum(1)


device = torch.device("cuda" if torch.cuda.is_available() and False else "cpu")
agent = Agent().to(device)
w = agent.actor[0].weight
print(torch.allclose(w.t() @ w, 2 * torch.eye(4), atol=1e-4))
with torch.no_grad():
    for i, p in enumerate(agent.parameters()):
        p.copy_(torch.tensor(np.sin(np.arange(p.numel()) * (i + 1.5)).reshape(p.shape)))
opt = optim.Adam(agent.parameters(), lr=2.5e-4, eps=1e-5)
S, E = 6, 2
rng = np.random.RandomState(1)
obs = torch.zeros((S, E) + (4,)).to(device)
actions = torch.zeros((S, E))
logprobs = torch.zeros((S, E))
rewards = torch.zeros((S, E))
dones = torch.zeros((S, E))
values = torch.zeros((S, E))
for step in range(S):
    obs[step] = torch.Tensor(rng.randn(E, 4)).to(device)
    dones[step] = torch.Tensor([step == 3, 0])
    with torch.no_grad():
        action, logprob, _, value = agent.get_action_and_value(obs[step], torch.from_numpy(rng.randint(0, 3, E)))
        values[step] = value.flatten()
    actions[step] = action
    logprobs[step] = logprob
    rewards[step] = torch.tensor(rng.rand(E)).to(device).view(-1)
next_obs, next_done = torch.Tensor(rng.randn(E, 4)), torch.zeros(E)
with torch.no_grad():
    next_value = agent.get_value(next_obs).reshape(1, -1)
    advantages = torch.zeros_like(rewards).to(device)
    lastgaelam = 0
    for t in reversed(range(S)):
        if t == S - 1:
            nextnonterminal = 1.0 - next_done
            nextvalues = next_value
        else:
            nextnonterminal = 1.0 - dones[t + 1]
            nextvalues = values[t + 1]
        delta = rewards[t] + 0.99 * nextvalues * nextnonterminal - values[t]
        advantages[t] = lastgaelam = delta + 0.99 * 0.95 * nextnonterminal * lastgaelam
    returns = advantages + values
print(advantages)
b_obs = obs.reshape((-1,) + (4,))
b_logprobs = logprobs.reshape(-1)
b_actions = actions.reshape((-1,) + ())
b_adv = advantages.reshape(-1)
b_ret = returns.reshape(-1)
b_val = values.reshape(-1)
b_inds = np.arange(S * E)
clipfracs = []
for epoch in range(2):
    rng.shuffle(b_inds)
    for start in range(0, S * E, 6):
        mb = b_inds[start : start + 6]
        _, newlogprob, entropy, newvalue = agent.get_action_and_value(b_obs[mb], b_actions.long()[mb])
        logratio = newlogprob - b_logprobs[mb]
        ratio = logratio.exp()
        with torch.no_grad():
            old_kl = (-logratio).mean()
            kl = ((ratio - 1) - logratio).mean()
            clipfracs += [((ratio - 1.0).abs() > 0.2).float().mean().item()]
        a = b_adv[mb]
        a = (a - a.mean()) / (a.std() + 1e-8)
        pg = torch.max(-a * ratio, -a * torch.clamp(ratio, 1 - 0.2, 1 + 0.2)).mean()
        newvalue = newvalue.view(-1)
        v_un = (newvalue - b_ret[mb]) ** 2
        v_cl = b_val[mb] + torch.clamp(newvalue - b_val[mb], -0.2, 0.2)
        v = 0.5 * torch.max(v_un, (v_cl - b_ret[mb]) ** 2).mean()
        loss = pg - 0.01 * entropy.mean() + v * 0.5
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
        opt.step()
        print(pg, v.item(), entropy.mean().item(), kl, old_kl.item())
y_pred, y_true = b_val.cpu().numpy(), b_ret.cpu().numpy()
var_y = np.var(y_true)
print(np.nan if var_y == 0 else 1 - np.var(y_true - y_pred) / var_y, clipfracs)
print(agent.cont(obs[0], torch.ones(2, 3)), agent.actor_logstd.grad)
m = Categorical(logits=agent.actor(obs[0]))
print(m, m.probs, m.mode, m.param_shape, m.enumerate_support().shape, m.mean)
opt.param_groups[0]["lr"] = 0.5 * 2.5e-4
print(opt)
masked = torch.where(torch.tensor([True, False, True]), agent.actor(obs[0]), torch.tensor(-1e8))
print(Categorical(logits=masked).probs)
