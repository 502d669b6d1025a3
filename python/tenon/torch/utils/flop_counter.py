"""torch.utils.flop_counter: floating-point operations of products, convolutions and attention, by shapes, counted as PyTorch counts them."""
import bisect
import re
import time
from collections import Counter
from math import prod

from ..._errors import InvalidArgumentError
from ..._profiler import profiler
from ..library.op import ops
from .module_tracker import ModuleTracker

__all__ = ['FlopCounterMode', 'register_flop_formula']


def _matmul(shapes, result):
    a, b = shapes
    if len(b) < 2 or (len(a) < 2 and len(b) > 2):
        return None  # PyTorch does not count products with a vector on the right
    return ('bmm' if len(b) > 2 and len(a) > 2 else 'mm'), 2 * prod(result) * a[-1]


def _linear(shapes, result):
    return ('addmm' if len(shapes) > 2 else 'mm'), 2 * prod(result) * shapes[0][-1]


def _conv(shapes, result):
    batch, weight = prod(result[:-len(shapes[1]) + 1]), shapes[1]
    return 'convolution', 2 * batch * prod(result[2 - len(weight):]) * prod(weight)


def _conv_backward_input(shapes, result):
    gradient, weight = shapes[:2]
    return 'convolution_backward', 2 * gradient[0] * prod(gradient[2:]) * prod(weight)


def _conv_transpose(shapes, result):
    x, weight = shapes[:2]
    return 'convolution', 2 * prod(x[:-len(weight) + 1]) * prod(x[2 - len(weight):]) * prod(weight)


def _conv_backward_weight(shapes, result):
    gradient, x = shapes[:2]
    return 'convolution_backward', 2 * x[1] * prod(result[2:]) * prod(gradient)


def _attention(shapes, result):
    q, k, v = shapes[:3]
    return '_scaled_dot_product_flash_attention_for_cpu', 2 * prod(q[:-1]) * k[-2] * (q[-1] + v[-1])


def _attention_backward(shapes, result):
    gradient, q, k, v = shapes[:4]
    return '_scaled_dot_product_flash_attention_for_cpu_backward', 2 * prod(q[:-1]) * k[-2] * (3 * q[-1] + 2 * v[-1])


def _attention_packed(shapes, result):
    batch, length, _, heads, size = shapes[0]
    return '_scaled_dot_product_flash_attention_for_cpu', 4 * batch * heads * length * length * size


def _attention_packed_backward(shapes, result):
    batch, length, _, heads, size = shapes[1]
    return '_scaled_dot_product_flash_attention_for_cpu_backward', 10 * batch * heads * length * length * size


def _recurrence(shapes, result):
    return 'mm', 2 * prod(shapes[0]) * shapes[3][-1]  # of all steps: gates times hidden size


def _recurrence_backward(shapes, result):
    return 'mm', 2 * prod(shapes[-1]) * shapes[2][-1]


_FORMULAS = {'matmul': _matmul, 'linear': _linear, 'conv': _conv, 'conv_transpose': _conv_transpose, 'conv_backward_input': _conv_backward_input,
             'conv_backward_weight': _conv_backward_weight, 'attention': _attention, 'attention_backward': _attention_backward,
             'attention_packed': _attention_packed, 'attention_packed_backward': _attention_packed_backward, 'lstm': _recurrence, 'lstm_backward': _recurrence_backward,
             'linear_backward_weight': lambda shapes, result: ('mm', 2 * prod(result) * prod(shapes[1][:-1])),
             **dict.fromkeys(('scaled_matmul', 'linear_int4', 'linear_int8', 'linear_w8a8'), lambda shapes, result: ('mm', 2 * prod(result) * shapes[0][-1]))}
_REGISTERED = {}  # by PyTorch's name of an op, a program's own formulas
_SHAPE = re.compile(r'\[([\d, ]*)\]')


def _shapes(text):
    return [tuple(map(int, found.split(','))) if found else () for found in _SHAPE.findall(text)]


def _name_of(target):
    name = str(target)
    if not name.startswith('aten.'):
        raise InvalidArgumentError(f'[register_flop_formula] {target!r}: formulas are for ops of torch.ops.aten')
    return name.split('.')[1]


def register_flop_formula(targets, get_raw=False):
    """A decorator: formula(*shapes of the operands, out_shape=...) counts an op of torch.ops.aten that has a formula here already."""
    if get_raw:
        raise NotImplementedError('[register_flop_formula] get_raw: formulas get shapes')

    names = [_name_of(target) for target in (targets if isinstance(targets, (list, tuple)) else [targets])]

    def register(formula):
        _REGISTERED.update(dict.fromkeys(names, formula))
        return formula
    return register


class _Timeline(ModuleTracker):
    """When which modules ran."""

    def __init__(self):
        self.times, self.sets = [], []
        super().__init__()

    def __setattr__(self, name, value):
        if name == 'parents':
            self.times.append(time.perf_counter_ns())
            self.sets.append(value)
        super().__setattr__(name, value)

    def at(self, moment):
        """The modules that ran at a moment."""
        return self.sets[max(bisect.bisect_right(self.times, moment) - 1, 0)]


class FlopCounterMode:
    """Counts the floating-point operations of the products, convolutions and attention that run in its scope, backward included: two for
    each multiplication and addition, as PyTorch counts them. Other ops count nothing; a fused LSTM or GRU counts its products.

    display=True prints get_table(depth) at the end. custom_mapping gives formulas by op, as register_flop_formula does.

    >>> import tenon.torch as torch
    >>> from tenon.torch.utils.flop_counter import FlopCounterMode
    >>> with FlopCounterMode(display=False) as counter:
    ...     y = torch.nn.Linear(3, 4)(torch.ones(2, 3))
    >>> counter.get_total_flops()
    48
    """

    def __init__(self, mods=None, depth=2, display=True, custom_mapping=None):
        self.depth, self.display = depth, display
        self._formulas = {**_REGISTERED, **{_name_of(op): formula for op, formula in (custom_mapping or {}).items()}}
        self._profiler, self._timeline = profiler(), _Timeline()

    def __enter__(self):
        self._profiler, self._timeline = profiler(), _Timeline()
        self._timeline.__enter__()
        self._profiler.__enter__()
        return self

    def __exit__(self, *raised):
        self._profiler.__exit__(*raised)
        self._timeline.__exit__(*raised)
        if self.display and not any(raised):
            print(self.get_table(self.depth))

    def _counted(self):
        """(time, op's name in PyTorch, operations, or None where there is no formula) of each call; calls inside a counted one are part of it."""
        until = 0
        self._profiler._found = None  # the scope may still run
        for event in self._profiler.events:
            if event.start < until:
                continue
            formula = _FORMULAS.get(event.op)
            results, shapes = _shapes(event.results), _shapes(event.operands)
            found = formula(shapes, results[0]) if formula and results else None
            if found is None:
                yield event.start, event.op, None
                continue
            until = event.end
            name, count = found
            own = self._formulas.get(name)
            yield event.start, name, count if own is None else own(*shapes, out_shape=results[0])

    def get_flop_counts(self):
        """{name of a module, or 'Global': {op: operations}}."""
        found = {'Global': Counter()}
        for moment, name, count in self._counted():
            if count:
                for module in self._timeline.at(moment):
                    found.setdefault(module, Counter())[getattr(ops.aten, name)] += count
        return {module: dict(counts) for module, counts in found.items()}

    def get_total_flops(self):
        """All operations."""
        return sum(count or 0 for _, _, count in self._counted())

    def get_unsupported_ops(self):
        """How often ops ran that have no formula, by our names."""
        return Counter(name for _, name, count in self._counted() if count is None)

    def get_table(self, depth=None):
        """A table of modules, down to a depth, and of their ops."""
        depth = self.depth if depth is None else depth
        counts = self.get_flop_counts()
        total = sum(counts['Global'].values())
        rows = [('Module', 'FLOP', '% Total')]
        for module in sorted(counts, key=lambda name: (name != 'Global', name)):
            level = module.count('.') + 1
            if level <= depth or module == 'Global':
                rows += _rows(module, counts[module], total, ' ' * (0 if module == 'Global' else level))
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        rows.insert(1, ('-' * widths[0], '-' * widths[1], '-' * widths[2]))
        return '\n'.join(f'{name:<{widths[0]}}  {count:>{widths[1]}}  {share:>{widths[2]}}' for name, count, share in rows)


def _rows(module, counts, total, indent):
    """The rows of a module: its sum, then its ops."""
    yield (indent + module, _short(sum(counts.values())), _share(sum(counts.values()), total))
    for op, count in counts.items():
        yield (f'{indent} - {op}', _short(count), _share(count, total))


def _short(number):
    """A number in thousands, millions or more."""
    thousands = min((len(str(number)) - 1) // 3, 4)
    return f'{number / 1000 ** thousands:.3f}{("", "K", "M", "B", "T")[thousands]}'


def _share(number, total):
    return f'{number / total:.2%}' if total else '0%'
