"""Methods of Tensor have PyTorch's meaning, and come from tenon.torch on first use."""
import functools
import inspect
import pickle
import subprocess
import sys

import numpy as np
import pytest

import tenon
import tenon.torch as ours
from tenon._method_names import LATER, NOT_OFFERED

NAMES = [name for names in LATER.values() for name in names]


def test_every_name_of_pytorchs_tensor_is_offered_or_says_why_not(torch):
    missing = [name for name in dir(torch.Tensor) if name[0] != '_' and not hasattr(tenon.Tensor, name) and name not in NOT_OFFERED]
    assert not missing
    assert not [name for name in NOT_OFFERED if hasattr(tenon.Tensor, name)]
    assert not [name for name in (*NAMES, *NOT_OFFERED) if not hasattr(torch.Tensor, name)], 'no name of PyTorch'


def test_the_table_names_each_method_once():
    assert len(NAMES) == len(set(NAMES)) and not set(NAMES) & set(NOT_OFFERED)


def test_each_method_exists_and_has_a_docstring():
    for name in NAMES:
        method = getattr(tenon.Tensor, name)
        assert method is vars(tenon.Tensor)[name], name  # no longer a stand-in
        assert inspect.getdoc(method), name
        if not isinstance(method, property):
            assert callable(method), name


def test_what_is_not_offered_says_what_to_use():
    x = tenon.ones(2)
    for name, why in NOT_OFFERED.items():
        with pytest.raises(AttributeError, match='not offered') as error:
            getattr(x, name)
        assert why in str(error.value)


def run(code):
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_tenon_imports_it_only_on_demand():
    assert run('''
import sys, tenon
seen = lambda: print('tenon.torch' in sys.modules)
x = tenon.ones(2, 3, requires_grad=True)
dir(x), x.size(), x.exp().clone().contiguous().backward(tenon.ones(2, 3)), x.float(), x.detach().numpy(), x.shape
seen()
assert 'max' in dir(tenon.Tensor) and 'to_sparse' in dir(tenon.Tensor)
seen()
values, indices = x.max(1)
seen()
''') == ['False', 'False', 'True']


def test_training_with_plain_tenon_does_not_import_it():
    assert run('''
import sys, tenon
from tenon import nn, optim
net = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.ReLU(), nn.Linear(4, 2))
for kind in (optim.SGD, optim.Adam, optim.AdamW):
    optimizer = kind(net.parameters(), lr=0.1)
    loss = nn.functional.cross_entropy(net(tenon.randn(5, 3)), tenon.asarray([0, 1, 0, 1, 0]))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print('tenon.torch' in sys.modules)
''') == ['False']


def test_class_attributes_work_before_and_after():
    assert run('''
import functools, tenon
first = tenon.Tensor.max
assert first is tenon.Tensor.max and hasattr(tenon.Tensor, 'add_') and not hasattr(tenon.Tensor, 'to_mkldnn')
print(first(tenon.asarray([[1, 5], [7, 2]]), 1).indices.tolist(), functools.partial(tenon.Tensor.sort, descending=True)(
    tenon.asarray([1, 3, 2])).values.tolist())
''') == ['[1,', '0]', '[3,', '2,', '1]']
    assert 'indices' in ours.Tensor.max.__doc__ and 'Sum' not in functools.partial(ours.Tensor.max).func.__name__


# Each with the results of PyTorch's method of the same call.
CALLS = {
    'max': lambda x: x.max(1), 'max of all': lambda x: x.max(), 'max of two': lambda x: x.max(x * 2), 'min': lambda x: x.min(0, keepdim=True),
    'std': lambda x: x.std(), 'std unbiased': lambda x: x.std(1, unbiased=False), 'var': lambda x: x.var(0, correction=0),
    'sort': lambda x: x.sort(1, descending=True), 'nonzero': lambda x: (x > 2).nonzero(), 'nonzero tuple': lambda x: (x > 2).nonzero(as_tuple=True),
    'repeat': lambda x: x.repeat(2, 1, 2), 'tile': lambda x: x.tile(2, 2), 'unique': lambda x: x.unique(), 'equal': lambda x: x.equal(x + 0),
    'split': lambda x: x.split(2, 1), 'split sizes': lambda x: x.split([1, 2], dim=1), 'chunk': lambda x: x.chunk(2, dim=1),
    'take': lambda x: x.take(x.new_tensor([0, 5]).long()), 'where': lambda x: x.where(x > 2, 0), 'norm': lambda x: x.norm(dim=1),
    'axis': lambda x: x.sum(axis=1, keepdims=True), 'two axes': lambda x: x.sum((0, 1)), 'permute': lambda x: x.permute(1, 0),
    'flip': lambda x: x.flip(0, 1), 'squeeze': lambda x: x.unsqueeze(0).squeeze(0, 1), 'size': lambda x: (x.size(), x.size(-1), x.numel()),
    'stride': lambda x: (x.stride(), x.T.stride(0)), 'type': lambda x: (x.type(), x.long().type(), x.bool().type(), x.bfloat16().type()),
    'type as': lambda x: x.type('torch.IntTensor').type_as(x), 'element size': lambda x: (x.element_size(), x.nelement(), x.ndimension()),
    'new': lambda x: (x.new_zeros(2), x.new_ones((1, 2)), x.new_full((2,), 3.0), x.new_tensor([1, 2])), 'H': lambda x: (x.H, x.mH, x.mT),
    'to': lambda x: (x.to(x.long()), x.to(x.dtype, True, True), x.to('cpu', non_blocking=True), x.to(dtype=x.double().dtype, copy=True)),
    'casts': lambda x: [getattr(x, name)() for name in 'float double half bfloat16 int long short char byte bool cfloat cdouble'.split()],
    'real': lambda x: (x.real, x.cfloat().real, x.cfloat().imag, x.is_complex(), x.is_floating_point(), x.is_signed()),
    'out': lambda x: x.sum(0).add(1, alpha=2), 'rounding': lambda x: x.div(3, rounding_mode='floor'), 'round': lambda x: (x / 3).round(decimals=2),
    'any': lambda x: (x.any(), x.all(1)), 'argmax': lambda x: (x.argmax(), x.argmax(1, keepdim=True)), 'cumsum': lambda x: x.long().cumsum(1),
    'masked': lambda x: x.masked_fill(x > 2, -1), 'is': lambda x: (x.is_contiguous(), x.T.is_contiguous(), x.is_cuda, x.is_leaf, x.is_sparse),
    'topk': lambda x: x.topk(2), 'median': lambda x: x.median(1), 'unbind': lambda x: x.unbind(1), 'get_device': lambda x: x.get_device(),
    'view': lambda x: (x.view(-1), x.view(3, 2), x.view_as(x), x.reshape_as(x.T)), 'expand': lambda x: x[:, :1].expand(-1, 4),
    'view dtype': lambda x: x.view(x.dtype), 'diag': lambda x: x.diag(), 'cuda name': lambda x: x.dim_order(), 'polygamma': lambda x: x.polygamma(1),
}


def plain(value):
    """Lists, numbers and names of dtypes."""
    if isinstance(value, (tuple, list)):
        return [plain(each) for each in value]
    if hasattr(value, 'tolist') and hasattr(value, 'dtype'):
        as_list = value.tolist()
        return [str(value.dtype).removeprefix('torch.'), tuple(value.shape), np.round(np.asarray(as_list, dtype=complex), 5).tolist()]
    return value


@pytest.mark.parametrize('name', CALLS)
def test_methods_return_the_same_as_pytorchs(torch, name):
    data = [[1.0, 5.0, 2.0], [7.0, 2.0, 3.0]]
    assert plain(CALLS[name](ours.tensor(data))) == plain(CALLS[name](torch.tensor(data)))


IN_PLACE = {
    'alpha': lambda x: x.add_(x * 2, alpha=0.5), 'sub': lambda x: x.sub_(1.5), 'addcmul': lambda x: x.addcmul_(x.detach() + 1, x.detach() * 2, value=0.5),
    'addcdiv': lambda x: x.addcdiv_(x + 1, x + 2), 'lerp': lambda x: x.lerp_(x * 3, 0.25), 'rounding': lambda x: x.div_(0.3, rounding_mode='floor'),
    'double of rank 0': lambda x: x.mul_(x.detach().double().sum()), 'compare': lambda x: x.gt_(2), 'clip': lambda x: x.clamp_(max=3).clip_(2),
    'clamp_min': lambda x: x.clamp_min_(2.5), 'masked_fill': lambda x: x.masked_fill_(x.detach() > 2, 0.0), 'fill_diagonal': lambda x: x.fill_diagonal_(9.0),
    'wrap': lambda x: x.T.contiguous().fill_diagonal_(9.0, wrap=True), 'powers': lambda x: x.pow_(2).mul_(3).neg_(), 'sin': lambda x: x.sinc_(),
    'index_fill': lambda x: x.index_fill_(1, x.new_tensor([0, 2]).long(), 3.0), 'copy': lambda x: x.copy_(x.flip(0)), 'xlogy': lambda x: x.xlogy_(x + 1),
    'scatter': lambda x: x.scatter_(1, x.new_tensor([[0], [2]]).long(), -1.0), 'addmm': lambda x: x.addmm_(x.detach()[:, :2] + 1, x.detach() * 2, beta=0.5),
    'fill': lambda x: x.fill_(x.detach().sum()), 'zero': lambda x: x.zero_(), 'cumsum': lambda x: x.cumsum_(1), 'tril': lambda x: x.tril_(-1),
    'renorm': lambda x: x.renorm_(2, 0, 1.0), 'nan_to_num': lambda x: x.nan_to_num_(), 'map': lambda x: x.detach().map_(x.detach() * 2, lambda a, b: a + b),
    'apply': lambda x: x.detach().apply_(lambda a: a * a),
    'same size': lambda x: x.detach().resize_(2, 3).resize_as_(x),
}


@pytest.mark.parametrize('name', IN_PLACE)
def test_methods_in_place_write_and_differentiate_as_pytorchs(torch, name):
    found = []
    for package in (ours, torch):
        leaf = package.tensor([[1.0, 5.0, 2.0], [7.0, 2.0, 3.0]], requires_grad=True)
        x = IN_PLACE[name](leaf * 1)
        if x.requires_grad:
            (x * x).sum().backward()
        found.append((x.detach().tolist(), [0.0] if leaf.grad is None else leaf.grad.tolist()))  # a missing gradient counts as 0
    for mine, theirs in zip(*found):
        np.testing.assert_allclose(np.broadcast_to(mine, np.shape(theirs)), theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize('name', ['xlogy_', 'hypot_', 'float_power_', 'atan2_'])
def test_operands_of_a_tensor_without_history_get_their_gradients(torch, name):
    found = []
    for package in (ours, torch):
        weight = package.tensor([1.0, 2.0, 3.0], dtype=package.float64, requires_grad=True)
        x = getattr(package.tensor([2.0, 1.0, 4.0], dtype=package.float64), name)(weight)
        (x * x).sum().backward()
        found.append((x.tolist(), weight.grad.tolist()))
    np.testing.assert_allclose(*found)


@pytest.mark.parametrize('wrong', [
    lambda x: x.add_(x.new_ones(2, 2, 3)), lambda x: x.long().div_(2), lambda x: x.addcmul_(x.cfloat(), x), lambda x: x.requires_grad_().resize_(6),
    lambda x: x.requires_grad_().clamp_min_(2), lambda x: x.requires_grad_().exponential_(), lambda x: x.exponential_(-1),
    lambda x: x.bernoulli_(2.0), lambda x: x.random_(3, 3), lambda x: (x.requires_grad_() * 1).apply_(abs)])
def test_invalid_in_place_writes_are_refused(wrong):
    with pytest.raises((RuntimeError, TypeError)):
        wrong(ours.tensor([[1.0, 5.0, 2.0], [7.0, 2.0, 3.0]]))


def test_random_numbers_in_place_have_their_distributions():
    ours.manual_seed(3)
    x = ours.empty(200_000, dtype=ours.float64)
    for draw, mean, std in ((lambda: x.uniform_(2, 4), 3, 12 ** -0.5 * 2), (lambda: x.normal_(1, 3), 1, 3), (lambda: x.exponential_(2.0), 0.5, 0.5),
                            (lambda: x.log_normal_(0.5, 0.25), np.exp(0.5 + 0.03125), np.exp(0.53125) * np.sqrt(np.exp(0.0625) - 1)),
                            (lambda: x.geometric_(0.25), 4, np.sqrt(0.75) / 0.25), (lambda: x.bernoulli_(0.3), 0.3, np.sqrt(0.21)),
                            (lambda: x.bernoulli_(ours.tensor(0.3)), 0.3, np.sqrt(0.21)), (lambda: x.random_(10), 4.5, np.sqrt(99 / 12)),
                            (lambda: x.random_(2, 5), 3, np.sqrt(8 / 12))):
        draw()
        assert abs(x.mean().item() - mean) < 0.02 * max(std, 1) and abs(x.std().item() - std) < 0.02 * max(std, 1)
    quartiles = np.quantile(x.cauchy_(1, 2).numpy(), [0.25, 0.5, 0.75])
    np.testing.assert_allclose(quartiles, [-1, 1, 3], atol=0.06)
    small = ours.empty(1000, dtype=ours.uint8).random_()
    assert small.float().max() > 200 and small.float().min() < 20


def test_size_is_an_int_that_can_be_called():
    x = tenon.zeros(2, 3)
    assert x.size == 6 and isinstance(x.size, int) and x.size() == (2, 3) and x.size(-1) == 3 and x.size + 1 == 7
    assert pickle.loads(pickle.dumps(x.size)) == 6 and tenon.zeros(x.size).shape == (6,) and list(range(x.size))[-1] == 5
    assert x.data_ptr() == x.data_ptr == x.detach().data_ptr() and tenon.zeros(()).size() == ()


def test_memory_formats():
    x = ours.arange(120).reshape(2, 3, 4, 5)
    y = x.to(memory_format=ours.channels_last)
    assert y.stride() == (60, 1, 15, 3) and ours.equal(x, y) and y.is_contiguous(memory_format=ours.channels_last) and not y.is_contiguous()
    for made in (x.contiguous(memory_format=ours.channels_last), x.clone(memory_format=ours.channels_last), x.float(memory_format=ours.channels_last)):
        assert made.stride() == y.stride()
    assert y.contiguous().stride() == x.stride() and y.dim_order() == (0, 2, 3, 1)
    with pytest.raises(ValueError, match='needs rank 4'):
        x[0].contiguous(memory_format=ours.channels_last)


LIKE = ('empty_like', 'zeros_like', 'ones_like', 'rand_like', 'randn_like')


@pytest.mark.parametrize('name', (*LIKE, 'full_like', 'randint_like'))
def test_what_is_made_like_a_tensor_lies_like_it(torch, name):
    def found(t):
        columns, images = t.ones(3, 4).t(), t.ones(2, 3, 4, 5).permute(0, 3, 1, 2)
        make = getattr(t, name) if name in LIKE else lambda x, **how: getattr(t, name)(x, 3, **how)
        made = [make(x) for x in (columns, images, columns[:2], t.ones(1, 4).expand(3, 4))]
        made += [make(columns, dtype=t.float64), make(images, requires_grad=True), make(columns, memory_format=t.contiguous_format),
                 make(t.ones(2, 3, 4, 5), memory_format=t.channels_last)]
        return [(tuple(x.shape), x.stride(), str(x.dtype).split('.')[-1], x.requires_grad) for x in made]
    assert found(ours) == found(torch)


def test_old_types():
    assert ours.FloatTensor([1, 2]).dtype is ours.float32 and ours.LongTensor(2, 3).shape == (2, 3) and ours.BoolTensor().size == 0
    assert ours.Tensor(2, 3).shape == (2, 3) and ours.Tensor([1, 2]).tolist() == [1, 2] and ours.Tensor().dtype is ours.float32
    assert isinstance(ours.ones(2), ours.FloatTensor) and not isinstance(ours.ones(2), ours.LongTensor) and not isinstance(2.0, ours.FloatTensor)
    assert ours.ones(2).type(ours.LongTensor).tolist() == [1, 1] and ours.is_tensor(ours.ones(2)) and isinstance(ours.ones(2), ours.Tensor)
    assert ours.ones(2).new(3).shape == (3,) and ours.ones(2).new([3, 4]).tolist() == [3, 4]
    with pytest.raises(ValueError, match='not a type of tensors'):
        ours.ones(2).type('torch.OddTensor')


def test_numpys_functions_call_methods():
    x = tenon.asarray([[1.0, 2.0], [3.0, 4.0]])
    assert float(np.mean(x)) == 2.5 and np.sum(x, axis=0).tolist() == [4, 6] and np.prod(x).item() == 24 and float(np.max(x)) == 4
    assert np.argmax(x).item() == 3 and np.stack([x, x]).shape == (2, 2, 2) and np.asarray(x).dtype == np.float32 and np.size(x) == 4
    for refused in (lambda: np.ones(2) + x, lambda: x.copy_(np.ones(2))):
        with pytest.raises(TypeError, match=r'tenon\.asarray'):
            refused()


def test_backward_into_some_leaves_alone():
    a, b = (ours.ones(2, requires_grad=True) for _ in range(2))
    loss = (a * b * 3).sum()
    loss.backward(inputs=[a], retain_graph=True)
    assert a.grad.tolist() == [3, 3] and b.grad is None
    loss.backward()
    assert a.grad.tolist() == [6, 6] and b.grad.tolist() == [3, 3]


def test_parts_of_complex_numbers_can_be_set():
    z = ours.tensor([1 + 2j, 3 + 4j])
    z.real = ours.tensor([5.0, 6.0])
    z.imag = 0
    assert z.tolist() == [5, 6]
    with pytest.raises(RuntimeError):
        ours.ones(2).retain_grad()


@pytest.mark.parametrize('name', ['relu', 'relu6', 'elu', 'celu', 'selu', 'silu', 'mish', 'leaky_relu', 'hardtanh', 'hardswish', 'hardsigmoid', 'rrelu'])
def test_activations_in_place_keep_gradients(name):
    gradients = []
    for inplace in (False, True):
        x = ours.tensor([-2.0, -0.5, 0.5, 4.0], requires_grad=True)
        y = x * 2
        found = getattr(ours.nn.functional, name)(y, inplace=inplace)
        assert (found is y) == inplace
        found.sum().backward()
        gradients.append(x.grad.tolist())
    assert gradients[0] == gradients[1]
