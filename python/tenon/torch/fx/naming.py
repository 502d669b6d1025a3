"""How programs of torch.fx name functions, types and values."""
import builtins
import keyword
import math
import operator
import re
import sys
from collections import defaultdict

from ..._core import Tensor, dtype

_SPACES = 'nn.functional', 'linalg', 'fft', 'special'


def _in_space(function, name):
    """The path below torch where a function is public."""
    for space in ('', *_SPACES):
        module = sys.modules.get(f'tenon.torch.{space}'.rstrip('.'))
        found = module and vars(module).get(name)
        if found is function or getattr(found, '__wrapped__', None) is function:
            return '.'.join(filter(None, ('torch', space, name)))
    return None


def qualified(thing):
    """The path of a function or a type, such as torch.nn.functional.relu."""
    if thing is Tensor:
        return 'torch.Tensor'
    name = getattr(thing, '__qualname__', None) or thing.__name__
    module = str(getattr(thing, '__module__', None) or 'builtins')
    found = _in_space(thing, getattr(thing, '__name__', name))
    if found:
        return found
    module = {'_operator': 'operator', 'tenon': 'torch'}.get(module, module)
    return f'{module.removeprefix("tenon.")}.{name}'


def type_text(kind):
    """An annotation as text: int, torch.Tensor, typing.Optional[int]."""
    if kind in (None, type(None)):
        return 'None'
    if kind is Ellipsis:
        return '...'
    if isinstance(kind, str):
        return kind
    if isinstance(kind, (list, tuple)):
        return '[' + ', '.join(map(type_text, kind)) + ']'
    entries = getattr(kind, '__args__', None)
    if entries and not isinstance(kind, type):
        name = getattr(kind, '_name', None) or getattr(getattr(kind, '__origin__', None), '_name', None) or type(kind).__name__
        shown = [entry for entry in entries if not (name == 'Optional' and entry is type(None))]
        return f'typing.{name}[{", ".join(map(type_text, shown))}]'
    if getattr(kind, '__module__', None) == 'builtins' and hasattr(kind, '__qualname__'):
        return kind.__qualname__
    return qualified(kind) if hasattr(kind, '__name__') else str(kind)


class Names:
    """The names of a program, each used once."""

    def __init__(self):
        self._used, self._last = set(), defaultdict(int)

    def take(self, candidate, thing=None):
        """A name like the candidate for a value, or for something that Python knows by it."""
        candidate = re.sub('[^0-9a-zA-Z_]+', '_', candidate) or '_unnamed'
        if candidate[0].isdigit():
            candidate = f'_{candidate}'
        numbered = re.fullmatch(r'(.*)_(\d+)', candidate)
        base, number = (numbered[1], int(numbered[2])) if numbered else (candidate, self._last[candidate])
        if not numbered and number:
            candidate = f'{base}_{number}'
        while candidate in self._used or self._reserved(candidate, thing):
            number += 1
            candidate = f'{base}_{number}'
        self._used.add(candidate)
        self._last[base] = number
        return candidate

    def give_up(self, name):
        """Lets a name be used again."""
        self._used.discard(name)

    @staticmethod
    def _reserved(name, thing):
        if name in keyword.kwlist or name in ('inf', 'nan', 'NoneType', 'torch', 'device'):
            return True
        return hasattr(builtins, name) and getattr(builtins, name) is not thing


def snake(name):
    """BatchNorm as batch_norm, without the underscores around a method of Python."""
    name = name[2:-2] if name.startswith('__') and name.endswith('__') else name
    return re.sub(r'(?<=[a-z0-9])(?=[A-Z])', '_', name).lower()


def _magic(names):
    return {name: symbol for pair in names.split() for name, symbol in [pair.split(':')]}


# Python's operators, by the name of their function in `operator`.
BINARY = _magic('add:+ sub:- mul:* floordiv:// truediv:/ mod:% pow:** lshift:<< rshift:>> and_:& or_:| xor:^ matmul:@')
COMPARED = _magic('eq:== ne:!= lt:< gt:> le:<= ge:>=')
UNARY = _magic('pos:+ neg:- invert:~')
IN_PLACE = _magic('iadd:+= isub:-= imul:*= ifloordiv://= itruediv:/= imod:%= ipow:**= ilshift:<<= irshift:>>= iand:&= ior:|= ixor:^= imatmul:@=')


def expression(target, args, kwargs):
    """A call of one of Python's operators as Python writes it, from the text of its arguments; None for other functions."""
    if getattr(target, '__module__', None) != '_operator' or kwargs:
        return None
    name = target.__name__
    if len(args) == 2 and name in (*BINARY, *COMPARED):
        return f'{args[0]} {BINARY.get(name) or COMPARED[name]} {args[1]}'
    if len(args) == 1 and name in UNARY:
        return f'{UNARY[name]}{args[0]}'
    return f'{args[0]}[{args[1]}]' if target is operator.getitem and len(args) == 2 else None


def constant(value):
    """Text that gives a number, a dtype or a device back; None for what needs a name of its own."""
    if isinstance(value, dtype):
        return f'torch.{value.name}'
    if isinstance(value, float) and not math.isfinite(value):
        return f"float('{value}')"
    if value is None or value is Ellipsis or isinstance(value, (bool, int, float, complex, str, bytes)) and type(value).__module__ == 'builtins':
        return repr(value)
    if type(value).__name__ == 'Device':
        return f'torch.device({str(value)!r})'
    return None
