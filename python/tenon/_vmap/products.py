"""Matrix products, and ops that handle batches of matrices by themselves."""
from .._core import ops
from .call import one_by_one, rule, unsqueezed
from .elementwise import aligned

_LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'


def _matrix(call, name, behind):
    """An operand whose entries are at least matrices: a vector becomes a row or, with a dimension appended, a column."""
    x = call[name]
    return unsqueezed(x, x.ndim - 1 + behind) if call.rank(name) == 1 else x


@rule('matmul')
def matmul(call):
    ranks = call.rank('x'), call.rank('y')
    if 0 in ranks:
        raise ValueError('[matmul] a tensor of rank 0: use mul')
    if ranks[1] == 2 and not call.is_batch('y'):
        return call.run()  # the rows of a batch by one matrix
    x, y = _matrix(call, 'x', 0), _matrix(call, 'y', 1)
    rank = max(x.ndim - call.is_batch('x'), y.ndim - call.is_batch('y'))
    if call.is_batch('x'):
        x = unsqueezed(x, 1, rank + 1 - x.ndim)
    if call.is_batch('y'):
        y = unsqueezed(y, 1, rank + 1 - y.ndim)
    found = call.run(x=x, y=y)
    if ranks[1] == 1:
        found = ops['squeeze'](found, (-1,))
    return ops['squeeze'](found, (-1 if ranks[1] == 1 else -2,)) if ranks[0] == 1 else found


def _by_own_matrix(call, weight):
    """x·weightᵀ, the rows of each entry by its own matrix."""
    x = call['x']
    rows = x if call.rank('x') > 1 else unsqueezed(x, x.ndim - 1)
    lead = rows.ndim - call.is_batch('x') - 2
    y = ops['matmul'](rows, unsqueezed(ops['transpose'](weight, -1, -2), 1, lead))
    return ops['squeeze'](y, (-2,)) if call.rank('x') == 1 else y


def _with_bias(call, y):
    bias = call['bias']
    if bias is None:
        return y
    return y + (unsqueezed(bias, 1, call.rank('x') - 1) if call.is_batch('bias') else bias)


@rule('linear')
def linear(call):
    if not call.is_batch('weight') and not call.is_batch('bias'):
        return call.run()
    if call.is_batch('weight'):
        y = _by_own_matrix(call, call['weight'])
    else:
        y = call.run(bias=None, activation='none')
    y = _with_bias(call, y)
    return y if call['activation'] == 'none' else ops[call['activation']](y)


@rule('quantize_int4', 'quantize_int8')
def quantize(call):
    return call.run()


def _packed(call):
    return {name: call.whole(name) for name in ('packed', 'scale', 'offset') if call.has(name)}


@rule('dequantize_int4', 'dequantize_int8')
def dequantize(call):
    return call.run(**_packed(call))


@rule('linear_int4', 'linear_int8')
def linear_packed(call):
    if any(call.is_batch(name) for name in ('packed', 'scale', 'offset') if call.has(name)):
        return _with_bias(call, _by_own_matrix(call, ops[f'de{call.name}'.replace('linear', 'quantize')](**_packed(call))))
    return _with_bias(call, call.run(bias=None)) if call.is_batch('bias') else call.run()


@rule('linear_w8a8', 'linear_integer')
def linear_of_bytes(call):
    """There is no product for weights that differ between entries."""
    if any(call.is_batch(name) for name in ('packed', 'scale', 'x_range', 'weight') if call.has(name)):
        return one_by_one(call)
    return _with_bias(call, call.run(bias=None)) if call.has('bias') and call.is_batch('bias') else call.run()


@rule('einsum')
def einsum(call):
    equation, marks = call['equation'].replace(' ', ''), call.marks[call.place('xs')]
    inputs, _, output = equation.partition('->')
    if '->' not in equation:
        letters = inputs.replace(',', '').replace('.', '')
        output = ('...' if '.' in inputs else '') + ''.join(sorted(c for c in set(letters) if letters.count(c) == 1))
    free = next((c for c in _LETTERS if c not in equation), None)
    if free is None:
        raise ValueError('[vmap] einsum: no letter is left for the batch')
    terms = [free + term if mark else term for term, mark in zip(inputs.split(','), marks)]
    return call.run(equation=f'{",".join(terms)}->{free}{output}')


@rule('linalg.cholesky', 'linalg.cholesky_ex', 'linalg.lu_factor', 'linalg.row_order', 'linalg.inv', 'linalg.inv_ex', 'linalg.det',
      'linalg.slogdet', 'linalg.cofactor', 'linalg.eigh', 'linalg.eigvalsh', 'linalg.eig', 'linalg.eigvals', 'linalg.qr', 'linalg.svd', 'linalg.svdvals', 'linalg.pinv')
def of_matrices(call):
    if call.has('rtol') and call.is_batch('rtol') and not call.is_batch('x'):
        return call.run(x=call.whole('x'))
    return call.run()


@rule('linalg.solve', 'linalg.solve_ex', 'linalg.solve_triangular')
def solve(call):
    rank = max(call.rank('a'), call.rank('b'))
    a, b = aligned(call, rank)[:2]
    return call.run(a=a, b=b)


@rule('fft.c2c', 'fft.r2c', 'fft.c2r')
def fourier(call):
    rank = call.rank('x')
    return call.run(dims=tuple(call.dim(d, rank) + 1 for d in call['dims']))


@rule('one_hot')
def one_hot(call):
    return call.run()


def _folded_mask(call, batch):
    """The mask of attention with entries and examples as one dimension."""
    mask = call['mask']
    if mask is not None:
        mask = call.whole('mask')
        mask = unsqueezed(mask, 1, 5 - mask.ndim)
        mask = ops['reshape'](ops['expand'](mask, (call.size, batch, *mask.shape[2:])), (call.size * batch, *mask.shape[2:]))
    return mask


@rule('attention', 'attention_backward', 'attention_packed', 'attention_packed_backward')
def attention(call):
    """Treats entries and examples as one dimension."""
    names = [name for name in ('g', 'q', 'k', 'v', 'qkv', 'y', 'lse', 'glse') if call.has(name)]
    flat = {name: ops['reshape'](call.whole(name), (-1, *call.shape(name)[1:])) for name in names}
    batch = call.shape('qkv' if call.has('qkv') else 'q')[0]
    found = call.run(**flat, mask=_folded_mask(call, batch))
    apart = [ops['reshape'](y, (call.size, batch, *y.shape[1:])) for y in (found if isinstance(found, tuple) else (found,))]
    return apart[0] if len(apart) == 1 else tuple(apart)


@rule('linear_backward_weight')
def linear_backward_weight(call):
    """One product for each entry."""
    g, x = (ops['reshape'](call.whole(name), (call.size, -1, call.shape(name)[-1])) for name in ('g', 'x'))
    return ops['matmul'](ops['transpose'](g, 1, 2), x), ops['sum'](g, 1)
