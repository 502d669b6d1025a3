"""torch.backends: switches that scripts set; they have no effect here."""


class _Switches:
    """Accepts any setting; nothing is available."""
    enabled = benchmark = deterministic = allow_tf32 = False

    @staticmethod
    def is_available():
        return False

    is_built = is_available


class _Cuda:
    matmul = _Switches()
    is_built = staticmethod(lambda: False)


cudnn, mps, mkldnn, cuda = _Switches(), _Switches(), _Switches(), _Cuda()
