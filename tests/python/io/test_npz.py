"""NumPy's .npz files: reading and writing, every dtype and layout, and malformed files."""
import io as python_io
import os
import zipfile

import numpy as np
import pytest

import tenon
from tenon import io

ARRAYS = {
    'matrix': np.arange(6, dtype='f4').reshape(2, 3), 'rank 0': np.array(3.5), 'empty': np.zeros((0, 3)), 'columns': np.asfortranarray(np.arange(24.0).reshape(2, 3, 4)),
    'other order': np.arange(3, dtype='>f4'), 'complex in other order': np.array([1 + 2j, 3 - 4j], dtype='>c8'), 'view': np.arange(10)[::3],
    **{kind: np.array([[1, 0, 1], [0, 1, 1]]).astype(kind) for kind in '? u1 u2 u4 u8 i1 i2 i4 i8 f2 f4 f8 c8 c16'.split()},
}


@pytest.mark.parametrize('save', [np.savez, np.savez_compressed])
def test_what_numpy_wrote_is_read(tmp_path, save):
    path = tmp_path / 'all.npz'
    save(path, **ARRAYS)
    loaded = io.load(path, device='cpu')
    assert list(loaded) == list(ARRAYS)
    for name, expected in ARRAYS.items():
        found = loaded[name]
        assert found.dtype.name == expected.dtype.name and found.shape == expected.shape and found.is_contiguous(), name
        np.testing.assert_array_equal(found.numpy(), expected, err_msg=name)


def test_numpy_reads_what_is_written(tmp_path):
    path, again = str(tmp_path / 'all.npz'), str(tmp_path / 'again.npz')
    tensors = {name: tenon.asarray(x.astype(x.dtype.newbyteorder('='))) for name, x in ARRAYS.items()}
    tensors['grad'] = tenon.ones(2, requires_grad=True)
    tensors['transposed'] = tenon.arange(6).reshape((2, 3)).T
    io.save(path, tensors)
    io.save(again, tensors)
    with np.load(path, allow_pickle=False) as found:
        assert found.files == list(tensors)
        for name in found.files:
            expected = tensors[name].detach().numpy()
            assert found[name].dtype == expected.dtype
            np.testing.assert_array_equal(found[name], expected)
    with open(path, 'rb') as one, open(again, 'rb') as other:
        assert one.read() == other.read()
    assert io.load(path)['transposed'].tolist() == [[0, 3], [1, 4], [2, 5]]


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / 'net.npz'
    io.save(path, {'a': tenon.ones(3)})
    for bad, error in (({'a': 3}, TypeError), ({'a': tenon.ones(1).to(tenon.bfloat16)}, TypeError), ({3: tenon.ones(1)}, TypeError)):
        with pytest.raises(error, match=r'\[save\]'):
            io.save(path, bad)
    with pytest.raises(ValueError, match='no metadata'):
        io.save(path, {}, metadata={'epoch': '3'})
    assert io.load(path)['a'].tolist() == [1, 1, 1] and os.listdir(tmp_path) == ['net.npz']
    with pytest.raises(tenon.IoError, match='No such file'):
        io.load(tmp_path / 'missing.npz')
    with pytest.raises(OSError, match='No such file'):
        io.save(tmp_path / 'nowhere' / 'net.npz', {})


def record(descr="'<f4'", columns='False', shape='(3,)', data=bytes(12), magic=b'\x93NUMPY\x01\x00', length=None):
    text = f"{{'descr': {descr}, 'fortran_order': {columns}, 'shape': {shape}, }}\n".encode()
    return magic + (len(text) if length is None else length).to_bytes(2, 'little') + text + data


@pytest.mark.parametrize('content, text', [
    (record(data=bytes(11)), '11 bytes of elements'), (record(data=bytes(16)), '16 bytes of elements'), (record(shape='(10**30,)'), 'malformed header'),
    (record(shape='(1000000000000000000000,)'), 'bytes of elements'), (record(shape='(-3,)'), 'malformed header'), (record(shape='[3]'), 'malformed header'),
    (record(shape='(True,)'), 'malformed header'), (record(columns='1'), 'malformed header'), (record("'|O'"), 'only numbers and bools'),
    (record("[('a', '<f4')]"), 'only numbers and bools'), (record("'<U4'"), 'only numbers and bools'), (record("'<f16'"), 'only numbers and bools'),
    (record(magic=b'\x93NUMPY\x09\x00'), 'does not begin'), (b'', 'does not begin'), (b'\x93NUMPY\x01\x00', 'malformed header'),
    (record(length=60_000), 'malformed header'), (record(length=3), 'malformed header'), (record(f"{'(' * 3000}"), 'malformed header'),
    (record(shape=f"({'0,' * 17})", data=b''), '17 dimensions'), (record("__import__('os')"), 'malformed header')])
def test_a_malformed_record_is_refused(tmp_path, content, text):
    path = tmp_path / 'bad.npz'
    with zipfile.ZipFile(path, 'w') as archive:
        archive.writestr('x.npy', content)
    with pytest.raises(tenon.DataLossError, match=rf'\[load\] .*bad\.npz: "x\.npy" .*{text}'):
        io.load(path)


def test_a_damaged_file_is_refused(tmp_path):
    memory, path = python_io.BytesIO(), tmp_path / 'bad.npz'
    np.savez_compressed(memory, a=np.arange(100.0), b=np.ones((3, 4)))
    whole = memory.getvalue()
    rng = np.random.default_rng(0)
    for at in [*range(0, len(whole), 40), *rng.integers(0, len(whole), 100)]:
        for damaged in (whole[:at], whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1:]):
            path.write_bytes(damaged)
            try:
                io.load(path)  # a time or a flag that changed
            except tenon.DataLossError as error:
                assert 'bad.npz' in str(error)
    with zipfile.ZipFile(path, 'w') as archive:
        archive.writestr('notes.txt', 'text')
    with pytest.raises(tenon.DataLossError, match=r'"notes\.txt" is not an \.npy record'):
        io.load(path)
    with zipfile.ZipFile(path, 'w', zipfile.ZIP_LZMA) as archive:
        archive.writestr('x.npy', record())
    with pytest.raises(tenon.DataLossError, match='compressed'):
        io.load(path)
