"""torch.utils: data."""


def __getattr__(name):
    if name == 'data':
        from importlib import import_module
        return import_module('.data', __name__)
    raise AttributeError(f"module 'tenon.torch.utils' has no attribute {name!r}: data is offered")
