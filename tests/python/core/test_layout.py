"""The memory layout of results."""
import numpy as np
import pytest
import tenon


def laid(*order):
    """(2, 3, 4) with dimensions in this order in memory, outermost first."""
    shape = (2, 3, 4)
    values = np.arange(24, dtype='float32').reshape([shape[d] for d in order])
    return tenon.asarray(values).permute(*np.argsort(order).tolist())


@pytest.mark.parametrize('order', [(0, 1, 2), (2, 1, 0), (0, 2, 1), (1, 0, 2)])
def test_elementwise_results_have_their_operands_layout(order):
    x = laid(*order)
    for result in (x + x, x * 2.0, tenon.exp(x), x > 3, tenon.where(x > 3, x, 0.0), x.to(tenon.float64), x + tenon.ones(4)):
        assert result.strides == x.strides
    np.testing.assert_array_equal(np.asarray(x + tenon.ones(4)), np.asarray(x) + 1)


def test_the_first_operand_with_the_shape_decides_the_layout():
    rows, columns = laid(0, 1, 2), laid(2, 1, 0)
    assert (rows + columns).strides == rows.strides and (columns + rows).strides == columns.strides
    one = tenon.ones(1, 1, 1)
    assert (one + columns).strides == columns.strides
    spread = tenon.ones(1, 4).expand(3, 4)  # implies no order
    assert (spread + tenon.ones(4, 3).T).strides == (1, 3)
    assert (spread + spread).strides == (4, 1)


def test_gaps_are_closed():
    x = laid(2, 1, 0)[:, :2]
    assert x.strides == (1, 2, 6) and (x + x).strides == (1, 2, 4)
    np.testing.assert_array_equal(np.asarray(x + x), 2 * np.asarray(x))


@pytest.mark.parametrize('order', [(0, 1, 2), (2, 1, 0), (0, 2, 1), (1, 0, 2)])
def test_copies_and_fills_keep_the_order(order):
    x = laid(*order)
    for result, want in ((x.clone(), np.asarray(x)), (tenon.full_like(x, 7), np.full(x.shape, 7)), (tenon.zeros_like(x[:, :, :2]), np.zeros((2, 3, 2)))):
        assert np.argsort(result.strides).tolist() == np.argsort(x.strides).tolist() and not result.shares_memory(x)
        np.testing.assert_array_equal(np.asarray(result), want)
    assert tenon.empty_like(x).strides == x.strides and tenon.full_like(tenon.ones(1, 4).expand(3, 4), 7).strides == (4, 1)


def test_fills_of_columns_may_be_written_to():
    x = tenon.full_like(laid(2, 1, 0), 7.0)
    x[0, 1, 2] = 3
    want = np.full((2, 3, 4), 7.0)
    want[0, 1, 2] = 3
    np.testing.assert_array_equal(np.asarray(x), want)


def test_repeated_elements_are_copies():
    for x in (tenon.ones(3), tenon.ones(1), tenon.ones(2, 3).T):
        for y in (tenon.tile(x, (1,) * x.ndim), tenon.tile(x, (2,) * x.ndim), x.tile(1), x.repeat(*(1,) * x.ndim), x.repeat(*(3,) * x.ndim)):
            y[...] = 7.0
            y[(0,) * y.ndim] = 8.0
            assert (np.asarray(x) == 1).all() and (np.asarray(y) == 7).sum() == y.size - 1


def test_what_is_made_of_rows():
    x = laid(2, 1, 0)
    for result in (x.contiguous(), tenon.stack([x, x]), x.sum(0)):
        assert result.is_contiguous()


def test_gradients_of_rows_made_of_columns():
    x = laid(2, 1, 0).requires_grad_()
    (x.contiguous() * tenon.ones(4)).sum().backward()
    np.testing.assert_array_equal(np.asarray(x.grad), np.ones((2, 3, 4)))


def test_gradients_of_columns():
    x = tenon.tensor(np.arange(6.).reshape(2, 3)).requires_grad_()
    (tenon.exp(x.T) * tenon.tensor(np.arange(6.).reshape(3, 2))).sum().backward()
    np.testing.assert_allclose(np.asarray(x.grad), np.exp(np.arange(6.).reshape(2, 3)) * np.arange(6.).reshape(3, 2).T)


@pytest.mark.parametrize('dtype', ['bool', 'uint8', 'int16', 'float32', 'float64', 'complex128'])
@pytest.mark.parametrize('shape', [(64, 256), (130, 67), (3, 70, 40)])
def test_transposed_copies_in_whole_tiles_and_remainders(dtype, shape):
    values = (np.random.default_rng(1).standard_normal(shape) * 50).astype(dtype)
    x = tenon.asarray(values)
    np.testing.assert_array_equal(np.asarray(x.transpose(-1, -2).contiguous()), values.swapaxes(-1, -2))
    np.testing.assert_array_equal(np.asarray(x.transpose(0, -1).contiguous()), values.swapaxes(0, -1))


@pytest.mark.parametrize('transposed', [False, True])
@pytest.mark.parametrize('name', ['gather', 'scatter', 'scatter_add'])
def test_a_wrong_index_among_many_is_refused(name, transposed):
    values, index = np.ones((80, 50), 'float32'), np.random.default_rng(1).integers(0, 50, (80, 50))
    index[70, 3] = 50

    def lay(a):
        return tenon.asarray(np.ascontiguousarray(a.T)).T if transposed else tenon.asarray(a)
    x, operands = lay(values), [lay(index), lay(2 * values)][:1 if name == 'gather' else 2]
    with pytest.raises(IndexError, match='index 50 at position 3503 out of range for dimension 1 of size 50'):
        getattr(tenon, name)(x, 1, *operands)
    if name != 'gather':  # in place nothing is written
        with pytest.raises(IndexError):
            getattr(x, name + '_')(1, *operands)
        np.testing.assert_array_equal(np.asarray(x), values)


def test_running_extremes_of_long_rows():
    values = np.random.default_rng(1).standard_normal((3, 100)).astype('float32')
    values[1] = np.sort(values[1])
    values[2, 40] = np.nan
    for name, extreme in (('cummax', np.fmax), ('cummin', np.fmin)):
        found = getattr(tenon, name)(tenon.asarray(values), 1)
        want = extreme.accumulate(values, 1)
        want[2, 40:] = np.nan
        np.testing.assert_array_equal(np.asarray(found.values), want)
        np.testing.assert_array_equal(np.take_along_axis(values, np.asarray(found.indices), 1), want)
