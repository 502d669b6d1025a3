"""torch.onnx: ONNX model files, built on tenon.onnx."""
import contextlib
import enum
import warnings

import tenon

from ..nn import Module
from .export import ExportedProgram
from ._recorded import arguments_of, by_shapes, file_for_a_while, tensor_names, tensors_of, traced, write_to

__path__ = []  # for `import torch.onnx.symbolic_helper`: _places.py
__all__ = ['ONNXProgram', 'OperatorExportTypes', 'TrainingMode', 'export', 'is_in_onnx_export', 'select_model_mode_for_export']
_OLDEST = 18  # the opset written if an older one is requested


def register_custom_op_symbolic(symbolic_name, symbolic_fn, opset_version, custom_opsets=None):
    """Does nothing: an op of one's own is exported as the ops that it calls."""


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
        write_to(destination, lambda path: tenon.onnx.export(self._program, (), path, **self._options))

    def __repr__(self):
        return f'ONNXProgram(\n{self._program}\n)'


_exporting = False


def is_in_onnx_export():
    """Whether export() is tracing, so that modules can compute differently."""
    return _exporting


@contextlib.contextmanager
def _in_export():
    global _exporting
    before, _exporting = _exporting, True
    try:
        yield
    finally:
        _exporting = before


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
    """Writes what model(*args, **kwargs), or a program of torch.export, computes as a model into f, a path or an object that has write().

    dynamic_axes names sizes that runs choose by input, {'x': {0: 'batch'}}, dynamic_shapes by argument or in the structure of args;
    results follow them. The module is in evaluation unless `training` says otherwise. If opset_version is older than 18, opset 18 is
    written; weights are in the same file. verify=True reads the model again and compares its results.
    """
    if export_params is False or custom_translation_table or custom_opsets or export_modules_as_functions:
        raise NotImplementedError('[onnx.export] models are written with their weights, and in the ops of ONNX')
    if isinstance(model, ExportedProgram):
        program, names, tensors = model.program, [name for name, *_ in model.program.inputs], list(tensors_of(model.example_inputs))
        wanted = program(*model.example_inputs[0]) if verify else None
    else:
        args, arguments = arguments_of(model, args, kwargs)
        tensors, named = list(tensors_of(args)), tensor_names(arguments)
        dims = _by_axes(dynamic_axes, input_names or named, output_names) if dynamic_axes else by_shapes(dynamic_shapes, args, arguments)
        names = [named.get(at, '') for at in range(len(tensors))] if arguments else []
        with _in_export(), select_model_mode_for_export(model, training), tenon.no_grad():
            program = traced(model, args, tensors, dims)
            wanted = model(*args) if verify else None
    made = ONNXProgram(program, {'opset': _opset(opset_version), 'output_names': output_names, 'input_names': list(input_names or names)})
    if f is not None:
        made.save(f)
    if verify:
        _verify(made, tensors, wanted)
    if verbose:
        print(program)
    return made


def _opset(version):
    if version is not None and version < _OLDEST:
        warnings.warn(f'[onnx.export] opset {version} was asked for; the model is written in opset {_OLDEST}', stacklevel=3)
        return _OLDEST
    return version or _OLDEST


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


def _verify(made, tensors, wanted):
    with file_for_a_while() as path:
        made.save(path)
        found = tenon.onnx.load(path)(*tensors)
    for one, other in zip(tensors_of(found), tensors_of(wanted), strict=True):
        tenon.testing.assert_close(one, other)
