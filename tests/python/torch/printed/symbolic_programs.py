"""Modules recorded by torch.fx: graphs listed, run, changed and compiled; a batch norm folded into its convolution."""
import torch
import torch.fx
import torch.nn as nn
from torch.fx import symbolic_trace, Tracer, Graph, GraphModule, Interpreter, Transformer, replace_pattern
import copy
import operator


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.param = nn.Parameter(torch.linspace(0, 1, 12).view(3, 4))
        self.linear = nn.Linear(4, 5)
        self.linear.weight.data.fill_(0.1)
        self.linear.bias.data.fill_(-0.2)

    def forward(self, x):
        return self.linear(x + self.param).clamp(min=0.0, max=1.0)


m = M()
g = symbolic_trace(m)
print(g.graph)
print(g.code)
print(g)
print(g(torch.ones(3, 4)).equal(m(torch.ones(3, 4))))
for n in g.graph.nodes:
    print(n, n.op, n.name, n.target, n.args, n.kwargs, n.users.keys(), n.all_input_nodes, n.format_node())


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3, padding=1)
        self.bn = nn.BatchNorm2d(2)
        self.blocks = nn.Sequential(nn.ReLU(), nn.Conv2d(2, 2, 1))
        self.pool = nn.MaxPool2d(2)
        self.fc = nn.Linear(8, 3)
        [p.data.copy_(torch.sin(torch.arange(p.numel())).view_as(p)) for p in self.parameters()]

    def forward(self, x, scale=2.0):
        b, c, h, w = x.shape
        y = torch.relu(self.bn(self.conv(x)))
        y = torch.cat([y, y * scale], dim=1)[:, :2]
        y = self.blocks(y) + y
        y = self.pool(y)
        y = y.view(x.size(0), -1)
        return {'out': self.fc(y), 'feat': (y, y.mean())}


net = Net().eval()
t = symbolic_trace(net)
print(t.code)
print(t.graph)
x = torch.arange(16.0).view(1, 1, 4, 4)
print(t(x)['out'].allclose(net(x)['out']), t(x, 3.0)['feat'][1].allclose(net(x, 3.0)['feat'][1]))
print(
    [n for n, _ in t.named_modules()],
    len(list(t.parameters())),
    sorted(t.state_dict())[:3],
    isinstance(t, nn.Module),
    isinstance(t, GraphModule),
    type(t).__name__,
)


class ShapeProp(Interpreter):
    def run_node(self, n):
        r = super().run_node(n)
        n.meta['shape'] = tuple(r.shape) if isinstance(r, torch.Tensor) else None
        return r


ShapeProp(t).run(x)
print([(n.name, n.meta['shape']) for n in t.graph.nodes])


def f(x, y):
    return torch.neg(torch.add(x, y)).relu() + x.sigmoid()


tf = symbolic_trace(f)
print(tf.code)
for n in tf.graph.nodes:
    if n.op == 'call_function' and n.target == torch.add:
        n.target = torch.mul
tf.graph.lint()
tf.recompile()
print(tf(torch.tensor([-2.0]), torch.tensor([3.0])), tf.code)
for n in list(tf.graph.nodes):
    if n.op == 'call_method' and n.target == 'relu':
        with tf.graph.inserting_after(n):
            new = tf.graph.call_function(torch.sigmoid, (n.args[0],))
            n.replace_all_uses_with(new)
        tf.graph.erase_node(n)
tf.graph.eliminate_dead_code()
tf.recompile()
print(tf.graph)
gr = Graph()
a = gr.placeholder('a')
b = gr.call_function(operator.mul, (a, 2))
c = gr.call_method('sum', (b,), {'dim': 0})
gr.output((c, b))
gm = GraphModule(nn.Module(), gr)
print(gm.code, gm(torch.ones(2, 3)))


class Swap(Transformer):
    def call_function(self, target, args, kwargs):
        return torch.mul(*args, **kwargs) if target is torch.sigmoid else super().call_function(target, args, kwargs)


class NoLin(Tracer):
    def is_leaf_module(self, m, qn):
        return False if isinstance(m, nn.Sequential) else super().is_leaf_module(m, qn) and not isinstance(m, nn.Linear)


tr = NoLin()
gl = tr.trace(m)
print([n.name for n in gl.nodes], GraphModule(m, gl)(torch.ones(3, 4)).equal(m(torch.ones(3, 4))))
print(
    len(replace_pattern(tf, lambda x: torch.sigmoid(x), lambda x: torch.tanh(x))),
    sorted(n.name for n in tf.graph.nodes),
    tf(torch.tensor([-2.0]), torch.tensor([3.0])),
)
for bad in (lambda x: x if x.sum() > 0 else -x, lambda x: [y for y in x], lambda x: len(x), lambda x: torch.zeros(int(x))):
    try:
        symbolic_trace(bad)
    except Exception as e:
        print(isinstance(e, torch.fx.proxy.TraceError), type(e).__name__)


@torch.fx.wrap
def helper(x):
    return x + 1 if x.sum() > 0 else x - 1


wrapped = symbolic_trace(lambda x: helper(x * 2))
print([str(n.target) if n.op != 'call_function' else n.target.__name__ for n in wrapped.graph.nodes], wrapped(torch.ones(1)))


class Annotated(nn.Module):
    def forward(self, x: torch.Tensor, n: int = 2, *, flag: bool = False):
        if not self.training:
            x = x + 1
        a, (b, c) = x.chunk(2, dim=0), x.split(1)
        return torch.where(a[0] > 0, b * n, c) ** 2 - 3 % x[0, 1:] + (~(x > 1)).float().to(dtype=torch.float32).sum(dim=(0, 1))


at = symbolic_trace(Annotated())
print(at.code)
print(at.graph)
print(at(torch.ones(2, 2)).equal(Annotated()(torch.ones(2, 2))))


class Tokens(nn.Module):
    def __init__(self):
        super().__init__()
        self.cls = nn.Parameter(torch.zeros(1, 1, 4))
        self.register_buffer('pos', torch.arange(12.0).view(1, 3, 4))
        self.att = nn.MultiheadAttention(4, 2, batch_first=True)
        self.scale = torch.tensor(2.0)

    def forward(self, x):
        n = x.size(0)
        x = torch.cat([self.cls.expand(n, -1, -1), x], dim=1)
        x = x + self.pos.narrow(1, 0, x.size(1)) * self.scale
        return self.att(x, x, x)[0][:, 0]


tt = symbolic_trace(Tokens())
print(tt.graph)
print(tt(torch.ones(2, 2, 4)).shape, tt(torch.ones(3, 1, 4)).shape)
from torch.fx.passes.shape_prop import ShapeProp as Shapes

Shapes(g).propagate(torch.ones(3, 4))
print([tuple(n.meta['tensor_meta'].shape) for n in g.graph.nodes if 'tensor_meta' in n.meta])
print(copy.deepcopy(g)(torch.ones(3, 4)).equal(m(torch.ones(3, 4))))
cond = symbolic_trace(lambda x, flag: x * 2 if flag else x, concrete_args={'flag': True})
print(cond.code)
print(g.graph.find_nodes(op='call_module', target='linear'), [str(n.type) for n in g.graph.nodes], g.graph.output_node().args)
modules = dict(net.named_modules())
from torch.nn.utils.fusion import fuse_conv_bn_eval

ft = symbolic_trace(net)
mods = dict(ft.named_modules())
for node in ft.graph.nodes:
    if node.op == 'call_module' and type(mods[node.target]) is nn.BatchNorm2d and type(mods[node.args[0].target]) is nn.Conv2d:
        fused = fuse_conv_bn_eval(mods[node.args[0].target], mods[node.target])
        setattr(ft, node.args[0].target, fused)
        node.replace_all_uses_with(node.args[0])
        ft.graph.erase_node(node)
ft.graph.lint()
ft.recompile()
ft.delete_all_unused_submodules()
print(ft.code, torch.allclose(ft(x)['out'], net(x)['out'], atol=1e-4), [n for n, _ in ft.named_children()])
