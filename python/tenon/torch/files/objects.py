"""Objects of any class, as pickle takes them apart and names them."""
import copyreg
import pickle
import types
from typing import Any, NamedTuple

from .._shortcuts import _at

_CALLED_BY_NAME = (type, types.FunctionType, types.BuiltinFunctionType)


class Parts(NamedTuple):
    """An object as a call: what is called, by which opcode (none: the name is the object), and what is put into the result."""
    made: Any
    opcode: bytes = b''
    arguments: Any = ()
    state: Any = None
    items: Any = None
    pairs: Any = None


def parts_of(value):
    """The parts of an object. Raises TypeError if pickle cannot take it apart."""
    if isinstance(value, _CALLED_BY_NAME):
        return Parts(value)
    reduce = copyreg.dispatch_table.get(type(value))
    try:
        reduced: Any = reduce(value) if reduce else value.__reduce_ex__(2)
    except (TypeError, pickle.PicklingError) as error:
        raise TypeError(f'[torch.save] cannot write a {type(value).__module__}.{type(value).__qualname__}: {error}') from error
    if isinstance(reduced, str):
        return Parts(value)
    made, arguments = reduced[:2]
    state, items, pairs = (*reduced[2:], None, None, None)[:3]
    opcode = b'R'
    if made is getattr(copyreg, '__newobj__', None):
        made, opcode, arguments = arguments[0], b'\x81', arguments[1:]
    return Parts(made, opcode, arguments, state, items and list(items), pairs and list(pairs))


def name_of(made):
    """(module, name) that lead to a class or function. Raises TypeError if nothing leads there."""
    name = getattr(made, '__qualname__', None) or getattr(made, '__name__', type(made).__qualname__)
    module = getattr(made, '__module__', None) or pickle.whichmodule(made, name)  # pyright: ignore[reportAttributeAccessIssue]
    try:
        if _at(module, name) is made:
            return module, name
    except (ImportError, AttributeError):
        pass
    raise TypeError(f'[torch.save] cannot write {module}.{name}: that name does not lead to it. Define it at the top of a module, or save tensors and '
                    'plain values, such as a state_dict()')
