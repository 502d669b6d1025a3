"""The zip files of torch.save: uncompressed records in one folder, described by data.pkl."""
import os
import zipfile

from .errors import LoadError

_ALIGN = 64
_DAMAGE = (zipfile.BadZipFile, EOFError, KeyError, NotImplementedError, OSError, OverflowError, RuntimeError, UnicodeError, ValueError)
_LARGE = 1 << 31  # larger records get 64-bit sizes


class Archive:
    """The records of a file. Before anything is read, sizes are checked: their sum never exceeds the file's size."""

    def __init__(self, file):
        try:
            size = file.seek(0, os.SEEK_END)
            file.seek(0)
            head = file.read(8)
        except AttributeError:
            raise TypeError(f'[torch.load] f must be a path or a seekable binary file, not {type(file).__name__}') from None
        if not isinstance(head, bytes):
            raise TypeError('[torch.load] f must be opened in binary mode: open(path, "rb")')
        if not head.startswith(b'PK'):
            raise LoadError(_what_it_is(head))
        try:
            self._zip = zipfile.ZipFile(file)
            self._records = {info.filename: info for info in self._zip.infolist()}
            self._check(size)
        except _DAMAGE as error:
            raise error if isinstance(error, LoadError) else LoadError(f'[torch.load] a damaged zip file: {error}') from None
        self.is_big_endian = self.has('byteorder') and self.read('byteorder') == b'big'

    def _check(self, size):
        infos = self._zip.infolist()
        if sum(info.file_size for info in infos) > size:  # records that overlap or would grow when unpacked
            raise LoadError('[torch.load] the records of the file are larger than the file: it was not written by torch.save')
        self._folder = next(iter(self._records), '').partition('/')[0]
        if self.has('constants.pkl'):
            raise LoadError('[torch.load] a TorchScript archive, which holds code: load it in PyTorch and save its state_dict()')
        if any(info.compress_type != zipfile.ZIP_STORED for info in infos):
            raise LoadError('[torch.load] the file is compressed: load it in PyTorch and save it again')
        if not self.has('data.pkl'):
            raise LoadError('[torch.load] a zip file without data.pkl: it was not written by torch.save')

    def has(self, name):
        """Whether there is a record."""
        return f'{self._folder}/{name}' in self._records

    def names(self):
        """The names of all records."""
        return [name.removeprefix(f'{self._folder}/') for name in self._records]

    def size(self, name):
        """The size of a record in bytes; LoadError if there is none."""
        if not self.has(name):
            raise LoadError(f'[torch.load] the record {name} is missing: the file is damaged')
        return self._records[f'{self._folder}/{name}'].file_size

    def read(self, name):
        """The bytes of a record, after a check of its checksum."""
        size = self.size(name)
        try:
            data = self._zip.read(f'{self._folder}/{name}')
        except _DAMAGE as error:
            raise LoadError(f'[torch.load] the record {name} is damaged: {error}') from None
        if len(data) != size:
            raise LoadError(f'[torch.load] the record {name} has {len(data)} bytes instead of {size}')
        return data


def _what_it_is(head):
    if head[:1] == b'\x80':
        return ("[torch.load] a pickle, which may run code when it is loaded, or a file of PyTorch before 1.6: "
                'load it in PyTorch and save it again with torch.save')
    return '[torch.load] neither a zip file of torch.save nor a .safetensors file'


def write_archive(file, pickled, storages):
    """Writes data.pkl and the bytes of each storage; equal contents give equal bytes."""
    with zipfile.ZipFile(file, 'w', zipfile.ZIP_STORED) as archive:
        _write(archive, file, 'data.pkl', pickled)
        _write(archive, file, 'byteorder', b'little')
        for number, data in enumerate(storages):
            _write(archive, file, f'data/{number}', data)
        _write(archive, file, 'version', b'3\n')


def _write(archive, file, name, data):
    info = zipfile.ZipInfo(f'archive/{name}')
    info.create_system, info.external_attr = 3, 0o644 << 16
    large = len(data) >= _LARGE
    header = archive.start_dir + 30 + len(info.filename) + 4 + 20 * large
    padding = -header % _ALIGN  # so that the elements can be mapped
    info.extra = b'FB' + padding.to_bytes(2, 'little') + bytes(padding)
    with archive.open(info, 'w', force_zip64=large) as record:
        record.write(data)
