"""Errors raised by loading."""
import pickle

from ..._errors import DataLossError


class LoadError(DataLossError, pickle.UnpicklingError):
    """A file that is malformed or holds something unsupported; derived from the errors that programs for PyTorch catch."""


LoadError.__module__ = 'tenon.torch.files'
