"""Weights in safetensors files (https://huggingface.co/docs/safetensors) and, for reading only, GGUF files, by the code of
tenon/io.hpp; arrays in NumPy's .npz files.

>>> import os, tempfile
>>> path = os.path.join(tempfile.mkdtemp(), 'net.safetensors')
>>> tenon.io.save(path, {'w': tenon.tensor([1.0, 2.0])}, metadata={'epoch': '3'})
>>> tenon.io.load(path)['w'].tolist()
[1.0, 2.0]
>>> tenon.io.load_metadata(path)
{'epoch': '3'}
"""
import os
from typing import NamedTuple

from . import _core
from ._core import Tensor
from ._errors import present


def load(path, device=None):
    """All tensors of a file by name, on `device` (None: the host). Reads safetensors files, or NumPy's if the name ends in .npz.

    Sizes are checked before anything is allocated. Raises FileNotFoundError if there is no file, tenon.IoError (an OSError) if it cannot be
    read or is not a regular file, and tenon.DataLossError (a ValueError), with the byte and the reason, if it is malformed.
    """
    if _is_npz(present(path)):
        from . import _npz
        tensors = _npz.load(path)
    else:
        tensors = _core._load(os.fsencode(path))
    return tensors if device is None else {name: x.to(device) for name, x in tensors.items()}


def _is_npz(path):
    return os.fsdecode(path).endswith('.npz')


def load_metadata(path):
    """The metadata of a file: strings by name."""
    return _core._load_metadata(os.fsencode(present(path)))


class Gguf(NamedTuple):
    """The content of a GGUF file: tensors by name, and metadata by key (bool, int, float, str, and lists of these)."""
    tensors: dict
    metadata: dict


def load_gguf(path, device=None, dtype='float32'):
    """Tensors and metadata of a GGUF file (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md), as llama.cpp has them.

    Quantised tensors (Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K) are unpacked to `dtype`; others keep theirs. Shapes have the
    slowest dimension first, so a linear layer's weight is (out, in). Raises the same errors as load(). Metadata text that is not
    UTF-8 is decoded with lone surrogates, as by os.fsdecode().
    """
    tensors, metadata = _core._load_gguf(os.fsencode(present(path)), _core.as_dtype(dtype))
    return Gguf(tensors if device is None else {name: x.to(device) for name, x in tensors.items()}, metadata)


def _check_text(what, text):
    if not isinstance(text, str):
        raise TypeError(f'[save] {what} must be a str, not {type(text).__name__}')
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f'[save] {what} cannot be written: it has lone surrogates') from None


def save(path, tensors, metadata=None):
    """Writes tensors by name, such as net.state_dict(); in NumPy's format for a path in .npz. The file is replaced whole or not at all.

    Links are followed. Raises tenon.IoError (an OSError) if the file cannot be written or is not a regular file (a folder, a FIFO,
    a device).
    """
    if not hasattr(tensors, 'items'):
        raise TypeError(f'[save] wants a dict of tensors by name, not {type(tensors).__name__}')
    tensors, metadata = dict(tensors.items()), dict(metadata or {})
    for name, x in tensors.items():
        _check_text('the name of a tensor', name)
        if not isinstance(x, Tensor):
            raise TypeError(f'[save] "{name}" must be a Tensor, not {type(x).__name__}: use tenon.asarray(...)')
    for key, value in metadata.items():
        _check_text('a metadata key', key)
        _check_text(f'the metadata of "{key}"', value)
    if not _is_npz(path):
        _core._save(os.fsencode(path), tensors, metadata)
        return
    if metadata:
        raise ValueError('[save] .npz files have no metadata: save to .safetensors')
    from . import _npz
    _npz.save(path, tensors)
