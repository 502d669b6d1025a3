"""torch.save and torch.load: across to PyTorch and back, and against hostile files."""
import io
import itertools
import os
import pickle
import random
import struct
import subprocess
import sys
import zipfile
from collections import Counter, OrderedDict

import pytest

import tenon
import tenon.torch as ours

DTYPES = ('bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128 '
          'uint16 uint32 uint64 float8_e4m3fn float8_e5m2').split()


def written(package, obj):
    file = io.BytesIO()
    package.save(obj, file)
    file.seek(0)
    return file


def crossed(source, target, obj):
    """obj of one package, saved there and loaded here."""
    return target.load(written(source, obj), weights_only=True)


def plain(value):
    """A value in a form that both packages make equal: tensors as (dtype, shape, strides where they count, numbers, flags)."""
    if hasattr(value, 'requires_grad'):
        name = str(value.dtype).removeprefix('torch.')
        data = value.detach()
        wide = {'bfloat16': 'float32', 'float8_e4m3fn': 'float32', 'float8_e5m2': 'float32', 'float16': 'float32'}.get(name)
        if wide:
            data = data.to(getattr(ours if isinstance(data, tenon.Tensor) else pytest.importorskip('torch'), wide))
        return name, tuple(value.shape), value.requires_grad, type(value).__name__, data.tolist()
    if isinstance(value, dict):
        return type(value).__name__, {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return 'tuple' if isinstance(value, tuple) else 'list', [plain(item) for item in value]
    if type(value).__name__ in ('dtype', 'Device', 'device'):
        return str(value).removeprefix('torch.').removesuffix(':0')
    return type(value), value


def values(package):
    """Objects of every kind, made alike by both packages."""
    base = package.arange(24, dtype=package.float32).reshape(4, 6)
    weight = package.nn.Parameter(package.ones(2, 3))
    shared = [1, 2]
    named = OrderedDict(a=package.zeros(2))
    named._metadata = {'': {'version': 2}}
    return {
        'transposed': package.transpose(base, 0, 1), 'row': base[1], 'column': base[:, 2], 'steps': base[::2, 1::3],
        'expanded': base[:1].expand(3, 6), 'rank 0': package.tensor(2.5), 'empty': package.zeros(0), 'empty 3': package.zeros(2, 0, 3),
        'windows': base.reshape(24).unfold(0, 4, 2) if package is not ours else package.unfold(base.reshape(24), 0, 4, 2),
        'parameter': weight, 'frozen': package.nn.Parameter(package.ones(2), requires_grad=False), 'twice': [weight, weight],
        'leaf': package.ones(2, requires_grad=True), 'result': package.ones(2, requires_grad=True) * 2,
        'numbers': [0, -1, 255, 256, 65536, -2**31, 2**31, 2**63, -2**70, 1.5, float('inf'), -0.0, True, False, None, 1 + 2j],
        'text': ['', 'é', '\U0001f600', 'a' * 300, b'', b'\x00\xff', bytearray(b'abc')], 'tuples': [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)],
        'nested': {'a': {'b': [{'c': ()}]}, 3: 'int', (1, 2): 'tuple', None: 0}, 'ordered': named, 'set': {3, 1, 2}, 'again': [shared, shared],
        'dtypes': [package.float32, package.bool, package.uint16], 'device': package.device('cpu'), 'many': list(range(300)),
        'strings': [f'key {i}' for i in range(300)] * 2,
    }


@pytest.mark.parametrize('name', list(values(ours)))
def test_values_cross_both_ways(torch, name):
    theirs, mine = values(torch)[name], values(ours)[name]
    expected = plain(theirs)
    assert plain(mine) == expected
    assert plain(crossed(torch, ours, theirs)) == expected
    assert plain(crossed(ours, torch, mine)) == expected
    assert plain(crossed(ours, ours, mine)) == expected


@pytest.mark.parametrize('dtype', DTYPES)
@pytest.mark.parametrize('strides', ['plain', 'transposed', 'rank 0', 'empty'])
def test_dtypes_cross_both_ways(torch, dtype, strides):
    def make(package):
        x = package.tensor([[0, 1, 2], [3, 0.0, 1]]).to(getattr(package, dtype))
        return {'plain': x, 'transposed': package.transpose(x, 0, 1), 'rank 0': x[0, 1], 'empty': x[:0]}[strides]
    expected = plain(make(torch))
    for source, target in itertools.product((torch, ours), repeat=2):
        assert plain(crossed(source, target, make(source))) == expected


def test_extreme_elements_keep_their_bits(torch):
    for dtype, word in ('float16', 'uint16'), ('bfloat16', 'uint16'), ('float32', 'uint32'), ('float64', 'uint64'):
        bits = torch.tensor([0, 1, (1 << (torch.finfo(getattr(torch, dtype)).bits - 1)) - 1, 3], dtype=torch.int64).to(getattr(torch, word))
        x = bits.view(getattr(torch, dtype))
        here = crossed(torch, ours, x)
        assert here.tobytes() == bits.numpy().tobytes()
        assert torch.equal(crossed(ours, torch, here).view(getattr(torch, word)), bits)


@pytest.mark.parametrize('device', [str(device) for device in tenon.devices()])
def test_tensors_of_every_device_keep_what_they_share(device):
    x = ours.arange(12.0, device=device).reshape(3, 4)
    model = ours.nn.Linear(4, 2, device=device)
    apart = ours.full((2,), 7, device=device)
    loaded = crossed(ours, ours, {'whole': x, 'row': x[1], 'columns': x[:, 2:], 'turned': x.T, 'none': x[:0], 'apart': apart,
                                  'model': model.state_dict()})
    assert {str(y.device) for y in (*loaded['model'].values(), loaded['whole'], loaded['columns'])} == {str(x.device)}
    assert loaded['model']['weight'].tolist() == model.weight.tolist() and loaded['apart'].tolist() == [7, 7]
    assert loaded['columns'].stride() == (4, 1) and loaded['turned'].tolist() == x.T.tolist() and loaded['none'].shape == (0, 4)
    loaded['whole'][1, 2] = -1
    assert loaded['row'].tolist() == [4, 5, -1, 7] and loaded['columns'][1].tolist() == [-1, 7] and loaded['apart'].tolist() == [7, 7]


def test_tensors_without_elements_cross_both_ways(torch):
    def make(package):
        x = package.empty((2, 3), device='meta', dtype=package.bfloat16).T
        return {'x': x, 'model': package.nn.Linear(2, 3, device='meta').state_dict(), 'p': package.nn.Parameter(package.empty(3, device='meta'))}
    for source, target in itertools.product((torch, ours), repeat=2):
        loaded = crossed(source, target, make(source))
        assert loaded['x'].is_meta and loaded['x'].dtype is target.bfloat16 and loaded['x'].stride() == (1, 3)
        assert loaded['model']['weight'].shape == (3, 2) and type(loaded['p']) is target.nn.Parameter and loaded['p'].requires_grad


def test_traced_tensors_are_not_saved():
    with pytest.raises(tenon.Error, match='is read while a function is traced'):
        tenon.graph.trace(lambda x: ours.save({'x': x}, io.BytesIO()), ours.ones(3))


def test_lazy_conjugates_and_negatives_are_loaded(torch):
    x = torch.tensor([1 + 2j, 3 - 1j])
    assert crossed(torch, ours, x.conj()).tolist() == [1 - 2j, 3 + 1j]
    assert crossed(torch, ours, x.conj().imag).tolist() == [-2.0, 1.0]
    assert crossed(torch, ours, torch.nn.Buffer(torch.ones(2))).tolist() == [1, 1]


def test_attributes_of_parameters_are_left_out_with_a_warning(torch):
    parameter = torch.nn.Parameter(torch.ones(2))
    parameter.note = 'x'
    with pytest.warns(UserWarning, match='note'):
        assert plain(crossed(torch, ours, [parameter])) == plain([torch.nn.Parameter(torch.ones(2))])
    tensor = torch.ones(2)
    tensor.note = 'x'
    with pytest.warns(UserWarning, match='note'):
        assert crossed(torch, ours, tensor).tolist() == [1, 1]


@pytest.mark.parametrize('optimizer', ['SGD', 'Adam', 'AdamW', 'RMSprop', 'Adagrad'])
def test_a_checkpoint_of_pytorch(torch, optimizer):
    net = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.Flatten(), torch.nn.Linear(8, 2))
    trained = getattr(torch.optim, optimizer)(net.parameters(), lr=0.1)
    net(torch.ones(2, 1, 4, 4)).sum().backward()
    trained.step()
    checkpoint = {'epoch': 3, 'model': net.state_dict(), 'optimizer': trained.state_dict(), 'loss': 0.25}
    here = crossed(torch, ours, checkpoint)
    assert plain(here) == plain(checkpoint) and here['model']._metadata == net.state_dict()._metadata
    assert plain(crossed(ours, torch, here)) == plain(checkpoint)
    same = ours.nn.Sequential(ours.nn.Conv2d(1, 2, 3), ours.nn.BatchNorm2d(2), ours.nn.Flatten(), ours.nn.Linear(8, 2))
    same.load_state_dict({name: x for name, x in here['model'].items() if 'num_batches' not in name or name in same.state_dict()})
    net.eval(), same.eval()
    x = torch.rand(2, 1, 4, 4)
    assert same(ours.from_numpy(x.numpy())).detach().numpy() == pytest.approx(net(x).detach().numpy(), abs=1e-5)


def test_a_module_and_its_optimizer_are_restored(tmp_path):
    net = ours.nn.Linear(3, 2)
    optimizer = ours.optim.Adam(net.parameters())
    net(ours.ones(1, 3)).sum().backward()
    optimizer.step()
    ours.save({'model': net.state_dict(), 'optimizer': optimizer.state_dict()}, tmp_path / 'x.pt')
    found = ours.load(tmp_path / 'x.pt')
    again = ours.nn.Linear(3, 2)
    again.load_state_dict(found['model'])
    assert again.weight.tolist() == net.weight.tolist()
    ours.optim.Adam(again.parameters()).load_state_dict(found['optimizer'])


@pytest.mark.parametrize('target', ['torch', 'ours'])
def test_shared_memory_stays_shared_and_is_written_once(torch, target):
    base = ours.zeros(1000)
    file = written(ours, {'base': base, 'half': base[500:], 'matrix': base.reshape(10, 100), 'same': base})
    assert len(file.getvalue()) < 2 * base.nbytes
    found = (torch if target == 'torch' else ours).load(file)
    found['half'][0] = 7
    assert found['base'][500].item() == 7 and found['matrix'][5, 0].item() == 7 and found['same'] is found['base']


def test_only_visible_elements_are_written():
    base = ours.zeros(1 << 20)
    assert len(written(ours, base[5:9]).getvalue()) < 2000
    left, right = base[:100:2], base[1:100:2]
    found = crossed(ours, ours, [left + 1, left, right])
    assert found[1].tolist() == [0] * 50 and found[1].strides == (2,)


def test_negative_strides_become_dense(torch):
    x = ours.arange(4)[::-1]
    assert x.strides == (-1,)
    assert crossed(ours, torch, x).tolist() == [3, 2, 1, 0]


def test_sharing_in_pytorchs_files_is_preserved(torch):
    base = torch.arange(6.0)
    found = crossed(torch, ours, [base, base[2:], base.reshape(2, 3).T])
    found[0][2] = 9
    assert found[1][0].item() == 9 and found[2].tolist() == [[0, 3], [1, 4], [9, 5]]


def test_cycles_and_deep_values(torch):
    ring = [1]
    ring.append(ring)
    found = crossed(ours, ours, ring)
    assert found[1] is found
    deep = []
    for _ in range(100_000):
        deep = [deep]
    assert isinstance(crossed_deep(deep), list)
    with pytest.raises(ValueError, match='nested too deep'):
        written(ours, deep)


def crossed_deep(deep):
    """Lists in lists as only a writer without recursion produces them."""
    depth = 0
    while deep:
        deep, depth = deep[0], depth + 1
    return ours.load(archive(b'\x80\x02' + b']' * (depth + 1) + b'a' * depth + b'.'))


def test_equal_objects_give_equal_files(tmp_path):
    first, second = (written(ours, values(ours)).getvalue() for _ in range(2))
    assert first == second
    for record in zipfile.ZipFile(io.BytesIO(first)).infolist():
        assert (record.header_offset + 30 + len(record.filename) + len(record.extra)) % 64 == 0


def test_map_location(torch):
    file = written(torch, {'a': torch.ones(2), 'b': torch.zeros(1)})

    def load(map_location):
        file.seek(0)
        return ours.load(file, map_location)
    for where in ('cpu', ours.device('cpu'), {'cpu': 'cpu'}, {'cuda:0': 'cpu'}, lambda storage, location: storage,
                  lambda storage, location: None):
        assert plain(load(where)) == plain({'a': ours.ones(2), 'b': ours.zeros(1)})
    seen = []
    load(lambda storage, location: seen.append((location, storage.shape)))
    assert seen == [('cpu', (2,)), ('cpu', (1,))]
    with pytest.raises(TypeError, match='must return the storage'):
        load(lambda storage, location: 'cpu')
    with pytest.raises(ZeroDivisionError):
        load(lambda storage, location: 1 / 0)
    with pytest.raises(RuntimeError, match='map_location="cpu"'):
        load('cuda:77')


def test_files_with_the_other_byte_order(torch):
    torch.serialization.set_default_load_endianness(None)
    x = {'h': ours.tensor([1.5, -2.0]).to(ours.float16), 'f': ours.tensor([1.5, 3.0]), 'c': ours.tensor([1 + 2j]), 'b': ours.tensor([True, False])}
    source = zipfile.ZipFile(written(ours, x))
    file = io.BytesIO()
    widths = iter((2, 4, 4, 1))
    with zipfile.ZipFile(file, 'w') as swapped:
        for name in source.namelist():
            data = source.read(name)
            if '/data/' in name:
                width = next(widths)
                data = b''.join(data[i:i + width][::-1] for i in range(0, len(data), width))
            swapped.writestr(name, b'big' if name.endswith('byteorder') else data)
    file.seek(0)
    assert plain(ours.load(file)) == plain(x)
    file.seek(0)
    assert plain(torch.load(file)) == plain(x)


def test_arrays_and_numbers_of_numpy(torch):
    """Checkpoints keep the state of NumPy's generators beside the tensors; PyTorch reads and writes the same."""
    np = pytest.importorskip('numpy')
    there = {'state': np.random.RandomState(3).get_state(), 'python': random.Random(3).getstate(), 'a': np.arange(6.0).reshape(2, 3),
             'number': np.float64(2.5), 'count': np.int64(3), 'yes': np.bool_(True), 'text': np.array(['ab', 'c']), 'bytes': np.array([b'xy']),
             'big': np.array([1, 2], dtype='>i4'), 'columns': np.asfortranarray(np.arange(6).reshape(2, 3)), 'none': np.zeros((0, 3), np.float32),
             'scalar': np.array(7.0), 'reversed': np.arange(3)[::-1], 'complex': np.array([1 + 2j], np.complex64)}
    there['again'] = there['a']
    for source, load in ((ours, ours.load), (torch, ours.load), (ours, lambda file: torch.load(file, weights_only=False))):
        found = load(written(source, {**there, 'x': source.ones(2)}))
        assert found['x'].tolist() == [1, 1] and found['again'] is found['a'] and found['python'] == there['python']
        assert found['state'][0] == 'MT19937' and np.array_equal(found['state'][1], there['state'][1])
        for name in there.keys() - {'state', 'python'}:
            mine, other = np.asarray(found[name]), np.asarray(there[name])
            assert type(found[name]) is type(there[name]) and mine.shape == other.shape and mine.dtype == other.dtype.newbyteorder('='), name
            assert np.array_equal(mine, other), name
        found['a'][0] = 5  # it can be written
    for wrong in (np.array([object()]), np.array([(1, 2.0)], dtype=[('a', int), ('b', float)])):
        with pytest.raises(pickle.UnpicklingError, match='NumPy'):
            crossed(torch, ours, wrong)


def test_files_are_replaced_atomically(tmp_path):
    path, link = tmp_path / 'x.pt', tmp_path / 'link.pt'
    ours.save([1], path)
    os.chmod(path, 0o640)
    link.symlink_to(path)
    ours.save([2], str(link))
    assert ours.load(path) == [2] and link.is_symlink() and path.stat().st_mode & 0o777 == 0o640
    with pytest.raises(TypeError, match='cannot write a builtins.generator'):
        ours.save([(n for n in ())], path)
    assert ours.load(os.fsencode(path)) == [2] and sorted(os.listdir(tmp_path)) == ['link.pt', 'x.pt']
    with pytest.raises(OSError, match='not a regular file'):
        ours.save([1], tmp_path)
    with pytest.raises(FileNotFoundError):
        ours.load(tmp_path / 'none.pt')
    with pytest.raises(FileNotFoundError):
        ours.save([1], tmp_path / 'none' / 'x.pt')


def test_safetensors_by_their_ending(tmp_path):
    path = tmp_path / 'x.safetensors'
    ours.save({'a': ours.ones(2)}, path)
    assert plain(ours.load(path)) == plain(tenon.io.load(path)) == plain(ours.load(path, map_location='cpu'))
    os.rename(path, tmp_path / 'x.pt')
    assert plain(ours.load(tmp_path / 'x.pt')) == plain({'a': ours.ones(2)})
    with pytest.raises(TypeError, match='flat dict'):
        ours.save([1], path)


def test_arguments():
    file = written(ours, [1])
    with pytest.raises(ValueError, match='pickle_protocol=2'):
        ours.save([1], io.BytesIO(), pickle_protocol=4)
    with pytest.raises(TypeError, match='binary'):
        ours.load(io.StringIO('x'))
    with pytest.raises(TypeError, match='seekable'):
        ours.load(type('Half', (), {'read': lambda self, n=-1: b''})())
    assert ours.load(file, weights_only=False, mmap=False) == [1]


# Hostile files.

def archive(pickled, **records):
    file = io.BytesIO()
    with zipfile.ZipFile(file, 'w') as made:
        made.writestr('archive/data.pkl', pickled)
        for name, data in records.items():
            made.writestr(f'archive/data/{name[1:]}', data)
    file.seek(0)
    return file


ran = []


class Runs:
    """What a pickle that runs something holds."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def note(*arguments):
    ran.append(arguments)


@pytest.mark.parametrize('protocol', range(6))
@pytest.mark.parametrize('call', [(note, 1), (os.system, 'true'), (eval, '1'), (getattr, 'x', 'upper'), (__import__, 'os'),
                                  (OrderedDict.fromkeys, 'ab'), (bytes, 5), (list, 'ab'), (dict,), (Counter.update, Counter())])
def test_nothing_in_a_file_runs(protocol, call):
    with pytest.raises(pickle.UnpicklingError):
        ours.load(archive(pickle.dumps({'a': Runs(*call)}, protocol)))
    assert not ran


class Made:
    """Pickles as a call of a name, followed by a state if there is one."""

    def __init__(self, *parts):
        self.parts = parts

    def __reduce__(self):
        return self.parts


@pytest.mark.parametrize('part', ['length', 'version', 'shape', 'size', 'dtype', 'bytes', 'kind', 'alone', 'fields'])
def test_arrays_of_unknown_state_are_refused(part):
    np = pytest.importorskip('numpy')
    make, dtype = np.zeros(1).__reduce__()[0], np.dtype('<f8')
    good = [1, (2,), dtype, False, bytes(16)]
    state = {'length': good[:4], 'version': [2, *good[1:]], 'shape': [1, (-2,), *good[2:]], 'size': [1, (1 << 40,), *good[2:]],
             'dtype': [1, (2,), 'f8', *good[3:]], 'bytes': [*good[:4], 'x' * 16]}.get(part, good)
    found = Made(make, (np.ndarray, (0,), b'b'), tuple(state))
    if part == 'kind':
        found = Made(make, (list, (0,), b'b'), tuple(good))
    elif part == 'alone':
        found = Made(np.ndarray, ((2,),))
    elif part == 'fields':
        found = Made(np.dtype, ('f8', False, True), (3, '<', None, None, None, 1 << 40, 8, 0))
    with pytest.raises(pickle.UnpicklingError):
        ours.load(archive(pickle.dumps(found, 2)))


@pytest.mark.filterwarnings('ignore::FutureWarning')  # of TorchScript
def test_names_are_refused_with_what_to_do(torch):
    with pytest.raises(pickle.UnpicklingError, match=r'torch\.nn\.modules\.linear\.Linear.*state_dict'):
        crossed(torch, ours, torch.nn.Linear(1, 1))
    with pytest.raises(ValueError, match='sparse'):
        crossed(torch, ours, torch.eye(2).to_sparse())
    old = io.BytesIO()
    torch.save([1], old, _use_new_zipfile_serialization=False)
    with pytest.raises(ValueError, match=r'before 1\.6'):
        ours.load(old)
    script = io.BytesIO()
    torch.jit.save(torch.jit.script(torch.nn.ReLU()), script)
    with pytest.raises(ValueError, match='TorchScript'):
        ours.load(script)


STORAGE = b'((X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpu%stQ'
REBUILD = b'\x80\x02ctorch._utils\n_rebuild_tensor_v2\n'


def tensor_pickle(offset=b'K\x00', size=b'K\x02\x85', stride=b'K\x01\x85', count=b'K\x02', hooks=b')', more=b''):
    return REBUILD + STORAGE % count + offset + size + stride + b'\x89' + hooks + more + b'tR.'


def test_a_tensor_written_by_hand():
    data = struct.pack('<2f', 1, 2)
    assert ours.load(archive(tensor_pickle(), _0=data)).tolist() == [1, 2]
    assert ours.load(archive(tensor_pickle(size=b'K\x00J\xff\xff\xff\x7f\x86', stride=b'K\x01K\x01\x86'), _0=data)).shape == (0, 2**31 - 1)


@pytest.mark.parametrize('change', [
    dict(offset=b'K\x01'), dict(offset=b'J\xff\xff\xff\xff'), dict(offset=b'G' + bytes(8)), dict(size=b'K\x03\x85'),
    dict(size=b'J\xff\xff\xff\xff\x85'), dict(size=b'\x8a\x09' + b'\xff' * 8 + b'\x00\x85'), dict(stride=b'J\xff\xff\xff\xff\x85'),
    dict(stride=b'K\x02\x85'), dict(stride=b'\x8a\x08' + b'\xff' * 7 + b'\x7f\x85'), dict(size=b'K\x02K\x01\x86'), dict(size=b'N'),
    dict(count=b'K\x03'), dict(count=b'J\xff\xff\xff\xff'), dict(count=b'\x8a\x20' + b'\x7f' * 32), dict(hooks=b']K\x01a'),
    dict(size=b'\x8a\x08' + b'\xff' * 7 + b'\x7fK\x02\x86', stride=b'K\x00K\x00\x86'),
    dict(size=b'\x8a\x07' + b'\xff' * 6 + b'\x7f\x85', stride=b'K\x00\x85', more=b'}X\x04\x00\x00\x00conj\x88s')])
def test_impossible_tensors(change):
    with pytest.raises(ValueError, match=r'\[torch.load\]'):
        ours.load(archive(tensor_pickle(**change), _0=struct.pack('<2f', 1, 2)))


@pytest.mark.parametrize('pickled, what', [
    (b'\x80\x02}(K\x01\x85q\x00' + b''.join(b'h%ch%c\x86q%c' % (i, i, i + 1) for i in range(60)) + b'Nu.', 'tuple is a key'),
    (b'\x80\x02}(\x8a\x20' + b'\x7f' * 32 + b'K\x01u.', 'int is a key'), (b'\x80\x02}]K\x01s.', 'list is a key'),
    (b'\x80\x02X' + struct.pack('<I', 100_000) + b'a' * 100_000 + b'q\x01X\x06\x00\x00\x00latin1q\x02'
     + b'c_codecs\nencode\nh\x01h\x02\x86R' * 20_000 + b'.', 'far more memory'),
    (b'\x80\x02(' + b'K\x01' * 20_000 + b'tq\x01' + b'cbuiltins\nset\nh\x01\x85R' * 20_000 + b'.', 'far more memory'),
    (b'\x80\x02ccollections\nOrderedDict\n)R}X\x05\x00\x00\x00itemsK\x01sb.', 'only _metadata'),
    (b'\x80\x02ccollections\nOrderedDict\n)R}X\x09\x00\x00\x00__class__K\x01sb.', 'only _metadata')])
def test_pickles_that_would_take_long_or_hide_methods(pickled, what):
    with pytest.raises(pickle.UnpicklingError, match=what):
        ours.load(archive(pickled))


@pytest.mark.parametrize('pickled', [
    # lengths beyond the end, stacks that are empty, marks that are missing
    b'\x80\x02X\xff\xff\xff\xffabc.', b'\x80\x02.', b'\x80\x02t.', b'\x80\x02\x86.', b'\x80\x02h\x05.', b'\x80\x02K\x01K\x02.', b'', b'\x80', b'\x80\x02(',
    b'\x80\x02]K\x01s.', b'\x80\x02}(K\x01u.', b'\x80\x02K\x01)R.', b'\x80\x02ctorch\nfloat32\n)R.', b'\x80\x02ctorch\nTensor\n.',
    b'\x80\x02ctorch\nTensor\n)R.', b'\x80\x02ctorch\nFloatStorage\n)R.', b'\x80\x02ctorch\ndevice\n(K\x01t\x85R.', b'\x80\x02(K\x01tQ.',
    b'\x80\x02ctorch', b'\x80\x02c\xff\xfe\n\xff\n.', b'\x80\x02X\x01\x00\x00\x00\xff.', b'\x80\x02cos\nsystem\n.', b'\x80\x02P1\n.', b'\x80\x02i__main__\nx\n.',
])
def test_hostile_pickles(pickled):
    with pytest.raises(ValueError, match=r'\[torch.load\]'):
        ours.load(archive(pickled))


def test_hostile_archives():
    whole = written(ours, [ours.zeros(1000)]).getvalue()
    for cut in (0, 1, 10, 100, 1000, len(whole) - 1):
        with pytest.raises(ValueError, match=r'\[torch.load\]'):
            ours.load(io.BytesIO(whole[:cut]))
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2):
        bomb = io.BytesIO()
        with zipfile.ZipFile(bomb, 'w', method) as made:
            made.writestr('archive/data.pkl', b'\x80\x02N.')
            made.writestr('archive/data/0', bytes(10_000_000))
        with pytest.raises(ValueError, match='larger than the file'):
            ours.load(bomb)
    with pytest.raises(ValueError, match=r'without data\.pkl'):
        ours.load(archive_of({'x/y': b''}))
    with pytest.raises(ValueError, match='is missing'):
        ours.load(archive(tensor_pickle()))
    with pytest.raises(ValueError, match='has 4 bytes'):
        ours.load(archive(tensor_pickle(), _0=bytes(4)))


def archive_of(records):
    file = io.BytesIO()
    with zipfile.ZipFile(file, 'w') as made:
        for name, data in records.items():
            made.writestr(name, data)
    return file


def mutated(data, chance):
    """data with a few bytes changed, removed, inserted, or copied from elsewhere."""
    data = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 5, 20))):
        at, other, length = chance.randrange(len(data)), chance.randrange(len(data)), chance.choice((1, 2, 4, 16))
        kind = chance.randrange(5)
        if kind == 0:
            data[at] = chance.randrange(256)
        elif kind == 1:
            data[at] ^= 1 << chance.randrange(8)
        elif kind == 2 and len(data) > length:
            del data[at:at + length]
        elif kind == 3:
            data[at:at] = chance.randbytes(length)
        else:
            data[at:at + length] = data[other:other + length]
    return bytes(data)


def test_changed_files_give_errors_or_values_but_nothing_else():
    chance = random.Random(1)
    obj = values(ours)
    whole = written(ours, {key: obj[key] for key in ('transposed', 'expanded', 'parameter', 'numbers', 'text', 'ordered', 'set', 'dtypes', 'device')})
    source = zipfile.ZipFile(whole)
    records = {name: source.read(name) for name in source.namelist()}
    loaded = refused = 0
    for number in range(6000):
        if number % 3:  # only the pickle, inside a sound archive
            file = archive_of(records | {'archive/data.pkl': mutated(records['archive/data.pkl'], chance)})
        else:
            file = io.BytesIO(mutated(whole.getvalue(), chance))
        try:
            ours.load(file)
            loaded += 1
        except (ValueError, RuntimeError) as error:
            assert str(error).startswith('[torch.load]'), error
            refused += 1
    assert loaded > 100 and refused > 2000


@pytest.mark.parametrize('damage', [lambda data: data[:-30], lambda data: data[:40], lambda data: b'\0' * 8 + data[8:],
                                    lambda data: data.replace(b'\x80\x02', b'\x80\x7f', 1), lambda data: data[:-6] + b'\xff\xff\xff\x7f\0\0'])
def test_errors_name_the_file(damage, tmp_path):
    path = tmp_path / 'weights.pt'
    ours.save({'a': ours.ones(3)}, path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(tenon.DataLossError, match=r'\[torch.load\] .*weights.pt: '):
        ours.load(path)


def test_too_little_memory_is_no_damage(tmp_path):
    x = ours.zeros(16 << 20)
    ours.save({'x': x}, tmp_path / 'large.pt')
    tenon.io.save(tmp_path / 'large.npz', {'x': x})
    program = """
import resource, sys
import tenon, tenon.torch, tenon._npz
tenon.ones(2) + 1
used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (24 << 20), -1))
for load, path in zip((tenon.torch.load, tenon.io.load), sys.argv[1:]):
    try:
        load(path)
    except tenon.OutOfMemoryError as error:
        assert path in str(error), error
    else:
        raise AssertionError(path)
"""
    done = subprocess.run([sys.executable, '-c', program, tmp_path / 'large.pt', tmp_path / 'large.npz'], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
