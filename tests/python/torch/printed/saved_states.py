"""States of modules and optimizers: saved, loaded, mended, hooked; modules changed after they are made."""
import torch
import torch.nn as nn
import io, os, tempfile, copy, pickle
from collections import OrderedDict


class Net(nn.Module):
    def __init__(self, n=3):
        super().__init__()
        self.fc = nn.Linear(2, n)
        self.bn = nn.BatchNorm1d(n)
        self.register_buffer('tmp', torch.zeros(1), persistent=False)
        self.extra = 5
        self.drop = None
        self.register_parameter('scale', None)

    def forward(self, x):
        return self.bn(self.fc(x))

    def get_extra_state(self):
        return {'extra': self.extra}

    def set_extra_state(self, s):
        self.extra = s['extra']


a, b = Net(), Net()
print(list(a.state_dict()), a.state_dict()['_extra_state'], type(a.state_dict()).__name__, a.state_dict()._metadata)
b.extra = 1
print(b.load_state_dict(a.state_dict()), b.extra)
sd = a.state_dict()
sd = {k.replace('fc.', 'module.fc.'): v for k, v in sd.items()}
r = b.load_state_dict(sd, strict=False)
print(r, r.missing_keys, r.unexpected_keys)


def strip(d, p='module.'):
    nn.modules.utils.consume_prefix_in_state_dict_if_present(d, p)
    return d


print(list(strip(OrderedDict(sd))))
pre = torch.ones(5, 2)
own = b.state_dict()
own.update({k: v for k, v in {'fc.weight': pre, 'fc.bias': torch.ones(3)}.items() if v.shape == own[k].shape})
b.load_state_dict(own)
print(b.fc.bias, list(b.state_dict(prefix='m.'))[0], b.state_dict(keep_vars=True)['fc.bias'].requires_grad)
try:
    b.load_state_dict({'fc.weight': pre})
except RuntimeError as e:
    print(str(e).splitlines()[1:])
buf = io.BytesIO()
torch.save(
    {
        'epoch': 3,
        'model': a.state_dict(),
        'args': {'lr': 0.1, 'sizes': torch.Size([1, 2]), 'dtype': torch.float16, 'dev': torch.device('cpu')},
        'list': [torch.ones(2), (1, 'a', None, True, 2.5)],
        'od': OrderedDict(a=1),
        'set': {1, 2},
    },
    buf,
)
buf.seek(0)
ck = torch.load(buf, map_location='cpu', weights_only=True)
print(ck['epoch'], list(ck['model']), ck['args'], ck['list'], ck['od'], ck['set'], type(ck['model']).__name__)
with tempfile.TemporaryDirectory() as tmp:
    p = os.path.join(tmp, 'c.pt')
    opt = torch.optim.Adam(a.parameters())
    a(torch.ones(2, 2)).sum().backward()
    opt.step()
    sch = torch.optim.lr_scheduler.StepLR(opt, 1)
    torch.save(
        dict(
            opt=opt.state_dict(),
            sch=sch.state_dict(),
            rng=torch.get_rng_state().shape,
            x=torch.arange(4.0)[1:3],
            y=nn.Parameter(torch.ones(1)),
            half=torch.ones(1).half(),
            b=torch.ones(1, dtype=torch.bfloat16),
            c=torch.ones(1, dtype=torch.complex64),
            bool=torch.tensor(True),
            nc=torch.arange(6.0).view(2, 3).t(),
        ),
        p,
    )
    c = torch.load(p)
    print(
        c['opt']['param_groups'],
        c['opt']['state'][0]['step'],
        c['sch'],
        c['x'],
        c['y'],
        c['half'],
        c['b'],
        c['c'],
        c['bool'],
        c['nc'].stride(),
        sorted(os.listdir(tmp)),
    )
    o2 = torch.optim.Adam(Net().parameters())
    o2.load_state_dict(c['opt'])
    print(
        o2.state_dict()['param_groups'] == c['opt']['param_groups'],
        torch.load(p, map_location=lambda s, l: s)['x'],
        torch.load(p, map_location={'cuda:0': 'cpu'})['x'],
        torch.load(p, map_location=torch.device('cpu'), mmap=True)['x'],
    )
    with open(p, 'wb') as f:
        torch.save([torch.ones(1)], f)
    with open(p, 'rb') as f:
        print(torch.load(f, weights_only=False))
    sh = torch.ones(3)
    torch.save([sh, sh, sh[1:]], p)
    l = torch.load(p)
    l[0].add_(1)
    print(l)
    torch.save(sh, p, _use_new_zipfile_serialization=True, pickle_protocol=2)
    print(torch.load(p))
    try:
        torch.load(os.path.join(tmp, 'no.pt'))
    except FileNotFoundError:
        print('FileNotFoundError')
    with open(p, 'wb') as f:
        f.write(b'garbage')
    try:
        torch.load(p)
    except Exception:
        print('refused')
m = copy.deepcopy(a)
m.fc.weight.data.zero_()
print(
    a.fc.weight.abs().sum() > 0,
    pickle.loads(pickle.dumps(torch.ones(2, requires_grad=True))),
    pickle.loads(pickle.dumps(nn.Linear(1, 1))).weight.shape,
    pickle.loads(pickle.dumps(torch.float32)),
    pickle.loads(pickle.dumps(torch.Size([1]))),
    copy.copy(torch.ones(1)),
    copy.deepcopy(nn.Parameter(torch.ones(1))),
    pickle.loads(pickle.dumps(torch.device('cpu'))),
    pickle.loads(pickle.dumps(torch.nn.functional.relu)) is torch.nn.functional.relu,
)
h = a._register_state_dict_hook(lambda m, d, p, l: d.__delitem__(p + 'fc.bias')) if hasattr(a, '_register_state_dict_hook') else None
print(list(a.state_dict()))
h.remove() if h else None
h = a.register_state_dict_post_hook(lambda m, d, p, l: d.__setitem__(p + 'new', 1)) if hasattr(a, 'register_state_dict_post_hook') else None
print('new' in a.state_dict())
h.remove() if h else None
h = b.register_load_state_dict_pre_hook(lambda m, d, p, lm, s, mi, un, er: d.pop('junk', None))
print(b.load_state_dict({**a.state_dict(), 'junk': 1}))
h.remove()
with torch.device('meta'):
    big = nn.Linear(10, 10)
print(big.weight.is_meta, big.weight)
big = big.to_empty(device='cpu')
big.load_state_dict({'weight': torch.eye(10), 'bias': torch.zeros(10)})
print(big(torch.ones(10)).detach())
e = nn.Linear(2, 2, device='meta')
print(e.load_state_dict({'weight': torch.eye(2), 'bias': torch.ones(2)}, assign=True), e.weight.is_meta, e.weight.requires_grad)
print(
    [n for n, _ in a.named_buffers()],
    [n for n, _ in a.named_parameters(prefix='x')],
    [n for n, _ in a.named_modules(prefix='y')],
    list(a._modules),
    list(a._parameters),
    list(a._buffers),
    dict(a.named_children()).keys(),
    a.get_buffer('bn.running_mean').shape,
    a.training,
    a.requires_grad_(False).fc.weight.requires_grad,
)
a.fc = nn.Identity()
del a.bn
print(a, hasattr(a, 'bn'))
a.bn = nn.ReLU()
a.add_module('z', nn.Tanh())
setattr(a, 'w', nn.Parameter(torch.ones(1)))
print(list(a._modules), [n for n, _ in a.named_parameters()])
delattr(a, 'w')
s = nn.Sequential(nn.Linear(1, 2), nn.ReLU())
s.append(nn.Linear(2, 1))
s.insert(1, nn.Tanh())
s[0] = nn.Linear(1, 3)
del s[1]
s.extend([nn.ReLU()])
print(s, len(s), s[-1], s[0:2], [type(x).__name__ for x in s], s + nn.Sequential(nn.Tanh()), s.pop(-1), nn.ReLU() in list(s))
l = nn.ModuleList([nn.ReLU()])
l += [nn.Tanh()]
l.insert(0, nn.Identity())
print(l, l[1:], l[-1], len(l), l.pop(0))
d = nn.ModuleDict([['a', nn.ReLU()]])
d['b'] = nn.Tanh()
d.update({'c': nn.Identity()})
print(d, list(d.keys()), 'a' in d, d.pop('a'), len(d), list(d.items())[0][0], d.b if hasattr(d, 'b') else None)
pl = nn.ParameterList([torch.ones(1)])
pl.append(torch.zeros(2))
print(len(pl), pl[1], pl, [n for n, _ in nn.Sequential(pl).named_parameters()] if False else None)
