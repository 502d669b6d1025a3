"""torch.save and torch.load for PyTorch's zip files, without ever running anything in them; .safetensors files go through tenon.io."""
import os

from ... import io
from ..._core import Tensor
from ..._errors import memory_for
from ..._replacing import replacing
from .archive import Archive, write_archive
from .errors import LoadError
from .reader import read_pickle
from .storages import Storages
from .writer import write_pickle

__all__ = ['LoadError', 'load', 'save']


def save(obj, f, pickle_module=None, pickle_protocol=2, _use_new_zipfile_serialization=True):
    """Writes tensors, numbers, text, and dicts, lists, tuples and sets of them to a path or a binary file object.

    PyTorch's torch.load(weights_only=True) reads the file, and equal objects give equal files. Tensors that share memory share it again
    after loading. A file is replaced as a whole or not at all; a path that ends in .safetensors gets a flat dict of tensors in that
    format. Objects of classes that torch.serialization.add_safe_globals() allows are written, too. Raises TypeError if obj contains
    anything else, such as a module: save its state_dict().
    """
    if pickle_module is not None and getattr(pickle_module, '__name__', None) != 'pickle':
        raise ValueError('[torch.save] pickle_module must be None: the file is written here')
    if pickle_protocol != 2 or not _use_new_zipfile_serialization:
        raise ValueError('[torch.save] writes zip files with pickle_protocol=2 alone, which every PyTorch since 1.6 reads')
    if _is_safetensors(f):
        io.save(f, _flat(obj))
        return
    pickled, storages = write_pickle(obj)
    if hasattr(f, 'write'):
        write_archive(f, pickled, storages)
    else:
        with replacing(f, 'torch.save') as file:
            write_archive(file, pickled, storages)


def load(f, map_location=None, pickle_module=None, *, weights_only=True, mmap=None, encoding='utf-8'):
    """Loads what torch.save wrote, PyTorch's or ours, from a path or a seekable binary file object, without running anything in it.

    map_location: where its tensors go: a device, a dict of devices, or a function (storage as a flat Tensor, location) -> Tensor or
    None. Accepts what PyTorch accepts with weights_only=True, whatever weights_only says, objects of classes that
    torch.serialization.add_safe_globals() allows included, and refuses other objects by name. Raises
    pickle.UnpicklingError (also a ValueError and RuntimeError) if the file is malformed or holds such an object.
    """
    if pickle_module is not None and getattr(pickle_module, '__name__', None) != 'pickle':
        raise ValueError('[torch.load] pickle_module must be None: the file is read here, and nothing of it is run')
    if not hasattr(f, 'read'):
        with open(f, 'rb') as file:
            head = file.read(9)
            if not head.startswith(b'PK') and (_is_safetensors(f) or head[8:] == b'{'):
                places = Storages(None, map_location)
                return {name: places.moved(x, 'cpu') for name, x in io.load(f).items()}
            try:
                return load(file, map_location, encoding=encoding)
            except LoadError as error:
                raise LoadError(str(error).replace('[torch.load] ', f'[torch.load] {os.fsdecode(f)}: ', 1)) from error.__cause__
    with memory_for(f'[torch.load] {getattr(f, "name", "file")}'):
        archive = Archive(f)
        return read_pickle(archive.read('data.pkl'), Storages(archive, map_location), encoding)


def _is_safetensors(f):
    return not hasattr(f, 'read') and not hasattr(f, 'write') and os.fsdecode(f).endswith('.safetensors')


def _flat(obj):
    if not hasattr(obj, 'items') or not all(isinstance(x, Tensor) for x in obj.values()):
        raise TypeError('[torch.save] a .safetensors file holds a flat dict of tensors by name: give the file another ending')
    return {name: x.detach() for name, x in obj.items()}
