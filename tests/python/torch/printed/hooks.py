"""Hooks of tensors, modules and optimizers, and what they see."""
import torch
import torch.nn as nn
from torch.autograd.graph import register_multi_grad_hook, saved_tensors_hooks
from torch.nn.modules.module import (register_module_forward_hook, register_module_forward_pre_hook, register_module_full_backward_hook,
                                     register_module_full_backward_pre_hook)
from torch.utils.hooks import RemovableHandle

print('tensors')
x = torch.ones(2, requires_grad=True)
handle = x.register_hook(lambda g: g * 2)
y = x * 3
y.register_hook(lambda g: print('y', g))
y.retain_grad()
y.sum().backward()
print(x.grad, y.grad, y.retains_grad, isinstance(handle, RemovableHandle))
handle.remove()
with x.register_hook(lambda g: g * 0):
    x.grad = None
    x.sum().backward()
    print(x.grad)
x.register_post_accumulate_grad_hook(lambda p: print('accumulated', p.grad))
(x * 5).sum().backward()

print('several tensors')
a, b, c = (torch.ones(2, requires_grad=True) for _ in range(3))
both = register_multi_grad_hook((a, b), lambda gs: print('all', gs))
first = register_multi_grad_hook((a, b), lambda g: print('any', g), mode='any')
(a * b).sum().backward()
(a * b * 2).sum().backward()
some = register_multi_grad_hook((a, c), lambda gs: print('some', gs))
both.remove()
(a * 7).sum().backward()
some.remove()
first.remove()
(a * b).sum().backward()
print(a.grad, b.grad, c.grad)
with saved_tensors_hooks(lambda t: (print('pack', t.shape), t)[1], lambda t: (print('unpack'), t)[1]):
    z = (a * 2).exp().sum()
z.backward()

print('modules')
net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
for p in net.parameters():
    nn.init.constant_(p, 0.5)
handles = [net[0].register_forward_pre_hook(lambda m, i: print('pre', type(m).__name__, i[0].shape)),
           net[1].register_forward_hook(lambda m, i, o: o * 2),
           net[2].register_full_backward_hook(lambda m, gi, go: print('backward', gi, go)),
           net[2].register_full_backward_pre_hook(lambda m, go: (go[0] * 10,)),
           net.register_forward_hook(lambda m, args, kwargs, o: print('kwargs', kwargs), with_kwargs=True)]
out = net(torch.ones(1, 2))
print(out)
out.sum().backward()
print(net[0].weight.grad, net[2].weight.grad)
for handle in handles:
    handle.remove()

print('all modules')
own = net[0].register_forward_hook(lambda m, i, o: print('own'))
handles = [register_module_forward_pre_hook(lambda m, i: print('before', type(m).__name__)),
           register_module_forward_hook(lambda m, i, o: print('after', type(m).__name__, tuple(o.shape))),
           register_module_full_backward_hook(lambda m, gi, go: print('gradients', type(m).__name__, go)),
           register_module_full_backward_pre_hook(lambda m, go: print('upstream', type(m).__name__, go))]
net(torch.ones(1, 2)).sum().backward()
for handle in handles:
    handle.remove()
own.remove()
print(net(torch.ones(1, 2)))


class Failing(nn.Module):
    def forward(self, x):
        raise ValueError('inside')


handle = register_module_forward_hook(lambda m, i, o: print('after an error', o), always_call=True)
try:
    Failing()(x)
except ValueError as error:
    print(error)
handle.remove()

print('states and steps')
m = nn.Linear(2, 2)
m.register_state_dict_pre_hook(lambda module, prefix, keep: print('state', repr(prefix), keep))
m.register_load_state_dict_post_hook(lambda module, keys: print('loaded', keys))
m.load_state_dict(m.state_dict())
optimizer = torch.optim.SGD([a], lr=0.1)
optimizer.register_step_pre_hook(lambda o, args, kwargs: print('step', o is args[0], len(args), kwargs))
optimizer.register_step_post_hook(lambda o, args, kwargs: print('stepped'))
optimizer.step()
optimizer.step(lambda: print('closure'))
