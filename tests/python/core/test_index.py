"""Indexing and assignment, against NumPy, whose arrays the integers of an index pick from first."""
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tenon

FIXED = [0, -1, slice(None), slice(1, None), slice(None, None, -1), slice(3, 0, -2), slice(10, 20), slice(-100, 100), None, ...,
         (0, 1), (slice(None), 0), (..., 0), (0, ...), (None, slice(1, 3), None), (slice(None), slice(None, None, 2)),
         (..., None), (), [0, 2], [2, -1, 0], ([0, 1], [1, 2]), ([0, 1], slice(None)), (slice(None), [0, 2]),
         ([0, 1], slice(None), 0), (0, slice(None), [0, 1]), ([[0], [1]], [0, 2]), True, False, (True, 0),
         (slice(None), [True, False, True, False]), ([True, False, True], 0), (slice(None), None, [1, 0]), []]


def of_tensors(index):
    """The same index with tensors in place of NumPy's arrays."""
    if isinstance(index, tuple):
        return tuple(of_tensors(entry) for entry in index)
    return tenon.asarray(index) if isinstance(index, np.ndarray) else index


def integers_first(array, index):
    """A view of the array in which the integers of the index have picked, and the rest of the index."""
    entries = list(index) if isinstance(index, tuple) else [index]
    dims = [0 if entry is None or isinstance(entry, bool) else np.ndim(entry) if getattr(entry, 'dtype', np.dtype(int)).kind == 'b' else 1 for entry in entries]
    at = next((i for i, entry in enumerate(entries) if entry is ...), None)
    if at is not None:
        missing = array.ndim - sum(dims) + 1
        entries[at:at + 1], dims[at:at + 1] = [slice(None)] * missing, [1] * missing
    view, rest, d = array, [], 0
    for entry, n in zip(entries, dims):
        if isinstance(entry, int) and not isinstance(entry, bool):
            view = view[(slice(None),) * d + (entry, ...)]
            continue
        rest.append(entry)
        d += n
    return view, tuple(rest)


@pytest.mark.parametrize('index', FIXED, ids=repr)
def test_reading_as_numpy(index):
    array = np.arange(60.).reshape(3, 4, 5)
    view, rest = integers_first(array, index)
    np.testing.assert_array_equal(tenon.tensor(array)[index].numpy(), view[rest])


@pytest.mark.parametrize('index', FIXED, ids=repr)
def test_writing_as_numpy(index):
    array = np.arange(60.).reshape(3, 4, 5)
    x = tenon.tensor(array)
    view, rest = integers_first(array, index)
    view[rest] = -1
    x[index] = -1
    np.testing.assert_array_equal(x.numpy(), array)
    values = np.arange(view[rest].size, dtype=float).reshape(view[rest].shape)
    view[rest] = values
    x[index] = tenon.asarray(values)
    np.testing.assert_array_equal(x.numpy(), array)


@st.composite
def shapes_and_indices(draw):
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    entries, dims = [], list(shape)
    while dims:
        kind = draw(st.sampled_from(['int', 'slice', 'slice', 'none', 'array', 'mask', 'end']))
        if kind == 'end':
            break
        if kind == 'none':
            entries.append(None)
            if len(entries) > 6:
                break
            continue
        size = dims.pop(0)
        if kind == 'int':
            entries.append(draw(st.integers(-size, size - 1)))
        elif kind == 'slice':
            bound = st.one_of(st.none(), st.integers(-size - 2, size + 2))
            entries.append(slice(draw(bound), draw(bound), draw(st.sampled_from([None, 1, 2, -1, -2, 3]))))
        elif kind == 'array':
            count = draw(st.sampled_from([1, 2]))
            entries.append(np.array(draw(st.lists(st.integers(-size, size - 1), min_size=count, max_size=count))))
        else:
            entries.append(np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size))))
    if draw(st.booleans()) and len(entries) < 7:
        entries.insert(draw(st.integers(0, len(entries))), ...)
        # what follows the ellipsis counts from the end and has other sizes
        sizes = dict(enumerate(shape))
        return tuple(shape), tuple(entries), sizes
    return tuple(shape), tuple(entries), None


@settings(max_examples=300, deadline=None, derandomize=True)
@given(shapes_and_indices())
def test_generated_indices_read_and_write_as_numpy(case):
    shape, index, _ = case
    array = np.arange(np.prod(shape), dtype='float64').reshape(shape)
    x = tenon.tensor(array)
    try:
        view, rest = integers_first(array, index)
        expected = view[rest]
    except IndexError:
        with pytest.raises((IndexError, ValueError)):
            x[of_tensors(index)]
        return
    np.testing.assert_array_equal(x[of_tensors(index)].numpy(), expected)
    values = -1 - np.arange(expected.size, dtype='float64').reshape(expected.shape)
    if len(np.unique(expected)) == expected.size:  # an element named twice has no unique answer
        view[rest] = values
        x[of_tensors(index)] = tenon.asarray(values)
        np.testing.assert_array_equal(x.numpy(), array)


def test_masks():
    array = np.arange(12.).reshape(3, 4)
    x = tenon.tensor(array)
    np.testing.assert_array_equal(x[x > 5].numpy(), array[array > 5])
    np.testing.assert_array_equal(x[x.sum(1) > 10].numpy(), array[array.sum(1) > 10])
    x[x > 5] = 0
    array[array > 5] = 0
    np.testing.assert_array_equal(x.numpy(), array)
    with pytest.raises((IndexError, ValueError), match='mask'):
        x[tenon.tensor([True, False])]


def test_a_mask_of_single_elements_needs_no_positions():
    x, mask = tenon.rand(8, 40), tenon.rand(8, 40) > 0.5
    for source in x, x.T.contiguous().T:
        with tenon.profiler() as p:
            found = source[mask]
        assert [event.op for event in p.events] == ['masked_select']
        np.testing.assert_array_equal(found.numpy(), x.numpy()[mask.numpy()])
    x.requires_grad = True
    x[mask].sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), mask.numpy())


def test_views_share_and_picks_copy():
    x = tenon.zeros(3, 4)
    x[1:, ::2].fill_(1)
    assert x.sum().item() == 4
    x[[0, 1]].fill_(9)
    assert x.sum().item() == 4
    x[0] += 5
    x[[0, 0]] += 1
    assert x[0].tolist() == [6, 6, 6, 6] and x[:].shares_memory(x) and x[...] is not x


def test_assignment_broadcasts_and_casts():
    x = tenon.zeros(2, 3, dtype='int32')
    x[0] = tenon.tensor([1.7, 2.2, -3.9])
    x[:, 1] = [[8], [9]][0]
    assert x.tolist() == [[1, 8, -3], [0, 8, 0]]
    with pytest.raises(ValueError):
        x[0] = tenon.zeros(2)
    with pytest.raises(ValueError):
        x[0] = 1j
    with pytest.raises(ValueError, match='beyond 64 bits'):
        x[0] = 2 ** 70
    with pytest.raises(TypeError, match='cannot be deleted'):
        del x[0]


@pytest.mark.parametrize('index, error', [
    (5, IndexError), (-4, IndexError), ((0, 0, 0), IndexError), ((..., ...), (IndexError, ValueError)), ('a', TypeError), (1.5, TypeError),
    (np.array([3]), IndexError), (np.array(['a']), TypeError), (slice('a', None), TypeError), (slice(None, None, 0), ValueError), (2 ** 70, IndexError),
    ([5], IndexError), (object(), TypeError)])
def test_bad_indices(index, error):
    x = tenon.zeros(3, 4)
    with pytest.raises(error):
        x[index]
    with pytest.raises(error):
        x[index] = 1
    assert x.sum().item() == 0


def test_gradients_flow_through_indices():
    x = tenon.arange(6, dtype=float).reshape(2, 3).detach().requires_grad_()
    (x[0] * 2 + x[1, [2, 1, 0]]).sum().backward()
    assert x.grad.tolist() == [[2, 2, 2], [1, 1, 1]]
    y = x * 1
    y[0] = 0
    x.grad = None
    y.sum().backward()
    assert x.grad.tolist() == [[0, 0, 0], [1, 1, 1]]
