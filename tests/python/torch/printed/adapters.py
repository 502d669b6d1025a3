"""LoRA by parametrize and by modules; merging, freezing, state of adapters only, parameter groups."""
import numpy as np
import torch


def numpy_init(model, seed=0, scale=0.2):
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.from_numpy(rng.uniform(-scale, scale, tuple(p.shape))).to(p.dtype))
    return model


import math
import torch.nn as nn
import torch.nn.functional as F
import torch.nn.utils.parametrize as parametrize


class LoRAParametrization(nn.Module):
    def __init__(self, features_in, features_out, rank=1, alpha=1, device='cpu'):
        super().__init__()
        self.lora_A = nn.Parameter(torch.zeros((rank, features_out)).to(device))
        self.lora_B = nn.Parameter(torch.zeros((features_in, rank)).to(device))
        nn.init.normal_(self.lora_A, mean=0, std=1)
        self.scale = alpha / rank
        self.enabled = True

    def forward(self, original_weights):
        if self.enabled:
            return original_weights + torch.matmul(self.lora_B, self.lora_A).view(original_weights.shape) * self.scale
        return original_weights


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(6, 5), nn.Linear(5, 3)

    def forward(self, x):
        return self.linear2(F.relu(self.linear1(x)))


net = numpy_init(Net(), 1)
original = {name: p.clone().detach() for name, p in net.named_parameters()}
for layer in (net.linear1, net.linear2):
    features_in, features_out = layer.weight.shape
    parametrize.register_parametrization(layer, 'weight', LoRAParametrization(features_in, features_out, rank=2, alpha=4))
for name, p in net.named_parameters():
    if 'lora' not in name:
        p.requires_grad = False
rng = np.random.default_rng(5)
with torch.no_grad():
    for layer in (net.linear1, net.linear2):
        a = layer.parametrizations['weight'][0].lora_A
        a.copy_(torch.tensor(rng.normal(size=a.shape)))
print(net)
print([n for n, p in net.named_parameters()], [n for n, p in net.named_parameters() if p.requires_grad])
print(sorted(net.state_dict()), parametrize.is_parametrized(net), parametrize.is_parametrized(net.linear1, 'weight'), type(net.linear1).__name__)
x, y = torch.tensor(rng.normal(size=(8, 6)), dtype=torch.float32), torch.tensor([0, 1, 2, 0, 1, 2, 0, 1])
optimizer = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=0.05)
for step in range(5):
    loss = nn.CrossEntropyLoss()(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
for layer in (net.linear1, net.linear2):
    layer.parametrizations['weight'][0].enabled = False
print(torch.equal(net.linear1.weight, original['linear1.weight']), torch.all(net.linear1.parametrizations.weight.original == original['linear1.weight']).item())
with parametrize.cached():
    a, b = net.linear1.weight, net.linear1.weight
    print(a is b)
for layer in (net.linear1, net.linear2):
    layer.parametrizations['weight'][0].enabled = True
before = net(x)
parametrize.remove_parametrizations(net.linear1, 'weight', leave_parametrized=True)
parametrize.remove_parametrizations(net.linear2, 'weight')
print(torch.allclose(net(x), before, atol=1e-6), sorted(net.state_dict()), type(net.linear1.weight).__name__, net.linear1.weight.requires_grad)


class LoRALinear(nn.Linear):
    def __init__(self, in_features, out_features, r=0, lora_alpha=1, lora_dropout=0.0, merge_weights=True, **kwargs):
        nn.Linear.__init__(self, in_features, out_features, **kwargs)
        self.r, self.lora_alpha, self.merged, self.merge_weights = r, lora_alpha, False, merge_weights
        self.lora_dropout = nn.Dropout(p=lora_dropout) if lora_dropout > 0.0 else lambda x: x
        if r > 0:
            self.lora_A = nn.Parameter(self.weight.new_zeros((r, in_features)))
            self.lora_B = nn.Parameter(self.weight.new_zeros((out_features, r)))
            self.scaling = self.lora_alpha / self.r
            self.weight.requires_grad = False
        self.reset_parameters()

    def reset_parameters(self):
        nn.Linear.reset_parameters(self)
        if hasattr(self, 'lora_A'):
            nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))
            nn.init.zeros_(self.lora_B)

    def train(self, mode: bool = True):
        nn.Linear.train(self, mode)
        if mode and self.merge_weights and self.merged:
            self.weight.data -= (self.lora_B @ self.lora_A) * self.scaling
            self.merged = False
        elif not mode and self.merge_weights and not self.merged:
            self.weight.data += (self.lora_B @ self.lora_A) * self.scaling
            self.merged = True
        return self

    def forward(self, x):
        if self.r > 0 and not self.merged:
            result = F.linear(x, self.weight, bias=self.bias)
            result += (self.lora_dropout(x) @ self.lora_A.transpose(0, 1) @ self.lora_B.transpose(0, 1)) * self.scaling
            return result
        return F.linear(x, self.weight, bias=self.bias)


def mark_only_lora_as_trainable(model, bias='none'):
    for n, p in model.named_parameters():
        if 'lora_' not in n:
            p.requires_grad = False
    if bias == 'all':
        for n, p in model.named_parameters():
            if 'bias' in n:
                p.requires_grad = True


def lora_state_dict(model):
    return {k: v for k, v in model.state_dict().items() if 'lora_' in k}


model = numpy_init(nn.Sequential(LoRALinear(6, 5, r=2, lora_alpha=3), nn.GELU(approximate='tanh'), LoRALinear(5, 3, r=2)), 3)
mark_only_lora_as_trainable(model, 'all')
print([(n, tuple(p.shape), p.requires_grad) for n, p in model.named_parameters()])
opt = torch.optim.SGD(filter(lambda p: p.requires_grad, model.parameters()), lr=0.1, momentum=0.9, nesterov=True)
for _ in range(4):
    opt.zero_grad()
    loss = F.cross_entropy(model(x), y, label_smoothing=0.1)
    loss.backward()
    opt.step()
    print(f'{loss:.5f}')
trained = model(x)
model.eval()
merged = model(x)
print((trained - merged).abs().max() < 1e-5, model[0].merged)
model.train()
print((trained - model(x)).abs().max() < 1e-5, model[0].merged)
missing = numpy_init(nn.Sequential(LoRALinear(6, 5, r=2), nn.GELU(), LoRALinear(5, 3, r=2)), 4).load_state_dict(lora_state_dict(model), strict=False)
print(missing, list(lora_state_dict(model)))
