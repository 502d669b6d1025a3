"""Makes batches of examples by PyTorch's rules: tuples become lists; dicts and named tuples keep their types."""
import collections.abc
import copy
import re

import tenon
from tenon._core import Tensor, ops
from tenon.torch.create import as_tensor

__all__ = ['collate', 'default_collate', 'default_collate_fn_map', 'default_convert']

np_str_obj_array_pattern = re.compile('[SaUO]')  # in the description of a NumPy dtype that no tensor can have


def _each_field(example, convert):
    """The example with convert(key) for each of its fields, as a copy if its type can be copied."""
    is_mapping = isinstance(example, collections.abc.Mapping)
    keys = list(example) if is_mapping else range(len(example))
    fields = {key: convert(key) for key in keys}
    if isinstance(example, tuple):
        return type(example)(*fields.values()) if hasattr(example, '_fields') else list(fields.values())
    plain = fields if is_mapping else list(fields.values())
    try:
        if not isinstance(example, (collections.abc.MutableMapping, collections.abc.MutableSequence)):
            return type(example)(plain)
        made = copy.copy(example)  # which may have other attributes
        for key, value in fields.items():
            made[key] = value
        return made
    except TypeError:  # a type that cannot be made or filled like this, such as range
        return plain


def _is_numpy(x):
    return type(x).__module__.partition('.')[0] == 'numpy' and hasattr(x, 'dtype')


def _is_text(x):
    """Whether a NumPy object holds text or Python objects, which no tensor can."""
    return x.dtype.kind in 'SUO'


def default_convert(data):
    """Converts NumPy arrays and numbers to tensors, field by field; everything else stays."""
    if isinstance(data, (Tensor, str, bytes)):
        return data
    if _is_numpy(data):
        return data if _is_text(data) else as_tensor(data)
    if isinstance(data, (collections.abc.Mapping, collections.abc.Sequence)):
        return _each_field(data, lambda key: default_convert(data[key]))
    return data


def collate(batch, *, collate_fn_map=None):
    """A batch of examples: types in collate_fn_map by its function, others field by field."""
    first = batch[0]
    for kind, function in (collate_fn_map or {}).items():
        if type(first) is kind:
            return function(batch, collate_fn_map=collate_fn_map)
    for kind, function in (collate_fn_map or {}).items():
        if isinstance(first, kind):
            return function(batch, collate_fn_map=collate_fn_map)
    if _is_numpy(first) and not _is_text(first):
        return ops['stack']([as_tensor(example) for example in batch])
    if isinstance(first, collections.abc.Mapping):
        return _each_field(first, lambda key: collate([example[key] for example in batch], collate_fn_map=collate_fn_map))
    if isinstance(first, collections.abc.Sequence):
        if any(len(example) != len(first) for example in batch):
            raise RuntimeError(f'[collate] examples of {sorted({len(example) for example in batch})} fields in one batch')
        fields = list(zip(*batch))
        return _each_field(first, lambda i: collate(fields[i], collate_fn_map=collate_fn_map))
    raise TypeError(f'[collate] does not know how to batch {type(first).__name__}: give DataLoader a collate_fn')


def _stacked(batch, *, collate_fn_map=None):
    shapes = sorted({tuple(x.shape) for x in batch})
    if len(shapes) > 1:
        raise RuntimeError(f'[collate] examples of shapes {shapes} in one batch: give DataLoader a collate_fn')
    return ops['stack'](list(batch))


def _numbers(batch, *, collate_fn_map=None):
    return tenon.tensor(list(batch))


def _floats(batch, *, collate_fn_map=None):
    return tenon.tensor(list(batch), dtype=tenon.float64)


def _as_they_are(batch, *, collate_fn_map=None):
    return batch


default_collate_fn_map = {Tensor: _stacked, float: _floats, int: _numbers, str: _as_they_are, bytes: _as_they_are}


def default_collate(batch):
    """Stacks tensors and arrays, makes a tensor of numbers (floats become float64) and keeps text; dicts, tuples and lists go field
    by field."""
    return collate(batch, collate_fn_map=default_collate_fn_map)
