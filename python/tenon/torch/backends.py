"""torch.backends: switches that scripts set; they have no effect here."""
import contextlib


__path__ = []  # `import torch.backends.cudnn` gives a module: _places.py


class _Switches:
    """Accepts any setting; nothing is available."""
    enabled = benchmark = deterministic = allow_tf32 = False

    @staticmethod
    def is_available():
        return False

    is_built = is_available

    @staticmethod
    def version():
        """None."""

    @staticmethod
    @contextlib.contextmanager
    def flags(**switches):
        """A scope without effect."""
        yield


class _Cuda:
    matmul = _Switches()
    is_built = staticmethod(lambda: False)


cudnn, mps, mkldnn, cuda = _Switches(), _Switches(), _Switches(), _Cuda()
