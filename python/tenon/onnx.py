"""ONNX models as functions of tensors. See docs/guide/onnx.md.

>>> import tenon
>>> model = tenon.onnx.load('net.onnx')                     # doctest: +SKIP
>>> y = model(x)                                            # node by node, where x lies  # doctest: +SKIP
>>> program = tenon.graph.trace(model, x)                   # without ONNX from here on   # doctest: +SKIP
"""
import os

from . import _core, graph

__all__ = ['Model', 'converters', 'export', 'exported_ops', 'load']


class Model:
    """A model that `load` read. Calling it computes its results; any number of threads may.

    Arguments are those of the graph, in order: tensors; lists of tensors for sequences; None for optionals that are empty. It gives
    one value, or a tuple. What it computes is recorded as any call is: by autograd, and by `tenon.graph.trace`.
    """

    def __init__(self, model):
        self._model = model

    def __call__(self, *inputs):
        found = self._model.run(inputs)
        return found[0] if len(found) == 1 else found

    @property
    def inputs(self):
        """(name, dtype, shape) of each argument. A size is a number, or a name or None where any will do; shape is None likewise."""
        return self._model.inputs

    @property
    def results(self):
        """(name, dtype, shape) of each result, as the file declares them."""
        return self._model.results

    @property
    def ops(self):
        """How many nodes there are of each op; those of other domains than ONNX's are called domain::op."""
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
        """(name, tensor) of each weight: programs and their files call them so."""
        return self._model.weights

    def named_buffers(self):
        """Nothing: what the file holds are weights."""
        return []

    def modules(self):
        """Nothing: no part of it ever changes."""
        return []

    def __repr__(self):
        facts = self._model.facts
        return (f'Model({len(self.inputs)} inputs, {len(self.results)} results, {facts["nodes"]} nodes, opset {facts["opset"]}, '
                f'{facts["weight_bytes"]:,} bytes of weights)')


def load(path):
    """The model of a file, and of files beside it that hold weights.

    Raises an error that names every op, opset and dtype of it that Tenon does not have.
    """
    return Model(_core._load_onnx(os.fspath(path)))


def export(fn, inputs, path, *, opset=18):
    """Writes what fn(*inputs) computes as a model: fn is a function or module, which is traced, or a program (inputs are not looked at).

    Sizes are those of the inputs. Raises an error that names an op which ONNX has no counterpart of. Weights have the names of the
    module's parameters, results are called result0, result1 and so on.
    """
    program = fn if isinstance(fn, graph.Program) else graph.trace(fn, *inputs)
    _core._export_onnx(program._program, os.fspath(path), opset)


def exported_ops():
    """The ops of Tenon that `export` writes."""
    return _core._onnx_exported().split()


def converters():
    """The ops that models may have, in order of their names; those of other domains than ONNX's are called domain::op."""
    names = [line.split('\t') for line in _core._onnx_converters().splitlines()]
    return [f'{domain}::{op}' if domain else op for domain, op in names]
