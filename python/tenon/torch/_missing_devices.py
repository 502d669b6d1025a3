"""Modules of PyTorch for kinds of devices that no plugin offers: queries answer as PyTorch's do on a machine without such a device."""
import copy

NOTHING, ERROR = 'nothing', 'an error'


def functions(kind, answers):
    """{name: function} of (answer, names) pairs: a value, NOTHING or ERROR."""
    return {name: _function(kind, name, answer) for answer, names in answers for name in names.split()}


def _function(kind, name, answer):
    def call(*args, **kwargs):
        if answer is ERROR:
            raise RuntimeError(f'[{kind}.{name}] there is no such device: torch.accelerator has those that plugins offer')
        return None if answer is NOTHING else copy.copy(answer)
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f'Without such a device: {answer}.'
    return call
