"""torch.save and torch.load for PyTorch's zip files, without ever running anything in them; .safetensors files go through tenon.io."""
import os

from ... import io
from ..._core import Tensor
from ..._errors import memory_for
from ..._replacing import replacing
from .archive import Archive, write_archive
from .errors import LoadError
from .program import find
from .reader import read_pickle
from .storages import Storages
from .writer import write_pickle

__all__ = ['LoadError', 'load', 'save']


def save(obj, f, pickle_module=None, pickle_protocol=2, _use_new_zipfile_serialization=True):
    """Writes tensors, numbers, text, dicts, lists, tuples and sets of them, and other objects to a path or a binary file object.

    torch.load(weights_only=True), PyTorch's too, reads tensors and plain values; equal ones give equal files. Tensors that share memory
    share it again after loading. A file is replaced as a whole or not at all; a path that ends in .safetensors gets a flat dict of tensors
    in that format. Other objects, such as modules, are written as pickle does, by the names of their classes. Raises TypeError if obj
    contains a function or class that its name does not lead to, or what pickle cannot take apart.
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
    None. Objects of classes that torch.serialization.add_safe_globals() allows are made, and others refused by name. Raises
    pickle.UnpicklingError (also a ValueError and RuntimeError) if the file is malformed or holds such an object.

    weights_only=False makes objects of all classes that the program has imported, and PyTorch's modules. It still runs nothing that the file
    chooses: a class is refused if its objects are made by calling it, if it has a __setstate__() or __del__() of its own (modules and
    optimizers may), or if it is of the standard library.
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
                return load(file, map_location, weights_only=weights_only, encoding=encoding)
            except LoadError as error:
                raise LoadError(str(error).replace('[torch.load] ', f'[torch.load] {os.fsdecode(f)}: ', 1)) from error.__cause__
    with memory_for(f'[torch.load] {getattr(f, "name", "file")}'):
        archive = Archive(f)
        return read_pickle(archive.read('data.pkl'), Storages(archive, map_location), encoding, find if weights_only is False else None)


def _is_safetensors(f):
    return not hasattr(f, 'read') and not hasattr(f, 'write') and os.fsdecode(f).endswith('.safetensors')


def _flat(obj):
    if not hasattr(obj, 'items') or not all(isinstance(x, Tensor) for x in obj.values()):
        raise TypeError('[torch.save] a .safetensors file holds a flat dict of tensors by name: give the file another ending')
    return {name: x.detach() for name, x in obj.items()}
