"""Ops of plugins, found when they are first called."""
from . import _core, _errors

_found = {}


def plugin_op(name):
    """The op of a name; UnimplementedError where no plugin has brought it."""
    op = _found.get(name)
    if op is None:
        try:
            op = _found[name] = _core.op(name)
        except _errors.NotFoundError:
            raise _errors.UnimplementedError(
                f'[{name}] the plugin {name.split(".")[0]} is not loaded: tenon.plugins() lists those that were found, and why others '
                'were refused') from None
    return op
