"""Values against NumPy in double precision, over generated shapes, batches, dtypes and layouts."""
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tenon
from tenon import linalg

settings.register_profile('tenon', derandomize=True, database=None, deadline=None, max_examples=25)
settings.load_profile('tenon')

DTYPES = ['float32', 'float64', 'complex64', 'complex128']
WIDE = {'float32': 'float64', 'float64': 'float64', 'complex64': 'complex128', 'complex128': 'complex128'}
REAL = {'float32': tenon.float32, 'float64': tenon.float64, 'complex64': tenon.float32, 'complex128': tenon.float64}
LAYOUTS = {
    'contiguous': lambda x: x,
    'transposed': lambda x: np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2),
    'batch last': lambda x: np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 0, -1)), -1, 0),
    'strided': lambda x: np.repeat(np.repeat(x, 2, -1), 3, -2)[..., ::3, ::2],
    'reversed': lambda x: np.ascontiguousarray(x[..., ::-1, ::-1])[..., ::-1, ::-1],
}

dtypes, layouts = st.sampled_from(DTYPES), st.sampled_from(sorted(LAYOUTS))
batches = st.lists(st.integers(0, 3), max_size=2).map(tuple)
sizes, seeds = st.integers(0, 7), st.integers(0, 2 ** 32 - 1)


def normal(seed, shape, dtype):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if dtype.startswith('c') else x).astype(dtype)


def adjoint(x):
    return np.asarray(x).conj().swapaxes(-1, -2)


def good(seed, shape, dtype):
    """Square matrices far from singular: their eigenvalues are around 2·sqrt(n)."""
    n = shape[-1]
    return normal(seed, shape, dtype) + (2 * np.sqrt(n) * np.eye(n)).astype(dtype)


def tensor(x, layout):
    """The array as a tensor with that layout and the same values."""
    laid = LAYOUTS[layout](x)
    made = tenon.asarray(laid)
    assert made.shape == x.shape
    return made


def close(got, wanted, dtype, factor=200.0, dtype_of=None):
    """Within a few hundred roundings of the largest element."""
    assert got.dtype == (tenon.promote_types(dtype, dtype) if dtype_of is None else dtype_of)
    wanted = np.asarray(wanted)
    assert tuple(got.shape) == wanted.shape
    if wanted.size:
        eps = 2.0 ** -23 if dtype in ('float32', 'complex64') else 2.0 ** -52
        assert np.max(np.abs(np.asarray(got) - wanted)) <= factor * eps * max(1.0, np.max(np.abs(wanted)))


square = dict(seed=seeds, batch=batches, n=sizes, dtype=dtypes, layout=layouts)
rectangle = dict(seed=seeds, batch=batches, m=sizes, n=sizes, dtype=dtypes, layout=layouts)


@given(**square)
def test_inv(seed, batch, n, dtype, layout):
    x = good(seed, (*batch, n, n), dtype)
    close(linalg.inv(tensor(x, layout)), np.linalg.inv(x.astype(WIDE[dtype])), dtype)


@given(**square)
def test_determinants(seed, batch, n, dtype, layout):
    x = normal(seed, (*batch, n, n), dtype)
    wide = x.astype(WIDE[dtype])
    close(linalg.det(tensor(x, layout)), np.linalg.det(wide), dtype)
    sign, logarithm = linalg.slogdet(tensor(x, layout))
    wanted = np.linalg.slogdet(wide)
    close(sign, wanted[0], dtype, 2000)
    close(logarithm, wanted[1], dtype, 2000, REAL[dtype])


@given(seed=seeds, batch=batches, other=batches, n=sizes, k=sizes, dtype=dtypes, layout=layouts)
def test_solve(seed, batch, other, n, k, dtype, layout):
    try:
        np.broadcast_shapes(batch, other)
    except ValueError:
        other = batch
    a, b = good(seed, (*batch, n, n), dtype), normal(seed + 1, (*other, n, k), dtype)
    wanted = np.linalg.solve(a.astype(WIDE[dtype]), b.astype(WIDE[dtype]))
    if len(other) + 2 >= 2:
        close(linalg.solve(tensor(a, layout), tensor(b, layout)), wanted, dtype)
    upper = np.triu(a)
    got = linalg.solve_triangular(tensor(upper, layout), tensor(b, layout))
    close(got, np.linalg.solve(upper.astype(WIDE[dtype]), b.astype(WIDE[dtype])), dtype)
    got = linalg.solve_triangular(tensor(a, layout), tensor(b, layout), upper=False)  # reads the lower triangle only
    close(got, np.linalg.solve(np.tril(a).astype(WIDE[dtype]), b.astype(WIDE[dtype])), dtype)


@given(**square)
def test_solve_of_a_vector(seed, batch, n, dtype, layout):
    a, b = good(seed, (*batch, n, n), dtype), normal(seed + 1, (n,), dtype)
    wanted = np.linalg.solve(a.astype(WIDE[dtype]), np.broadcast_to(b.astype(WIDE[dtype])[:, None], (*batch, n, 1)))[..., 0]
    close(linalg.solve(tensor(a, layout), tenon.asarray(b)), wanted, dtype)


@given(**square)
def test_cholesky(seed, batch, n, dtype, layout):
    x = normal(seed, (*batch, n, n), dtype)
    x = x @ adjoint(x) + np.eye(n, dtype=dtype)
    wanted = np.linalg.cholesky(x.astype(WIDE[dtype]))
    close(linalg.cholesky(tensor(x, layout)), wanted, dtype, 2000)
    close(linalg.cholesky(tensor(x, layout), upper=True), adjoint(wanted), dtype, 2000)


@given(**rectangle)
def test_lu_factor(seed, batch, m, n, dtype, layout):
    x = normal(seed, (*batch, m, n), dtype)
    packed, pivots, info = tenon.op('linalg.lu_factor')(tensor(x, layout))
    k, found = min(m, n), np.asarray(packed).astype(WIDE[dtype])
    product = (np.tril(found[..., :k], -1) + np.eye(m, k)) @ np.triu(found[..., :k, :])
    order = np.asarray(tenon.op('linalg.row_order')(pivots, m))
    close(packed * 0 + tenon.asarray(product.astype(dtype)), np.take_along_axis(x, order[..., None], -2), dtype)
    assert (np.sort(order, -1) == np.arange(m)).all() and not np.asarray(info).any()
    assert (np.abs(np.tril(found[..., :k], -1)) <= 1.5).all()  # of a complex number LAPACK's measure is |real| + |imag|


def test_the_first_pivot_or_minor_that_fails_is_told():
    x = tenon.asarray([[[1.0, 0, 0], [0, 1, 0], [0, 0, 1]], [[1, 2, 0], [2, 4, 0], [0, 0, 1]], [[0, 0, 0], [0, 0, 0], [0, 0, 0]]])
    assert tenon.op('linalg.lu_factor')(x)[2].tolist() == [0, 2, 1]
    factor, info = tenon.op('linalg.cholesky_ex')(x)
    assert info.tolist() == [0, 2, 1] and factor[0].tolist() == np.eye(3).tolist() and tenon.isnan(factor[1, 2, 0]).item()
    assert tenon.op('linalg.cholesky_ex')(x * float('nan'))[1].tolist() == [1, 1, 1]
    with pytest.raises(tenon.InvalidArgumentError, match='order 1 is not positive'):
        linalg.cholesky(x * float('nan'))


def test_inverses_and_solutions_tell_which_matrix_has_none():
    x = tenon.asarray([[[2.0, 1], [1, 3]], [[1, 2], [2, 4]], [[0, 0], [0, 0]]])
    found, info = tenon.op('linalg.inv_ex')(x)
    assert info.tolist() == [0, 2, 1] and found[0].tolist() == linalg.inv(x[0]).tolist() and tenon.isnan(found[1:]).all().item()
    b = tenon.asarray(normal(1, (4, 1, 2, 5), 'float32'))
    found, info = tenon.op('linalg.solve_ex')(x, b)
    assert info.shape == (4, 3) and info.tolist() == [[0, 2, 1]] * 4
    assert found[:, 0].tolist() == linalg.solve(x[0], b[:, 0]).tolist() and tenon.isnan(found[:, 1:]).all().item()
    assert tenon.op('linalg.inv_ex')(tenon.ones(2, 0, 0))[1].tolist() == [0, 0]
    assert tenon.op('linalg.solve_ex')(tenon.ones(0, 0), tenon.ones(3, 0, 2))[1].tolist() == [0, 0, 0]


@pytest.mark.parametrize('pivots', [[0, 1], [1, 4], [-1, 2]])
def test_pivots_beyond_the_rows(pivots):
    with pytest.raises(tenon.OutOfRangeError, match='is not one of the rows 1 to 3'):
        tenon.op('linalg.row_order')(tenon.asarray(pivots, dtype=tenon.int32), 3)
    with pytest.raises(tenon.InvalidArgumentError, match='i32'):
        tenon.op('linalg.row_order')(tenon.asarray([1, 2], dtype=tenon.int64), 3)


@given(**square)
def test_eigenvalues(seed, batch, n, dtype, layout):
    x = normal(seed, (*batch, n, n), dtype)
    x = x + adjoint(x)
    wanted = np.linalg.eigvalsh(x.astype(WIDE[dtype])) if n else np.zeros((*batch, 0))
    close(linalg.eigvalsh(tensor(x, layout)), wanted, dtype, dtype_of=REAL[dtype])
    values, vectors = linalg.eigh(tensor(x, layout))
    close(values, wanted, dtype, dtype_of=REAL[dtype])
    v = np.asarray(vectors)
    close(vectors @ tenon.asarray(np.asarray(values)[..., None] * adjoint(v)), x, dtype)
    close(tenon.asarray(adjoint(v) @ v), np.broadcast_to(np.eye(n), x.shape), dtype)


@given(**rectangle)
def test_singular_values(seed, batch, m, n, dtype, layout):
    x, k = normal(seed, (*batch, m, n), dtype), min(m, n)
    wanted = np.linalg.svd(x.astype(WIDE[dtype]), compute_uv=False)
    close(linalg.svdvals(tensor(x, layout)), wanted, dtype, dtype_of=REAL[dtype])
    for full in (True, False):
        u, s, vh = linalg.svd(tensor(x, layout), full_matrices=full)
        assert u.shape == (*batch, m, m if full else k) and vh.shape == (*batch, n if full else k, n)
        close(s, wanted, dtype, dtype_of=REAL[dtype])
        u, vh = np.asarray(u), np.asarray(vh)
        close(tenon.asarray((u[..., :k] * wanted[..., None, :].astype(REAL[dtype].name)) @ vh[..., :k, :]), x, dtype)
        close(tenon.asarray(adjoint(u) @ u), np.broadcast_to(np.eye(u.shape[-1]), (*batch, *u.shape[-1:] * 2)), dtype)
        close(tenon.asarray(vh @ adjoint(vh)), np.broadcast_to(np.eye(vh.shape[-2]), (*batch, *vh.shape[-2:-1] * 2)), dtype)


@given(**rectangle)
def test_qr(seed, batch, m, n, dtype, layout):
    x, k = normal(seed, (*batch, m, n), dtype), min(m, n)
    for mode, columns in (('reduced', k), ('complete', m)):
        q, r = linalg.qr(tensor(x, layout), mode=mode)
        assert q.shape == (*batch, m, columns) and r.shape == (*batch, columns, n)
        q, r = np.asarray(q), np.asarray(r)
        assert (r == np.triu(r)).all()
        close(tenon.asarray(q @ r), x, dtype)
        close(tenon.asarray(adjoint(q) @ q), np.broadcast_to(np.eye(columns), (*batch, columns, columns)), dtype)


@given(**rectangle)
def test_pseudo_inverse_and_rank(seed, batch, m, n, dtype, layout):
    rank = min(m, n, 3)
    x = normal(seed, (*batch, m, rank), dtype) @ normal(seed + 1, (*batch, rank, n), dtype)
    wide = x.astype(WIDE[dtype])
    assert np.asarray(linalg.matrix_rank(tensor(x, layout), rtol=1e-4)).tolist() == (
        np.linalg.matrix_rank(wide, rtol=1e-4).tolist() if rank else np.zeros(batch).tolist())
    p = np.asarray(linalg.pinv(tensor(x, layout), rtol=1e-4))
    assert p.shape == (*batch, n, m) and p.dtype == dtype
    eps = 2.0 ** -23 if dtype in ('float32', 'complex64') else 2.0 ** -52
    scale = max([1.0, *np.abs(p).ravel()]) * max([1.0, *np.abs(x).ravel()]) ** 2
    for left, right in ((x @ p @ x, x), (x @ p, adjoint(x @ p)), (p @ x, adjoint(p @ x))):
        assert np.allclose(left, right, rtol=0, atol=1000 * eps * scale)


def test_rank_and_pseudo_inverse_take_a_tolerance_for_each_matrix():
    x = np.array([np.diag([1, 1e-3, 1e-9]), np.diag([1, 0.5, 0])])
    rtol = np.array([1e-2, 1e-12])
    assert linalg.matrix_rank(tenon.asarray(x), rtol=tenon.asarray(rtol)).tolist() == [1, 2]
    close(linalg.pinv(tenon.asarray(x), rtol=tenon.asarray(rtol)), np.linalg.pinv(x, rtol=rtol), 'float64')
    assert linalg.matrix_rank(tenon.asarray(x)).tolist() == np.linalg.matrix_rank(x).tolist() == [3, 2]


@given(seed=seeds, batch=batches, n=st.integers(0, 5), power=st.integers(-4, 9), dtype=dtypes)
def test_matrix_power(seed, batch, n, power, dtype):
    x = good(seed, (*batch, n, n), dtype) / np.array(4, dtype=dtype)
    got = linalg.matrix_power(tenon.asarray(x), power)
    close(got, np.linalg.matrix_power(x.astype(WIDE[dtype]), power), dtype, 3000)
    assert power != 1 or not np.shares_memory(np.asarray(got), x)


@pytest.mark.parametrize('ord', ['fro', 'nuc', 1, -1, 2, -2, np.inf, -np.inf])
@pytest.mark.parametrize('dtype', DTYPES)
def test_matrix_norm(ord, dtype):
    x = normal(3, (2, 3, 4, 5), dtype)
    for keepdims in (False, True):
        wanted = np.linalg.norm(x.astype(WIDE[dtype]), ord, axis=(-2, -1), keepdims=keepdims)
        close(linalg.matrix_norm(tenon.asarray(x), ord=ord, keepdims=keepdims), wanted, dtype, dtype_of=REAL[dtype])


@given(seed=seeds, shape=st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple), dtype=dtypes, keepdims=st.booleans(),
       ord=st.sampled_from([0, 1, 2, 3, 0.5, -1, -2.5, np.inf, -np.inf]), data=st.data())
def test_vector_norm(seed, shape, dtype, keepdims, ord, data):
    x = normal(seed, shape, dtype)
    axes = st.none() | st.integers(-len(shape), len(shape) - 1) | st.sets(st.integers(0, len(shape) - 1), min_size=1).map(tuple)
    axis = data.draw(axes)
    wanted = np.linalg.vector_norm(x.astype(WIDE[dtype]), axis=axis, keepdims=keepdims, ord=ord)
    close(linalg.vector_norm(tenon.asarray(x), axis=axis, keepdims=keepdims, ord=ord), wanted, dtype, dtype_of=REAL[dtype])


@given(seed=seeds, batch=batches, other=batches, dtype=dtypes)
def test_cross(seed, batch, other, dtype):
    try:
        np.broadcast_shapes(batch, other)
    except ValueError:
        other = ()
    x, y = normal(seed, (*batch, 3), dtype), normal(seed + 1, (*other, 3), dtype)
    close(linalg.cross(tenon.asarray(x), tenon.asarray(y)), np.cross(x, y), dtype)
    if batch and other == batch:
        x, y = np.moveaxis(x, -1, 0), np.moveaxis(y, -1, 0)
        close(linalg.cross(tenon.asarray(x), tenon.asarray(y), axis=0), np.cross(x, y, axis=0), dtype)


def test_cross_and_outer_promote():
    x, y = tenon.asarray([1, 2, 3], dtype='int16'), tenon.asarray([0.5, 1, 1], dtype='float64')
    assert linalg.cross(x, y).dtype == tenon.float64 and linalg.cross(x, y).tolist() == np.cross([1, 2, 3], [0.5, 1, 1]).tolist()
    assert linalg.cross(x, x).dtype == tenon.int16
    assert linalg.outer(x, y).tolist() == np.outer([1, 2, 3], [0.5, 1, 1]).tolist()
    assert linalg.outer(x, tenon.zeros(0)).shape == (3, 0)
    assert linalg.solve(tenon.eye(3, dtype=tenon.float32), y).dtype == tenon.float64


@pytest.mark.parametrize('dtype', ['bool', 'int8', 'uint16', 'float32', 'complex128'])
@pytest.mark.parametrize('offset', [-5, -2, 0, 1, 4])
def test_diagonal_and_trace(dtype, offset):
    x = np.arange(24).reshape(2, 3, 4).astype(dtype)
    t = tenon.asarray(x)
    wanted = np.linalg.diagonal(x, offset=offset)
    assert linalg.diagonal(t, offset=offset).tolist() == wanted.tolist()
    if dtype != 'bool':
        got = linalg.trace(t, offset=offset)
        assert got.tolist() == np.linalg.trace(x, offset=offset).tolist()
        assert got.dtype == tenon.sum(t).dtype
        assert linalg.trace(t, offset=offset, dtype=tenon.complex128).dtype == tenon.complex128


def test_larger_matrices_with_all_threads():
    x = good(1, (2, 300, 300), 'float64')
    close(linalg.inv(tenon.asarray(x)), np.linalg.inv(x), 'float64', 3000)
    close(linalg.inv(tenon.asarray(x[0])), np.linalg.inv(x[0]), 'float64', 3000)
    close(linalg.svdvals(tenon.asarray(x[0])), np.linalg.svd(x[0], compute_uv=False), 'float64', 3000)
    large = good(3, (1100, 1100), 'float32')
    close(linalg.inv(tenon.asarray(large)), np.linalg.inv(large.astype('float64')), 'float32', 3000)
    many = good(2, (300, 16, 16), 'float32')
    close(linalg.inv(tenon.asarray(many)), np.linalg.inv(many.astype('float64')), 'float32', 3000)


def test_out_and_no_change_of_the_argument():
    x = good(1, (3, 4, 4), 'float64')
    t = tenon.asarray(x.copy())
    for name in ('inv', 'det', 'slogdet', 'eigh', 'svd', 'qr', 'cofactor'):
        tenon.op('linalg.' + name)(t)
        assert (np.asarray(t) == x).all(), name
    out = tenon.empty((3, 4, 4), dtype=tenon.float64)
    assert tenon.op('linalg.inv')(t, out=out) is out
    close(out, np.linalg.inv(x), 'float64')
    tenon.op('linalg.inv')(t, out=t)
    close(t, np.linalg.inv(x), 'float64')


def test_cofactors_of_singular_matrices():
    x = normal(5, (3, 4, 4), 'complex128')
    x[1, 3] = 2 * x[1, 0]
    x[2, 1] = x[2, 2] = 0
    minors = [[[(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(m, i, 0), j, 1)) for j in range(4)] for i in range(4)] for m in x]
    close(tenon.op('linalg.cofactor')(tenon.asarray(x)), minors, 'complex128', 2000)
