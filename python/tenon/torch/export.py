"""torch.export: programs of modules, recorded by tenon.graph.trace, that are saved and run without the module."""
import inspect

import tenon

from .. import graph
from ..nn import Module
from ._common import absent
from ._recorded import arguments_of, by_shapes, file_for_a_while, tensors_of, traced, write_to

__all__ = ['Dim', 'ExportedProgram', 'default_decompositions', 'dims', 'export', 'load', 'save']


class _Hint:
    """A property of a size in place of a name."""

    def __init__(self, name, varies):
        self._name, self.varies = name, varies

    def __repr__(self):
        return f'Dim.{self._name}'


class Dim:
    """Dim(name, min=, max=): a size that runs choose. Dim.DYNAMIC and Dim.AUTO: one without a name; Dim.STATIC: a fixed size."""

    DYNAMIC, AUTO, STATIC = _Hint('DYNAMIC', True), _Hint('AUTO', True), _Hint('STATIC', False)

    def __new__(cls, name, *, min=None, max=None):
        return graph.Dim(name, min, max)


def dims(*names, min=None, max=None):
    """A Dim for each name."""
    return tuple(Dim(name, min=min, max=max) for name in names)


class ExportedProgram:
    """What `export` gives: `program`, a `tenon.graph.Program`, and the arguments that it was recorded with."""

    def __init__(self, program, signature=None, example_inputs=((), {})):
        self.program, self.example_inputs, self._signature = program, example_inputs, signature

    def module(self, check_guards=True):
        """A module that runs the program."""
        return _Recorded(self.program, self._signature)

    @property
    def range_constraints(self):
        """(min, max) of each size that runs choose, by name; max is None if there is no limit."""
        return {dim.name: (dim.min, dim.max) for dim in self.program.dims}

    def run_decompositions(self, decomp_table=None, **options):
        """The program itself: devices decompose what they have no kernel for."""
        return self

    def __call__(self, *args, **kwargs):
        raise RuntimeError('[export] call the module of an exported program: program.module()(…)')

    def __repr__(self):
        return f'ExportedProgram:\n{self.program}'


class _Recorded(Module):
    """A module that is a program."""

    def __init__(self, program, signature):
        self._program, self._signature = program, signature

    def forward(self, *args, **kwargs):
        if kwargs and self._signature is None:
            raise TypeError('[export] a loaded program takes its tensors by position')
        return self._program(*(self._signature.bind(*args, **kwargs).args if kwargs else args))

    def train(self, mode=True):
        """Refused: the mode is that of the recording."""
        if mode != self.training:
            raise NotImplementedError('[export] the mode of an exported program is fixed: call eval() or train() before export()')
        return self


def default_decompositions():
    """Empty: devices decompose what they have no kernel for."""
    return {}


def export(mod, args, kwargs=None, *, dynamic_shapes=None, strict=False, preserve_module_call_signature=(), prefer_deferred_runtime_asserts_over_guards=False):
    """Records what mod(*args, **kwargs) computes, in the mode that the module is in, without gradients.

    dynamic_shapes says which sizes runs choose, by argument or in the structure of args: `{'x': {0: Dim('batch')}}`. Code that depends on
    elements is refused, with its line; see `tenon.graph.trace`.
    """
    if not isinstance(args, tuple):
        raise TypeError(f'[export] args is a tuple of arguments, not {type(args).__name__}')
    given, arguments = arguments_of(mod, args, kwargs or {})
    with tenon.no_grad():
        program = traced(mod, given, list(tensors_of(given)), by_shapes(dynamic_shapes, given, arguments))
    return ExportedProgram(program, inspect.signature(getattr(mod, 'forward', mod)), (given, {}))


def save(ep, f, *, extra_files=None, opset_version=None, pickle_protocol=None):
    """Writes a program with its weights as one safetensors file to f, a path or an object that has write(). `tenon.graph.load`, C and C++
    read it, too."""
    if extra_files:
        raise NotImplementedError('[export.save] extra_files are not written: save them beside the program')
    write_to(f, ep.program.save)


def load(f, *, extra_files=None, expected_opset_version=None):
    """Reads a program that `save` wrote, from a path or an object that has read(). It takes tensors in the order of the recording."""
    if not hasattr(f, 'read'):
        return ExportedProgram(graph.load(f))
    with file_for_a_while() as path:
        with open(path, 'wb') as file:
            file.write(f.read())
        return ExportedProgram(graph.load(path))


_INSTEAD = 'record a program with torch.export.export or tenon.graph.trace, or write a model with torch.onnx.export'
_ABSENT = 'draft_export register_dataclass unflatten UnflattenedModule ExportGraphSignature'.split()
__getattr__ = absent(__name__, dict.fromkeys(_ABSENT, _INSTEAD))
