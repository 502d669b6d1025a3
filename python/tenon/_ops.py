"""The ops of the table as functions; their signatures are in _ops.pyi, their docstrings in _op_docs.py."""
from ._core import ops

globals().update(ops)
__all__ = list(ops)  # pyright: ignore[reportUnsupportedDunderAll] -- its stub names them
