"""What benchmarks/ops.py measures: for each op, how to make a call of it in the words that both libraries share."""
import numpy as np


def size_of(value):
    """Bytes of the tensors in a list, a result or one tensor."""
    if isinstance(value, (tuple, list)):
        return sum(size_of(part) for part in value)
    return int(np.prod(value.shape)) * value.itemsize if hasattr(value, 'itemsize') else 0


class Operands:
    """Matrices of one size with the same numbers in both libraries. `transposed`: they lie column by column."""

    def __init__(self, side, size, transposed, dtype):
        self.side, self.t, self.f = side, side.library, side.library.nn.functional
        self.size, self.transposed, self.dtype = size, transposed, getattr(self.t, dtype)
        self.rows, self.columns = ((64, 64), (512, 512), (4096, 1024))[size]
        self.square = (64, 256, 1024)[size]
        self.channels, self.plane = ((16, 8), (32, 28), (64, 56))[size]
        self.rng, self.made = np.random.default_rng(1), []

    def keep(self, tensor):
        self.made.append(tensor)
        return tensor

    def laid(self, values):
        """A matrix in the wanted layout; what has more dimensions has its last two swapped in memory."""
        values = np.ascontiguousarray(values.swapaxes(-1, -2)) if self.transposed else values
        tensor = self.side.array(values)
        return tensor.transpose(-1, -2) if self.transposed else tensor

    def numbers(self, *shape, low=-3.0, high=3.0):
        """Uniform, f32 or what was asked for."""
        values = self.rng.uniform(low, high, shape or (self.rows, self.columns)).astype(np.float32)
        return self.keep(self.laid(values).to(self.dtype) if len(shape) != 1 else self.side.array(values).to(self.dtype))

    def whole(self, high, *shape):
        return self.keep(self.laid(self.rng.integers(0, high, shape or (self.rows, self.columns))))

    def gaps(self):
        """Numbers, a tenth of them NaN."""
        values = self.rng.uniform(-3, 3, (self.rows, self.columns)).astype(np.float32)
        values[self.rng.random(values.shape) < 0.1] = np.nan
        return self.keep(self.laid(values).to(self.dtype))

    def truths(self):
        return self.keep(self.laid(self.rng.random((self.rows, self.columns)) < 0.5))

    def index(self, count, high):
        return self.keep(self.side.array(self.rng.integers(0, high, count)))


def unary(name, low=-3.0, high=3.0):
    def make(o):
        op, x = getattr(o.t, name), o.numbers(low=low, high=high)
        return lambda: op(x)
    return name, make, None


def binary(name, low=-3.0, high=3.0):
    def make(o):
        op, x, y = getattr(o.t, name), o.numbers(low=low, high=high), o.numbers(low=low, high=high)
        return lambda: op(x, y)
    return name, make, None


def activation(name):
    def make(o):
        op, x = getattr(o.f, name), o.numbers()
        return lambda: op(x)
    return name, make, None


def of(name, call, *more, first=Operands.numbers):
    """call(o, x, …): a matrix of numbers and more operands, each made by a function of o."""
    def make(o):
        operands = [operand(o) for operand in (first, *more)]
        return lambda: call(o, *operands)
    return name, make, None


def reduction(name, call):
    """Along rows and along columns. call(library, x, dim)"""
    return [of(f'{name} of {title}', lambda o, x, dim=dim: call(o.t, x, dim)) for title, dim in (('rows', 1), ('columns', 0))]


def loss(name, reduction='mean'):
    def make(o):
        op, x, y = getattr(o.f, name), o.numbers(low=0.1, high=0.9), o.numbers(low=0.1, high=0.9)
        return lambda: op(x, y, reduction=reduction)
    return name if reduction == 'mean' else f'{name}, {reduction}', make, None


def loss_gradient(name, reduction='mean'):
    def make(o):
        op, x, y = getattr(o.f, name), o.numbers(low=0.1, high=0.9).detach().requires_grad_(), o.numbers(low=0.1, high=0.9)
        weight = o.numbers().detach()

        def step():
            x.grad = None
            found = op(x, y, reduction=reduction)
            found.backward(weight if found.ndim else None)
        return step
    return (name if reduction == 'mean' else f'{name}, {reduction}') + ' and its gradient', make, None


def with_gradient(name, call):
    """Forward and backward; call(o, x) gives a tensor."""
    def make(o):
        x = o.numbers().detach().requires_grad_()
        weight = o.numbers(*call(o, x).shape).detach()

        def step():
            x.grad = None
            call(o, x).backward(weight)
        return step
    return f'{name} and its gradient', make, None


def cross_entropy(o):
    x, target = o.numbers().detach().requires_grad_(), o.index(o.rows, o.columns)

    def step():
        x.grad = None
        o.f.cross_entropy(x, target).backward()
    return step


def layer_norm(o, x):
    return o.f.layer_norm(x, (o.columns,))


def embedding_gradient(o):
    weight, index = o.numbers().detach().requires_grad_(), o.index(o.rows, o.rows)

    def step():
        weight.grad = None
        o.f.embedding(index, weight).sum().backward()
    return step


def rows_of(o):
    """An index of as many rows as there are."""
    return o.index(o.rows, o.rows)


def columns_of(o):
    """An index for each element."""
    return o.whole(o.columns)


def row_of(o):
    return o.numbers(min(o.columns, 512))


def few(o):
    """Whole numbers, each many times."""
    return o.whole(50)


def products(name, call, shape_a, shape_b, flops):
    def make(o):
        n = o.square
        a, b = o.numbers(*shape_a(n)), o.numbers(*shape_b(n))
        return lambda: call(o, a, b)
    return name, make, lambda o: flops(o.square)


def convolution(name, kernel, stride=1, groups=lambda c: 1, transposed=False):
    def make(o):
        c = o.channels
        x, weight = o.numbers(8, c, o.plane, o.plane), o.numbers(c, c // groups(c), kernel, kernel)
        op = o.f.conv_transpose2d if transposed else o.f.conv2d
        return lambda: op(x, weight, None, stride, kernel // 2, groups=groups(c))

    def flops(o):
        per_place = 2 * 8 * o.channels ** 2 // groups(o.channels) * kernel ** 2
        return per_place * o.plane ** 2 // (1 if transposed else stride ** 2)
    return name, make, flops


def planes(name, call):
    """call(o, x) of images."""
    return of(name, call, first=lambda o: o.numbers(8, o.channels, o.plane, o.plane))


def step_of(name, **keywords):
    def make(o):
        parameters = [o.numbers(o.rows, o.columns).detach().requires_grad_() for _ in range(4)]
        for p in parameters:
            p.grad = o.numbers(o.rows, o.columns)
        return getattr(o.t.optim, name)(parameters, lr=1e-6, **keywords).step
    return f'{name}, 4 matrices', make, None


def attention(o):
    length = (64, 256, 1024)[o.size]
    q, k, v = (o.numbers(2, 8, length, 64) for _ in range(3))
    return lambda: o.f.scaled_dot_product_attention(q, k, v, is_causal=True)


ROWS = [
    *(binary(name) for name in ('add', 'subtract', 'multiply', 'maximum', 'remainder', 'atan2', 'hypot', 'logaddexp', 'copysign', 'less',
                                'fmod', 'logaddexp2', 'fmax', 'nextafter', 'eq', 'le', 'logical_and', 'isclose')),
    binary('divide', 1.0), binary('pow', 0.1), binary('xlogy', 0.1),
    of('x ** 2', lambda o, x: x ** 2), of('x ** 0.5', lambda o, x: x ** 0.5, first=lambda o: o.numbers(low=0.1)),
    of('fmod by a number', lambda o, x: o.t.fmod(x, 0.7)),
    of('lerp', lambda o, x, y: o.t.lerp(x, y, 0.3), Operands.numbers),
    of('addcmul', lambda o, x, y: o.t.addcmul(x, x, y), Operands.numbers),
    *(of(f'{name} of {what}', lambda o, x, y, name=name: getattr(o.t, name)(x, y), first, first=first)
      for name in ('bitwise_and', 'bitwise_or', 'bitwise_xor') for what, first in (('bools', Operands.truths), ('integers', few))),
    of('bitwise_not of integers', lambda o, x: o.t.bitwise_not(x), first=few),
    *(unary(name) for name in ('neg', 'abs', 'sign', 'square', 'floor', 'round', 'trunc', 'reciprocal', 'isnan', 'isfinite', 'exp', 'exp2',
                               'expm1', 'sin', 'cos', 'tan', 'sinh', 'tanh', 'atan', 'asinh', 'sigmoid', 'erf',
                               'frac', 'sinc', 'isinf', 'logical_not')),
    *(unary(name, 0.1) for name in ('sqrt', 'rsqrt', 'log', 'log2', 'log1p', 'lgamma', 'digamma')),
    *(unary(name, -0.9, 0.9) for name in ('asin', 'acos', 'atanh', 'erfinv')),
    unary('logit', 0.1, 0.9), of('nan_to_num', lambda o, x: o.t.nan_to_num(x), first=Operands.gaps),
    of('clamp', lambda o, x: o.t.clamp(x, -1, 1)),
    of('x + 1', lambda o, x: x + 1),
    of('x + row', lambda o, x: x + x[:1]),
    of('where', lambda o, x, mask: o.t.where(mask, x, 0.0), Operands.truths),
    of('masked_fill', lambda o, x, mask: x.masked_fill(mask, 0.0), Operands.truths),
    of('masked_select', lambda o, x, mask: o.t.masked_select(x, mask), Operands.truths),
    *(activation(name) for name in ('relu', 'gelu', 'silu', 'elu', 'leaky_relu', 'softplus', 'hardswish', 'mish', 'logsigmoid',
                                    'hardshrink', 'softshrink', 'hardtanh', 'softsign', 'glu')),
    of('gelu, by tanh', lambda o, x: o.f.gelu(x, approximate='tanh')),
    with_gradient('gelu', lambda o, x: o.f.gelu(x)),
    with_gradient('tanh', lambda o, x: o.t.tanh(x)),
    of('sum', lambda o, x: x.sum()),
    of('max', lambda o, x: x.max()),
    *(of(name, lambda o, x, name=name: getattr(o.t, name)(x), first=Operands.gaps) for name in ('nansum', 'nanmean')),
    *(of(f'{name} of {what}', lambda o, x, name=name: getattr(o.t, name)(x), first=first)
      for name in ('sum', 'count_nonzero', 'any', 'all') for what, first in (('bools', Operands.truths), ('integers', few))),
    of('count_nonzero', lambda o, x: o.t.count_nonzero(x)),
    *reduction('nansum', lambda t, x, dim: t.nansum(x, dim)),
    *reduction('count_nonzero', lambda t, x, dim: t.count_nonzero(x, dim)),
    *reduction('any', lambda t, x, dim: t.any(x, dim)),
    *reduction('all', lambda t, x, dim: t.all(x, dim)),
    *reduction('std', lambda t, x, dim: x.std(dim)),
    *reduction('sum', lambda t, x, dim: x.sum(dim)),
    *reduction('mean', lambda t, x, dim: x.mean(dim)),
    *reduction('var', lambda t, x, dim: x.var(dim)),
    *reduction('amax', lambda t, x, dim: t.amax(x, dim) if hasattr(t, 'amax') else x.max(dim)),
    *reduction('argmax', lambda t, x, dim: x.argmax(dim)),
    *reduction('prod', lambda t, x, dim: x.prod(dim)),
    *reduction('norm', lambda t, x, dim: x.norm(dim=dim)),
    *reduction('logsumexp', lambda t, x, dim: t.logsumexp(x, dim)),
    *reduction('softmax', lambda t, x, dim: t.softmax(x, dim)),
    *reduction('log_softmax', lambda t, x, dim: t.log_softmax(x, dim)),
    *reduction('cumsum', lambda t, x, dim: x.cumsum(dim)),
    *reduction('cumprod', lambda t, x, dim: x.cumprod(dim)),
    *reduction('cummax', lambda t, x, dim: t.cummax(x, dim)),
    *reduction('sort', lambda t, x, dim: x.sort(dim)),
    *reduction('topk 8', lambda t, x, dim: t.topk(x, 8, dim)),
    of('mode of rows', lambda o, x: o.t.mode(x, 1), first=few),
    of('kthvalue of rows', lambda o, x: o.t.kthvalue(x, 3, 1)),
    of('argsort', lambda o, x: x.argsort(1)),
    of('searchsorted', lambda o, x: o.t.searchsorted(x[0].contiguous().sort()[0], x)),
    with_gradient('cumprod of rows', lambda o, x: o.t.cumprod(x, 1)),
    with_gradient('prod of rows', lambda o, x: o.t.prod(x, 1)),
    with_gradient('x ** 0.5', lambda o, x: o.t.abs(x) ** 0.5),
    with_gradient('logit', lambda o, x: o.t.logit(o.t.sigmoid(x))),
    with_gradient('softmax', lambda o, x: o.t.softmax(x, 1)),
    with_gradient('layer_norm', layer_norm),
    of('layer_norm', layer_norm),
    of('rms_norm', lambda o, x: o.f.rms_norm(x, (o.columns,))),
    planes('group_norm', lambda o, x: o.f.group_norm(x, 4)),
    planes('batch_norm', lambda o, x: o.f.batch_norm(x, None, None, training=True)),
    ('cross_entropy and its gradient', cross_entropy, None),
    loss('binary_cross_entropy_with_logits'), loss('binary_cross_entropy'), loss('kl_div'), loss('kl_div', 'none'),
    *(make(name, reduction) for name in ('mse_loss', 'l1_loss', 'smooth_l1_loss', 'huber_loss') for reduction in ('mean', 'none')
      for make in (loss, loss_gradient)),
    of('embedding', lambda o, weight, index: o.f.embedding(index, weight), rows_of),
    ('embedding and its gradient', embedding_gradient, None),
    of('index_select', lambda o, x, index: o.t.index_select(x, 0, index), rows_of),
    of('x[index]', lambda o, x, index: x[index], rows_of),
    of('index_add', lambda o, x, index: x.index_add(0, index, x), rows_of),
    of('gather', lambda o, x, index: o.t.gather(x, 1, index), columns_of),
    of('scatter', lambda o, x, index: o.t.scatter(x, 1, index, x), columns_of),
    of('scatter_add', lambda o, x, index: o.t.scatter_add(x, 1, index, x), columns_of),
    of('clone', lambda o, x: x.clone()),
    of('transposed copy', lambda o, x: x.T.contiguous()),
    of('x[:, ::2] copy', lambda o, x: x[:, ::2].contiguous()),
    of('to f64', lambda o, x: x.to(o.t.float64)),
    of('to bf16', lambda o, x: x.to(o.t.bfloat16)),
    of('to i32', lambda o, x: x.to(o.t.int32)),
    of('stack', lambda o, x: o.t.stack([x, x, x])),
    of('concat', lambda o, x: o.t.concat([x, x], dim=1)),
    of('stack, last', lambda o, x: o.t.stack([x, x], -1)),
    of('hstack', lambda o, x: o.t.hstack([x, x])),
    *(of(f'flip copy of {title}', lambda o, x, dims=dims: o.t.flip(x, dims).contiguous())
      for title, dims in (('rows', (1,)), ('columns', (0,)), ('both', (0, 1)))),
    of('rot90 copy', lambda o, x: o.t.rot90(x, 1, (0, 1)).contiguous()),
    of('roll', lambda o, x: x.roll(5, 1)),
    of('roll of columns', lambda o, x: x.roll(5, 0)),
    of('tile', lambda o, x: o.t.tile(x, (2, 2))),
    *(of(f'repeat_interleave of {title}', lambda o, x, dim=dim: o.t.repeat_interleave(x, 2, dim=dim))
      for title, dim in (('rows', 1), ('columns', 0))),
    of('pad', lambda o, x: o.f.pad(x, (1, 2, 2, 1))),
    of('tril', lambda o, x: o.t.tril(x)), of('triu', lambda o, x: o.t.triu(x, 1)),
    of('diag_embed', lambda o, row: o.t.diag_embed(row), first=row_of),
    of('one_hot', lambda o, index: o.f.one_hot(index, 64), first=lambda o: o.index(o.rows, 64)),
    of('meshgrid', lambda o, row: o.t.meshgrid(row, row, indexing='ij'), first=row_of),
    of('split into 16', lambda o, x: o.t.split(x, o.columns // 16, 1)),
    of('unfold', lambda o, x: x.unfold(1, 4, 2)),
    of('unfold, summed', lambda o, x: x.unfold(1, 4, 2).sum(-1)),
    *reduction('trapezoid', lambda t, x, dim: t.trapezoid(x, dim=dim)),
    *reduction('diff', lambda t, x, dim: t.diff(x, dim=dim)),
    of('take', lambda o, x, index: o.t.take(x, index), lambda o: o.index(o.rows * o.columns, o.rows * o.columns)),
    of('take_along_dim', lambda o, x, index: o.t.take_along_dim(x, index, 1), columns_of),
    of('index_select of columns', lambda o, x, index: o.t.index_select(x, 1, index), lambda o: o.index(o.columns, o.columns)),
    of('outer', lambda o, row: o.t.outer(row, row), first=row_of),
    of('addr', lambda o, x, row: o.t.addr(x, x[:, 0], row), lambda o: o.numbers(o.columns)),
    of('kron', lambda o, x, small: o.t.kron(x, small), lambda o: o.numbers(2, 2)),
    of('cross', lambda o, x: o.t.cross(x, x + 1, dim=-1), first=lambda o: o.numbers(o.rows * o.columns // 3, 3)),
    of('cdist', lambda o, x, y: o.t.cdist(x, y), lambda o: o.numbers(o.columns, 8), first=lambda o: o.numbers(o.rows, 8)),
    of('cdist, p 1', lambda o, x, y: o.t.cdist(x, y, 1.0), lambda o: o.numbers(o.columns, 8), first=lambda o: o.numbers(o.rows, 8)),
    of('bucketize', lambda o, x, row: o.t.bucketize(x, row), lambda o: o.keep(o.numbers(33).sort()[0])),
    of('searchsorted in rows', lambda o, x, rows: o.t.searchsorted(rows, x), lambda o: o.keep(o.numbers().sort(1)[0])),
    *(with_gradient(name, call) for name, call in (
        ('split into 16', lambda o, x: o.t.cat(o.t.split(x, o.columns // 16, 1), 1)),
        ('unfold, summed', lambda o, x: x.unfold(1, 4, 2).sum(-1)), ('trapezoid of rows', lambda o, x: o.t.trapezoid(x, dim=1)),
        ('diff of rows', lambda o, x: o.t.diff(x, dim=1)), ('repeat_interleave of rows', lambda o, x: o.t.repeat_interleave(x, 2, dim=1)),
        ('kron', lambda o, x: o.t.kron(x, x[:2, :2])), ('roll', lambda o, x: x.roll(5, 1)), ('tile', lambda o, x: o.t.tile(x, (2, 2))),
        ('stack, last', lambda o, x: o.t.stack([x, x], -1)), ('tril', lambda o, x: o.t.tril(x)))),
    of('nonzero', lambda o, x: (x > 2).nonzero()),
    of('unique', lambda o, x: o.t.unique(x), first=lambda o: o.whole(1000)),
    of('rand', lambda o, x: o.t.rand(o.rows, o.columns)),
    of('randn', lambda o, x: o.t.randn(o.rows, o.columns)),
    of('dropout', lambda o, x: o.f.dropout(x, 0.5)),
    products('a @ b', lambda o, a, b: a @ b, lambda n: (n, n), lambda n: (n, n), lambda n: 2 * n ** 3),
    products('a @ b, 16 of them', lambda o, a, b: a @ b, lambda n: (16, n // 2, n // 2), lambda n: (16, n // 2, n // 2),
             lambda n: 4 * n ** 3),
    products('a @ vector', lambda o, a, b: a @ b, lambda n: (2 * n, 2 * n), lambda n: (2 * n,), lambda n: 8 * n ** 2),
    products('linear of one row', lambda o, a, b: o.f.linear(a, b), lambda n: (1, 2 * n), lambda n: (2 * n, 2 * n), lambda n: 8 * n ** 2),
    products('linear of 16 rows', lambda o, a, b: o.f.linear(a, b), lambda n: (16, n), lambda n: (4 * n, n), lambda n: 128 * n ** 2),
    convolution('conv2d 3×3', 3), convolution('conv2d 1×1', 1), convolution('conv2d 7×7, stride 2', 7, 2),
    convolution('conv2d 3×3, depthwise', 3, groups=lambda c: c), convolution('conv_transpose2d 3×3, stride 2', 3, 2, transposed=True),
    planes('max_pool2d', lambda o, x: o.f.max_pool2d(x, 2)),
    planes('avg_pool2d', lambda o, x: o.f.avg_pool2d(x, 2)),
    planes('interpolate, bilinear', lambda o, x: o.f.interpolate(x, (2 * o.plane, 2 * o.plane), mode='bilinear')),
    planes('pad, reflect', lambda o, x: o.f.pad(x, (1, 1, 1, 1), mode='reflect')),
    ('attention, causal', attention, None),
    step_of('SGD', momentum=0.9), step_of('Adam'), step_of('AdamW'), step_of('RMSprop'), step_of('Adagrad'),
]
