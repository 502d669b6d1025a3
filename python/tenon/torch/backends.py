"""torch.backends: switches that scripts set; they change nothing here."""


class _Switches:
    """Takes any setting; nothing is available behind it."""
    enabled = benchmark = deterministic = allow_tf32 = False

    @staticmethod
    def is_available():
        return False

    is_built = is_available


class _Cuda:
    matmul = _Switches()
    is_built = staticmethod(lambda: False)


cudnn, mps, mkldnn, cuda = _Switches(), _Switches(), _Switches(), _Cuda()
