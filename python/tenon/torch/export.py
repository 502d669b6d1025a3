"""torch.export: sizes that vary, for torch.onnx.export. Programs are recorded by tenon.graph.trace."""
from .. import graph
from ._common import absent

__all__ = ['Dim']


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


_INSTEAD = 'record a program with tenon.graph.trace, whose programs can be saved, or write a model with torch.onnx.export'
_ABSENT = 'export save load draft_export ExportedProgram dims register_dataclass unflatten'.split()
__getattr__ = absent(__name__, dict.fromkeys(_ABSENT, _INSTEAD))
