"""ShapeProp: runs a graph and notes shapes and dtypes in the meta of its nodes."""
from typing import Any, NamedTuple

from ...._core import Tensor
from ..interpreter import Interpreter
from ..node import map_aggregate


class TensorMetadata(NamedTuple):
    """What a pass knows of a tensor."""
    shape: Any
    dtype: Any
    requires_grad: bool
    stride: Any
    memory_format: Any
    is_quantized: bool
    qparams: Any


def _described(x):
    from ... import contiguous_format
    return TensorMetadata(x.shape, x.dtype, x.requires_grad, x.stride(), contiguous_format if x.is_contiguous() else None, False, {})


class ShapeProp(Interpreter):
    """Runs a module's graph; then node.meta['tensor_meta'] describes the tensors of each result, and 'type' has its type."""

    def run_node(self, n):
        """The result of a node, which is noted."""
        found = super().run_node(n)
        described = map_aggregate(found, lambda each: _described(each) if isinstance(each, Tensor) else each)
        if isinstance(found, (Tensor, tuple, list, dict)):
            n.meta['tensor_meta'] = described
        n.meta['type'] = type(found)
        return found

    def propagate(self, *args):
        """What the graph returns for inputs."""
        return self.run(*args)
