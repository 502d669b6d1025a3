"""torch.PyTorchFileReader: the records of a file of torch.save, as bytes."""
import contextlib

from .archive import Archive

__all__ = ['PyTorchFileReader']


class PyTorchFileReader:
    """A file of torch.save, a path or a seekable binary file object. Raises pickle.UnpicklingError if it is malformed."""

    def __init__(self, name_or_buffer):
        with contextlib.ExitStack() as opened:
            file = name_or_buffer if hasattr(name_or_buffer, 'read') else opened.enter_context(open(name_or_buffer, 'rb'))
            self._archive = Archive(file)
            self._open = opened.pop_all()

    def has_record(self, name):
        """Whether there is a record."""
        return self._archive.has(name)

    def get_record(self, name):
        """The bytes of a record, such as 'data.pkl'."""
        return self._archive.read(name)

    def get_all_records(self):
        """The names of all records."""
        return self._archive.names()
