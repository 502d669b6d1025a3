"""GGUF files: metadata, plain tensors, and every quantised type beside a reference in double precision."""
import struct

import numpy as np
import pytest

import tenon
from tenon import io

KINDS = {0: 'B', 1: 'b', 2: 'H', 3: 'h', 4: 'I', 5: 'i', 6: 'f', 7: 'B', 10: 'Q', 11: 'q', 12: 'd'}


def text(s):
    raw = s if isinstance(s, bytes) else s.encode()
    return struct.pack('<Q', len(raw)) + raw


def packed(kind, x):
    if kind == 8:
        return text(x)
    if kind == 9:
        of, values = x
        return struct.pack('<IQ', of, len(values)) + b''.join(packed(of, y) for y in values)
    return struct.pack('<' + KINDS[kind], x)


def write(path, metadata, tensors):
    """`metadata`: (key, kind, value); `tensors`: (name, dimensions as the file has them, type, bytes)."""
    head = b'GGUF' + struct.pack('<IQQ', 3, len(tensors), len(metadata))
    for key, kind, value in metadata:
        head += text(key) + struct.pack('<I', kind) + packed(kind, value)
    data = b''
    for name, dims, code, raw in tensors:
        data += bytes(-len(data) % 32)
        head += text(name) + struct.pack('<I', len(dims)) + struct.pack(f'<{len(dims)}Q', *dims) + struct.pack('<IQ', code, len(data))
        data += raw
    path.write_bytes(head + bytes(-len(head) % 32) + data)
    return path


def bits(block, width):
    """The fields of that many bits of each byte, the lowest first: (bytes, 8 / width)."""
    return np.stack([block >> shift & (1 << width) - 1 for shift in range(0, 8, width)], -1).astype(np.float64)


def half(block):
    return np.float64(block[:2].view(np.float16)[0])


def simple(block, fifth, minimum):
    """Q4_0, Q4_1, Q5_0, Q5_1."""
    d, at = half(block), 4 if minimum else 2
    q = bits(block[at + (4 if fifth else 0):], 4).T.reshape(-1)
    if fifth:
        q += 16 * bits(block[at:at + 4], 1).reshape(-1)
    return d * q + half(block[2:]) if minimum else d * (q - (16 if fifth else 8))


def groups(block, fifth):
    """Q4_K, Q5_K: eight groups, whose 6-bit scales and minima fill 12 bytes as 96 bits in a special order."""
    d, dmin, s = half(block), half(block[2:]), block[4:16].astype(int)
    scales = [*(s[:4] % 64), *(s[8:] % 16 + s[:4] // 64 * 16)]
    minima = [*(s[4:8] % 64), *(s[8:] // 16 + s[4:8] // 64 * 16)]
    q = bits(block[48 if fifth else 16:], 4).reshape(4, 32, 2).transpose(0, 2, 1).reshape(8, 32)
    if fifth:
        q += 16 * bits(block[16:48], 1).T
    return (d * np.array(scales)[:, None] * q - dmin * np.array(minima)[:, None]).reshape(-1)


def q6_k(block):
    low = bits(block[:128], 4).reshape(2, 2, 32, 2).transpose(0, 3, 1, 2)   # half, nibble, upper or lower 32 bytes, lane
    high = bits(block[128:192], 2).reshape(2, 32, 4).transpose(0, 2, 1)     # half, quarter, lane
    q = (low.reshape(2, 4, 32) + 16 * high - 32).reshape(16, 16)
    return (half(block[208:]) * block[192:208].view(np.int8).astype(np.float64)[:, None] * q).reshape(-1)


TYPES = {'Q4_0': (2, 32, 18, lambda b: simple(b, False, False)), 'Q4_1': (3, 32, 20, lambda b: simple(b, False, True)),
         'Q5_0': (6, 32, 22, lambda b: simple(b, True, False)), 'Q5_1': (7, 32, 24, lambda b: simple(b, True, True)),
         'Q8_0': (8, 32, 34, lambda b: half(b) * b[2:].view(np.int8).astype(np.float64)),
         'Q4_K': (12, 256, 144, lambda b: groups(b, False)), 'Q5_K': (13, 256, 176, lambda b: groups(b, True)),
         'Q6_K': (14, 256, 210, q6_k)}
SCALES = {'Q4_0': [0], 'Q4_1': [0, 2], 'Q5_0': [0], 'Q5_1': [0, 2], 'Q8_0': [0], 'Q4_K': [0, 2], 'Q5_K': [0, 2], 'Q6_K': [208]}


@pytest.mark.parametrize('name', TYPES)
def test_quantised_types(tmp_path, name):
    code, elements, size, reference = TYPES[name]
    rng = np.random.default_rng(code)
    blocks = rng.integers(0, 256, (6, size), dtype=np.uint8)
    for at in SCALES[name]:  # any bytes, except that scales are finite
        blocks[:, at:at + 2] = rng.standard_normal((6, 1)).astype(np.float16).view(np.uint8)
    path = write(tmp_path / 'x.gguf', [], [('x', (2 * elements, 3), code, blocks.tobytes())])
    x = io.load_gguf(path).tensors['x']
    expected = np.concatenate([reference(block) for block in blocks]).reshape(3, 2 * elements)
    assert x.shape == expected.shape and x.dtype == tenon.float32
    np.testing.assert_allclose(x.numpy(), expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())
    assert io.load_gguf(path, dtype=tenon.float16).tensors['x'].dtype == tenon.float16


def test_metadata_and_plain_tensors(tmp_path):
    metadata = [('a', 0, 200), ('b', 5, -7), ('c', 12, 0.25), ('d', 7, 1), ('e', 8, 'ä'), ('f', 9, (9, [(8, ['x', b'\xff']), (4, [])])),
                ('g', 10, 2 ** 64 - 1), ('h', 11, -2 ** 63)]
    codes = {0: '<f4', 1: '<f2', 24: 'i1', 25: '<i2', 26: '<i4', 27: '<i8', 28: '<f8'}
    arrays = {f't{code}': np.arange(-3, 3).reshape(2, 3).astype(dtype) for code, dtype in codes.items()}
    path = write(tmp_path / 'x.gguf', metadata, [(f't{code}', (3, 2), code, arrays[f't{code}'].tobytes()) for code in codes])
    found = io.load_gguf(path, device='cpu')
    assert found.metadata == {'a': 200, 'b': -7, 'c': 0.25, 'd': True, 'e': 'ä', 'f': [['x', '\udcff'], []], 'g': 2 ** 64 - 1, 'h': -2 ** 63}
    for name, array in arrays.items():
        assert (found.tensors[name].numpy() == array).all() and found.tensors[name].numpy().dtype == array.dtype


def test_files_cut_anywhere_are_refused(tmp_path):
    path = write(tmp_path / 'x.gguf', [('k', 9, (8, ['one', 'two']))], [('x', (32,), 3, bytes(20)), ('y', (3,), 0, bytes(12))])
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(tenon.DataLossError, match=r'\[load_gguf\] .*x\.gguf: byte \d+: '):
            io.load_gguf(path)
    with pytest.raises(tenon.IoError, match='No such file'):
        io.load_gguf(tmp_path / 'missing')
