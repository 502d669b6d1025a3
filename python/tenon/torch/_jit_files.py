"""torch.jit.save and load: what jit.trace() was called with, recorded as a program of tenon.graph."""
import functools
import types
import warnings
import weakref

import tenon

from . import export
from ._recorded import tensors_of

_EXAMPLES = weakref.WeakKeyDictionary()  # of traced functions and modules


def remember(model, example=None):
    """Notes the arguments that model is traced with, and gives it the method save()."""
    if example is not None:
        _EXAMPLES[model] = example
    if not hasattr(model, 'save') and not isinstance(model, (type, types.BuiltinFunctionType)):
        model.save = functools.partial(save, model)


def save(m, f, _extra_files=None):
    """Writes what jit.trace() was called with as a program with its weights, as torch.export.save() does; the first sizes of its tensors may
    differ in runs, where the model allows that. `load`, tenon.graph.load, C and C++ read it.
    """
    if _extra_files:
        raise NotImplementedError('[jit.save] extra files are not written: save them beside the program')
    if m not in _EXAMPLES:
        raise RuntimeError('[jit.save] a program is recorded from example inputs: call torch.jit.trace(m, inputs) in place of script(), or use '
                           'torch.export.export() and torch.export.save(); torch.save(m.state_dict(), f) writes weights alone')
    if getattr(m, 'training', False):
        warnings.warn('[jit.save] the module is in training mode, in which its program stays: call eval() before', stacklevel=2)
    export.save(_program(m, _EXAMPLES[m]), f)


def _program(m, example):
    try:
        return export.export(m, example, dynamic_shapes=tuple(map(_first_sizes, example)))
    except (tenon.Error, AssertionError, LookupError, RuntimeError, ValueError):
        return export.export(m, example)


def _first_sizes(value):
    """dynamic_shapes for an argument: first sizes that are equal in the example stay equal."""
    if isinstance(value, dict):
        return {key: _first_sizes(part) for key, part in value.items()}
    if isinstance(value, (tuple, list)):
        return [_first_sizes(part) for part in value]
    sizes = [x.shape[0] for x in tensors_of(value) if x.ndim]
    return {0: f'size_{sizes[0]}'} if sizes else None


class _Loaded(export._Recorded):
    """A program as a module, which scripts put into evaluation mode."""

    def train(self, mode=True):
        """Refuses the training mode: a program stays in the mode that it was recorded in."""
        if mode:
            raise NotImplementedError('[jit.load] a program cannot be trained: train the module, and save it again')
        self.training = False
        return self


def load(f, map_location=None, _extra_files=None, _restore_shapes=False):
    """A module that runs a program which `save` or torch.export.save() wrote."""
    try:
        program = export.load(f).program
    except tenon.DataLossError as error:
        raise ValueError('[jit.load] this is no program that torch.jit.save or torch.export.save wrote here; TorchScript holds code for '
                         "PyTorch's interpreter: save the model's state_dict() there, or write it with torch.onnx.export") from error
    loaded = _Loaded(program, None).eval()
    return loaded if map_location is None else loaded.to(map_location)
