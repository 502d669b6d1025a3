"""Tenon and PyTorch on one device, in the words that benchmarks use of both."""
import sys


class Tenon:
    name = 'Tenon'

    def __init__(self, device):
        import tenon
        self.library, self.device = tenon, tenon.device(device)

    def array(self, values):
        return self.library.asarray(values).to(self.device)

    def ready(self, net):
        """The network as this side runs it."""
        return net

    def synchronize(self):
        self.device.synchronize()

    def begin_peak(self):
        self.device.reset_memory_peak()

    def peak(self):
        return self.device.memory()['used_peak']


class Torch:
    name = 'PyTorch'

    def __init__(self, device):
        import torch
        self.library, self.device = torch, torch.device(device)
        torch.zeros(1, device=self.device)

    def array(self, values):
        return self.library.from_numpy(values).to(self.device)

    def ready(self, net):
        return net

    def synchronize(self):
        if self.device.type == 'cuda':
            self.library.cuda.synchronize(self.device)

    def begin_peak(self):
        if self.device.type == 'cuda':
            self.library.cuda.reset_peak_memory_stats(self.device)

    def peak(self):
        return self.library.cuda.max_memory_allocated(self.device) if self.device.type == 'cuda' else None


class Compiled(Torch):
    name = 'torch.compile'

    def ready(self, net):
        return self.library.compile(net)


def sides(only, device, every=(Tenon, Torch)):
    """Those that have the device; `only`: tenon, torch or compiled."""
    found = []
    for make in every:
        if only in (None, make.__name__.lower()):
            try:
                found.append(make(device))
            except (ImportError, OSError, RuntimeError, AssertionError) as error:  # OSError: a library of its is missing
                if make is Tenon or only:
                    raise
                print(f'{make.name} is not measured: {error}', file=sys.stderr)
    return found
