"""Graphs for inputs of any size: the bits of eager calls at sizes that no trace saw, and refusals of whatever depends on a size."""
import collections
import random
import warnings

import pytest

import tenon
import tenon.torch as torch
from tenon import nn
from tenon.graph import Dim
from tenon.nn import functional as F

from .test_graph import same

# A module, its example's shape, and its dimensions of any size with their ranges.
MODULES = [
    (nn.Linear(4, 3), (2, 5, 4), {0: (1, 40), 1: (1, 90)}),
    (nn.Conv1d(4, 6, 3), (2, 4, 9), {0: (1, 9), 2: (3, 90)}),
    (nn.Conv2d(4, 6, 3, stride=2, padding=1), (2, 4, 9, 8), {0: (1, 5), 2: (1, 30), 3: (1, 30)}),
    (nn.Conv2d(3, 8, 16, stride=16), (2, 3, 64, 48), {0: (1, 3), 2: (16, 160), 3: (16, 160)}),
    (nn.Conv3d(2, 3, 2), (1, 2, 4, 4, 4), {0: (1, 3), 2: (2, 9), 3: (2, 9)}),
    (nn.ConvTranspose1d(4, 2, 3, stride=2), (1, 4, 5), {0: (1, 5), 2: (1, 40)}),
    (nn.ConvTranspose2d(4, 2, 3, stride=2), (1, 4, 5, 5), {0: (1, 5), 2: (1, 9), 3: (1, 9)}),
    (nn.BatchNorm1d(4), (2, 4, 5), {0: (1, 9), 2: (1, 9)}), (nn.BatchNorm2d(4), (2, 4, 5, 5), {0: (1, 9), 2: (1, 9), 3: (1, 9)}),
    (nn.GroupNorm(2, 4), (2, 4, 5), {0: (1, 9), 2: (1, 30)}), (nn.LayerNorm(6), (3, 5, 6), {0: (1, 9), 1: (1, 40)}),
    (nn.RMSNorm(6), (3, 6), {0: (1, 90)}), (nn.InstanceNorm2d(4), (2, 4, 5, 5), {0: (1, 9), 2: (2, 9), 3: (2, 9)}),
    (nn.MaxPool1d(3), (1, 2, 9), {0: (1, 5), 2: (3, 80)}), (nn.MaxPool2d(2), (1, 2, 6, 6), {0: (1, 5), 2: (2, 30), 3: (2, 30)}),
    (nn.AvgPool2d(3, 2, padding=1), (1, 2, 6, 6), {0: (1, 5), 2: (1, 30), 3: (1, 30)}),
    (nn.AdaptiveAvgPool2d(3), (1, 2, 7, 5), {0: (1, 9)}), (nn.Flatten(), (2, 3, 4), {0: (1, 9), 2: (1, 30)}),
    (nn.ReLU(), (5, 2), {0: (1, 90), 1: (1, 9)}), (nn.GELU(), (5, 2), {0: (1, 90), 1: (1, 9)}), (nn.SiLU(), (5,), {0: (1, 90)}),
    (nn.Softmax(-1), (3, 5), {0: (1, 9), 1: (1, 40)}), (nn.LogSoftmax(-1), (3, 5), {0: (1, 9), 1: (1, 40)}),
    (nn.Dropout(0.5), (3, 5), {0: (1, 9), 1: (1, 9)}), (nn.PReLU(), (3, 4), {0: (1, 9), 1: (1, 9)}),
    (nn.Upsample(scale_factor=2), (1, 2, 4, 4), {0: (1, 5), 2: (1, 20), 3: (1, 20)}),
    (nn.PixelShuffle(2), (1, 4, 3, 3), {0: (1, 5), 2: (1, 20), 3: (1, 20)}),
    (nn.LSTM(4, 6, batch_first=True), (2, 5, 4), {0: (1, 9)}), (nn.GRU(4, 6, num_layers=2), (5, 2, 4), {1: (1, 9)}),
    (nn.RNN(4, 6, bidirectional=True), (5, 2, 4), {1: (1, 9)}),
    (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (2, 5, 8), {0: (1, 9), 1: (1, 40)}),
    (nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4)),
     (2, 3, 4, 4), {0: (1, 9), 2: (2, 20), 3: (2, 20)}),
]


def unseen(ranges, seed):
    """20 combinations of sizes, including the ends of the ranges."""
    draw = random.Random(seed)
    ends = [{axis: bounds[i] for axis, bounds in ranges.items()} for i in range(2)]
    return ends + [{axis: draw.randint(*bounds) for axis, bounds in ranges.items()} for _ in range(18)]


def twice(program, *args):
    """What the program gives for sizes that are new, when it may call ops, and the same by its plan."""
    found = program(*args)
    assert same(program(*args), found)
    return found


def check_at(program, fn, *shapes):
    """The program has the bits of the function at these shapes."""
    program.exact = True
    for shape in shapes:
        x = tenon.randn(shape)
        with tenon.no_grad():
            assert same(twice(program, x), fn(x))


@pytest.mark.parametrize(('module', 'shape', 'ranges'), MODULES,
                         ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else '')
def test_modules(module, shape, ranges, tmp_path):
    module.eval()
    dims = {axis: Dim(f'size{axis}', *bounds) for axis, bounds in ranges.items()}
    traced = tenon.graph.trace(module, tenon.randn(shape), dynamic={0: dims})
    traced.save(tmp_path / 'program')
    loaded = tenon.graph.load(tmp_path / 'program')
    traced.exact = loaded.exact = True
    assert loaded.dims == traced.dims == list(dims.values())
    assert str(loaded) == str(traced)
    with tenon.no_grad():
        for i, sizes in enumerate(unseen(ranges, 1)):
            x = tenon.randn([sizes.get(axis, size) for axis, size in enumerate(shape)])
            wanted = module(x)
            assert same(twice(traced, x), wanted), sizes
            if i % 5 == 0 and isinstance(wanted, tenon.Tensor):
                assert same(twice(loaded, x), wanted), sizes


class GPT(nn.Module):
    def __init__(self, longest=64):
        super().__init__()
        self.embed, self.places = nn.Embedding(11, 8), nn.Parameter(tenon.randn(longest, 8))
        self.blocks = nn.ModuleList([nn.ModuleDict({
            'norm': nn.LayerNorm(8), 'project': nn.Linear(8, 24), 'out': nn.Linear(8, 8), 'after': nn.LayerNorm(8),
            'mlp': nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 8))}) for _ in range(2)])

    def forward(self, tokens, own_mask=False):
        batch, length = tokens.shape
        x = self.embed(tokens) + self.places[:length] + self.places[tenon.arange(length)]
        for block in self.blocks:
            q, k, v = block['project'](block['norm'](x)).reshape(batch, length, 3, 2, 4).permute(2, 0, 3, 1, 4)
            if own_mask:
                scores = q @ k.mT / 2 + tenon.where(tenon.ones(length, length).tril() == 0, -tenon.inf, 0.0)
                y = tenon.softmax(scores, -1) @ v
            else:
                y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + block['out'](y.permute(0, 2, 1, 3).reshape(batch, length, 8))
            x = x + block['mlp'](block['after'](x))
        return x @ self.embed.weight.T


@pytest.mark.parametrize('own_mask', [False, True])
def test_a_gpt_with_any_batch_size_and_length(own_mask):
    net = GPT()
    program = tenon.graph.trace(lambda tokens: net(tokens, own_mask), tenon.randint((2, 5), 0, 11),
                                dynamic={'tokens': {0: 'batch', 1: Dim('length', max=64)}})
    with tenon.no_grad():
        for sizes in unseen({0: (1, 9), 1: (1, 64)}, 2):
            tokens = tenon.randint((sizes[0], sizes[1]), 0, 11)
            assert same(twice(program, tokens), net(tokens, own_mask)), sizes
    with pytest.raises(ValueError, match='length is 65 in input 0; the program takes 1 to 64'):
        program(tenon.zeros(2, 65, dtype=tenon.int64))
    assert program.inputs[0][2] == ('batch', 'length') and program.results[0][2] == (None, None, 11)
    assert 'f32[batch, length, 11]' in str(program)


def test_numbers_that_follow_sizes():
    def fn(x, y):
        rows, columns = x.shape
        half = x[: rows // 2, ::3]
        scaled = x / rows + x * columns**-0.5 + x.std(0) + float(rows * columns)
        return half, scaled, x[:10], tenon.cat([x, y]), x[rows - 3:].flatten(), tenon.full((rows + columns, 2), rows)

    program = tenon.graph.trace(fn, tenon.randn(4, 5), tenon.randn(7, 5),
                                dynamic={'x': {0: Dim('rows', min=3), 1: 'columns'}, 'y': {0: 'more', 1: 'columns'}})
    for sizes in unseen({0: (3, 70), 1: (1, 33), 2: (1, 9)}, 3):
        x, y = tenon.randn(sizes[0], sizes[1]), tenon.randn(sizes[2], sizes[1])
        assert same(twice(program, x, y), fn(x, y)), sizes
    with pytest.raises(ValueError, match='columns is 5 and, in input 1, 6'):
        program(tenon.randn(4, 5), tenon.randn(3, 6))


def test_halves_of_products():
    def fn(x, y):
        n = x.shape[0] * y.shape[0]
        z = (x[:, None] * y).reshape(n, -1)
        return z[:n // 2 + 1], z[:(n + 2) // 3].sum(0)

    program = tenon.graph.trace(fn, tenon.randn(3, 4), tenon.randn(2, 4), dynamic={'x': {0: 'rows'}, 'y': {0: 'more'}})
    for rows, more in (1, 1), (1, 5), (7, 3), (8, 9), (2, 64):
        x, y = tenon.randn(rows, 4), tenon.randn(more, 4)
        assert same(twice(program, x, y), fn(x, y)), (rows, more)


def test_values_that_depend_on_no_size_are_computed_once():
    table = tenon.arange(6.0)
    program = tenon.graph.trace(lambda x: x + tenon.sin(table * 2).sum() + tenon.arange(x.shape[0])[:, None], tenon.ones(3, 6),
                                dynamic={0: {0: 'rows'}})
    assert 'sin' not in str(program) and 'arange' in str(program)
    assert same(twice(program, tenon.ones(9, 6)), tenon.ones(9, 6) + tenon.sin(table * 2).sum() + tenon.arange(9)[:, None])


def test_a_size_of_one_that_calls_other_ops_is_excluded():
    def fn(x):
        return x.exp() if x.shape[0] == 1 else x.sin()

    program = tenon.graph.trace(fn, tenon.ones(1, 3), dynamic={0: {0: 'rows'}})
    assert program.dims == [Dim('rows', 2)]
    with pytest.raises(ValueError, match='rows is 1'):
        program(tenon.ones(1, 3))


@pytest.mark.parametrize(('fn', 'message'), [
    (lambda x: x.exp() if x.shape[0] > 100 else x.log(), r'\[graph\] exp \(test_sizes.py:\d+\) is called at rows = .* in the place of log'),
    (lambda x: x * tenon.tensor([float(x.shape[0])] * 20)[0], r'holds others at other sizes'),
    (lambda x: x * (x.shape[0] ** 3 % 7), r'mul \(test_sizes.py:\d+\): .* in a way that fits no formula'),
    (lambda x: [x + 1] * (x.shape[0] % 3), r'\[graph\]'), (lambda x: [x * i for i in range(x.shape[0])][-1].sum() + x.sum().item(), 'an element of sum .test_sizes.py:.* is read while'),
])
def test_what_depends_on_a_size_is_refused(fn, message):
    with pytest.raises(tenon.PreconditionError, match=message):
        tenon.graph.trace(fn, tenon.ones(4, 2), dynamic={0: {0: 'rows'}})


class Halves(nn.Module):
    """A small U-Net: its height has to be a multiple of 4, its width of 2."""

    def __init__(self):
        super().__init__()
        self.down, self.up = nn.Conv2d(2, 4, 3, padding=1), nn.ConvTranspose2d(4, 2, 2, stride=2)

    def forward(self, x):
        batch, channels, height, width = x.shape
        y = self.up(F.max_pool2d(self.down(x), 2))
        rows = y.reshape((batch, channels, height // 4, 4, width)).mean(3)
        return tenon.concat([x, y], 1), rows * (height // 4 * (width // 2))


def test_a_size_may_have_to_be_a_multiple(tmp_path):
    tenon.manual_seed(0)
    net = Halves().eval()
    program = tenon.graph.trace(net, tenon.randn(2, 2, 8, 12), dynamic={0: {0: 'batch', 2: 'height', 3: 'width'}})
    assert program.dims == [Dim('batch', 1), Dim('height', 4, None, 4), Dim('width', 2, None, 2)]
    assert 'size   height: from 4 by 4' in str(program)
    program.save(tmp_path / 'program')
    loaded = tenon.graph.load(tmp_path / 'program')
    assert loaded.dims == program.dims
    program.exact = loaded.exact = True
    for shape in (1, 2, 4, 2), (3, 2, 8, 6), (2, 2, 100, 30), (1, 2, 2048, 2):
        x = tenon.randn(shape)
        with tenon.no_grad():
            wanted = net(x)
        for run in program, loaded:
            assert all(same(one, other) for one, other in zip(twice(run, x), wanted, strict=True))
    with pytest.raises(ValueError, match='height is 6 in input 0; the program takes 4 to .* by 4'):
        loaded(tenon.randn(1, 2, 6, 2))


def test_small_sizes_may_not_do():
    net = nn.Sequential(*[part for _ in range(4) for part in (nn.Conv1d(1, 1, 3), nn.MaxPool1d(2))], nn.Conv1d(1, 2, 3))
    program = tenon.graph.trace(net.eval(), tenon.randn(2, 1, 200), dynamic={0: {0: 'batch', 2: 'length'}})
    assert program.dims == [Dim('batch', 1), Dim('length', 78)]
    check_at(program, net, (1, 1, 78), (3, 1, 81), (2, 1, 1000))
    with pytest.raises(tenon.Error):
        net(tenon.randn(1, 1, 77))


def test_a_size_ends_with_a_table():
    table = tenon.randn(64, 4)
    fn = {'rows': lambda x: x + table.index_select(0, tenon.arange(x.shape[0])), 'slices': lambda x: x + table[:x.shape[0]]}
    for name in fn:
        program = tenon.graph.trace(fn[name], tenon.randn(5, 4), dynamic={0: {0: 'length'}})
        assert program.dims == [Dim('length', 1, 64)]
        for length in 1, 63, 64:
            x = tenon.randn(length, 4)
            assert same(twice(program, x), fn[name](x))
        with pytest.raises(ValueError, match='length is 65 in input 0; the program takes 1 to 64'):
            program(tenon.randn(65, 4))


def test_two_sizes_end_with_tables_of_halves():
    """Positions of a picture whose convolution halves it: where a half is 1, other ops would be called."""
    tenon.manual_seed(0)
    conv, rows, columns = nn.Conv2d(1, 4, 3, 2, 1), tenon.randn(20, 4), tenon.randn(30, 4)
    attend = nn.MultiheadAttention(4, 2, batch_first=True).eval()

    def fn(x):
        y = conv(x)
        height, width = y.shape[2:]
        y = (y.permute(0, 2, 3, 1) + rows[:height, None] + columns[:width]).flatten(1, 2)
        return attend(y, y, y)[0]
    program = tenon.graph.trace(fn, tenon.randn(2, 1, 8, 8), dynamic={0: {0: 'batch', 2: 'height', 3: 'width'}})
    assert [dim.max for dim in program.dims] == [None, 40, 60]
    check_at(program, fn, (1, 1, 3, 3), (3, 1, 40, 60), (2, 1, 17, 31))


def test_sizes_that_layers_round_up():
    """An odd size may fit by luck: all multiples of 8 do."""
    tenon.manual_seed(0)
    halve = [nn.Conv2d(1, 1, 3, 2, 1) for _ in range(3)]

    def fn(x):
        y = halve[1](halve[0](x))
        return tenon.concat([y, nn.Upsample(scale_factor=2)(halve[2](y))], 1)
    program = tenon.graph.trace(fn, tenon.randn(2, 1, 32, 32), dynamic={0: {0: 'batch', 2: 'height', 3: 'width'}})
    assert program.dims[1:] == [Dim('height', 8, None, 8), Dim('width', 8, None, 8)]
    x = tenon.randn(1, 1, 48, 8)
    program.exact = True
    with tenon.no_grad():
        assert same(twice(program, x), fn(x))


def test_a_size_begins_where_the_function_calls_the_same():
    """The example is far above the branch, so only smaller sizes show it."""
    def fn(x):
        return x.exp() if x.shape[0] > 100 else x.log()

    program = tenon.graph.trace(fn, tenon.ones(300, 2), dynamic={0: {0: 'rows'}})
    assert program.dims == [Dim('rows', 101)]
    assert same(twice(program, tenon.ones(101, 2)), tenon.ones(101, 2).exp())
    with pytest.raises(ValueError, match='rows is 100'):
        program(tenon.ones(100, 2))


def test_pyramids_of_many_levels():
    """Each level halves both sizes, rounded up: quotients of quotients, all of them factors of what the levels hold."""
    tenon.manual_seed(0)
    convs = [nn.Conv2d(1 if i == 0 else 2, 2, 3, 2, 1) for i in range(7)]

    def fn(x):
        levels = []
        for conv in convs:
            x = tenon.relu(conv(x))
            levels.append(x)
        for level in levels[-2::-1]:
            x = F.interpolate(x, size=level.shape[2:], mode='bilinear') + level
        return tenon.softmax(x.flatten(2), -1)
    program = tenon.graph.trace(fn, tenon.randn(1, 1, 256, 320), dynamic={0: {0: 'batch', 2: 'height', 3: 'width'}})
    check_at(program, fn, (1, 1, 300, 411), (2, 1, 513, 256), (3, 1, 7, 65))


def test_scores_of_attention_over_a_picture():
    """b (h w)^2 elements."""
    def fn(x):
        y = x[:, :, ::2, ::2].flatten(2)
        return tenon.softmax(y.mT @ y, -1)
    program = tenon.graph.trace(fn, tenon.randn(2, 3, 8, 12), dynamic={0: {0: 'batch', 2: 'height', 3: 'width'}})
    check_at(program, fn, (1, 3, 6, 10), (3, 3, 14, 9), (2, 3, 20, 20))


def test_a_refusal_is_not_taken_for_the_functions_own_failure():
    def fn(x):
        if x.shape[0] % 2:
            raise ValueError('the function fails where rows are odd')
        return x.exp() if x.shape[0] > 100 else x.log()

    with pytest.raises(tenon.PreconditionError, match='exp .* is called at rows = .* in the place of log'):
        tenon.graph.trace(fn, tenon.ones(6, 2), dynamic={0: {0: 'rows'}})


def test_a_multiple_may_be_declared():
    dims = {0: {0: 'batch', 2: Dim('height', 6, 30, 8), 3: Dim('width', multiple=2)}}
    program = tenon.graph.trace(Halves().eval(), tenon.randn(2, 2, 8, 12), dynamic=dims)
    assert program.dims == [Dim('batch', 1), Dim('height', 8, 24, 8), Dim('width', 2, None, 2)]
    with pytest.raises(ValueError, match='height of 9 to 15 sizes'):
        tenon.graph.trace(Halves().eval(), tenon.randn(2, 2, 8, 12), dynamic={0: {2: Dim('height', 9, 15, 8)}})


def test_compile_of_what_takes_multiples():
    net = Halves().eval()
    fast = tenon.compile(net, dynamic=True, exact=True)
    with tenon.no_grad(), warnings.catch_warnings():
        warnings.simplefilter('error')
        for height in 8, 16, 24, 4:
            x = tenon.randn(1, 2, height, 6)
            assert all(same(one, other) for one, other in zip(twice(fast, x), net(x), strict=True))


def test_sizes_are_not_large_all_at_once():
    seen = []

    def fn(x):
        seen.append(x.shape)
        return x + 1

    tenon.graph.trace(fn, tenon.ones(2, 3, 4), dynamic={0: {0: 'a', 1: 'b', 2: 'c'}})
    assert max(max(shape) for shape in seen) > 1000
    assert max(a * b * c for a, b, c in seen) < 1000 * 100 * 100


def test_small_tensors_made_of_sizes_follow_them():
    def fn(x):
        sizes = tenon.tensor([x.shape[0], 7, x.shape[1] // 2])
        return x * tenon.tensor([x.shape[0] * 2.0]), sizes, x + sizes.sum()

    program = tenon.graph.trace(fn, tenon.ones(4, 6), dynamic={0: {0: 'rows', 1: 'columns'}})
    for shape in (1, 2), (5, 9), (300, 31):
        x = tenon.randn(shape)
        assert all(same(one, other) for one, other in zip(twice(program, x), fn(x), strict=True))


def test_arguments():
    for dynamic, message in [({1: {0: 'a'}}, 'there are 1'), ({'y': {0: 'a'}}, "names 'y'"), ({0: {3: 'a'}}, 'dimension 3'),
                             ({0: {0: Dim('a', max=3), 1: Dim('a', max=4)}}, 'two ranges'), (({0: 'a'},), 'dynamic is like'),
                             ({0: [0]}, 'dynamic is like'), (True, 'dynamic is like')]:
        with pytest.raises((TypeError, ValueError), match=message):
            tenon.graph.trace(lambda x: x, tenon.ones(2, 2), dynamic=dynamic)
    with pytest.raises(ValueError, match='not f32.*'):
        tenon.graph.trace(lambda x: x + 1, tenon.ones(2, 3), dynamic={0: {0: 'a'}})(tenon.ones(2, 4))


def test_inside_another_trace():
    inner = tenon.graph.trace(lambda x: x.cumsum(0) / x.shape[0], tenon.ones(3, 2), dynamic={0: {0: 'rows'}})
    outer = tenon.graph.trace(lambda x: inner(x) + 1, tenon.ones(5, 2))
    assert same(outer(tenon.ones(5, 2)), tenon.ones(5, 2).cumsum(0) / 5 + 1)


def test_compile_for_all_sizes():
    calls = collections.deque()  # which compile does not look into
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.LayerNorm(8))

    @tenon.compile(dynamic=True)
    def fast(x, y):
        calls.append(x.shape)
        return net(x) + y

    with tenon.no_grad(), warnings.catch_warnings():
        warnings.simplefilter('error')
        for rows in 3, 5:
            x = tenon.randn(rows, 2, 4)
            assert same(fast(x, tenon.ones(rows, 1, 1)), net(x) + 1)
        seen = len(calls)
        for rows in range(1, 20):
            x = tenon.randn(rows, 2, 4)
            assert same(fast(x, tenon.ones(rows, 1, 1)), net(x) + 1)
        assert len(calls) == seen
        x = tenon.randn(3, 9, 4)  # another dimension
        assert same(fast(x, tenon.ones(3, 1, 1)), net(x) + 1)


def test_compile_with_declared_dims():
    calls = collections.deque()  # which compile does not look into

    @tenon.compile(dynamic={'x': {0: 'rows'}})
    def fast(x):
        calls.append(x.shape)
        return x.softmax(0)

    assert same(fast(tenon.ones(3, 2)), tenon.ones(3, 2).softmax(0))
    seen = len(calls)
    for rows in range(2, 9):
        assert same(fast(tenon.ones(rows, 2)), tenon.ones(rows, 2).softmax(0))
    assert len(calls) == seen


def test_compiling_a_function_that_branches_on_a_size():
    fast = tenon.compile(lambda x: x.exp() if x.shape[0] > 4 else x.sin(), dynamic=True)
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        for rows in 2, 3, 5, 8:
            x = tenon.ones(rows)
            assert same(fast(x), x.exp() if rows > 4 else x.sin())


@pytest.mark.parametrize('p', [1.0, 2.0, 3.0])
def test_distances(p):
    """Eager calls compute those of few rows another way, so bits may differ."""
    program = tenon.graph.trace(lambda x, y: torch.cdist(x, y, p), tenon.randn(2, 30, 4), tenon.randn(2, 9, 4),
                                dynamic={0: {0: 'batch', 1: 'rows'}, 1: {0: 'batch', 1: 'columns'}})
    draw = random.Random(3)
    for _ in range(20):
        batch, rows, columns = draw.randint(1, 4), draw.randint(2, 60), draw.randint(2, 60)
        x, y = tenon.randn(batch, rows, 4), tenon.randn(batch, columns, 4)
        assert (program(x, y) - torch.cdist(x, y, p)).abs().max() < 1e-3


@pytest.mark.parametrize(('dynamic', 'most'), [(None, 8), (False, 40)])
def test_many_shapes_get_one_program(dynamic, most):
    fast = tenon.compile(lambda x: tenon.softmax(x @ x.mT, -1), dynamic=dynamic)
    with tenon.no_grad():
        for rows in range(1, 41):
            x = tenon.randn(rows, 3)
            assert same(twice(fast, x), tenon.softmax(x @ x.mT, -1))
    assert most <= len({id(program) for program in fast._programs.values()}) <= most + 2


def test_compile_when_sizes_go_on_growing():
    """Neither new sizes nor those that return run the function."""
    calls = collections.deque()

    @tenon.compile(dynamic=True)
    def grown(cache, x):
        calls.append(cache.shape)
        cache = tenon.concat([cache, x], 0)
        return cache, tenon.softmax(cache @ x.mT, 0)

    cache, wanted, seen = tenon.randn(2, 4), tenon.randn(2, 4), {}
    for i in range(100):
        x = tenon.randn(1, 4)
        wanted = tenon.concat([cache, x], 0)
        cache, weights = grown(cache, x)
        assert same(cache, wanted) and same(weights, tenon.softmax(wanted @ x.mT, 0))
        seen[i] = len(calls)
    assert seen[4] == seen[99]
    for length in range(90, 100):
        grown(cache[:length], x)
    assert len(calls) == seen[99]
