"""What torch.export and torch.onnx share: a call's arguments by position, the sizes among them that runs choose, and where files go."""
import contextlib
import inspect
import os
import tempfile
from typing import Any

import tenon

from .._core import Tensor
from ..graph import Dim, trace

_FEWEST = 8  # sizes that distinguish formulas


def arguments_of(model, args, kwargs):
    """The arguments by position, and by the names of the parameters if the model tells them."""
    args = (args,) if isinstance(args, Tensor) else tuple(args)
    if kwargs is None and args and isinstance(args[-1], dict):  # in the form of PyTorch's older exporter
        args, kwargs = args[:-1], args[-1]
    try:
        bound = inspect.signature(getattr(model, 'forward', model)).bind(*args, **(kwargs or {}))
    except (TypeError, ValueError):
        if kwargs:
            raise
        return args, {}
    if bound.kwargs:
        raise TypeError(f'[export] {", ".join(bound.kwargs)}: arguments that have a name alone cannot be exported')
    return bound.args, bound.arguments


def tensor_names(arguments):
    """The name of each argument that is a tensor, by its position among all tensors."""
    names, at = {}, 0
    for name, value in arguments.items():
        if isinstance(value, Tensor):
            names[at] = name
        at += sum(1 for _ in tensors_of(value))
    return names


def tensors_of(value: Any):
    """The tensors of nested tuples, lists and dicts, in order."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from tensors_of(part)


def by_shapes(dynamic_shapes, args, arguments):
    """{position: {axis: dim}} from dynamic_shapes: a structure like the arguments, or a dict of such by their names."""
    if not dynamic_shapes:
        return {}
    found = []
    if isinstance(dynamic_shapes, dict) and all(isinstance(key, str) for key in dynamic_shapes):
        unknown = [key for key, axes in dynamic_shapes.items() if axes and key not in arguments]
        if unknown:
            raise ValueError(f'[export] dynamic_shapes names {", ".join(unknown)}; arguments are {", ".join(arguments)}')
        for name, value in arguments.items():
            _gather(value, dynamic_shapes.get(name), found)
    else:
        _gather(args, tuple(dynamic_shapes), found)
    return {at: _axes(axes, at) for at, axes in enumerate(found) if axes}


def _gather(value, shapes, found):
    """Appends what `shapes` says about each tensor of a structure."""
    if isinstance(value, Tensor):
        found.append(shapes)
    elif isinstance(value, dict):
        for key, part in value.items():
            _gather(part, (shapes or {}).get(key), found)
    elif isinstance(value, (tuple, list)):
        for i, part in enumerate(value):
            _gather(part, shapes[i] if shapes else None, found)


def _axes(axes, at):
    """{axis: name or Dim}; a Dim.DYNAMIC, which has no name, is a size of its own."""
    pairs = axes.items() if isinstance(axes, dict) else enumerate(axes)
    return {axis: dim if isinstance(dim, (str, Dim)) else f's{at}_{axis}' for axis, dim in pairs
            if dim is not None and not isinstance(dim, int) and getattr(dim, 'varies', True)}


def traced(model, args, tensors, dims):
    """The program of model(*args). A module may limit the length of its input, so sizes without a range are first tried without a
    limit, then with one of them, or all, limited to a few times those of args."""
    dims = {at: {axis: dim if isinstance(dim, Dim) else Dim(dim) for axis, dim in axes.items()} for at, axes in dims.items() if axes}
    sizes = {dim.name: tensors[at].shape[axis] for at, axes in dims.items() for axis, dim in axes.items() if dim.max is None}
    failure = None
    for limits in [{}, *({name: times * sizes[name] for name in names}
                         for names in [[name] for name in sizes] + [list(sizes)] * (len(sizes) > 1) for times in (8, 4, 2, 1))]:
        if any(limit < _FEWEST for limit in limits.values()):
            continue
        limited = {at: {axis: dim._replace(max=limits[dim.name]) if dim.name in limits else dim for axis, dim in axes.items()}
                   for at, axes in dims.items()}
        try:
            return trace(model, *args, dynamic=limited or None)
        except (tenon.Error, AssertionError, LookupError, RuntimeError, ValueError) as error:
            if not limited:
                raise
            failure = failure or error
    raise failure  # pyright: ignore[reportGeneralTypeIssues]


@contextlib.contextmanager
def file_for_a_while():
    """A path for a file that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        yield os.path.join(folder, 'file')


def write_to(f, save):
    """Has save(path) write to f, a path or an object that has write()."""
    if not hasattr(f, 'write'):
        save(f)
        return
    with file_for_a_while() as path:
        save(path)
        with open(path, 'rb') as file:
            f.write(file.read())
