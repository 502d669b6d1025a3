"""Copying versions of view functions; their results never share memory."""
from .._core import ops
from ._common import into
from .join import split_with_sizes, unbind
from .shape import (as_strided, broadcast_to, diagonal, narrow, permute, squeeze, t, transpose, unfold, unsqueeze, view)


def _copy(view_of_x):
    """In rows, whatever the order of the view."""
    return ops['clone' if view_of_x.is_contiguous() else 'contiguous'](view_of_x)


def _copies(name, view_function):
    def call(*args, out=None, **kwargs):
        found = view_function(*args, **kwargs)
        return tuple(map(_copy, found)) if isinstance(found, tuple) else into(out, _copy(found))
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f'{name[:-5]}() that never shares memory.'
    return call


diagonal_copy, expand_copy, permute_copy, squeeze_copy = (
    _copies('diagonal_copy', diagonal), _copies('expand_copy', broadcast_to), _copies('permute_copy', permute), _copies('squeeze_copy', squeeze))
unsqueeze_copy, transpose_copy, t_copy, view_copy = (
    _copies('unsqueeze_copy', unsqueeze), _copies('transpose_copy', transpose), _copies('t_copy', t), _copies('view_copy', view))
unbind_copy, unfold_copy, narrow_copy, as_strided_copy = (
    _copies('unbind_copy', unbind), _copies('unfold_copy', unfold), _copies('narrow_copy', narrow), _copies('as_strided_copy', as_strided))
split_with_sizes_copy, alias_copy = _copies('split_with_sizes_copy', split_with_sizes), _copies('alias_copy', ops['alias'])
