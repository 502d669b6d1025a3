"""Methods of Module, hooks, states and containers beside PyTorch's: each scenario runs in both."""
import copy
import inspect
import pathlib
import sys

import pytest

import tenon.torch

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from scenarios import same, same_error


def net(torch):
    """A module with parameters, buffers that are saved and not, parts within parts, and one that is shared."""
    nn = torch.nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(2, 3)
            self.scale = nn.Parameter(torch.ones(3))
            self.register_buffer('count', torch.zeros(2))
            self.register_buffer('scratch', torch.ones(1), persistent=False)
            self.register_buffer('nothing', None)
            self.register_parameter('none', None)
            self.body = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Sequential(nn.Linear(3, 1, bias=False)))
            self.again = self.first

        def forward(self, x, factor=1.0):
            return self.body(self.first(x) * self.scale) * factor
    made = Net()
    with torch.no_grad():
        for i, x in enumerate(made.parameters()):
            x.copy_(torch.linspace(-1, 1, x.numel()).reshape(x.shape) * (i + 1) * 0.3)
    return made


def data(torch):
    return torch.tensor([[1.0, 2.0], [-3.0, 0.5]])


def test_all_methods_exist(torch):
    theirs = {name for name in dir(torch.nn.Module) if name[0] != '_'}
    absent = {name for name in theirs if not hasattr(tenon.torch.nn.Module, name)}
    assert absent == {'T_destination', 'dump_patches'}  # a type variable and a switch
    for name in theirs - absent - {'compile', 'forward', 'to', 'state_dict', 'register_backward_hook', 'training', 'call_super_init'}:
        ours, other = (inspect.signature(getattr(nn.Module, name)).parameters for nn in (tenon.torch.nn, torch.nn))
        if name not in ('apply', 'cuda', 'xpu', 'mtia', 'ipu', 'share_memory'):
            assert [(x.name, x.default) for x in ours.values()] == [(x.name, x.default) for x in other.values()], name


def names(pairs):
    return [name for name, _ in pairs]


WALKS = {
    'parameters': lambda m: names(m.named_parameters()),
    'parameters, prefix': lambda m: names(m.named_parameters('net')),
    'parameters, own': lambda m: names(m.named_parameters(recurse=False)),
    'parameters, all names': lambda m: names(m.named_parameters(remove_duplicate=False)),
    'buffers': lambda m: names(m.named_buffers()),
    'buffers, own': lambda m: names(m.named_buffers('x', False)),
    'modules': lambda m: names(m.named_modules()),
    'modules, prefix': lambda m: names(m.named_modules(prefix='net')),
    'modules, all names': lambda m: names(m.named_modules(remove_duplicate=False)),
    'modules, memo': lambda m: names(m.named_modules({m.first})),
    'children': lambda m: names(m.named_children()),
    'counts': lambda m: [len(list(each)) for each in (m.parameters(), m.buffers(), m.modules(), m.children(), m.parameters(False))],
    'state': lambda m: list(m.state_dict()),
    'state, prefix': lambda m: list(m.state_dict(prefix='net.')),
    'state, vars': lambda m: [x.requires_grad for x in m.state_dict(keep_vars=True).values()],
    'state, destination': lambda m: list(m.body.state_dict(destination=m.state_dict(), prefix='again.body.')),
    'dicts': lambda m: [list(m._parameters), list(m._buffers), list(m._modules)],
    'repr': repr,
    'get': lambda m: [m.get_parameter('body.0.bias'), m.get_buffer('count'), type(m.get_submodule('body.2.0')).__name__, m.get_submodule('') is m],
    'get no buffer': lambda m: m.get_buffer('nothing'),
    'apply': lambda m: (lambda seen: [m.apply(lambda part: seen.append(type(part).__name__)) is m, seen])([]),
    'train': lambda m: [m.eval() is m, [part.training for part in m.modules()], m.train().body[2].training],
    'requires_grad_': lambda m: [m.requires_grad_(False) is m, [x.requires_grad for x in m.parameters()]],
    'double': lambda m: [str(x.dtype)[-7:] for x in m.double().state_dict().values()],
    'half': lambda m: [str(x.dtype)[-7:] for x in m.half().state_dict().values()],
    'bfloat16': lambda m: [str(x.dtype)[-8:] for x in m.bfloat16().state_dict().values()],
    'float': lambda m: [str(x.dtype)[-7:] for x in m.double().float().state_dict().values()],
    'cpu': lambda m: m.cpu() is m,
    'to_empty': lambda m: [list(x.shape) for x in m.to_empty(device='cpu').state_dict().values()],
    'deleted': lambda m: [delattr(m, 'first'), delattr(m, 'count'), delattr(m, 'scale'), list(m.state_dict())],
    'replaced': lambda m: [setattr(m, 'body', None), setattr(m, 'count', None), setattr(m, 'scale', None), list(m.state_dict())],
}


@pytest.mark.parametrize('name', WALKS)
def test_walks(torch, name):
    same(torch, lambda namespace: WALKS[name](net(namespace)))


def zeroed(torch, to_none):
    m = net(torch)
    m(data(torch)).sum().backward()
    m.zero_grad(to_none)
    return [x.grad for x in m.parameters()]


@pytest.mark.parametrize('to_none', [True, False])
def test_zero_grad(torch, to_none):
    same(torch, zeroed, to_none)


WRITES = {
    'to': lambda t, m: str(m.to(t.float64, non_blocking=True).scale.dtype)[-7:],
    'to a tensor': lambda t, m: str(m.to(t.zeros(1, dtype=t.float64)).scale.dtype)[-7:],
    'to by name': lambda t, m: str(m.to(device='cpu', dtype=t.float16).count.dtype)[-7:],
    'type': lambda t, m: [str(x.dtype)[-7:] for x in m.type(t.float64).state_dict().values()],
    'set_submodule': lambda t, m: [m.set_submodule('body.2.0', t.nn.Identity()), m.set_submodule('body.9', t.nn.ReLU()), repr(m)],
    'add_module': lambda t, m: [m.add_module('more', t.nn.ReLU()), m.register_module('less', None), m.register_module('body', t.nn.Tanh()), repr(m.body)],
    'Buffer': lambda t, m: [setattr(m, 'kept', t.nn.Buffer(t.ones(1))), setattr(m, 'lost', t.nn.Buffer(t.ones(1), persistent=False)),
                            list(m.state_dict()), names(m.named_buffers())],
    'buffer again': lambda t, m: [m.register_buffer('count', t.ones(1)), m.count, list(m.state_dict())],
    'parameter over buffer': lambda t, m: [setattr(m, 'count', t.nn.Parameter(t.ones(1))), names(m.named_parameters()), names(m.named_buffers())],
    'none becomes': lambda t, m: [setattr(m, 'none', t.nn.Parameter(t.ones(1))), setattr(m, 'nothing', t.ones(2)), list(m.state_dict())],
    'by dict': lambda t, m: [m._parameters.pop('scale'), list(m.state_dict()), m._buffers.update(count=t.ones(3)), m.count, 'first' in m._modules],
    'added by dict': lambda t, m: [m._parameters.__setitem__('p', t.nn.Parameter(t.ones(1))), m._parameters.__setitem__('q', None),
                                   m._buffers.__setitem__('b', t.ones(2)), m.body._modules.__setitem__('1', t.nn.Tanh()),
                                   m.body._modules.__setitem__('more', t.nn.ReLU()), list(m.state_dict()), repr(m.body), len(m.body)],
    'deepcopy': lambda t, m: [list(copy.deepcopy(m).state_dict()), copy.deepcopy(m)(data(t)), copy.deepcopy(m).again is m.again],
}


@pytest.mark.parametrize('name', WRITES)
def test_writes(torch, name):
    same(torch, lambda namespace: WRITES[name](namespace, net(namespace)))


ERRORS = {
    'tensor for parameter': lambda t, m: setattr(m, 'scale', t.ones(3)),
    'tensor for none': lambda t, m: setattr(m, 'none', t.ones(3)),
    'number for buffer': lambda t, m: setattr(m, 'count', 3),
    'number for module': lambda t, m: setattr(m, 'body', 3),
    'no such attribute': lambda t, m: m.absent,
    'no such module': lambda t, m: m.get_submodule('body.7'),
    'no such parameter': lambda t, m: m.get_parameter('body.weight'),
    'a module is no parameter': lambda t, m: m.get_parameter('body'),
    'no such buffer': lambda t, m: m.get_buffer('scale'),
    'empty parameter': lambda t, m: m.get_parameter('none'),
    'name with a dot': lambda t, m: m.register_parameter('a.b', t.nn.Parameter(t.ones(1))),
    'empty name': lambda t, m: m.register_buffer('', t.ones(1)),
    'name taken': lambda t, m: m.register_buffer('scale', t.ones(1)),
    'name of a method': lambda t, m: m.add_module('forward', t.nn.ReLU()),
    'a tensor is no parameter': lambda t, m: m.register_parameter('p', t.ones(1)),
    'a number is no buffer': lambda t, m: m.register_buffer('p', 1),
    'a number is no module': lambda t, m: m.add_module('p', 1),
    'name is no text': lambda t, m: m.add_module(1, t.nn.ReLU()),
    'an integer dtype': lambda t, m: m.to(t.int64),
    'no forward': lambda t, m: t.nn.Module()(1),
    'set_submodule of nothing': lambda t, m: m.set_submodule('', t.nn.ReLU()),
    'set_submodule strict': lambda t, m: m.set_submodule('absent', t.nn.ReLU(), strict=True),
    'extra state': lambda t, m: m.get_extra_state(),
    'delete nothing': lambda t, m: delattr(m, 'absent'),
    'index': lambda t, m: m.body[3],
    'index is no module': lambda t, m: t.nn.ModuleList([3]),
    'load no dict': lambda t, m: m.load_state_dict([1]),
    'load nothing': lambda t, m: m.load_state_dict({}),
    'load more': lambda t, m: m.load_state_dict({**m.state_dict(), 'more': t.ones(1)}),
    'load shapes': lambda t, m: m.load_state_dict({**m.state_dict(), 'scale': t.ones(7)}),
}


@pytest.mark.parametrize('name', ERRORS)
def test_errors(torch, name):
    same_error(torch, lambda namespace: ERRORS[name](namespace, net(namespace)))


@pytest.mark.parametrize('strict', [True, False])
def test_load_names_every_problem(torch, strict):
    texts = []
    for namespace in (torch, tenon.torch):
        m = net(namespace)
        state = {**m.state_dict(), 'scale': namespace.ones(7), 'more.x': namespace.ones(1)}
        del state['count'], state['body.0.weight']
        with pytest.raises(RuntimeError) as caught:
            m.load_state_dict(state, strict=strict)
        texts.append(str(caught.value))
    assert texts[1] == f'[load_state_dict] {texts[0]}' and 'size mismatch for scale' in texts[1]


def loaded(torch, strict, assign):
    m, other = net(torch), net(torch).state_dict()
    state = {name: x * 2 for name, x in other.items()}
    if not strict:
        state['more'] = state.pop('count')
    before = m.scale
    found = m.load_state_dict(state, strict=strict, assign=assign)
    return found.missing_keys, found.unexpected_keys, m(data(torch)), m.scale is before, m.scale.requires_grad, type(m.scale).__name__


@pytest.mark.parametrize('strict', [True, False])
@pytest.mark.parametrize('assign', [True, False])
def test_load(torch, strict, assign):
    same(torch, loaded, strict, assign)


# Hooks -----------------------------------------------------------------------------------------------------------------------------

def called(torch, register):
    m, seen = net(torch), []
    handle = register(m, seen)
    x = data(torch).requires_grad_()
    y = m(x)
    y.sum().backward()
    first = [y, x.grad, len(seen), list(seen)]
    (handle if handle is not None else m.register_forward_hook(lambda *_: None)).remove()
    seen.clear()
    return first, m(data(torch)), len(seen)


def with_forward_kwargs(m, seen):
    def before(module, args, kwargs):
        return args, {**kwargs, 'factor': 3.0}

    def after(module, args, kwargs, output):
        seen.append(sorted(kwargs))
        return output + 1
    m.register_forward_hook(after, with_kwargs=True)
    return m.register_forward_pre_hook(before, with_kwargs=True)


def in_order(m, seen):
    m.register_forward_hook(lambda *_: seen.append('a'))
    m.register_forward_hook(lambda *_: seen.append('b'), prepend=True)
    m.register_forward_pre_hook(lambda *_: seen.append('c'))
    m.register_forward_pre_hook(lambda *_: seen.append('d'), prepend=True)
    return m.first.register_forward_hook(lambda *_: seen.append('e'))


def backward_all(m, seen):
    m.body.register_full_backward_pre_hook(lambda module, grads: seen.append(['pre', grads]))
    return m.body.register_full_backward_hook(lambda module, grad_in, grad_out: seen.append([grad_in, grad_out]))


def backward_changed(m, seen):
    m.body.register_full_backward_pre_hook(lambda module, grads: (grads[0] * 2,))
    return m.body.register_full_backward_hook(lambda module, grad_in, grad_out: (grad_in[0] * 10,))


HOOKS = {
    'forward': lambda m, seen: m.register_forward_hook(lambda module, args, output: seen.append([args, output])),
    'forward, changed': lambda m, seen: m.register_forward_hook(lambda module, args, output: output * 2),
    'before': lambda m, seen: m.register_forward_pre_hook(lambda module, args: seen.append(args)),
    'before, changed': lambda m, seen: m.register_forward_pre_hook(lambda module, args: args[0] * 2),
    'kwargs': with_forward_kwargs,
    'order': in_order,
    'backward': backward_all,
    'backward, changed': backward_changed,
    'backward of the whole': lambda m, seen: m.register_full_backward_hook(lambda module, grad_in, grad_out: seen.append([grad_in, grad_out])),
    'backward prepend': lambda m, seen: [m.register_full_backward_hook(lambda *_: seen.append(1)),
                                         m.register_full_backward_hook(lambda *_: seen.append(2), prepend=True)][1],
}


@pytest.mark.parametrize('name', HOOKS)
def test_hooks(torch, name):
    same(torch, called, HOOKS[name])


def test_backward_hook_of_inputs_without_gradient(torch):
    def run(torch):
        m, seen = torch.nn.Linear(2, 1), []
        with torch.no_grad():
            m.weight.fill_(2.0)
        m.register_full_backward_hook(lambda module, grad_in, grad_out: seen.append([grad_in, grad_out]))
        m(data(torch)).sum().backward()
        with torch.no_grad():
            m(data(torch))
        return seen, m.weight.grad
    same(torch, run)


def test_backward_hooks_of_several_inputs_and_outputs(torch):
    def run(torch):
        class Two(torch.nn.Module):
            def forward(self, x, y, n):
                return x * y * n, x + y
        m, seen = Two(), []
        m.register_full_backward_hook(lambda module, grad_in, grad_out: seen.append([grad_in, grad_out]))
        x, y = data(torch).requires_grad_(), data(torch)
        a, b = m(x, y, 3)
        (a * 2 + b).sum().backward()
        m(y, y, 2)[0].sum()
        return seen, x.grad
    same(torch, run)


def test_always_called_hooks_see_an_error(torch):
    def run(torch):
        m, seen = net(torch), []
        m.register_forward_hook(lambda module, args, output: seen.append(output is None), always_call=True)
        m.register_forward_hook(lambda *_: seen.append('not me'))
        with pytest.raises(Exception):  # noqa: B017 two libraries, two kinds
            m(torch.ones(2, 5))
        return seen
    same(torch, run)


def stated(torch):
    """Hooks of states, with what they are given."""
    seen = []

    class Extra(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight, self.more = torch.nn.Parameter(torch.ones(1)), 3

        def get_extra_state(self):
            return {'more': self.more}

        def set_extra_state(self, state):
            self.more = state['more']
    m = torch.nn.Sequential(Extra(), torch.nn.Linear(1, 1))
    m[1].register_state_dict_pre_hook(lambda module, prefix, keep_vars: seen.append(['pre', prefix, keep_vars]))
    m[1].register_state_dict_post_hook(lambda module, state, prefix, about: seen.append(['post', prefix, sorted(state)]))
    m[1].register_load_state_dict_pre_hook(lambda module, state, prefix, *rest: state.update({prefix + 'bias': state.pop(prefix + 'offset')}))
    m.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
    state = dict(m.state_dict())
    state['1.offset'] = state.pop('1.bias') + 5
    state['0._extra_state'] = {'more': 7}
    del state['0.weight']
    m.load_state_dict(state)
    return list(state), seen, m[0].more, m[1].bias


def test_state_hooks_and_extra_state(torch):
    def run(torch):
        keys, seen, more, _ = stated(torch)
        return keys, seen, more
    same(torch, run)


def test_a_module_may_load_in_its_own_way(torch):
    def run(torch):
        class Own(torch.nn.Linear):
            def _load_from_state_dict(self, state_dict, prefix, *args):
                if prefix + 'w' in state_dict:
                    state_dict[prefix + 'weight'] = state_dict.pop(prefix + 'w')
                super()._load_from_state_dict(state_dict, prefix, *args)
        m = torch.nn.Sequential(Own(1, 1, bias=False))
        found = m.load_state_dict({'0.w': torch.tensor([[4.0]])})
        return found.missing_keys, m[0].weight
    same(torch, run)


# Containers ------------------------------------------------------------------------------------------------------------------------

def shown(module):
    """repr() without the two spellings of a dtype."""
    return repr(module).replace('torch.FloatTensor', 'float32').replace('torch.', '')


def lin(torch, n):
    return torch.nn.Linear(n, n, bias=False)


CONTAINERS = {
    'Sequential': lambda t: repr(t.nn.Sequential(lin(t, 1), lin(t, 2)).append(lin(t, 3)).extend([lin(t, 4)]).insert(1, lin(t, 5))),
    'slice': lambda t: [repr(t.nn.Sequential(lin(t, 1), lin(t, 2), lin(t, 3))[1:]), repr(t.nn.ModuleList([lin(t, 1), lin(t, 2)])[:1])],
    'plus': lambda t: [repr(t.nn.Sequential(lin(t, 1)) + t.nn.Sequential(lin(t, 2))), repr(t.nn.Sequential(lin(t, 1)) * 3),
                       repr(t.nn.ModuleList([lin(t, 1)]) + [lin(t, 2)])],
    'delete': lambda t: (lambda s: [s.__delitem__(0), repr(s), s.pop(-1).in_features, len(s)])(t.nn.Sequential(lin(t, 1), lin(t, 2), lin(t, 3))),
    'named': lambda t: (lambda s: [s.a.in_features, s[0] is s.a, setattr(s, 'a', lin(t, 7)), s[0].in_features, list(s.state_dict())])(
        t.nn.Sequential({'a': lin(t, 1), 'b': lin(t, 2)}) if t is tenon.torch else __import__('torch').nn.Sequential(
            __import__('collections').OrderedDict([('a', lin(t, 1)), ('b', lin(t, 2))]))),
    'repeated': lambda t: repr(t.nn.ModuleList([lin(t, 1), lin(t, 1), lin(t, 2)])),
    'list': lambda t: (lambda m: [m.insert(0, lin(t, 3)), setattr(m, 'own', lin(t, 4)), names(m.named_parameters())][2:])(t.nn.ModuleList([lin(t, 1)])),
    'set': lambda t: (lambda m: [m.__setitem__(-1, lin(t, 9)), m[1].in_features, 5 in [x.in_features for x in m]])(t.nn.ModuleList([lin(t, 1), lin(t, 2)])),
    'dict': lambda t: (lambda m: [list(m), 'a' in m, len(m), [k for k, _ in m.items()], m.pop('a').in_features, list(m.keys()), m.update([('c', lin(t, 3))]),
                                  list(m), repr(m), m.clear(), len(m)])(t.nn.ModuleDict({'a': lin(t, 1), 'b': lin(t, 2)})),
    'parameters': lambda t: (lambda m: [shown(m), len(m), m[-1], m[0:1][0], names(m.named_parameters()), m.append(t.ones(1))[-1].requires_grad,
                                        m.__setitem__(0, t.zeros(1)), m[0], list(m.state_dict())])(t.nn.ParameterList([t.ones(2), t.ones(3), 7][:2])),
    'parameters of all sorts': lambda t: [shown(t.nn.ParameterList([t.ones(2), 7])), list(t.nn.ParameterList([t.ones(2), 7]).state_dict())],
    'parameter dict': lambda t: (lambda m: [shown(m), list(m), m['a'], 'b' in m, m.get('z', 4), m.setdefault('c', t.ones(1)), list(m.state_dict()), m.pop('a'),
                                            list(m.keys()), list((m | {'x': t.ones(1)}).keys()), m.popitem()[0], len(m), m.clear(), len(m)])(
        t.nn.ParameterDict({'a': t.ones(2), 'b': t.zeros(1)})),
}


@pytest.mark.parametrize('name', CONTAINERS)
def test_containers(torch, name):
    same(torch, CONTAINERS[name])


# Lazy modules ----------------------------------------------------------------------------------------------------------------------

def trained_lazily(t):
    """An optimizer that is older than the shapes; the parameters are the objects that they were."""
    m = lazy(t)
    before, optimizer = list(m.parameters()), t.optim.SGD(m.parameters(), lr=0.1)
    m(t.ones(2, 4))
    for p in m.parameters():
        t.nn.init.constant_(p, 0.5)
    m(t.ones(2, 4)).sum().backward()
    optimizer.step()
    return [all(p is q for p, q in zip(m.parameters(), before)), [p.detach() for p in m.parameters()]]


def lazy(torch):
    return torch.nn.Sequential(torch.nn.LazyLinear(3), torch.nn.ReLU(), torch.nn.LazyLinear(2, bias=False))


LAZY = {
    'repr before': lambda t: repr(lazy(t)),
    'repr after': lambda t: (lambda m: [m(t.ones(1, 4)).shape, repr(m)][1])(lazy(t)),
    'class after': lambda t: (lambda m: [list(m(t.ones(1, 4)).shape), type(m[0]) is t.nn.Linear, type(m[0].weight) is t.nn.Parameter])(lazy(t)),
    'waiting': lambda t: [type(lazy(t)[0].weight).__name__, lazy(t)[0].has_uninitialized_params(), isinstance(lazy(t)[0].weight, t.nn.Parameter)],
    'state of one that waits': lambda t: [list(lazy(t).state_dict()), type(lazy(t).state_dict()['0.weight']).__name__],
    'loads shapes': lambda t: (lambda m: [m.load_state_dict({'weight': t.ones(3, 5), 'bias': t.zeros(3)}) and 0, list(m.weight.shape), m(t.ones(1, 5)), repr(m)])(
        t.nn.LazyLinear(3)),
    'loads waiting ones': lambda t: (lambda m: [m.load_state_dict(lazy(t).state_dict()) and 0, m[0].has_uninitialized_params()])(lazy(t)),
    'dtype': lambda t: str(lazy(t).double()(t.ones(1, 4, dtype=t.float64)).dtype)[-7:],
    'deepcopy': lambda t: (lambda m: [list(copy.deepcopy(m)(t.ones(1, 4)).shape), m[0].has_uninitialized_params()])(lazy(t)),
    'conv': lambda t: (lambda m: [list(m(t.ones(2, 4, 5, 5)).shape), repr(m), list(m.weight.shape)])(t.nn.LazyConv2d(6, 3, padding=1, groups=2)),
    'norm': lambda t: (lambda m: [repr(m), list(m(t.rand(2, 4, 5, 5)).shape), repr(m), list(m.state_dict())])(t.nn.LazyBatchNorm2d()),
    'optimizer made before': trained_lazily,
    'given dtype': lambda t: str(t.nn.LazyLinear(2, dtype=t.float64).weight.dtype)[-7:],
}
LAZY_ERRORS = {
    'shape': lambda t: t.nn.LazyLinear(2).weight.shape,
    'own that defines nothing': lambda t: type('Own', (t.nn.modules.lazy.LazyModuleMixin, t.nn.Module), {})()(1),
    'rank': lambda t: t.nn.LazyConv2d(2, 3)(t.ones(3, 3)),
    'loads into one that has shapes': lambda t: t.nn.Linear(2, 3).load_state_dict(t.nn.LazyLinear(3).state_dict()),
}


@pytest.mark.parametrize('name', LAZY)
def test_lazy(torch, name):
    same(torch, LAZY[name])


def test_an_initialised_lazy_module_has_no_hooks_left():
    m = tenon.torch.nn.LazyLinear(2)
    assert m._hooked
    m(tenon.torch.ones(1, 3))
    assert not m._hooked and not m._hooked_with_options


@pytest.mark.parametrize('name', LAZY_ERRORS)
def test_lazy_errors(torch, name):
    same_error(torch, LAZY_ERRORS[name])


def test_a_late_super_init_is_no_error():
    """PyTorch refuses attributes before Module.__init__(); here nothing must run first, and a later call changes nothing."""
    t = tenon.torch

    class Late(t.nn.Module):
        def __init__(self):
            self.layer, self.scale = t.nn.Linear(2, 2), t.nn.Parameter(t.ones(2))
            super().__init__()
            self.register_buffer('count', t.zeros(1))
    assert list(Late().state_dict()) == ['scale', 'count', 'layer.weight', 'layer.bias'] and Late().eval().layer.training is False


def test_what_is_not_offered_says_what_to_use():
    m = tenon.torch.nn.Linear(1, 1)
    with pytest.raises(NotImplementedError, match='register_full_backward_hook'):
        m.register_backward_hook(print)
    assert tenon.torch.nn.SyncBatchNorm.convert_sync_batchnorm(m) is m


def test_the_result_of_a_load_prints_alike(torch):
    def texts(t):
        net = t.nn.Linear(2, 1)
        return repr(net.load_state_dict(net.state_dict())), repr(net.load_state_dict({'weight': net.weight.detach(), 'more': t.ones(1)}, strict=False))
    assert texts(tenon.torch) == texts(torch)


def test_parameters_in_containers_print_alike(torch):
    def texts(t):
        p = [t.nn.Parameter(t.ones(2, 3)), t.nn.Parameter(t.ones(4, dtype=t.float64))]
        return repr(t.nn.ParameterList(p)), repr(t.nn.ParameterDict({'a': p[0], 'b': p[1]}))
    assert texts(tenon.torch) == texts(torch)
