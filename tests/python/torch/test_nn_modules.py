"""Modules of tenon.torch.nn beside PyTorch's: the entries of module_db, what classes there are, and how they are made."""
import inspect
import pathlib
import sys

import pytest

import tenon.torch

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import modules
from scenarios import same, same_error

# What is not offered, and why. The reasons of Container and DataParallel are those of the error that names them.
NOT_OFFERED = {'Container': 'the older name of Module'}
# Ours say what they take where PyTorch's signature is (*args, **kwargs).
FREE = frozenset('GRU LSTM LogSigmoid Module NLLLoss2d RNN Sigmoid Softmax2d Softsign SyncBatchNorm Tanh Tanhshrink'.split())


@pytest.fixture(name='nn')
def namespace():
    return tenon.torch.nn


def classes(torch):
    return {name: value for name, value in vars(torch.nn).items() if isinstance(value, type) and name[0] != '_'}


def test_all_entries_of_module_db_pass(torch):
    every, verdicts = modules.judge_all()
    failed = {name: verdict['failed'] or 'no sample' for name, verdict in verdicts.items() if verdict['failed'] or not verdict['passed']}
    assert not failed and len(every) > 110
    assert sum(verdict['passed'] for verdict in verdicts.values()) > 5000


def test_every_class_is_offered_or_listed_as_missing(torch, nn):
    there = classes(torch)
    assert len(there) > 160
    absent = {name for name in there if not hasattr(nn, name)}
    assert absent == set(NOT_OFFERED)
    for name in NOT_OFFERED:
        with pytest.raises(AttributeError, match=rf'\[torch.nn.{name}\] is not offered here: '):
            getattr(nn, name)


def arguments(kind):
    found = inspect.signature(kind).parameters.values()
    return [(each.name, getattr(each.default, '__name__', each.default), each.kind) for each in found]  # functions by their names


def test_constructors_take_pytorchs_arguments(torch, nn):
    checked = 0
    for name, kind in classes(torch).items():
        if issubclass(kind, torch.nn.Module) and hasattr(nn, name) and name not in FREE:
            assert arguments(getattr(nn, name)) == arguments(kind), name
            checked += 1
    assert checked > 125


# Modules that module_db does not have: (name, arguments, shapes of the inputs)
MORE = [
    ('Dropout', (0.0,), [(3, 4)]), ('Dropout1d', (0.0,), [(2, 3, 4)]), ('Dropout2d', (0.0,), [(2, 3, 4, 4)]), ('Dropout3d', (0.0,), [(2, 3, 4, 4, 4)]),
    ('AlphaDropout', (0.0,), [(3, 4)]), ('FeatureAlphaDropout', (0.0,), [(3, 4, 2)]), ('Hardsigmoid', (), [(3, 4)]), ('RReLU', (0.2, 0.2), [(3, 4)]),
    ('Flatten', (1, 2), [(2, 3, 4, 5)]), ('Unflatten', (1, (2, -1)), [(2, 6)]), ('Identity', (1, 2), [(2, 6)]), ('Fold', ((4, 5), 2), [(2, 8, 12)]),
    ('Unfold', (2, 1, 1, 2), [(2, 3, 4, 5)]), ('PixelShuffle', (2,), [(1, 8, 3, 3)]), ('PixelUnshuffle', (2,), [(1, 2, 6, 6)]),
    ('ChannelShuffle', (2,), [(1, 4, 2, 2)]), ('Upsample', (None, 2.0, 'bilinear'), [(1, 2, 3, 4)]), ('Upsample', ((5, 6),), [(1, 2, 3, 4)]),
    ('UpsamplingNearest2d', (None, 2), [(1, 2, 3, 4)]), ('UpsamplingBilinear2d', ((4, 7),), [(1, 2, 3, 4)]),
    ('CosineSimilarity', (1,), [(3, 4), (3, 4)]), ('PairwiseDistance', (1.0, 1e-5, True), [(3, 4), (3, 4)]),
    ('LazyLinear', (3,), [(4, 5)]), ('LazyBatchNorm1d', (), [(4, 5)]), ('LazyBatchNorm2d', (), [(4, 5, 2, 2)]), ('LazyBatchNorm3d', (), [(4, 5, 2, 2, 2)]),
    ('LazyInstanceNorm1d', (), [(4, 5, 3)]), ('LazyInstanceNorm2d', (), [(4, 5, 2, 2)]), ('LazyInstanceNorm3d', (), [(4, 5, 2, 2, 2)]),
    ('BatchNorm1d', (3, 1e-5, None), [(4, 3)]), ('TripletMarginLoss', (2.0, 1), [(4, 5)] * 3), ('TripletMarginWithDistanceLoss', (), [(4, 5)] * 3),
]


@pytest.mark.parametrize(('name', 'given', 'shapes'), MORE, ids=lambda x: x if isinstance(x, str) else '')
@pytest.mark.parametrize('training', [True, False])
def test_modules_that_module_db_lacks(torch, nn, name, given, shapes, training):
    judge = modules.ModuleJudge.__new__(modules.ModuleJudge)
    judge.torch, judge.ours, judge.processing, judge.made, judge.entries = torch, tenon.torch, False, {}, {}
    judge.handle = judge._make_handle()
    from torch.testing._internal.common_modules import FunctionInput, ModuleInput
    torch.manual_seed(0)
    inputs = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    judge.judge(name, ModuleInput(FunctionInput(*given), FunctionInput(*inputs)), torch.float64, training)


def table(torch, module):
    """The same weight in both."""
    with torch.no_grad():
        n = module.weight.numel()
        at = torch.arange(n, dtype=torch.float32)
        module.weight.copy_(torch.sin(at * at * 0.3 + at).reshape(module.weight.shape) * 2)
    return module


def looked_up(torch, kind, options, *inputs):
    """Rows, the gradient of the weight, the weight afterwards, as printed."""
    module = table(torch, getattr(torch.nn, kind)(6, 3, **options))
    inputs = [torch.tensor(x) for x in inputs]
    found = module(*inputs)
    (found * found).sum().backward()
    return found, module.weight.grad, module.weight, repr(module), module.padding_idx


TABLES = [
    ('Embedding', {}, [[1, 2], [2, 5]]), ('Embedding', {'padding_idx': -4}, [[1, 2], [2, 5]]), ('Embedding', {'max_norm': 1.0}, [0, 2, 2]),
    ('Embedding', {'max_norm': 1.0, 'norm_type': 1.0}, [0, 2, 2]), ('Embedding', {'scale_grad_by_freq': True, 'padding_idx': 0}, [0, 2, 2]),
    ('EmbeddingBag', {}, [[1, 2], [2, 5]]), ('EmbeddingBag', {'mode': 'sum'}, [1, 2, 4, 5], [0, 1]), ('EmbeddingBag', {'mode': 'max'}, [1, 2, 4, 5], [0, 1]),
    ('EmbeddingBag', {'padding_idx': 2}, [1, 2, 4, 5], [0, 3]), ('EmbeddingBag', {'mode': 'sum', 'include_last_offset': True}, [1, 2, 4, 5], [0, 1, 4]),
    ('EmbeddingBag', {'mode': 'max', 'padding_idx': 2}, [1, 2, 2, 5], [0, 2]), ('EmbeddingBag', {'max_norm': 1.0}, [[1, 2], [2, 5]]),
    ('EmbeddingBag', {'mode': 'mean', 'scale_grad_by_freq': True}, [[1, 2], [2, 5]]),
]


@pytest.mark.parametrize(('kind', 'options', 'inputs'), [(kind, options, inputs) for kind, options, *inputs in TABLES])
def test_tables(torch, kind, options, inputs):
    same(torch, looked_up, kind, options, *inputs)


def unpooled(torch, n):
    pool, back = getattr(torch.nn, f'MaxPool{n}d')(2, 2, return_indices=True), getattr(torch.nn, f'MaxUnpool{n}d')(2, stride=2)
    x = torch.sin(torch.arange(2 * 4 ** n, dtype=torch.float32)).reshape(1, 2, *(4,) * n)
    found = pool(x)
    return back(*found), back(*found, output_size=(1, 2, *(5,) * n)), repr(back)


def given_rows(torch):
    rows = torch.arange(6, dtype=torch.float32).reshape(3, 2)
    first, second = torch.nn.Embedding.from_pretrained(rows, padding_idx=1), torch.nn.EmbeddingBag.from_pretrained(rows, freeze=False, mode='sum')
    return first.weight.requires_grad, second.weight.requires_grad, first(torch.tensor([2, 0])), second(torch.tensor([[2, 0]])), repr(second)


def transposed(torch):
    layer = table(torch, torch.nn.ConvTranspose2d(1, 2, 3, stride=2, padding=1, bias=False))
    x = torch.ones(1, 1, 4, 4)
    return layer(x, output_size=(8, 7)), list(layer(x, output_size=[1, 2, 7, 8]).shape)


def test_pooling_and_back_given_rows_and_sizes(torch):
    for n in (1, 2, 3):
        same(torch, unpooled, n)
    same(torch, given_rows)
    same(torch, transposed)
    same_error(torch, lambda t: t.nn.ConvTranspose2d(1, 2, 3, stride=2)(t.ones(1, 1, 4, 4), output_size=(20, 20)))
    same_error(torch, lambda t: t.nn.Embedding(3, 2, padding_idx=3))
    same_error(torch, lambda t: t.nn.BatchNorm2d(3)(t.ones(2, 3)))
    same_error(torch, lambda t: t.nn.InstanceNorm1d(3)(t.ones(3)))
    same_error(torch, lambda t: t.nn.Softmax2d()(t.ones(3, 3)))


def test_adaptive_log_softmax(torch, nn):
    theirs = torch.nn.AdaptiveLogSoftmaxWithLoss(16, 20, [5, 10, 15], div_value=2.0, head_bias=True)
    ours = nn.AdaptiveLogSoftmaxWithLoss(16, 20, [5, 10, 15], div_value=2.0, head_bias=True)
    ours.load_state_dict({name: tenon.torch.tensor(x.numpy()) for name, x in theirs.state_dict().items()})
    x, labels = torch.randn(12, 16), torch.randint(20, (12,))
    mine, mine_labels = tenon.torch.tensor(x.numpy()), tenon.torch.tensor(labels.numpy())
    for a, b in ((ours(mine, mine_labels).output, theirs(x, labels).output), (ours(mine, mine_labels).loss, theirs(x, labels).loss),
                 (ours.log_prob(mine), theirs.log_prob(x)), (ours.predict(mine), theirs.predict(x)),
                 (ours(mine[0], mine_labels[0]).output, theirs(x[0], labels[0]).output)):
        assert torch.allclose(torch.tensor(a.tolist(), dtype=b.dtype), b, atol=1e-5)
    assert repr(ours) == repr(theirs)
    ours(mine, mine_labels).loss.backward()
    theirs(x, labels).loss.backward()
    for (name, a), b in zip(ours.named_parameters(), theirs.parameters()):
        assert torch.allclose(torch.tensor(a.grad.tolist()), b.grad, atol=1e-5), name


def test_cross_map_lrn_is_pytorchs_where_its_window_is_right(torch, nn):
    x = torch.randn(2, 3, 3, 3)
    mine, few = tenon.torch.tensor(x.numpy()), (5, 0.5, 0.6, 2)
    assert torch.allclose(torch.tensor(nn.CrossMapLRN2d(*few)(mine).tolist()), torch.nn.CrossMapLRN2d(*few)(x), atol=1e-6)
    assert nn.CrossMapLRN2d(*few)(mine).tolist() == nn.LocalResponseNorm(*few)(mine).tolist()
    assert repr(nn.CrossMapLRN2d(*few)) == repr(torch.nn.CrossMapLRN2d(*few))


# Wrong arguments: (class, arguments). PyTorch's kind of error is one of ours.
WRONG = [
    ('Dropout', (1.5,)), ('Hardtanh', (1.0, -1.0)), ('Unflatten', (1, 3)), ('Conv2d', (3, 4, 3, 1, 'odd')), ('Conv2d', (3, 4, 3, 2, 'same')),
    ('Conv2d', (3, 4, 3, 1, 0, 1, 2)), ('Conv2d', (3, 4, 3, 1, 0, 1, 1, True, 'mirror')), ('ConvTranspose2d', (4, 4, 3, 1, 0, 0, 1, True, 1, 'circular')),
    ('GroupNorm', (2, 3)), ('MultiMarginLoss', (3,)), ('TripletMarginLoss', (0.0,)), ('FractionalMaxPool2d', (2,)), ('FractionalMaxPool2d', (2, 3, 0.5)),
    ('AdaptiveLogSoftmaxWithLoss', (4, 10, [5, 3])), ('AdaptiveLogSoftmaxWithLoss', (4, 10, [])), ('Linear', (3,)), ('ReLU', (True, 2)), ('MaxPool2d', ()),
    ('ModuleList', (3,)), ('ParameterDict', (3,)), ('Bilinear', (0, 2, 3)),
]


@pytest.mark.parametrize(('name', 'given'), WRONG)
def test_wrong_arguments_raise_pytorchs_type_of_error(torch, nn, name, given):
    with pytest.raises(Exception) as theirs:
        getattr(torch.nn, name)(*given)
    with pytest.raises(Exception) as ours:
        getattr(nn, name)(*given)
    wanted = theirs.type if theirs.type is not AssertionError else Exception
    assert issubclass(ours.type, wanted), f'{ours.value!r} for {theirs.value!r}'
    assert str(ours.value)


def test_weights_of_losses_are_buffers_that_move(nn):
    for loss in (nn.CrossEntropyLoss(tenon.torch.ones(3)), nn.BCEWithLogitsLoss(pos_weight=tenon.torch.ones(3)), nn.NLLLoss(tenon.torch.ones(3))):
        name, = loss.state_dict()
        assert loss.double().state_dict()[name].dtype is tenon.torch.float64 and not list(loss.parameters())
    assert nn.CrossEntropyLoss().weight is None and nn.L1Loss(size_average=False).reduction == 'sum' and nn.L1Loss(reduce=False).reduction == 'none'


def test_instance_norm_refuses_statistics_it_does_not_keep(nn):
    kept = nn.InstanceNorm1d(3, track_running_stats=True).state_dict()
    with pytest.raises(RuntimeError, match='keeps no running statistics'):
        nn.InstanceNorm1d(3).load_state_dict(dict(kept))
    older = {name: x for name, x in kept.items() if name != 'num_batches_tracked'}
    nn.InstanceNorm1d(3, track_running_stats=True).load_state_dict(older)
    nn.BatchNorm1d(3).load_state_dict({**older, 'weight': tenon.torch.ones(3), 'bias': tenon.torch.zeros(3)})


def test_classes_can_be_derived_and_pickled(nn):
    import copy
    import pickle

    class Twice(nn.ReLU):
        def forward(self, input):
            return super().forward(input) * 2
    assert Twice(inplace=True)(tenon.torch.tensor([-1.0, 2.0])).tolist() == [0, 4]
    for made in (nn.ReLU(), nn.Conv2d(1, 2, 3), nn.MaxPool2d(2), nn.LazyConv1d(2, 3), nn.CTCLoss(), nn.ReflectionPad2d(1), nn.Sequential(nn.LazyLinear(2))):
        for other in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
            assert repr(other) == repr(made) and type(other) is type(made)


def test_base_classes_are_where_pytorch_has_them():
    from tenon.torch.nn.modules.batchnorm import _BatchNorm
    from tenon.torch.nn.modules.conv import _ConvNd
    from tenon.torch.nn.modules.loss import _Loss, _WeightedLoss
    from tenon.torch.nn.modules.utils import _pair
    from tenon.torch.nn.parameter import Parameter
    nn = tenon.torch.nn
    assert isinstance(nn.BatchNorm2d(1), _BatchNorm) and isinstance(nn.ConvTranspose1d(1, 1, 1), _ConvNd) and Parameter is nn.Parameter
    assert isinstance(nn.MSELoss(), _Loss) and isinstance(nn.NLLLoss(), _WeightedLoss) and _pair(3) == (3, 3) and _pair((1, 2)) == (1, 2)


@pytest.mark.parametrize('make', [
    lambda nn: nn.Linear(3, 2), lambda nn: nn.Conv2d(3, 4, 2), lambda nn: nn.BatchNorm1d(3), lambda nn: nn.LayerNorm(3),
    lambda nn: nn.Embedding(4, 3), lambda nn: nn.PReLU(), lambda nn: nn.Bilinear(2, 3, 4), lambda nn: nn.LSTM(3, 2),
    lambda nn: nn.GRUCell(3, 2), lambda nn: nn.MultiheadAttention(4, 2), lambda nn: nn.TransformerEncoderLayer(4, 2, 8),
    lambda nn: nn.GroupNorm(2, 4), lambda nn: nn.LazyLinear(3), lambda nn: nn.ConvTranspose1d(2, 3, 2), lambda nn: nn.InstanceNorm1d(3, affine=True)])
def test_the_default_dtype_is_that_of_new_parameters(torch, make):
    kinds = []
    for package in torch, tenon.torch:
        package.set_default_dtype(package.float64)
        try:
            kinds.append({key: str(x.dtype).rpartition('.')[2] for key, x in make(package.nn).named_parameters()})
        finally:
            package.set_default_dtype(package.float32)
    assert kinds[0] == kinds[1] and 'float64' in kinds[0].values()


@pytest.mark.parametrize(('name', 'settings'), [('unfold', {'kernel_size': 0}), ('fold', {'output_size': 4, 'kernel_size': (2, 0)}),
                                                ('fold', {'output_size': 4, 'kernel_size': 2, 'stride': 0})])
def test_windows_of_no_size_are_refused(name, settings):
    with pytest.raises(ValueError, match='must be positive'):
        getattr(tenon.torch.nn.functional, name)(tenon.torch.ones(1, 4, 4, 4), **settings)


@pytest.mark.parametrize('name', ['ReLU', 'ReLU6', 'Hardtanh', 'Hardswish', 'Hardsigmoid', 'SiLU', 'Mish', 'LeakyReLU', 'ELU', 'CELU', 'SELU',
                                  'Threshold', 'Dropout'])
def test_activations_in_place_within_a_network(torch, name):
    """They write over what others and their own gradients read."""
    more = {'Threshold': (0.1, 0.0), 'Dropout': (0.0,)}.get(name, ())

    def scenario(library):
        x = library.tensor([[-4.0, -1.0, 0.5], [0.0, 2.0, 7.0]], dtype=library.float64, requires_grad=True)
        h = x * 2
        y = getattr(library.nn, name)(*more, inplace=True)(h)
        (y * 3 + h).sum().backward()
        return y.detach(), x.grad, y is h
    same(torch, scenario)


def test_containers_with_absent_parts(torch):
    def run(t):
        modules = t.nn.ModuleList([t.nn.Linear(1, 1), None, t.nn.ReLU()])
        modules.append(None)
        named = t.nn.ModuleDict({'a': None, 'b': t.nn.ReLU()})
        copied = modules.eval().to(t.float64)
        return (repr(modules), len(modules), modules[1], [name for name, _ in modules.named_children()], [x is None for x in modules], sorted(modules.state_dict()),
                repr(named), named['a'], [key for key, _ in named.items()], sum(1 for _ in copied.modules()), repr(t.nn.Sequential(t.nn.ReLU(), None)))
    assert run(tenon.torch) == run(torch)
    for t in (torch, tenon.torch):
        with pytest.raises(TypeError):
            t.nn.ModuleList([3])


def test_what_the_constructor_of_a_module_calls(torch):
    """Not the class after Module, unless call_super_init asks for it."""
    def run(t):
        class Mixed:
            def __init__(self, base):
                self.base = base

        class Apart(t.nn.Module, Mixed):
            def __init__(self):
                super().__init__()
                Mixed.__init__(self, 3)

        class Chained(t.nn.Module, Mixed):
            call_super_init = True

        class Kept(t.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer('a', t.ones(1), persistent=False)
                self.register_buffer('b', t.ones(1))
        return Apart().base, Chained(5).base, Kept()._non_persistent_buffers_set
    assert run(tenon.torch) == run(torch)
    for t in (torch, tenon.torch):
        with pytest.raises(TypeError, match='argument'):
            t.nn.Module(3)
