"""torch.backends: switches that scripts set; they have no effect here."""
import contextlib
import functools


__path__ = []  # `import torch.backends.cudnn` gives a module: _places.py


class _Switches:
    """Accepts any setting; nothing is available."""
    enabled = benchmark = deterministic = allow_tf32 = False
    fp32_precision = 'none'

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
    """torch.backends.cuda: kernels are chosen by the backend; switches are kept and have no effect."""

    def __init__(self):
        self.matmul, self.cufft_plan_cache = _Switches(), _Switches()
        self._kernels = dict.fromkeys(('flash', 'mem_efficient', 'math', 'cudnn'), True)
        for kind in self._kernels:
            setattr(self, f'enable_{kind}_sdp', functools.partial(self._kernels.__setitem__, kind))
            setattr(self, f'{kind}_sdp_enabled', functools.partial(self._kernels.__getitem__, kind))

    @staticmethod
    def is_built():
        """False."""
        return False

    @staticmethod
    def preferred_linalg_library(backend=None):
        """Returns what it was given: the backend has one library."""
        return 'default' if backend is None else backend

    preferred_blas_library = preferred_linalg_library

    @contextlib.contextmanager
    def sdp_kernel(self, enable_flash=True, enable_math=True, enable_mem_efficient=True, enable_cudnn=True):
        """A scope in which the switches have these values."""
        before = dict(self._kernels)
        self._kernels.update({'flash': enable_flash, 'math': enable_math, 'mem_efficient': enable_mem_efficient, 'cudnn': enable_cudnn})
        try:
            yield
        finally:
            self._kernels.update(before)

    def __getattr__(self, name):
        if name == 'SDPBackend':
            from .nn.attention import SDPBackend
            return SDPBackend
        raise AttributeError(f"module 'torch.backends.cuda' has no attribute {name!r}")


class _Quantized:
    """torch.backends.quantized."""

    engine, supported_engines = 'none', ['none']


class _Einsum(_Switches):
    """torch.backends.opt_einsum."""

    strategy = None


class _Cudnn(_Switches):
    """torch.backends.cudnn."""

    conv, rnn = _Switches(), _Switches()


cudnn, mps, mkldnn, mkl, openmp, cuda = _Cudnn(), _Switches(), _Switches(), _Switches(), _Switches(), _Cuda()
opt_einsum, quantized, fp32_precision = _Einsum(), _Quantized(), 'none'
