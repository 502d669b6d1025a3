"""What other processes run in tests: a module that a spawned process can import."""
import tenon.torch as torch


def count(x, module):
    with torch.no_grad():
        x.add_(1)
        module.weight.mul_(2)
