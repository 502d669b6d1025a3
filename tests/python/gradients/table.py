"""The differentiable ops and their counterparts in PyTorch, with one line for each op that says how its cases are drawn."""
import math
from dataclasses import dataclass
from typing import Callable

import numpy as np
from hypothesis import strategies as st
from tenon import _core
from tenon._op_facts import ELEMENTWISE

REAL, POSITIVE, UNIT, FRACTION = (-3, 3), (0.3, 3), (-0.9, 0.9), (0.05, 0.95)


@dataclass
class Op:
    draw: Callable                 # draw -> shapes of the operands, and the other arguments by the table's names
    theirs: Callable = None        # (torch, *operands, **arguments); torch.NAME or torch.nn.functional.NAME of the same if left out
    mine: Callable = None          # (tenon, *operands, **arguments); tenon.ops[NAME] if left out
    domain: tuple = REAL           # of all operands, or one for each
    second: bool = True            # whether gradients of gradients are compared, too
    alike: bool = True             # whether elements may be equal, as in an expanded view


sizes = st.integers(1, 4)
shapes = st.lists(sizes, max_size=3).map(tuple)


def one(draw):
    return [draw(shapes)], {}


def one_with(**arguments):
    """One operand; arguments are strategies, or functions of (draw, shape)."""
    def drawn(draw, least=1):
        shape = draw(st.lists(sizes, min_size=least, max_size=3).map(tuple))
        return [shape], {name: draw(each) if isinstance(each, st.SearchStrategy) else each(draw, shape)
                         for name, each in arguments.items()}
    return drawn


def broadcast(count):
    """Operands of shapes that broadcast: some dimensions are 1 or left out."""
    def drawn(draw):
        whole = draw(shapes)
        found = []
        for _ in range(count):
            shape = [1 if draw(st.integers(0, 3)) == 0 else size for size in whole]
            found.append(tuple(shape[draw(st.sampled_from([0, 0, min(1, len(shape))])):]))
        return found, {}
    return drawn


def same(count):
    def drawn(draw):
        return [draw(shapes)] * count, {}
    return drawn


def dim(draw, shape):
    return draw(st.integers(-len(shape), len(shape) - 1))


def dims(draw, shape):
    found = draw(st.lists(st.integers(0, len(shape) - 1), unique=True, min_size=1))
    return None if draw(st.booleans()) else tuple(found)


def some_dims(draw, shape):
    return tuple(draw(st.lists(st.integers(0, len(shape) - 1), unique=True, min_size=1)))


def index(draw, size, shape):
    return np.random.default_rng(draw(st.integers(0, 9999))).integers(0, size, shape)


def order(draw, shape):
    return tuple(draw(st.permutations(range(len(shape)))))


def reduced(torch_name, fix=lambda x: x, **more):
    """A reduction over dims with keepdim."""
    return Op(one_with(dims=dims, keepdim=st.booleans()),
              lambda torch, x, dims, keepdim: fix(getattr(torch, torch_name)(
                  x, dim=tuple(range(x.ndim)) if dims is None else dims, keepdim=keepdim)), **more)


def product(torch, x, dims, keepdim):
    for at in sorted(range(x.ndim) if dims is None else (d % x.ndim for d in dims), reverse=True):
        x = torch.prod(x, at, keepdim)
    return x


def spread(name):
    def drawn(draw):
        (shape,), arguments = one_with(dims=some_dims, correction=st.sampled_from([0., 0.5]), keepdim=st.booleans())(draw)
        return [tuple(size + 1 for size in shape)], arguments  # a single number has no spread
    return Op(drawn,
              lambda torch, x, dims, correction, keepdim: getattr(torch, name)(
                  x, dim=dims, correction=correction, keepdim=keepdim), alike=False)


def loss(torch_name, count=2, **more):
    reduction = st.sampled_from(['mean', 'sum', 'none'])

    def drawn(draw):
        return [draw(shapes)] * count, {'reduction': draw(reduction)}
    return Op(drawn, lambda torch, *xs, **arguments: getattr(torch.nn.functional, torch_name)(*xs, **arguments), **more)


def along(draw, rows=None):
    """A shape, a dimension of it, and an index with as many entries along it as there are, or as there are rows."""
    shape = draw(st.lists(sizes, min_size=1, max_size=3).map(tuple))
    at = draw(st.integers(0, len(shape) - 1))
    return shape, at, draw(sizes) if rows is None else rows


def gathered(draw):
    shape, at, rows = along(draw)
    return [shape], {'dim': at, 'index': index(draw, shape[at], shape[:at] + (rows,) + shape[at + 1:])}


def scattered(unique):
    def drawn(draw):
        shape, at, _ = along(draw)
        if unique:  # of two that go to one place, either may win
            rng = np.random.default_rng(draw(st.integers(0, 9999)))
            found = np.moveaxis(rng.permuted(np.broadcast_to(np.arange(shape[at]), shape[:at] + shape[at + 1:] + shape[at:at + 1]),
                                             axis=-1), -1, at)
        else:
            found = index(draw, shape[at], shape)
        return [shape, shape], {'dim': at, 'index': np.ascontiguousarray(found)}
    return drawn


def reduced_places(draw):
    operands, given = scattered(False)(draw)
    return operands, {**given, 'reduce': draw(st.sampled_from(['sum', 'prod', 'mean', 'amax', 'amin'])), 'include_self': draw(st.booleans())}


def picked(draw):
    shape, at, rows = along(draw)
    return [shape], {'dim': at, 'index': index(draw, shape[at], (rows,))}


def index_added(draw):
    shape, at, rows = along(draw)
    return [shape, shape[:at] + (rows,) + shape[at + 1:]], {'dim': at, 'index': index(draw, shape[at], (rows,))}


def sliced(draw):
    shape = draw(st.lists(sizes, min_size=1, max_size=3).map(tuple))
    at = draw(st.integers(0, len(shape) - 1))
    start = draw(st.integers(0, shape[at]))
    return [shape], {'dim': at, 'start': start, 'end': draw(st.integers(start, shape[at])), 'step': draw(st.integers(1, 2))}


def torch_slice(torch, x, dim, start, end, step):
    return x[(slice(None),) * dim + (slice(start, end, step),)]


def slice_scattered(draw):
    (shape,), arguments = sliced(draw)
    rows = len(range(arguments['start'], arguments['end'], arguments['step']))
    at = arguments['dim']
    return [shape, shape[:at] + (rows,) + shape[at + 1:]], arguments


def matrices(draw):
    batch, (m, k, n) = draw(st.lists(sizes, max_size=2).map(tuple)), (draw(sizes) for _ in range(3))
    left, right = batch + (m, k), batch[draw(st.integers(0, len(batch))):] + (k, n)
    kind = draw(st.integers(0, 3))
    return [[left, right], [left, (k,)], [(k,), right], [(k,), (k,)]][kind], {}


def window(draw, channels=False):
    """Batch, channels and one to three spatial sizes of an image."""
    rank = draw(st.integers(1, 3))
    return (draw(st.integers(1, 2)), draw(st.integers(1, 3))) + tuple(draw(st.integers(3, 5)) for _ in range(rank))


def convolved(transposed):
    def drawn(draw):
        shape = window(draw)
        rank, groups = len(shape) - 2, draw(st.integers(1, 2))
        inner, outer = draw(st.integers(1, 2)), draw(st.integers(1, 2)) * groups
        kernel = tuple(draw(st.integers(1, 2)) for _ in range(rank))
        weight = (inner * groups, outer // groups) + kernel if transposed else (outer, inner) + kernel
        arguments = {'stride': (draw(st.integers(1, 2)),) * rank, 'padding': (draw(st.integers(0, 1)),) * rank,
                     'dilation': (draw(st.integers(1, 2)),) * rank, 'groups': groups}
        if transposed:
            arguments['output_padding'] = (draw(st.integers(0, arguments['stride'][0] - 1)),) * rank
        return [(shape[0], inner * groups) + shape[2:], weight, (outer,)], arguments
    return drawn


def by_rank(name):
    """PyTorch's function for one, two or three spatial dimensions."""
    return lambda torch, x, *xs, **arguments: getattr(torch.nn.functional, name.format(x.ndim - 2))(x, *xs, **arguments)


def pooled(average):
    def drawn(draw):
        shape = window(draw)
        rank = len(shape) - 2
        arguments = {'kernel': (draw(st.integers(2, 3)),) * rank, 'stride': (draw(st.integers(1, 2)),) * rank,
                     'padding': (draw(st.integers(0, 1)),) * rank, 'ceil_mode': draw(st.booleans())}
        arguments |= {'count_include_pad': draw(st.booleans())} if average else {}
        return [shape], arguments
    return drawn


def adaptive(draw):
    shape = window(draw)
    return [shape], {'size': tuple(draw(st.integers(1, size)) for size in shape[2:])}


def resized(draw):
    shape = window(draw)
    mode = draw(st.sampled_from(['nearest', 'linear']))
    return [shape], {'size': tuple(draw(st.integers(1, 7)) for _ in shape[2:]), 'mode': mode,
                     'align_corners': mode == 'linear' and draw(st.booleans())}


def torch_interpolate(torch, x, size, mode, align_corners):
    mode = mode if mode == 'nearest' else ['linear', 'bilinear', 'trilinear'][x.ndim - 3]
    return torch.nn.functional.interpolate(x, size, mode=mode, align_corners=None if mode == 'nearest' else align_corners)


def warped(draw):
    spatial = draw(st.integers(2, 3))
    mode = draw(st.sampled_from(['bilinear', 'nearest', 'bicubic'][:5 - spatial]))
    batch, shape = draw(st.integers(1, 2)), tuple(draw(st.integers(2, 5)) for _ in range(spatial))
    return [(batch, draw(st.integers(1, 2)), *shape), (batch, *[draw(sizes) for _ in range(spatial)], spatial)], {
        'mode': mode, 'padding_mode': draw(st.sampled_from(['zeros', 'border', 'reflection'])), 'align_corners': draw(st.booleans())}


def padded(draw):
    mode = draw(st.sampled_from(['constant', 'reflect', 'replicate']))
    shape = window(draw)
    least = -1 if mode == 'constant' else 0
    pads = tuple(draw(st.integers(least, 2)) for _ in range(2 * (len(shape) - 2)))
    return [shape], {'pads': pads, 'mode': mode, 'value': 0.5 if mode == 'constant' else 0.}


def normalised(operands):
    def drawn(draw):
        shape = draw(st.lists(sizes, min_size=2, max_size=3).map(tuple))
        tail = shape[draw(st.integers(0, len(shape) - 1)):]
        return [shape] + [tail] * operands, {'shape': tail}
    return drawn


def attended(draw):
    """q (B, H, L, E), k (B, K, S, E), v (B, K, S, F)."""
    b, heads, kept, queries, keys, width, values = (draw(sizes) for _ in range(7))
    return ([(b, heads * kept, queries, width), (b, kept, keys, width), (b, kept, keys, values)],
            {'causal': draw(st.booleans()), 'scale': draw(st.sampled_from([None, 0.4]))})


def recurrent(draw):
    """x (T, B, 4·H), h0 and c0 (B, H), weight (4·H, H)."""
    steps, batch, width = draw(sizes), draw(st.integers(1, 2)), draw(st.integers(1, 3))
    return [(steps, batch, 4 * width), (batch, width), (batch, width), (4 * width, width)], {'reverse': draw(st.booleans())}


def grouped(draw):
    groups, shape = draw(st.integers(1, 2)), window(draw)
    channels = groups * draw(st.integers(1, 2))
    return [(shape[0], channels) + shape[2:], (channels,), (channels,)], {'groups': groups}


def batch(draw):
    shape = window(draw)
    return [(2,) + shape[1:], shape[1:2], shape[1:2]], {}


def classes(draw, smoothing):
    rows, width = draw(st.integers(1, 4)), draw(st.integers(2, 4))
    arguments = {'target': index(draw, width, (rows,)), 'reduction': draw(st.sampled_from(['mean', 'sum', 'none']))}
    return [(rows, width)], arguments | ({'smoothing': draw(st.sampled_from([0., 0.1]))} if smoothing else {})


def joined(draw, new):
    shape = draw(st.lists(sizes, min_size=1, max_size=3).map(tuple))
    at = draw(st.integers(0, len(shape) - 1))
    each = [shape if new else shape[:at] + (draw(sizes),) + shape[at + 1:] for _ in range(draw(st.integers(1, 3)))]
    return each, {'dim': at}


def masked(draw, fill):
    shape = draw(shapes)
    mask = np.asarray(np.random.default_rng(draw(st.integers(0, 9999))).random(shape) < 0.5)
    return [shape, ()] if fill else [shape], {'mask': mask}


def chosen(draw):
    found, _ = broadcast(2)(draw)
    shape = np.broadcast_shapes(*found)
    return found, {'condition': np.asarray(np.random.default_rng(draw(st.integers(0, 9999))).random(shape) < 0.5)}


def rearranged(draw):
    shape = draw(shapes)
    size = math.prod(shape)
    first = draw(st.sampled_from([n for n in range(1, size + 1) if size % n == 0]))
    return [shape], {'shape': (first, size // first)}


def expanded(draw):
    shape = draw(shapes)
    narrow = tuple(1 if draw(st.booleans()) else size for size in shape)
    return [narrow], {'shape': (draw(sizes),) + shape}


def squeezed(draw):
    shape = draw(shapes)
    at = draw(st.integers(0, len(shape)))
    return [shape[:at] + (1,) + shape[at:]], {'dims': (at,)}


def strided(draw):
    arguments = {'shape': (2, 3), 'strides': draw(st.sampled_from([(3, 1), (1, 2), (1, 1), (2, 1)])), 'offset': draw(st.integers(0, 2))}
    return [(4, 3)], arguments


def strided_apart(draw):
    return [(4, 3), (2, 3)], {'shape': (2, 3), 'strides': draw(st.sampled_from([(3, 1), (1, 2)])), 'offset': draw(st.integers(0, 2))}


def diagonals(draw):
    shape = tuple(draw(sizes) for _ in range(draw(st.integers(2, 3))))
    first, second = draw(st.permutations(range(len(shape))))[:2]
    return [shape], {'offset': draw(st.integers(-1, 1)), 'dim0': first, 'dim1': second}


def positions(draw, values):
    shape = tuple(draw(sizes) for _ in range(3))
    rows = (draw(sizes),)
    gap = draw(st.booleans())
    found = [index(draw, shape[0], rows), None if gap else index(draw, shape[1], rows), index(draw, shape[2], rows) if gap else None]
    count = (shape[1],) if gap else (shape[2],)
    return [shape] + ([rows + count] if values else []), {'indices': found} | ({'accumulate': True} if values else {})


def key(indices):
    return tuple(slice(None) if each is None else each for each in indices)


def torch_attention(torch, q, k, v, causal, scale):
    # By its formula: PyTorch's fused kernels have no second gradient.
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale, enable_gqa=True)


def torch_lstm(torch, x, h, c, weight, reverse):
    # By its formula: PyTorch's op has no product apart.
    found = []
    for row in (x.flip(0) if reverse else x):
        i, f, g, o = (row + h @ weight.T).chunk(4, -1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        found.append(torch.cat([h, c], -1))
    found = torch.stack(found)
    return found.flip(0) if reverse else found


def lstm_states(tenon, *operands, reverse):
    y, c, _ = tenon.lstm(*operands, reverse)
    return tenon.concat([y, c], axis=-1)


def torch_index_put(torch, x, values, indices, accumulate):
    if indices[1] is None:  # PyTorch requires each dimension to be named
        indices = [indices[0][:, None], torch.arange(x.shape[1]), indices[2][:, None]]
    return torch.index_put(x, [each for each in indices if each is not None], values, accumulate)


EQUATIONS = {'ij,jk->ik': [(2, 3), (3, 4)], 'bij,bjk->bik': [(2, 3, 2), (2, 2, 3)], 'ii->i': [(3, 3)], 'ij->': [(2, 3)],
             'ij,ij,j->i': [(2, 3), (2, 3), (3,)], 'i,j->ij': [(3,), (2,)], 'bhqd,bhkd->bhqk': [(1, 2, 3, 2), (1, 2, 4, 2)]}


def summed(draw):
    equation = draw(st.sampled_from(list(EQUATIONS)))
    return EQUATIONS[equation], {'equation': equation}


def topmost(draw):
    (shape,), arguments = one_with(dim=dim)(draw)
    return [shape], arguments | {'k': draw(st.integers(1, shape[arguments['dim']])), 'largest': draw(st.booleans())}


def elementwise(names, **more):
    return {name: Op(one, **more) for name in names.split()}


# first and second operand in separate ranges, so that neither remainder nor extremum is at a jump
TABLE = {
    # what has one operand and is defined on REAL
    **{name: Op(one) for name in ELEMENTWISE if _core.ops[name].is_differentiable and len(_core.ops[name].parameters) == 1},
    **elementwise('reciprocal log log2 log10 log1p sqrt rsqrt', domain=POSITIVE),
    **elementwise('tan asin acos atanh erfinv', domain=UNIT), 'acosh': Op(one, domain=(1.3, 4)),
    # by way of x + 16, because PyTorch's trigamma, which their gradients use, is off by 5e-10 for small x
    'lgamma': Op(one, lambda torch, x: torch.lgamma(x + 16) - sum(torch.log(x + i) for i in range(16)), domain=POSITIVE),
    'digamma': Op(one, lambda torch, x: torch.digamma(x + 16) - sum(1 / (x + i) for i in range(16)), domain=POSITIVE),
    'hardsigmoid': Op(one, lambda torch, x: torch.clamp(x / 6 + 0.5, 0, 1)),  # the gradient of PyTorch's own is of float32
    'log_sigmoid': Op(one, lambda torch, x: torch.nn.functional.logsigmoid(x)),
    'gelu': Op(one_with(approximate=st.sampled_from(['none', 'tanh']))), 'elu': Op(one_with(alpha=st.floats(0.5, 2))),
    'leaky_relu': Op(one_with(slope=st.floats(0.01, 0.5)),
                     lambda torch, x, slope: torch.nn.functional.leaky_relu(x, slope)),
    'softplus': Op(one_with(beta=st.floats(0.5, 2), threshold=st.sampled_from([1., 20.]))),
    'clone': Op(one), 'contiguous': Op(one, lambda torch, x: x.contiguous()), 'alias': Op(one, lambda torch, x: x.view_as(x)),
    'cast': Op(one, lambda torch, x: x.to(torch.float64).square().to(x.dtype),
               lambda tenon, x: tenon.cast(tenon.square(tenon.cast(x, 'float64')), x.dtype)),
    # complex numbers turned into real ones at the end
    'complex': Op(same(2), lambda torch, x, y: torch.complex(x, y).square().abs(),
                  lambda tenon, x, y: tenon.abs(tenon.square(tenon.complex(x, y))), domain=POSITIVE, second=False),
    'real': Op(same(2), lambda torch, x, y: torch.exp(torch.complex(x, y)).real,
               lambda tenon, x, y: tenon.real(tenon.exp(tenon.complex(x, y)))),
    'imag': Op(same(2), lambda torch, x, y: torch.sin(torch.complex(x, y)).imag,
               lambda tenon, x, y: tenon.imag(tenon.sin(tenon.complex(x, y)))),
    'conj': Op(same(2), lambda torch, x, y: (torch.complex(x, y).conj() * torch.complex(y, x)).imag,
               lambda tenon, x, y: tenon.imag(tenon.conj(tenon.complex(x, y)) * tenon.complex(y, x))),
    'add': Op(broadcast(2)), 'sub': Op(broadcast(2)), 'mul': Op(broadcast(2)), 'atan2': Op(broadcast(2), domain=POSITIVE),
    'div': Op(broadcast(2), domain=(REAL, POSITIVE)), 'pow': Op(broadcast(2), domain=(POSITIVE, REAL)),
    'hypot': Op(broadcast(2), domain=POSITIVE), 'maximum': Op(broadcast(2)), 'minimum': Op(broadcast(2)),
    'remainder': Op(broadcast(2), domain=((2.2, 2.8), (1, 1.05))), 'copysign': Op(broadcast(2)), 'nextafter': Op(broadcast(2)),
    'logaddexp': Op(broadcast(2)),
    'lerp': Op(broadcast(3)), 'where': Op(chosen, lambda torch, x, y, condition: torch.where(condition, x, y),
                                          lambda tenon, x, y, condition: tenon.where(condition, x, y)),
    'addcmul': Op(broadcast(3)), 'addcdiv': Op(broadcast(3), domain=(REAL, REAL, POSITIVE)),
    'sigmoid_gate': Op(broadcast(2), lambda torch, x, gate: x * torch.sigmoid(gate)),
    'prelu': Op(broadcast(2), lambda torch, x, weight: torch.where(x > 0, x, weight * x)),
    'shrink': Op(one_with(lambd=st.floats(0.1, 1)), lambda torch, x, lambd: torch.nn.functional.softshrink(x, lambd),
                 lambda tenon, x, lambd: tenon.shrink(x, lambd, lambd)),
    'nan_to_num': Op(one),
    'where_between': Op(broadcast(3), lambda torch, x, y, z: torch.where((x >= -1) & (x <= 1), y, z) + 0 * x,
                        lambda tenon, x, y, z: tenon.where_between(x, y, z, -1.0, 1.0)),
    'clamp': Op(one_with(min=st.floats(-2, -0.5), max=st.none() | st.floats(0.5, 2))),
    'masked_fill': Op(lambda draw: masked(draw, True), lambda torch, x, value, mask: torch.where(mask, value, x),
                      lambda tenon, x, value, mask: tenon.masked_fill(x, mask, value)),
    'masked_select': Op(lambda draw: masked(draw, False)),
    'tril': Op(lambda draw: one_with(k=st.integers(-2, 2))(draw, 2), lambda torch, x, k: torch.tril(x, k)),
    'triu': Op(lambda draw: one_with(k=st.integers(-2, 2))(draw, 2), lambda torch, x, k: torch.triu(x, k)),
    'reshape': Op(rearranged), 'expand': Op(expanded, lambda torch, x, shape: x.expand(shape)),
    'permute': Op(one_with(dims=order)), 'transpose': Op(one_with(dim0=dim, dim1=dim)),
    'squeeze': Op(squeezed, lambda torch, x, dims: torch.squeeze(x, dims)), 'unsqueeze': Op(one_with(dim=dim)),
    'flatten': Op(lambda draw: one_with()(draw, 2), lambda torch, x: torch.flatten(x)),
    'slice': Op(sliced, torch_slice),
    'select': Op(one_with(dim=st.just(0), index=st.just(-1))), 'flip': Op(one_with(dims=some_dims)),
    'diagonal': Op(diagonals, lambda torch, x, offset, dim0, dim1: torch.diagonal(x, offset, dim0, dim1)),
    'as_strided': Op(strided, lambda torch, x, shape, strides, offset: torch.as_strided(x.clone(memory_format=torch.contiguous_format), shape, strides, offset),
                     lambda tenon, x, **arguments: tenon.as_strided(tenon.contiguous(x), **arguments)),
    'sum': reduced('sum'), 'nansum': reduced('nansum'), 'mean': reduced('mean'), 'max': reduced('amax'), 'min': reduced('amin'),
    'logsumexp': reduced('logsumexp'), 'prod': Op(one_with(dims=dims, keepdim=st.booleans()), product),
    'var': spread('var'), 'std': spread('std'),
    'norm': Op(one_with(dims=some_dims, p=st.sampled_from([1., 2., 3.]), keepdim=st.booleans()),
               lambda torch, x, dims, p, keepdim: torch.linalg.vector_norm(x, p, dims, keepdim), domain=POSITIVE),
    **{name: Op(one_with(dim=dim)) for name in 'cumsum cumprod cummax cummin softmax log_softmax'.split()},
    'sort': Op(one_with(dim=dim, descending=st.booleans())), 'topk': Op(topmost),
    'matmul': Op(matrices),
    'linear': Op(lambda draw: ([(draw(sizes), 3), (2, 3), (2,)], {})),
    'einsum': Op(summed, lambda torch, *xs, equation: torch.einsum(equation, *xs),
                 lambda tenon, *xs, equation: tenon.einsum(equation, list(xs))),
    'conv': Op(convolved(False), by_rank('conv{}d')), 'conv_transpose': Op(convolved(True), by_rank('conv_transpose{}d')),
    'max_pool': Op(pooled(False), lambda torch, x, kernel, **more: by_rank('max_pool{}d')(torch, x, kernel_size=kernel, **more)),
    'avg_pool': Op(pooled(True), lambda torch, x, kernel, **more: by_rank('avg_pool{}d')(torch, x, kernel_size=kernel, **more)),
    'adaptive_avg_pool': Op(adaptive, lambda torch, x, size: by_rank('adaptive_avg_pool{}d')(torch, x, output_size=size)),
    'adaptive_max_pool': Op(adaptive, lambda torch, x, size: by_rank('adaptive_max_pool{}d')(torch, x, output_size=size)),
    'interpolate': Op(resized, torch_interpolate),
    'grid_sample': Op(warped, domain=(REAL, (-1.7, 1.7)), second=False),  # PyTorch has no second gradient
    'pad': Op(padded, lambda torch, x, pads, mode, value: torch.nn.functional.pad(x, pads, mode, value)),
    'gather': Op(gathered), 'scatter': Op(scattered(True), lambda torch, x, src, dim, index: torch.scatter(x, dim, index, src),
                                          lambda tenon, x, src, dim, index: tenon.scatter(x, dim, index, src)),
    'scatter_add': Op(scattered(False), lambda torch, x, src, dim, index: torch.scatter_add(x, dim, index, src),
                      lambda tenon, x, src, dim, index: tenon.scatter_add(x, dim, index, src)),
    'scatter_reduce': Op(reduced_places, lambda torch, x, src, dim, index, reduce, include_self:
                         torch.scatter_reduce(x, dim, index, src, reduce, include_self=include_self),
                         lambda tenon, x, src, dim, index, **more: tenon.scatter_reduce(x, dim, index, src, **more)),
    'index_select': Op(picked), 'index_add': Op(index_added, lambda torch, x, src, dim, index: torch.index_add(x, dim, index, src),
                                                lambda tenon, x, src, dim, index: tenon.index_add(x, dim, index, src)),
    'index': Op(lambda draw: positions(draw, False), lambda torch, x, indices: x[key(indices)]),
    'index_put': Op(lambda draw: positions(draw, True),
                    torch_index_put,
                    lambda tenon, x, values, indices, accumulate: tenon.index_put(x, indices, values, accumulate)),
    'slice_scatter': Op(slice_scattered, mine=lambda tenon, x, src, **more: tenon.slice_scatter(x, src, **more)),
    'as_strided_scatter': Op(strided_apart,
                             lambda torch, x, src, shape, strides, offset: torch.scatter(  # the gradient of PyTorch's own is wrong
                                 x.flatten(), 0, torch.arange(x.numel()).as_strided(shape, strides, offset).flatten(),
                                 src.flatten()).reshape(x.shape)),
    'embedding': Op(lambda draw: ([(4, 3)], {'index': index(draw, 4, (draw(sizes), 2)), 'padding_idx': draw(st.none() | st.just(1))}),
                    lambda torch, weight, index, padding_idx: torch.nn.functional.embedding(index, weight, padding_idx)),
    'embedding_bag': Op(lambda draw: ([(4, 3)], {'index': index(draw, 4, (5,)), 'offsets': np.array([0, 2, 2]), 'mode': draw(st.sampled_from(['sum', 'mean'])),
                                                 'padding_idx': draw(st.none() | st.just(1))}),
                        lambda torch, weight, index, offsets, mode, padding_idx:
                        torch.nn.functional.embedding_bag(index, weight, offsets, mode=mode, padding_idx=padding_idx),
                        lambda tenon, weight, index, offsets, mode, padding_idx: tenon.embedding_bag(weight, index, offsets, mode, None, padding_idx),
                        second=False),  # PyTorch has no second gradient
    'take': Op(lambda draw: ([(2, 3)], {'index': index(draw, 6, (draw(sizes),))})),
    'roll': Op(one_with(shifts=st.tuples(st.integers(-5, 5)), dims=lambda draw, shape: (dim(draw, shape),))),
    'concat': Op(lambda draw: joined(draw, False), lambda torch, *xs, dim: torch.concat(xs, dim),
                 lambda tenon, *xs, dim: tenon.concat(list(xs), axis=dim)),
    'stack': Op(lambda draw: joined(draw, True), lambda torch, *xs, dim: torch.stack(xs, dim),
                lambda tenon, *xs, dim: tenon.stack(list(xs), dim)),
    'repeat': Op(lambda draw: ([(2, 3)], {'repeats': (draw(sizes), 1, draw(sizes))}), lambda torch, x, repeats: x.repeat(repeats)),
    'tile': Op(lambda draw: ([(2, 3)], {'repeats': (draw(sizes),)}), lambda torch, x, repeats: torch.tile(x, repeats)),
    'attention': Op(attended, torch_attention, lambda tenon, q, k, v, causal, scale: tenon.attention(q, k, v, None, causal, scale).y),
    'lstm': Op(recurrent, torch_lstm, lstm_states),
    'layer_norm': Op(normalised(2), lambda torch, x, w, b, shape: torch.nn.functional.layer_norm(x, shape, w, b),
                     lambda tenon, x, w, b, shape: tenon.layer_norm(x, shape, w, b).y),
    'rms_norm': Op(normalised(1), lambda torch, x, w, shape: torch.nn.functional.rms_norm(x, shape, w, 1e-5),
                   lambda tenon, x, w, shape: tenon.rms_norm(x, shape, w).y),
    'group_norm': Op(grouped, lambda torch, x, w, b, groups: torch.nn.functional.group_norm(x, groups, w, b),
                     lambda tenon, x, w, b, groups: tenon.group_norm(x, groups, w, b).y),
    'batch_norm': Op(batch, lambda torch, x, w, b: torch.nn.functional.batch_norm(x, None, None, w, b, True),
                     lambda tenon, x, w, b: tenon.batch_norm(x, w, b, None, None, True).y),
    'nll_loss': Op(lambda draw: classes(draw, False)),
    'cross_entropy': Op(lambda draw: classes(draw, True), lambda torch, x, target, reduction, smoothing:
                        torch.nn.functional.cross_entropy(x, target, reduction=reduction, label_smoothing=smoothing)),
    'mse_loss': loss('mse_loss'), 'l1_loss': loss('l1_loss'), 'smooth_l1_loss': loss('smooth_l1_loss'), 'huber_loss': loss('huber_loss'),
    'bce_loss': loss('binary_cross_entropy', domain=FRACTION),
    'bce_with_logits_loss': loss('binary_cross_entropy_with_logits', domain=(REAL, FRACTION)),
    'kl_div_loss': loss('kl_div', domain=(REAL, FRACTION)),
}
# Differentiable ops of ops/ that are missing here, and why. NAME_backward… is covered by the second gradient of NAME.
ELSEWHERE = {
    'floor_divide': 'PyTorch has no gradient of it', 'bernoulli': 'random', 'dropout': 'random', 'to': 'one device',
    'scaled_matmul': 'of its bias alone, in core/test_float8.py', 'ctc_loss': 'in torch/test_ctc.py',
    'dequantize_int4 linear_int4 dequantize_int8 linear_int8': 'PyTorch has no such layout; against differences in the conformance suite',
    'softmax_cross_entropy': 'in cross_entropy', 'attention_packed add_layer_norm': 'in nn/test_fused.py',
}
