"""torch.onnx: ONNX model files, built on tenon.onnx."""
import contextlib
import enum
import inspect
import os
import tempfile
import warnings
from typing import Any

import tenon

from .._core import Tensor
from ..graph import Dim, trace
from ..nn import Module

__all__ = ['ONNXProgram', 'OperatorExportTypes', 'TrainingMode', 'export', 'is_in_onnx_export', 'select_model_mode_for_export']
_FEWEST = 8  # sizes that distinguish formulas
_OLDEST = 18  # the opset written if an older one is requested


class TrainingMode(enum.IntEnum):
    """The mode of a module while it is exported: evaluation, its own, or training."""
    EVAL, PRESERVE, TRAINING = range(3)


class OperatorExportTypes(enum.IntEnum):
    """How ops are written: always as ONNX's own."""
    ONNX, ONNX_ATEN, ONNX_ATEN_FALLBACK = range(3)


class ONNXProgram:
    """The result of export(): a traced program that save(path) writes, and that can be called like the module."""

    def __init__(self, program, options):
        self._program, self._options = program, options

    def __call__(self, *args, **kwargs):
        return self._program(*args, **kwargs)

    def save(self, destination, *, include_initializers=True, keep_initializers_as_inputs=False, external_data=None):
        """Writes the model with its weights to a file, or to an object that has write()."""
        if not include_initializers:
            raise NotImplementedError('[onnx] models are written with their weights')
        if hasattr(destination, 'write'):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, 'model.onnx')
                tenon.onnx.export(self._program, (), path, **self._options)
                with open(path, 'rb') as file:
                    destination.write(file.read())
        else:
            tenon.onnx.export(self._program, (), destination, **self._options)

    def __repr__(self):
        return f'ONNXProgram(\n{self._program}\n)'


_exporting = False


def is_in_onnx_export():
    """Whether export() is tracing, so that modules can compute differently."""
    return _exporting


@contextlib.contextmanager
def select_model_mode_for_export(model, mode):
    """A scope in which a module and its parts are in a mode; afterwards each has its own mode again."""
    parts = list(model.modules()) if isinstance(model, Module) else []
    before = [part.training for part in parts]
    if mode != TrainingMode.PRESERVE and parts:
        model.train(mode == TrainingMode.TRAINING)
    try:
        yield
    finally:
        for part, was in zip(parts, before, strict=True):
            part.training = was


def export(model, args=(), f=None, *, kwargs=None, verbose=None, input_names=None, output_names=None, opset_version=None, dynamo=True,
           external_data=True, dynamic_shapes=None, custom_translation_table=None, report=False, optimize=True, verify=False, profile=False,
           dump_exported_program=False, artifacts_dir='.', fallback=False, export_params=True, keep_initializers_as_inputs=False,
           dynamic_axes=None, training=TrainingMode.EVAL, operator_export_type=OperatorExportTypes.ONNX, do_constant_folding=True,
           custom_opsets=None, export_modules_as_functions=False, autograd_inlining=True):
    """Writes what model(*args, **kwargs) computes as a model into f, a path or an object that has write().

    dynamic_axes names sizes that runs choose by input, {'x': {0: 'batch'}}, dynamic_shapes by argument or in the structure of args;
    results follow them. The module is in evaluation unless `training` says otherwise. If opset_version is older than 18, opset 18 is
    written; weights are in the same file. verify=True reads the model again and compares its results.
    """
    if export_params is False or custom_translation_table or custom_opsets or export_modules_as_functions:
        raise NotImplementedError('[onnx.export] models are written with their weights, and in the ops of ONNX')
    args, names = _bound(model, args, kwargs)
    tensors = list(_tensors(args))
    dims = _by_axes(dynamic_axes, input_names or names, output_names) if dynamic_axes else _by_shapes(dynamic_shapes, args, names)
    global _exporting
    before, _exporting = _exporting, True
    try:
        with select_model_mode_for_export(model, training), tenon.no_grad():
            program = _traced(model, args, tensors, dims)
            wanted = model(*args) if verify else None
    finally:
        _exporting = before
    default = [names.get(at, '') for at in range(len(tensors))] if isinstance(names, dict) else []
    made = ONNXProgram(program, {'opset': _opset(opset_version), 'output_names': output_names,
                                 'input_names': list(input_names) if input_names else default})
    if f is not None:
        made.save(f)
    if verify:
        _verify(made, tensors, wanted)
    if verbose:
        print(program)
    return made


def _traced(model, args, tensors, dims):
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


def _opset(version):
    if version is not None and version < _OLDEST:
        warnings.warn(f'[onnx.export] opset {version} was asked for; the model is written in opset {_OLDEST}', stacklevel=3)
        return _OLDEST
    return version or _OLDEST


def _bound(model, args, kwargs):
    """The arguments by position, and for the position of each tensor among them its parameter's name."""
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
        raise TypeError(f'[onnx.export] {", ".join(bound.kwargs)}: arguments that have a name alone cannot be exported')
    names, at = {}, 0
    for name, value in bound.arguments.items():
        if isinstance(value, Tensor):
            names[at] = name
        at += sum(1 for _ in _tensors(value))
    return bound.args, names


def _tensors(value: Any):
    """The tensors of nested tuples, lists and dicts, in order."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _tensors(part)


def _by_axes(dynamic_axes, inputs, outputs):
    """{position: {axis: name}} from dynamic_axes, whose keys are names of inputs and of results; those of results are ignored."""
    places = {name: at for at, name in (inputs.items() if isinstance(inputs, dict) else enumerate(inputs))}
    dims = {}
    for name, axes in dynamic_axes.items():
        if name in places:
            named = axes.items() if isinstance(axes, dict) else ((axis, f'{name}_dynamic_axes_{i + 1}') for i, axis in enumerate(axes))
            dims[places[name]] = dict(named)
        elif name not in (outputs or ()):
            warnings.warn(f'[onnx.export] dynamic_axes names {name!r}, which is no input or result', stacklevel=3)
    return dims


def _by_shapes(dynamic_shapes, args, names):
    """{position: {axis: dim}} from dynamic_shapes: a structure like the arguments, or a dict by their names."""
    if not dynamic_shapes:
        return {}
    if isinstance(dynamic_shapes, dict) and all(isinstance(key, str) for key in dynamic_shapes):
        places = {name: at for at, name in names.items()}
        unknown = [key for key, axes in dynamic_shapes.items() if axes and key not in places]
        if unknown:
            raise ValueError(f'[onnx.export] dynamic_shapes names {", ".join(unknown)}; tensors are {", ".join(places)}')
        return {places[key]: _axes(axes, places[key]) for key, axes in dynamic_shapes.items() if axes}
    found = []
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


def _verify(made, tensors, wanted):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'model.onnx')
        made.save(path)
        found = tenon.onnx.load(path)(*tensors)
    for one, other in zip(_tensors(found), _tensors(wanted), strict=True):
        tenon.testing.assert_close(one, other)
