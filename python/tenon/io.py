"""Weights in safetensors files (https://huggingface.co/docs/safetensors), the same files that tenon/io.hpp reads and writes.

>>> import os, tempfile
>>> path = os.path.join(tempfile.mkdtemp(), 'net.safetensors')
>>> tenon.io.save(path, {'w': tenon.tensor([1.0, 2.0])}, metadata={'epoch': '3'})
>>> tenon.io.load(path)['w'].tolist()
[1.0, 2.0]
>>> tenon.io.load_metadata(path)
{'epoch': '3'}
"""
import contextlib
import json
import math
import os
import struct
import tempfile

from . import _core
from ._core import Tensor
from ._errors import DataLossError, Error, IoError

MAX_HEADER = 100_000_000  # as the reference implementation has it
MAX_DIMS = 8
# C128 is an extension; other readers refuse it by name.
_DTYPES = {'BOOL': 'bool', 'U8': 'uint8', 'I8': 'int8', 'U16': 'uint16', 'I16': 'int16', 'F16': 'float16', 'BF16': 'bfloat16',
           'U32': 'uint32', 'I32': 'int32', 'F32': 'float32', 'U64': 'uint64', 'I64': 'int64', 'F64': 'float64',
           'C64': 'complex64', 'C128': 'complex128', 'F8_E4M3': 'float8_e4m3fn', 'F8_E5M2': 'float8_e5m2'}
_NAMES = {name: code for code, name in _DTYPES.items()}


def _itemsize(code):
    return getattr(_core, _DTYPES[code]).itemsize


class _File:
    """An open file with its header read and checked."""

    def __init__(self, path, file):
        self.path, self.file = path, file
        self.size = os.fstat(file.fileno()).st_size
        if self.size < 8:
            self.fail(f'a file of {self.size} bytes has no header')
        length, = struct.unpack('<Q', file.read(8))
        if length > MAX_HEADER:
            self.fail(f'a header of {length} bytes is more than {MAX_HEADER}')
        if length > self.size - 8:
            self.fail(f'a header of {length} bytes in a file of {self.size}')
        self.base = 8 + length
        header = self._parse(file.read(length))
        self.metadata = self._check_metadata(header.pop('__metadata__', {}))
        self.entries = [(name, *self._check_entry(name, entry)) for name, entry in header.items()]
        self._check_layout()

    def fail(self, reason):
        raise DataLossError(f'[load] {self.path}: {reason}')

    def _parse(self, raw):
        def once(pairs):
            found = dict(pairs)
            if len(found) != len(pairs):
                names = [name for name, _ in pairs]
                self.fail(f'"{next(n for n in names if names.count(n) > 1)}" appears twice')
            return found

        def refuse(text):
            self.fail(f'{text} in the header')
        try:
            header = json.loads(raw.decode(), object_pairs_hook=once, parse_constant=refuse)
        except (UnicodeDecodeError, json.JSONDecodeError) as error:
            self.fail(f'the header is no JSON: {error}')
        except RecursionError:
            self.fail('the header is nested too deeply')
        if not isinstance(header, dict) or not raw.startswith(b'{'):
            self.fail('the header does not begin with {')
        return header

    def _check_metadata(self, metadata):
        if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
            self.fail('__metadata__ is no map of strings')
        return metadata

    def _numbers(self, name, field, value, most):
        if not isinstance(value, list) or len(value) > most or not all(type(n) is int and 0 <= n < 2 ** 63 for n in value):
            self.fail(f'{field} of tensor "{name}" is no list of at most {most} sizes')
        return value

    def _check_entry(self, name, entry):
        if not isinstance(entry, dict):
            self.fail(f'tensor "{name}" is no object')
        for field in ('dtype', 'shape', 'data_offsets'):
            if field not in entry:
                self.fail(f'tensor "{name}" lacks {field}')
        for field in entry:
            if field not in ('dtype', 'shape', 'data_offsets'):
                self.fail(f'tensor "{name}" has the unknown field "{field}"')
        code = entry['dtype']
        if not isinstance(code, str) or code not in _DTYPES:
            self.fail(f'tensor "{name}" has the unknown dtype {code!r}')
        shape = self._numbers(name, 'shape', entry['shape'], MAX_DIMS)
        offsets = self._numbers(name, 'data_offsets', entry['data_offsets'], 2)
        if len(offsets) != 2:
            self.fail(f'data_offsets of tensor "{name}" are not two numbers')
        begin, end = offsets
        available = self.size - self.base
        if begin > end or end > available:
            self.fail(f'tensor "{name}" reaches from {begin} to {end}, but there are {available} bytes of elements')
        wanted = math.prod(shape) * _itemsize(code)
        if wanted != end - begin:
            self.fail(f'tensor "{name}" needs {wanted} bytes for its shape, but has {end - begin}')
        return code, tuple(shape), begin, end

    def _check_layout(self):
        covered = 0
        for name, _, _, begin, end in sorted(self.entries, key=lambda entry: entry[3:]):
            if begin != covered:
                where = 'inside another' if begin < covered else 'behind a hole'
                self.fail(f'tensor "{name}" begins at {begin} {where}, expected {covered}')
            covered = end
        if covered != self.size - self.base:
            self.fail(f'{self.size - self.base - covered} bytes behind the last tensor belong to none')

    def read(self, name, code, shape, begin, end):
        self.file.seek(self.base + begin)
        data = self.file.read(end - begin)
        if len(data) != end - begin:
            self.fail(f'the file ends within tensor "{name}"')
        if code == 'BOOL' and data.translate(None, b'\0\1'):
            self.fail(f'tensor "{name}" has a bool that is neither 0 nor 1')
        return _core._from_bytes(data, _DTYPES[code], shape)


@contextlib.contextmanager
def _open(path):
    path = os.fspath(path)
    try:
        with open(path, 'rb') as file:
            yield _File(path, file)
    except OSError as error:
        raise error if isinstance(error, Error) else IoError(f'[load] {path}: {error.strerror or error}') from error


def load(path, device=None):
    """All tensors of a file by name, on `device` (None: the host).

    Sizes are checked before anything is allocated. Raises tenon.IoError (an OSError) where the file cannot be read,
    tenon.DataLossError (a ValueError), with the reason, where it is malformed.
    """
    with _open(path) as file:
        tensors = {entry[0]: file.read(*entry) for entry in file.entries}
    return tensors if device is None else {name: x.to(device) for name, x in tensors.items()}


def load_metadata(path):
    """The metadata of a file: strings by name."""
    with _open(path) as file:
        return file.metadata


def _check_text(what, text):
    if not isinstance(text, str):
        raise TypeError(f'[save] {what} must be a str, not {type(text).__name__}')
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f'[save] {what} cannot be written: it has lone surrogates') from None


def _make_header(tensors, metadata):
    header, at = {}, 0
    if metadata:
        for key, value in metadata.items():
            _check_text('a metadata key', key)
            _check_text(f'the metadata of "{key}"', value)
        header['__metadata__'] = dict(metadata)
    for name, x in tensors:
        header[name] = {'dtype': _NAMES[x.dtype.name], 'shape': list(x.shape), 'data_offsets': [at, at + x.nbytes]}
        at += x.nbytes
    text = json.dumps(header, ensure_ascii=False, separators=(',', ':')).encode()
    text += b' ' * (-len(text) % 8)
    if len(text) > MAX_HEADER:
        raise ValueError('[save] the header is too long')
    return text


def save(path, tensors, metadata=None):
    """Writes tensors by name, such as net.state_dict(). The file is replaced at once, or not at all."""
    if not hasattr(tensors, 'items'):
        raise TypeError(f'[save] wants a dict of tensors by name, not {type(tensors).__name__}')
    for name, x in tensors.items():
        _check_text('the name of a tensor', name)
        if name == '__metadata__':
            raise ValueError('[save] no tensor can be called __metadata__')
        if not isinstance(x, Tensor):
            raise TypeError(f'[save] "{name}" must be a Tensor, not {type(x).__name__}: use tenon.asarray(...)')
    # Wide elements first, so that all are aligned.
    order = sorted(sorted(tensors.items()), key=lambda item: -item[1].itemsize)
    header = _make_header(order, metadata)
    with _replacing(os.fspath(path)) as file:
        file.write(struct.pack('<Q', len(header)) + header)
        for _, x in order:
            file.write(x.detach().tobytes())


@contextlib.contextmanager
def _replacing(path):
    """A file beside `path` that takes its place at the end: on disk first, then under its name, then the name on disk."""
    directory = os.path.dirname(path) or '.'
    number, temporary = tempfile.mkstemp(prefix=os.path.basename(path) + '.', dir=directory)
    try:
        with os.fdopen(number, 'wb') as file:
            yield file
            file.flush()
            os.fchmod(file.fileno(), _mode(path))
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    number = os.open(directory, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # some file systems have no fsync for directories
            os.fsync(number)
    finally:
        os.close(number)


def _mode(path):
    """That of the file it replaces, or what the user's mask allows."""
    try:
        return os.stat(path).st_mode & 0o7777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
