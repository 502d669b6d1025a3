"""ONNX models as functions of tensors. See docs/guide/onnx.md.

>>> import tenon
>>> model = tenon.onnx.load('net.onnx')                     # doctest: +SKIP
>>> y = model(x)                                            # node by node, where x lies  # doctest: +SKIP
>>> program = tenon.graph.trace(model, x)                   # without ONNX from here on   # doctest: +SKIP
"""
import os

from . import _core, graph
from ._errors import present

__all__ = ['Model', 'converters', 'export', 'exported_ops', 'load']


class Model:
    """A model that `load` read. Call it to compute its results; any number of threads may do so.

    Arguments are those of the graph, in order: tensors, lists of tensors for sequences, None for empty optionals. It returns one value
    or a tuple. Autograd and `tenon.graph.trace` record what it computes, as for any call.
    """

    def __init__(self, model):
        self._model = model

    def __call__(self, *inputs):
        found = self._model.run(inputs)
        return found[0] if len(found) == 1 else found

    @property
    def inputs(self):
        """(name, dtype, shape) of each argument. A size that may vary is a name or None; shape is None if any will do."""
        return self._model.inputs

    @property
    def results(self):
        """(name, dtype, shape) of each result, as the file declares them."""
        return self._model.results

    @property
    def ops(self):
        """The number of nodes of each op; ops of domains other than ONNX's are named domain::op."""
        found = {}
        for line in self._model.ops().splitlines():
            domain, op, count = line.split('\t')
            found[f'{domain}::{op}' if domain else op] = int(count)
        return found

    @property
    def opset(self):
        """The version of ONNX's own ops that it is written in."""
        return self._model.facts['opset']

    def named_parameters(self):
        """(name, tensor) of each weight, by the names that programs and their files use."""
        return self._model.weights

    def named_buffers(self):
        """Nothing: all tensors of the file are weights."""
        return []

    def modules(self):
        """Nothing: its parts never change."""
        return []

    def __repr__(self):
        facts = self._model.facts
        return (f'Model({len(self.inputs)} inputs, {len(self.results)} results, {facts["nodes"]} nodes, opset {facts["opset"]}, '
                f'{facts["weight_bytes"]:,} bytes of weights)')


def load(path):
    """Loads a model from a file, and from files beside it that hold weights.

    Raises an error that names every op, opset and dtype of it that Tenon does not have.
    """
    return Model(_core._load_onnx(present(path)))


def export(fn, inputs, path, *, opset=18, input_names=None, output_names=None, dynamic=None):
    """Writes what fn(*inputs) computes as a model. fn is a function or module, which is traced, or a program (inputs are then ignored).

    Weights have the names of the module's parameters. Inputs and results are named input0, …, result0, … unless names are given, one
    for each tensor or fewer. Sizes are those of the inputs, except those that `dynamic` names for each run to choose, as in
    `tenon.graph.trace`: `{'x': {0: 'batch'}}`. An op without an ONNX counterpart raises an error that names it, as does one whose nodes
    would differ at other sizes.
    """
    program = fn if isinstance(fn, graph.Program) else graph.trace(fn, *inputs, dynamic=dynamic)
    named = [_names(given, count, what) for given, count, what in (
        (input_names, len(program.inputs), 'input_names'), (output_names, len(program.results), 'output_names'))]
    _core._export_onnx(program._program, os.fspath(path), opset, *named)


def _names(given, count, what):
    """The names of `count` inputs or results; '' where none is given."""
    given = [] if given is None else list(given)
    if len(given) > count:
        raise ValueError(f'[onnx.export] {what} has {len(given)} names, for {count} tensors')
    return given + [''] * (count - len(given))


def exported_ops():
    """The ops of Tenon that `export` writes."""
    return _core._onnx_exported().split()


def converters():
    """The ops that models may use, sorted by name; ops of domains other than ONNX's are named domain::op."""
    names = [line.split('\t') for line in _core._onnx_converters().splitlines()]
    return [f'{domain}::{op}' if domain else op for domain, op in names]
