"""What the fuzzer of Python calls calls: everything public of the package, and lines that are right with something wrong put into them."""

import ast
import contextlib
import importlib
import inspect
import pathlib
import pkgutil
import random
import re
import types

import tenon
import tenon.torch
from python_values import HOSTILE, NAMED, TENSORS

LINES = pathlib.Path(__file__).resolve().parents[1] / 'python/torch'
EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / 'ops'
# They read the network, end or wait for processes, or do what they are told to the process: nothing is learned from that.
LEFT_OUT = re.compile(r'\.(hub|multiprocessing)\.|\.(breakpoint|start_processes|spawn|kill|barrier|monitored_barrier)$')


class Subject:
    """Calls that belong together: they run in one child."""

    def __init__(self, name, cases):
        self.name, self.cases = name, cases


def modules():
    """The public modules of the package by name."""
    found = {'tenon': tenon, 'tenon.torch': tenon.torch}
    for info in pkgutil.walk_packages(tenon.__path__, 'tenon.', onerror=lambda name: None):
        if not any(part.startswith('_') for part in info.name.split('.')):
            with contextlib.suppress(ImportError):  # what needs another package, or says what to use instead
                found[info.name] = importlib.import_module(info.name)
    return found


def ours(value):
    return isinstance(value, (tenon.Op, types.BuiltinFunctionType)) or getattr(value, '__module__', None) is not None \
        and str(value.__module__).startswith('tenon')


def public():
    """(expression, callable) of every public function and class, each by the shortest of its names."""
    shortest = {}
    for name, module in modules().items():
        for key in dir(module):
            value = None
            with contextlib.suppress(AttributeError, ImportError):
                value = getattr(module, key)
            path = f'{name}.{key}'
            if key[0] == '_' or not callable(value) or isinstance(value, types.ModuleType) or not ours(value) or LEFT_OUT.search(path):
                continue
            if isinstance(value, type) and issubclass(value, BaseException):
                continue
            kept = shortest.get(id(value))
            if kept is None or (len(path), path) < (len(kept[0]), kept[0]):
                shortest[id(value)] = path, value
    return sorted(shortest.values(), key=lambda each: each[0])


def parameters(function):
    """(positional names, names of keywords) as far as the function tells."""
    if isinstance(function, tenon.Op):
        names = [each.name if hasattr(each, 'name') else each[0] for each in function.parameters]
        return names, names
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ['input', 'other'], []
    must = [each.name for each in found if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    return must or ['input', 'other'], [each.name for each in found if each.kind in (each.KEYWORD_ONLY, each.POSITIONAL_OR_KEYWORD)]


def good(draw, name):
    return NAMED.get(name) or draw.choice(('x', '3', '2', 'y', '1', 'img', 'seq'))


def call(draw, path, function, first=()):
    """A call with what its parameters expect, a few of them hostile."""
    positional, named = parameters(function)
    if first and positional[:1] in (['self'], ['input'], ['x']):
        positional = positional[1:]
    count = draw.randint(0, len(positional)) if len(positional) > 1 else draw.choice((0, 1, 1, 1, 2))
    given = [good(draw, positional[i] if i < len(positional) else '') for i in range(count)]
    for i in draw.sample(range(count), min(count, draw.choice((0, 1, 1, 1, 2, 3)))):
        given[i] = draw.choice(HOSTILE)
    free = [name for name in named if name not in positional[:count] and name.isidentifier()]
    for name in draw.sample(free, min(len(free), draw.choice((0, 0, 1, 1, 2)))):
        given.append(f'{name}={draw.choice(HOSTILE) if draw.random() < 0.7 else good(draw, name)}')
    if draw.random() < 0.02:
        given.append(f'**{{{draw.choice(("1", repr("nothing"), repr("dtype")))}: {draw.choice(HOSTILE)}}}')
    return f'{path}({", ".join([*first, *given])})'


def calls(path, function):
    """A function: its calls, which stop for nobody."""
    def cases(seed, count):
        draw = random.Random(f'{seed} {path}')
        return [call(draw, path, function) for _ in range(count)]
    return Subject(path, cases)


def methods(path, kind):
    """The methods of a class on objects made by calls that may succeed."""
    names = [name for name in dir(kind) if callable(getattr(kind, name, None)) and name not in UNCALLED and not name.startswith('_Tensor')]

    def cases(seed, count):
        draw = random.Random(f'{seed} {path}.')
        made = [draw.choice(('x', *TENSORS)) if kind is tenon.Tensor else call(draw, path, kind) for _ in range(4 * count)]
        made += [f'{path}()', f'{path}({", ".join(good(draw, name) for name in required(kind))})'] * 4 * count if kind is not tenon.Tensor else []
        return [call(draw, f'{draw.choice(made)}.{name}', getattr(kind, name)) for name in names for _ in range(max(1, count // 4))]
    return Subject(f'{path}.*', cases)


UNCALLED = {'__class__', '__init_subclass__', '__subclasshook__', '__getattribute__', '__sizeof__', '__dir__', '__del__', 'mro', '__subclasses__', '__instancecheck__',
            '__subclasscheck__', '__prepare__'}


def required(kind):
    try:
        return [each.name for each in inspect.signature(kind).parameters.values() if each.default is each.empty and each.kind == each.POSITIONAL_OR_KEYWORD]
    except (TypeError, ValueError):
        return []


class Replaced(ast.NodeTransformer):
    """Puts other expressions in the place of the nodes that are chosen."""

    def __init__(self, chosen):
        self.chosen = chosen

    def visit(self, node):
        return self.chosen[id(node)] if id(node) in self.chosen else self.generic_visit(node)


def parts(tree):
    """The arguments, operands, indices and receivers within a line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from (each for each in node.args if not isinstance(each, ast.Starred))
            yield from (each.value for each in node.keywords)
        elif isinstance(node, (ast.BinOp, ast.Compare)):
            yield node.left
            yield from node.comparators if isinstance(node, ast.Compare) else [node.right]
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            yield from (node.value, node.slice)
        elif isinstance(node, (ast.List, ast.Tuple)) and isinstance(node.ctx, ast.Load):
            yield from (each for each in node.elts if not isinstance(each, (ast.Starred, ast.Slice)))
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and len(node.value.id) == 1:
            yield node.value


def mutated(draw, line):
    tree = ast.parse(line)
    found = [node for node in parts(tree) if not (isinstance(node, ast.Name) and node.id in ('torch', 't', 'F', 'np', 'nn', 'tenon', 'D', 'L', 'P', 'O', 'FT'))]
    chosen = draw.sample(found, min(len(found), draw.choice((1, 1, 1, 2, 3))))
    hostile = {id(node): ast.parse(draw.choice(HOSTILE), mode='eval').body for node in chosen}
    return ast.unparse(Replaced(hostile).visit(tree)).replace('\n', '; ')


def lines():
    """Lines that are right or that are refused, in parts of 20."""
    texts = [line for name in ('expressions.txt', 'wrong_calls.txt') for line in (LINES / name).read_text(encoding='utf-8').splitlines() if line[:1] != '#']
    for path in sorted(EXAMPLES.glob('*.cpp')):
        texts += [text.replace('t([', 'tenon.asarray([') for text in re.findall(r'\.example = "((?:[^"\\]|\\.)*)"', path.read_text(encoding='utf-8'))]
    texts = [text for text in texts if parses(text) and "f'" not in text]
    for first in range(0, len(texts), 20):
        def cases(seed, count, first=first):
            draw = random.Random(f'{seed} lines {first}')
            return [mutated(draw, line) for line in texts[first:first + 20] for _ in range(max(1, count // 2))]
        yield Subject(f'lines {first}', cases)


def parses(text):
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def subjects():
    """Everything that is called, in a fixed order."""
    found = public()
    yield methods('tenon.Tensor', tenon.Tensor)
    for path, value in found:
        yield calls(path, value)
        if isinstance(value, type) and value is not tenon.Tensor:
            yield methods(path, value)
    yield from lines()
