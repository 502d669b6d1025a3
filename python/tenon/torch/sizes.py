"""Types of sizes that PyTorch does not know yet while it compiles: none is one here, since sizes are plain numbers."""

__all__ = ['SymBool', 'SymFloat', 'SymInt']


class SymInt:
    """An integer that is not known yet."""


class SymFloat:
    """A floating number that is not known yet."""


class SymBool:
    """A bool that is not known yet."""
