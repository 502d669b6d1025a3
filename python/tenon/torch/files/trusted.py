"""Files that the program trusts, weights_only=False: what they name is imported, and called, as pickle does."""
import functools
import io
import pickle
import sys

from .reader import GLOBALS, Global, Reader, stored_of

# Where PyTorch's own functions say they are: their place here, and what their names begin with there.
_INNER = {'torch._C._nn': ('torch.nn.functional', ''), 'torch._C._special': ('torch.special', 'special_'),
          'torch._C._linalg': ('torch.linalg', 'linalg_'), 'torch._C._fft': ('torch.fft', 'fft_')}


class _Bound(Global):
    """A function that makes tensors, for the storages of one file."""

    def __init__(self, found, reader):
        super().__init__(found.name, found.make)
        self._reader = reader

    def __call__(self, *arguments):
        return self.make(self._reader, *arguments)


class _Unpickler(pickle.Unpickler):
    def __init__(self, data, storages, encoding):
        super().__init__(io.BytesIO(data), encoding=encoding)
        self._reader = Reader(data, storages, encoding)

    def persistent_load(self, pid):
        return stored_of(pid)

    def find_class(self, module, name):
        if module == 'torch' or module.startswith('torch.'):
            return self._ours(module, name)
        return self._found(module, name)

    def _found(self, module, name):
        first, *rest = name.split('.')
        return functools.reduce(getattr, rest, super().find_class(module, first))

    def _ours(self, module, name):
        """What a name of PyTorch's is here."""
        found = GLOBALS.get(f'{module}.{name}')
        if found is not None:
            return _Bound(found, self._reader) if isinstance(found, Global) else found
        if (module, name) == ('torch._C', '_VariableFunctionsClass'):
            return sys.modules['tenon.torch']  # PyTorch pickles torch.tanh as an attribute of that class
        module, prefix = _INNER.get(module, (module, ''))
        return self._found(f'tenon.{module}', name.removeprefix(prefix))


def read_trusted(data, storages, encoding='utf-8'):
    """The value that a pickle describes, whatever its objects are; running it may run anything."""
    return _Unpickler(data, storages, encoding).load()
