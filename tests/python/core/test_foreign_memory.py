"""Memory of other owners: bools whose bytes are not 0 or 1, read-only memory, memory that is written twice."""

import io
import re

import numpy as np
import pytest
import tenon
from tenon import _core

BYTES = np.array([0, 1, 2, 255, 0, 128, 1, 254], 'u1')
TRUE = BYTES != 0


# ---- Bools ----------------------------------------------------------------------------------------------------------------------

def through_dlpack(array):
    return tenon.from_dlpack(array)


def through_old_dlpack(array):
    class Old:
        def __dlpack__(self, **_):
            return array.__dlpack__()
    return tenon.from_dlpack(Old())


def through_bytes(array):
    return _core._from_bytes(array.tobytes(), tenon.bool, array.shape)


def through_read_only(array):
    array.flags.writeable = False
    return tenon.asarray(array)


ENTRIES = [tenon.asarray, tenon.tensor, through_dlpack, through_old_dlpack, through_bytes, through_read_only]


@pytest.mark.parametrize('enter', ENTRIES)
@pytest.mark.parametrize('pick', [np.s_[:], np.s_[::-1], np.s_[1::3]])
def test_any_byte_but_0_is_true(enter, pick):
    mask = enter(BYTES.view(bool)[pick])
    true = TRUE[pick]
    assert mask.dtype is tenon.bool and mask.tolist() == true.tolist()
    assert np.asarray(mask).view('u1').max() == 1
    assert mask.sum().item() == true.sum() == tenon.count_nonzero(mask).item()
    assert tenon.nonzero(mask)[0].tolist() == np.flatnonzero(true).tolist()
    numbers = tenon.arange(len(true))
    assert numbers[mask].tolist() == tenon.masked_select(numbers, mask).tolist() == np.flatnonzero(true).tolist()


def test_bools_that_are_shared_must_be_bools():
    array = BYTES.view(bool)
    for enter in (lambda: tenon.asarray(array, copy=False), lambda: tenon.from_dlpack(array, copy=False)):
        with pytest.raises(tenon.Error, match='0 and 1'):
            enter()
    proper = TRUE.copy()
    assert tenon.asarray(proper, copy=False).data_ptr == proper.ctypes.data


@pytest.mark.parametrize('n', [8, 16384, 70000])
def test_outside_writes_to_a_mask_cannot_break_bounds(n):
    array = np.zeros(n, bool)
    mask = tenon.asarray(array)
    assert mask.data_ptr == array.ctypes.data
    array.view('u1')[::2] = 255
    there = np.arange(0, n, 2)
    assert (tenon.nonzero(mask)[0].numpy() == there).all()
    numbers = tenon.arange(n)
    assert (tenon.masked_select(numbers, mask).numpy() == there).all()
    assert (numbers[mask].numpy() == there).all()
    assert (_core.ops['index'](numbers, [mask]).numpy() == there).all()
    put = _core.ops['index_put'](numbers, [mask], tenon.tensor(-1)).numpy()
    assert (put[::2] == -1).all() and (put[1::2] == np.arange(1, n, 2)).all()


# ---- Read-only memory -----------------------------------------------------------------------------------------------------------

def read_only(values):
    array = np.array(values, 'f4')
    array.flags.writeable = False
    return array


def test_a_memmap_that_is_only_read_stays_as_it_is(tmp_path):
    np.arange(4, dtype='f4').tofile(tmp_path / 'data')
    array = np.memmap(tmp_path / 'data', 'f4', 'r')
    x = tenon.from_dlpack(array)
    for write in (lambda: x.fill_(1), lambda: x.zero_(), lambda: x.copy_(x + 1), lambda: x[0:2].fill_(1),
                  lambda: x.detach().fill_(1), lambda: x.reshape(2, 2).zero_(), lambda: x.__setitem__(0, 1.)):
        with pytest.raises(tenon.Error, match='read-only'):
            write()
    with pytest.raises(tenon.Error, match='read-only'):
        x += 1
    assert array.tolist() == [0, 1, 2, 3]


def test_read_only_memory_is_shown_as_such():
    array = read_only([0, 1, 2, 3])
    for x in (tenon.from_dlpack(array), tenon.from_dlpack(array)[1:], tenon.from_dlpack(array).reshape(2, 2)):
        shown = x.numpy()
        assert not shown.flags.writeable and not np.asarray(x).flags.writeable and memoryview(x).readonly
        with pytest.raises(ValueError, match='read-only'):
            shown[...] = 7
        with pytest.raises((BufferError, TypeError), match='read-'):  # consumers that need writable memory
            io.BytesIO(bytes(64)).readinto(x)
        again = tenon.from_dlpack(x)
        with pytest.raises(tenon.Error, match='read-only'):
            again.zero_()
        with pytest.raises(BufferError, match='read-only'):
            x.__dlpack__()  # a version that cannot tell
    assert (tenon.from_dlpack(array) + 1).numpy().flags.writeable
    assert tenon.ones(3).numpy().flags.writeable


# ---- Arguments that ops write ---------------------------------------------------------------------------------------------------

WRITING = sorted(name for name, op in _core.ops.items() if '!' in op.schema)


def call_writing(name, replaced):
    """Calls an op that writes arguments, all of them valid except those in `replaced`, by name."""
    arguments = []
    for each in re.search(r'\((.*)\) ->', _core.ops[name].schema).group(1).split(', '):
        kind, argument = each.split('=')[0].split(' ')
        if kind.startswith('Tensor'):
            good = [tenon.ones(2, 3), tenon.ones(2, 3)] if '[]' in kind else tenon.tensor(2 if kind == 'Tensor!' else 2.)
            arguments.append(replaced.get(argument, good))
        elif '=' not in each:
            arguments.append(1)
    return _core.ops[name](*arguments)


def written_arguments():
    for name in WRITING:
        for kind, argument in re.findall(r'(Tensor!\S*) (\w+)', _core.ops[name].schema):
            if (name, argument) == ('adam_step_counted', 'step'):
                continue  # one integer: see below
            yield pytest.param(name, argument, '[]' in kind, id=f'{name}-{argument}')


def bad_lists():
    base = tenon.ones(4, 3)
    yield 'read-only', lambda: [tenon.from_dlpack(read_only(np.ones((2, 3)))), tenon.ones(2, 3)]
    yield 'share memory', lambda: [tenon.ones(3).expand(2, 3), tenon.ones(2, 3)]
    yield 'share memory', lambda: [tenon.ones(1, 1).expand(2, 3), tenon.ones(2, 3)]
    yield 'share memory', lambda: [base[:2], base[1:3]]
    yield 'share memory', lambda: [base[:2]] * 2
    yield 'share memory', lambda: [tenon.ones(7).as_strided([2, 3], [2, 1]), tenon.ones(2, 3)]
    array = np.ones((2, 3), 'f4')
    yield 'share memory', lambda: [tenon.asarray(array), tenon.asarray(array)]


def test_there_are_ops_that_write():
    assert {'sgd_step', 'adam_step', 'rmsprop_step', 'adagrad_step', 'multi_scale'} <= set(WRITING)


@pytest.mark.parametrize('name, argument, is_list', [*written_arguments()])
def test_written_arguments_must_be_writable(name, argument, is_list):
    call_writing(name, {})
    for cause, make in bad_lists():
        given = make() if is_list else make()[0]
        before = [x.tolist() for x in (given if is_list else [given])]
        with pytest.raises(tenon.Error, match=rf'\[{name}\].*{cause}'):
            call_writing(name, {argument: given})
        assert [x.tolist() for x in (given if is_list else [given])] == before


def test_the_step_count_must_be_writable():
    array = read_only(np.array(2))
    with pytest.raises(tenon.Error, match=r'\[adam_step_counted\].*read-only'):
        call_writing('adam_step_counted', {'step': tenon.from_dlpack(array)})
    assert array == 2
    with pytest.raises(tenon.Error, match=r'\[adam_step_counted\] step \(2,\) and lr \(\) must have one element each'):
        call_writing('adam_step_counted', {'step': tenon.tensor([1, 2])})


def test_two_arguments_may_not_be_the_same():
    params = [tenon.ones(2, 3), tenon.ones(2, 3)]
    with pytest.raises(tenon.Error, match=r"\[sgd_step\].*'params'.*'momenta'.*share memory"):
        call_writing('sgd_step', {'params': params, 'momenta': params})


def test_adjacent_columns_do_not_overlap():
    base = tenon.ones(2, 6)
    call_writing('multi_scale', {'xs': [base[:, :3], base[:, 3:]]})
    assert base.tolist() == [[2.] * 6] * 2
    with pytest.raises(tenon.Error, match='share memory'):  # the first and the last overlap, with a separate one between them
        call_writing('multi_scale', {'xs': [base[:, :3], base[:, 3:], base[1, :3]]})
    assert base.tolist() == [[2.] * 6] * 2


def test_an_optimizer_leaves_read_only_parameters():
    array = read_only([1, 2])
    p = tenon.from_dlpack(array).requires_grad_()
    p.grad = tenon.ones(2)
    with pytest.raises(tenon.Error, match='read-only'):
        tenon.optim.SGD([p], lr=1.).step()
    assert array.tolist() == [1, 2]
