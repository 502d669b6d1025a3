"""torch.utils: data."""


def __getattr__(name):
    if name == 'data':
        from . import data
        return data
    raise AttributeError(f"module 'tenon.torch.utils' has no attribute {name!r}: data is offered")
