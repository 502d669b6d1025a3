"""NumPy's .npz files: a zip file of .npy records (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html), without NumPy.

Refuses records of Python objects, which a pickle would have to make.
"""
import array
import ast
import math
import struct
import zipfile
import zlib

from . import _core
from ._core import ops
from ._errors import DataLossError, IoError, memory_for
from ._replacing import replacing

_MAGIC = b'\x93NUMPY'
_KINDS = {'bool': 'b1', 'uint8': 'u1', 'uint16': 'u2', 'uint32': 'u4', 'uint64': 'u8', 'int8': 'i1', 'int16': 'i2', 'int32': 'i4', 'int64': 'i8',
          'float16': 'f2', 'float32': 'f4', 'float64': 'f8', 'complex64': 'c8', 'complex128': 'c16'}
_DTYPES = {kind: name for name, kind in _KINDS.items()}
_HEADER = 10_000  # bytes; NumPy's own bound
_MAX_DIMS = 16  # TN_MAX_DIMS
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, OverflowError, RuntimeError, ValueError, struct.error)


def load(path):
    """Tensors by name."""
    try:
        with open(path, 'rb') as file, memory_for(f'[load] {path}'):
            return _records(path, file)
    except OSError as error:
        raise IoError(f'[load] {path}: {error.strerror}') from None


def _records(path, file):
    found = {}
    try:
        with zipfile.ZipFile(file) as archive:
            for info in archive.infolist():
                name = info.filename.removesuffix('.npy')
                if name in found or name == info.filename:
                    raise DataLossError(f'"{info.filename}" is {"there twice" if name in found else "not an .npy record"}')
                found[name] = _record(archive, info)
    except DataLossError as error:
        raise DataLossError(f'[load] {path}: {error}') from None
    except _DAMAGE as error:
        raise DataLossError(f'[load] {path}: a damaged zip file: {error}') from None
    return found


def _record(archive, info):
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise DataLossError(f'"{info.filename}" is compressed in a way that NumPy does not use')
    with archive.open(info) as record:
        kind, is_columns, shape, length = _header(record, info.filename)
        count = math.prod(shape)
        dtype = getattr(_core, _DTYPES[kind[1:]])
        if info.file_size != length + count * dtype.itemsize:
            raise DataLossError(f'"{info.filename}" has {info.file_size - length} bytes of elements, shape {shape} of {dtype} needs {count * dtype.itemsize}')
        data = record.read()  # to the end, where the checksum is checked
    if kind[0] == '>' and dtype.itemsize > 1:
        data = _swapped(data, dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize)
    x = _core._from_bytes(data, dtype, shape[::-1] if is_columns else shape)
    return ops['contiguous'](ops['permute'](x, tuple(reversed(range(len(shape)))))) if is_columns and len(shape) > 1 else x


def _header(record, name):
    """(kind of elements, whether columns come first, shape, length of the header in bytes) of a .npy record."""
    start = record.read(8)
    if start[:6] != _MAGIC or len(start) < 8 or start[6] not in (1, 2, 3):
        raise DataLossError(f'"{name}" does not begin as .npy records do')
    size = record.read(2 if start[6] == 1 else 4)
    length, = struct.unpack('<H' if start[6] == 1 else '<I', size) if len(size) in (2, 4) else (_HEADER + 1,)
    text = record.read(length) if length <= _HEADER else b''
    try:
        fields = ast.literal_eval(text.decode('latin1' if start[6] < 3 else 'utf-8').strip())
        kind, is_columns, shape = fields['descr'], fields['fortran_order'], fields['shape']
        if len(text) != length or not isinstance(shape, tuple) or not all(type(n) is int and n >= 0 for n in shape) or type(is_columns) is not bool:
            raise ValueError
    except (ValueError, SyntaxError, KeyError, TypeError, MemoryError, RecursionError):
        raise DataLossError(f'"{name}" has a malformed header') from None
    if not isinstance(kind, str) or kind[:1] not in ('<', '>', '|', '=') or kind[1:] not in _DTYPES:
        raise DataLossError(f'"{name}" has elements of {kind!r}: only numbers and bools are read')
    if len(shape) > _MAX_DIMS:
        raise DataLossError(f'"{name}" has {len(shape)} dimensions, at most {_MAX_DIMS} possible')
    return kind, is_columns, shape, len(start) + len(size) + length


def _swapped(data, size):
    """The elements, of `size` bytes each, in the other byte order."""
    elements = array.array({2: 'H', 4: 'I', 8: 'Q'}[size], data)
    elements.byteswap()
    return elements.tobytes()


def save(path, tensors):
    """Writes tensors by name, uncompressed, as numpy.savez does; equal tensors give equal files."""
    for name, x in tensors.items():
        if x.dtype.name not in _KINDS:
            raise TypeError(f'[save] "{name}" has dtype {x.dtype}, which NumPy does not have: cast it, or save to .safetensors')
    with replacing(path, 'save') as file, zipfile.ZipFile(file, 'w') as archive:
        for name, x in tensors.items():
            kind = _KINDS[x.dtype.name]
            text = repr({'descr': ('|' if x.dtype.itemsize == 1 else '<') + kind, 'fortran_order': False, 'shape': tuple(x.shape)})
            text += ' ' * (-(len(text) + 11) % 64) + '\n'
            with archive.open(zipfile.ZipInfo(name + '.npy'), 'w', force_zip64=True) as record:
                record.write(_MAGIC + bytes((1, 0)) + struct.pack('<H', len(text)) + text.encode('latin1'))
                record.write(x.detach().tobytes())
