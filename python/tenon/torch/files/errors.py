"""What loading raises."""
import pickle

from ..._errors import DataLossError


class LoadError(DataLossError, pickle.UnpicklingError):
    """A file that is malformed, or holds what is not read; of the kinds that programs for PyTorch catch."""


LoadError.__module__ = 'tenon.torch.files'
