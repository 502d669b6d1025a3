"""Safetensors files: round trips, malformed files, atomic saving, and exchange between Python and C++."""
import json
import os
import signal
import struct
import subprocess
import sys

import numpy as np
import pytest

import tenon
from tenon import io, nn

DTYPES = ('bool', 'uint8', 'int8', 'uint16', 'int16', 'uint32', 'int32', 'uint64', 'int64', 'float16', 'bfloat16', 'float32',
          'float64', 'complex64', 'complex128')


def test_every_dtype_and_layout(tmp_path):
    tensors = {name: tenon.tensor([[1, 0, 1], [0, 1, 1]]).to(name) for name in DTYPES}
    tensors |= {'rank 0': tenon.tensor(2.5), 'empty': tenon.zeros((0, 3)), 'view': tenon.arange(6).reshape((2, 3)).T,
                'grad': tenon.ones(2, requires_grad=True)}
    path = tmp_path / 'all.safetensors'
    io.save(path, tensors, metadata={'epoch': '3', 'text "quoted"\n': 'äöü\\'})
    loaded = io.load(path)
    assert loaded.keys() == tensors.keys() and io.load_metadata(path) == {'epoch': '3', 'text "quoted"\n': 'äöü\\'}
    for name, x in tensors.items():
        assert loaded[name].dtype == x.dtype and loaded[name].shape == x.shape and loaded[name].tolist() == x.tolist(), name
    raw = path.read_bytes()
    length, = struct.unpack('<Q', raw[:8])
    header = json.loads(raw[8:8 + length])
    assert length % 8 == 0 and header.pop('__metadata__')
    assert all(entry['data_offsets'][0] % getattr(tenon, tensors[name].dtype.name).itemsize == 0 for name, entry in header.items())
    assert io.load(str(path), device='cpu')['rank 0'].item() == 2.5


def test_saving_replaces_a_file_completely_or_not_at_all(tmp_path):
    path = tmp_path / 'net'
    io.save(path, {'a': tenon.ones(3)})
    mode = path.stat().st_mode & 0o777
    path.chmod(0o640)
    io.save(path, {'a': tenon.zeros(3)})
    assert path.stat().st_mode & 0o777 == 0o640 and mode == 0o666 & ~os.umask(os.umask(0o22))
    for bad, error in (({'a': 3}, TypeError), ({'__metadata__': tenon.ones(1)}, ValueError), ({3: tenon.ones(1)}, TypeError),
                       ({'\ud800': tenon.ones(1)}, ValueError), ([1], TypeError)):
        with pytest.raises(error, match=r'\[save\]'):
            io.save(path, bad)
    with pytest.raises(TypeError, match='metadata'):
        io.save(path, {}, metadata={'epoch': 3})

    assert io.load(path)['a'].tolist() == [0, 0, 0] and os.listdir(tmp_path) == ['net']
    with pytest.raises(tenon.IoError, match='No such file'):
        io.save(tmp_path / 'nowhere' / 'net', {})
    with pytest.raises(tenon.IoError, match='No such file'):
        io.load(tmp_path / 'missing')


def test_a_full_disk_or_a_kill_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / 'net'
    io.save(path, {'a': tenon.ones(3)})
    program = ('import resource, signal, sys, tenon\n'
               'signal.signal(signal.SIGXFSZ, getattr(signal, sys.argv[2]))\n'
               'resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n'
               'resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n'
               'try:\n    tenon.io.save(sys.argv[1], {"a": tenon.zeros(100_000)})\n'
               'except tenon.IoError as error:\n    sys.exit(0 if "File too large" in str(error) else 1)\n')
    for action, status in (('SIG_IGN', 0), ('SIG_DFL', -signal.SIGXFSZ)):  # an error, and a death within write()
        if status and not has_unnamed_files(tmp_path):
            continue
        done = subprocess.run([sys.executable, '-c', program, path, action], timeout=60)
        assert done.returncode == status
        assert io.load(path)['a'].tolist() == [1, 1, 1] and os.listdir(tmp_path) == ['net']


def has_unnamed_files(folder):
    try:
        os.close(os.open(folder, os.O_TMPFILE | os.O_WRONLY))
    except OSError:
        return False
    return True


def test_only_regular_files_are_read_and_replaced(tmp_path):
    os.mkfifo(tmp_path / 'fifo')
    (tmp_path / 'null').symlink_to('/dev/null')
    for path, kind in ((tmp_path / 'fifo', 'a FIFO'), (tmp_path, 'a directory'), (tmp_path / 'null', 'a character device')):
        for call in (io.load, io.load_metadata, tenon.data.read_idx, lambda path: io.save(path, {'x': tenon.ones(1)})):
            with pytest.raises(tenon.IoError, match=f'it is {kind}, not a regular file'):
                call(path)
    assert sorted(os.listdir(tmp_path)) == ['fifo', 'null'] and (tmp_path / 'null').is_symlink()
    (tmp_path / 'link').symlink_to('net')
    io.save(tmp_path / 'link', {'x': tenon.ones(1)})
    assert (tmp_path / 'link').is_symlink() and io.load(tmp_path / 'net')['x'].tolist() == [1]
    for call in (io.load, tenon.data.read_idx, lambda path: io.save(path, {})):
        with pytest.raises(ValueError, match='none of them zero'):
            call('a\0b')
        with pytest.raises(TypeError):
            call(3)


def test_tensors_with_the_most_dimensions(tmp_path):
    for ndim in (8, 9, 16):
        io.save(tmp_path / 'x', {'x': tenon.ones((1,) * ndim)})
        assert io.load(tmp_path / 'x')['x'].shape == (1,) * ndim


def test_names_keep_the_order_of_the_file(tmp_path):
    header = '{"b":' + json.dumps(entry()) + ',"a":' + json.dumps(entry(begin=2, end=4)) + '}'
    (tmp_path / 'x').write_bytes(struct.pack('<Q', len(header)) + header.encode() + bytes(4))
    assert list(io.load(tmp_path / 'x')) == ['b', 'a']


def test_one_name_twice_among_many(tmp_path):
    names = [f'"{i}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}' for i in range(200_000)]
    header = '{' + ','.join([*names, names[-1]]) + '}'
    (tmp_path / 'x').write_bytes(struct.pack('<Q', len(header)) + header.encode())
    with pytest.raises(tenon.DataLossError, match='"199999" appears twice'):
        io.load(tmp_path / 'x')


def entry(dtype='U8', shape=(2,), begin=0, end=2, **more):
    return {'dtype': dtype, 'shape': list(shape), 'data_offsets': [begin, end], **more}


BROKEN = [
    ('{"x":', 2, 'expected an object'), ('[1]', 0, 'begin with {'), (' {}', 0, 'begin with {'), ('{"\udcff', 0, 'not UTF-8'),
    ('{"x":{},"x":{}}', 0, 'lacks dtype'), ({'x': 3}, 0, 'expected an object'), ({'__metadata__': {'a': 1}}, 0, 'expected a string'),
    ({'x': {'dtype': 'U8', 'shape': [2]}}, 2, 'lacks data_offsets'), ({'x': entry(more=1)}, 2, 'unknown field "more"'),
    ({'x': entry('F7')}, 2, 'unknown dtype "F7"'), ({'x': entry(['U8'])}, 2, 'expected a string'),
    ({'x': entry(shape=(-2,))}, 2, 'not negative'), ({'x': entry(shape=(2.0,))}, 2, 'a whole number'),
    ({'x': entry(shape=(True, 2))}, 2, 'expected a whole number'), ({'x': entry(shape=(1,) * 17)}, 2, 'more than 16'),
    ({'x': entry(shape=(2**62, 2**62))}, 2, 'overflow'),
    ({'x': entry(end=3)}, 2, 'there are 2 bytes'), ({'x': entry(begin=2, end=0)}, 2, 'reaches from 2 to 0'),
    ({'x': entry(shape=(1,))}, 2, 'needs 1 bytes'), ({'x': entry(begin=1, end=3)}, 3, 'behind a hole'),
    ({'x': entry(), 'y': entry(begin=1, end=3)}, 3, 'inside another'), ({'x': entry()}, 5, '3 bytes behind'),
    ({'x': {'dtype': 'U8', 'shape': [2], 'data_offsets': [0]}}, 2, 'not two numbers'), ('{"x": NaN}', 0, 'expected an object'),
    ('[' * 100000, 0, 'begin with'), ('{"x":' * 100000, 0, 'unknown field'), ({'x': entry('BOOL')}, b'\1\2', 'neither 0 nor 1')]


@pytest.mark.parametrize('header, elements, message', BROKEN)
def test_malformed_files(tmp_path, header, elements, message):
    text = header if isinstance(header, str) else json.dumps(header)
    raw = text.encode(errors='surrogateescape')
    path = tmp_path / 'bad'
    path.write_bytes(struct.pack('<Q', len(raw)) + raw + (elements if isinstance(elements, bytes) else bytes(elements)))
    with pytest.raises(tenon.DataLossError, match=message) as error:
        io.load(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize('raw', [b'PK\3\4 and a zip archive', b'\x80\2 and a pickle'])
def test_files_of_pytorch_are_recognised(tmp_path, raw):
    (tmp_path / 'net.pth').write_bytes(raw)
    with pytest.raises(tenon.DataLossError, match='torch.save'):
        io.load(tmp_path / 'net.pth')


@pytest.mark.parametrize('raw, message', [
    (b'', '0 bytes has no header'), (b'\xff' * 8, 'more than'), (b'\x09' + bytes(7), 'in a file of 8')])
def test_files_without_a_header(tmp_path, raw, message):
    (tmp_path / 'bad').write_bytes(raw)
    with pytest.raises(tenon.DataLossError, match=message):
        io.load(tmp_path / 'bad')


def test_truncated_files_never_load(tmp_path):
    path = tmp_path / 'net'
    io.save(path, nn.Linear(3, 2).state_dict())
    raw = path.read_bytes()
    for size in range(0, len(raw), 7):
        path.write_bytes(raw[:size])
        with pytest.raises(tenon.DataLossError):
            io.load(path)


def network():
    """The same as in exchange.cpp."""
    return nn.Sequential({
        'conv': nn.Conv2d(2, 4, 3, padding=1), 'norm': nn.BatchNorm(4), 'relu': nn.ReLU(), 'pool': nn.MaxPool(2),
        'up': nn.ConvTranspose2d(4, 2, 2, stride=2), 'group': nn.GroupNorm(2, 2), 'flat': nn.Flatten(),
        'out': nn.Linear(32, 3), 'layer': nn.LayerNorm((3,)), 'rms': nn.RMSNorm((3,))})


def images():
    return tenon.arange(0, 64, dtype=tenon.float32).reshape((2, 2, 4, 4)) / 64


def train(net, optimizer, steps):
    for _ in range(steps):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(images()), tenon.tensor([0, 2])).backward()
        optimizer.step()


def test_weights_and_optimizers_cross_between_python_and_cpp(tmp_path):
    program = os.environ.get('TENON_EXCHANGE_PROGRAM')
    if program is None:
        pytest.skip('TENON_EXCHANGE_PROGRAM is not set: ./dev test builds tests/python/io/exchange.cpp and sets it')
    # The same seed gives the same initial values, and training in C++ the same weights.
    subprocess.run([program, 'train', tmp_path / 'cpp', tmp_path / 'cpp.optim', tmp_path / 'cpp.out'], check=True, timeout=60)
    tenon.manual_seed(11)
    ours, state = network(), io.load(tmp_path / 'cpp')
    optimizer = tenon.optim.AdamW(ours.parameters(), lr=0.01)
    train(ours, optimizer, 3)
    assert list(state) and sorted(state) == sorted(ours.state_dict())
    for name, x in ours.state_dict().items():
        np.testing.assert_allclose(x.numpy(), state[name].numpy(), rtol=1e-5, atol=1e-6, err_msg=name)
    # What C++ trained and saved loads here, gives the same results, and can be trained further.
    theirs = network()
    theirs.load_state_dict(state)
    again = tenon.optim.AdamW(theirs.parameters())
    again.load_state_dict(io.load(tmp_path / 'cpp.optim'))
    assert again.param_groups[0]['lr'] == 0.01 and again.state[0]['step'] == 3
    theirs.eval()
    np.testing.assert_allclose(theirs(images()).detach().numpy(), io.load(tmp_path / 'cpp.out')['y'].numpy(), rtol=1e-5, atol=1e-6)
    train(theirs.train(), again, 2)
    # And what Python trained loads in C++.
    io.save(tmp_path / 'py', theirs.state_dict())
    io.save(tmp_path / 'py.optim', again.state_dict())
    subprocess.run([program, 'load', tmp_path / 'py', tmp_path / 'py.optim', tmp_path / 'py.out'], check=True, timeout=60)
    got = io.load(tmp_path / 'py.out')
    assert got['step'].item() == 5
    np.testing.assert_allclose(theirs.eval()(images()).detach().numpy(), got['y'].numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize('read', [io.load, io.load_metadata, io.load_gguf, tenon.onnx.load, tenon.graph.load, tenon.data.read_idx, tenon.torch.load])
@pytest.mark.parametrize('name', ['missing', 'missing.npz', 'nowhere/missing.safetensors'])
def test_every_reader_says_which_file_is_missing(read, name, tmp_path):
    for path in tmp_path / name, str(tmp_path / name):
        with pytest.raises(FileNotFoundError, match=name) as raised:
            read(path)
        assert os.fspath(raised.value.filename) == os.fspath(path)
    if read is not tenon.torch.load:
        with pytest.raises(tenon.IoError):
            read(tmp_path / name)
