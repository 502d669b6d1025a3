"""Ops of plugins, looked up when they are first called."""
from . import _core, _errors

_found = {}


def plugin_op(name):
    """The op of that name; UnimplementedError if no plugin provides it."""
    op = _found.get(name)
    if op is None:
        try:
            op = _found[name] = _core.op(name)
        except _errors.NotFoundError:
            raise _errors.UnimplementedError(
                f'[{name}] the plugin {name.split(".")[0]} is not loaded: tenon.plugins() lists those that were found, and why others '
                'were refused') from None
    return op
