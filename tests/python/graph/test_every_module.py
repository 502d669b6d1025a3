"""Every module of tenon.nn, PyTorch's among them, as a program for inputs of any size: the bits of eager calls at 20 sizes that no trace
saw. The list is the package's own: a module that is new is tried with one matrix, or gets an entry here."""
import functools
import inspect
import random
import re

import pytest

import tenon
from tenon import nn
from tenon.graph import Dim

from .test_graph import same

every = {name: getattr(nn, name) for name in sorted({*dir(nn), *dir(tenon.torch.nn)}) if name[0].isupper()
         and inspect.isclass(getattr(nn, name)) and issubclass(getattr(nn, name), nn.Module)}

# Modules that no program calls.
NOT_CALLED = {
    **dict.fromkeys(('Module', 'ModuleDict', 'ModuleList', 'ParameterDict', 'ParameterList', 'RNNBase', 'RNNCellBase'), 'it has no forward of its own'),
}
# Modules whose results or ops depend on elements rather than sizes.
FIXED = {
    'AdaptiveLogSoftmaxWithLoss': 'which rows each cluster takes is told by the elements of the target',
    'CTCLoss': 'how many steps it takes is told by the elements of the lengths',
}
# Modules whose batch and channels may have any size, but not their other dimensions.
KEEPS = {
    **dict.fromkeys(('FractionalMaxPool2d', 'FractionalMaxPool3d'), 'steps are quotients of sizes that numbers of the host hold'),
    **dict.fromkeys(('AdaptiveAvgPool', 'AdaptiveMaxPool'), 'windows of several results begin and end where no formula tells'),
    'Fold': 'the size of the result is an argument',
}


def pooled_back(rank):
    pool, back = getattr(tenon.torch.nn, f'MaxPool{rank}d')(2, return_indices=True), every[f'MaxUnpool{rank}d'](2)
    return lambda x: back(*pool(x), output_size=x.shape)


# Shapes of arguments: names are dims of any size from 1 on, or from the number behind `>`. Before `:` what elements are: `i5` indices
# below 5, `u` from 0 to 1, `s` 1 or -1; else normally distributed.
SIGNALS = {1: 'b 4 h>8', 2: 'b 4 h>8 w>8', 3: 'b 4 d>8 h>8 w>8'}
PAIR = 'b c', 'b c'
CASES = {
    'Bilinear': (lambda: nn.Bilinear(4, 3, 2), 'b 4', 'b 3'), 'Linear': (lambda: nn.Linear(4, 3), 'b l 4'), 'Softmax2d': (nn.Softmax2d, 'b 3 h w'),
    'QuantizedLinear': (lambda: nn.QuantizedLinear.from_float(nn.Linear(64, 3)), 'b l 64'), 'LazyLinear': (lambda: nn.LazyLinear(3), 'b l 4'), 'GLU': (nn.GLU, 'b l 6'), 'PReLU': (lambda: nn.PReLU(4), 'b 4 l'),
    'Softmax': (lambda: nn.Softmax(-1), 'b l'), 'LogSoftmax': (lambda: nn.LogSoftmax(-1), 'b l'), 'Softmin': (lambda: nn.Softmin(-1), 'b l'),
    'Threshold': (lambda: nn.Threshold(0.1, 2.0), 'b l'), 'Embedding': (lambda: nn.Embedding(5, 3), 'i5:b l'), 'EmbeddingBag': (lambda: nn.EmbeddingBag(5, 3), 'i5:b l'),
    'LayerNorm': (lambda: nn.LayerNorm(6), 'b l 6'), 'RMSNorm': (lambda: nn.RMSNorm(6), 'b l 6'), 'GroupNorm': (lambda: nn.GroupNorm(2, 4), 'b 4 l>2'),
    'BatchNorm': (lambda: nn.BatchNorm(4), 'b 4 l'), 'SyncBatchNorm': (lambda: every['SyncBatchNorm'](4), 'b 4 l'),
    'LocalResponseNorm': (lambda: nn.LocalResponseNorm(2), 'b 4 h w'), 'CrossMapLRN2d': (lambda: nn.CrossMapLRN2d(2), 'b 4 h w'),
    'ChannelShuffle': (lambda: nn.ChannelShuffle(2), 'b 4 h w'), 'PixelShuffle': (lambda: nn.PixelShuffle(2), 'b 4 h w'),
    'PixelUnshuffle': (lambda: nn.Sequential(nn.PixelShuffle(2), nn.PixelUnshuffle(2)), 'b 4 h w'), 'Flatten': (nn.Flatten, 'b 3 l'),
    'Unflatten': (lambda: nn.Unflatten(1, (2, 3)), 'b 6 l'), 'Fold': (lambda: nn.Fold((4, 4), 2), 'b 8 9'), 'Unfold': (lambda: nn.Unfold(2), 'b 3 h>3 w>3'),
    'Upsample': (lambda: nn.Upsample(scale_factor=2), 'b 2 h w'), 'UpsamplingNearest2d': (lambda: nn.UpsamplingNearest2d(scale_factor=2), 'b 2 h w'),
    'UpsamplingBilinear2d': (lambda: nn.UpsamplingBilinear2d(scale_factor=2), 'b 2 h w'), 'Sequential': (lambda: nn.Sequential(nn.Linear(4, 3), nn.ReLU()), 'b l 4'),
    'DataParallel': (lambda: nn.DataParallel(nn.Linear(4, 3)), 'b l 4'),
    'AdaptiveAvgPool': (lambda: nn.AdaptiveAvgPool((2,)), 'b 4 7'), 'AdaptiveMaxPool': (lambda: nn.AdaptiveMaxPool((2,)), 'b 4 7'),
    'AvgPool': (lambda: nn.AvgPool((2,)), 'b 4 h>8'), 'MaxPool': (lambda: nn.MaxPool((2,)), 'b 4 h>8'),
    **{name: (functools.partial(every[name], 4, 6, batch_first=True), 'b l 4') for name in ('RNN', 'LSTM', 'GRU')},
    **{name: (functools.partial(every[name], 4, 6), 'b 4') for name in ('RNNCell', 'LSTMCell', 'GRUCell')},
    'MultiheadAttention': (lambda: nn.MultiheadAttention(8, 2, batch_first=True), 'b l 8', 'b m 8', 'b m 8'),
    'TransformerEncoderLayer': (lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 'b l 8'),
    'TransformerEncoder': (lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2), 'b l 8'),
    'TransformerDecoderLayer': (lambda: nn.TransformerDecoderLayer(8, 2, 16, batch_first=True), 'b l 8', 'b m 8'),
    'TransformerDecoder': (lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16, batch_first=True), 2), 'b l 8', 'b m 8'),
    'Transformer': (lambda: nn.Transformer(8, 2, 1, 1, 16, batch_first=True), 'b l 8', 'b m 8'),
    'CosineSimilarity': (nn.CosineSimilarity, *PAIR), 'PairwiseDistance': (nn.PairwiseDistance, *PAIR),
    'BCELoss': (nn.BCELoss, 'u:b c', 'u:b c'), 'BCEWithLogitsLoss': (nn.BCEWithLogitsLoss, 'b c', 'u:b c'),
    'CosineEmbeddingLoss': (nn.CosineEmbeddingLoss, 'b c', 'b c', 's:b'), 'CrossEntropyLoss': (nn.CrossEntropyLoss, 'b 5', 'i5:b'),
    'LinearCrossEntropyLoss': (lambda: nn.LinearCrossEntropyLoss(4, 5), 'b 4', 'i5:b'), 'NLLLoss': (nn.NLLLoss, 'b 5', 'i5:b'), 'NLLLoss2d': (nn.NLLLoss2d, 'b 5 h w', 'i5:b h w'),
    'GaussianNLLLoss': (nn.GaussianNLLLoss, 'b c', 'b c', 'u:b c'), 'HingeEmbeddingLoss': (nn.HingeEmbeddingLoss, 'b c', 's:b c'),
    'MarginRankingLoss': (nn.MarginRankingLoss, 'b', 'b', 's:b'), 'MultiMarginLoss': (nn.MultiMarginLoss, 'b 5', 'i5:b'), 'MultiLabelMarginLoss': (nn.MultiLabelMarginLoss, 'b 5', 'i5:b 5'),
    'MultiLabelSoftMarginLoss': (nn.MultiLabelSoftMarginLoss, 'b 5', 'u:b 5'), 'SoftMarginLoss': (nn.SoftMarginLoss, 'b c', 's:b c'),
    'KLDivLoss': (lambda: nn.KLDivLoss(reduction='batchmean'), 'b c', 'u:b c'), 'PoissonNLLLoss': (nn.PoissonNLLLoss, 'b c', 'u:b c'),
    **{f'{kind}Loss': (getattr(nn, f'{kind}Loss'), *PAIR) for kind in ('L1', 'MSE', 'SmoothL1', 'Huber')},
    **{f'TripletMargin{kind}Loss': (getattr(nn, f'TripletMargin{kind}Loss'), *PAIR, 'b c') for kind in ('', 'WithDistance')},
}
for rank, shape in SIGNALS.items():
    for kind, *args in [('Conv', 4, 6, 3), ('ConvTranspose', 4, 2, 3), ('LazyConv', 6, 3), ('LazyConvTranspose', 2, 3), ('BatchNorm', 4), ('LazyBatchNorm',), ('InstanceNorm', 4),
                        ('LazyInstanceNorm',), ('MaxPool', 3), ('AvgPool', 2), ('LPPool', 2, 3), ('AdaptiveAvgPool', 1), ('AdaptiveMaxPool', 1), ('CircularPad', 1), ('ConstantPad', 1, 2.0),
                        ('ReflectionPad', 1), ('ReplicationPad', 1), ('ZeroPad', 1), ('Dropout',)]:
        if f'{kind}{rank}d' in every:
            CASES[f'{kind}{rank}d'] = functools.partial(every[f'{kind}{rank}d'], *args), shape
    CASES[f'MaxUnpool{rank}d'] = functools.partial(pooled_back, rank), shape
CASES['FractionalMaxPool2d'] = functools.partial(nn.FractionalMaxPool2d, 2, output_ratio=0.5), 'b c 9 8'
CASES['FractionalMaxPool3d'] = functools.partial(nn.FractionalMaxPool3d, 2, output_ratio=0.5), 'b c 9 8 7'


def drawn(argument, sizes):
    kind, _, shape = argument.rpartition(':')
    shape = [int(one) if one.isdigit() else sizes[one.split('>')[0]] for one in shape.split()]
    if kind.startswith('i'):
        return tenon.randint(shape, 0, int(kind[1:]))
    if kind == 's':
        return tenon.randint(shape, 0, 2).to(tenon.float32) * 2 - 1
    return tenon.rand(shape) if kind == 'u' else tenon.randn(shape)


def dims_of(arguments):
    """By argument and dimension, and all of them by name."""
    by_place, by_name = {}, {}
    for i, argument in enumerate(arguments):
        for axis, word in enumerate(argument.rpartition(':')[2].split()):
            if not word.isdigit():
                name, _, least = word.partition('>')
                by_name[name] = Dim(name, int(least or 1), 24)
                by_place.setdefault(i, {})[axis] = by_name[name]
    return by_place, by_name


def unseen(dims):
    draw = random.Random(1)
    return [{dim.name: dim.min for dim in dims}, {dim.name: dim.max for dim in dims},
            *({dim.name: draw.randint(dim.min, dim.max) for dim in dims} for _ in range(18))]


def test_the_tables_name_modules():
    assert not {*CASES, *FIXED, *NOT_CALLED} - {*every} and not {*KEEPS} - {*CASES}
    assert not {*CASES} & {*FIXED, *NOT_CALLED}
    assert len(every) > 150


@pytest.mark.parametrize('name', [name for name in every if name not in NOT_CALLED and name not in FIXED])
def test_it_takes_any_size(name):
    tenon.manual_seed(0)
    make, *arguments = CASES.get(name, (every[name], 'b c'))
    module, (places, dims) = make(), dims_of(arguments)
    if isinstance(module, nn.Module) and not re.search('Dropout|RReLU', name):
        module.eval()
    first = [drawn(one, {dim: max(3, each.min) for dim, each in dims.items()}) for one in arguments]
    module(*first)  # lazy modules create their parameters
    program = tenon.graph.trace(module, *first, dynamic=places)
    program.exact = True
    with tenon.no_grad():
        for i, sizes in enumerate(unseen(dims.values())):
            given = [drawn(one, sizes) for one in arguments]
            tenon.manual_seed(i)
            wanted = module(*given)
            tenon.manual_seed(i)
            assert same(program(*given), wanted), sizes
