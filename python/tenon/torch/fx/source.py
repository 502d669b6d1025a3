"""The Python text of a graph."""
from typing import Any, NamedTuple

from .naming import IN_PLACE, Names, constant, expression, qualified, type_text
from .node import Node, map_arg


class PythonCode(NamedTuple):
    """A program in Python: its text, and the values that the text names."""
    src: str
    globals: Any


class _Writer:
    """Writes nodes; collects what their text names."""

    def __init__(self, nodes, root):
        from ... import torch
        self.root, self.globals = root, {'torch': torch}
        self._names = Names()
        for node in nodes:
            self._names.take(node.name)
        self._known = {}

    def name_of(self, thing, path):
        """The text for a function or value: its path below torch, a built-in name, or a new name of the text."""
        module, _, name = path.rpartition('.')
        if path.split('.')[0] == 'torch' and '<' not in path and self._reaches(path, thing):
            return path
        if module == 'builtins':
            return name
        if id(thing) not in self._known:
            self._known[id(thing)] = found = self._names.take(path.replace('.', '_'), thing)
            self.globals[found] = thing
        return self._known[id(thing)]

    def _reaches(self, path, thing):
        found = self.globals['torch']
        for part in path.split('.')[1:]:
            found = getattr(found, part, None)
        return found is thing or getattr(found, '__wrapped__', None) is thing

    def value(self, arg):
        """An argument."""
        if isinstance(arg, Node):
            return arg.name
        if isinstance(arg, tuple) and hasattr(arg, '_fields'):
            return f'{self.name_of(type(arg), qualified(type(arg)))}({", ".join(map(self.value, arg))})'
        if isinstance(arg, (tuple, list)):
            text = ', '.join(map(self.value, arg)) + (',' if isinstance(arg, tuple) and len(arg) == 1 else '')
            return f'({text})' if isinstance(arg, tuple) else f'[{text}]'
        if isinstance(arg, dict):
            return '{' + ', '.join(f'{key!r}: {self.value(each)}' for key, each in arg.items()) + '}'
        if isinstance(arg, slice):
            return f'slice({self.value(arg.start)}, {self.value(arg.stop)}, {self.value(arg.step)})'
        if isinstance(arg, type) or callable(arg) and hasattr(arg, '__name__'):
            return self.name_of(arg, qualified(arg))
        return constant(arg) or self.name_of(arg, type(arg).__name__)

    def path(self, target):
        """A module or tensor by its path."""
        text = self.root
        for part in target.split('.'):
            text = f'{text}.{part}' if part.isidentifier() else f'getattr({text}, "{part}")'
        return text

    def call(self, node):
        """What a node computes."""
        args, kwargs = [self.value(each) for each in node.args], {key: self.value(each) for key, each in node.kwargs.items()}
        if node.op == 'get_attr':
            return self.path(node.target)
        if node.op == 'call_module':
            called = self.path(node.target)
        elif node.op == 'call_method':
            called, args = f'{_held(args[0])}.{node.target}', args[1:]
        else:
            found = expression(node.target, args, kwargs)
            if found:
                return found
            if node.target is getattr and len(args) == 2 and isinstance(node.args[1], str) and node.args[1].isidentifier():
                return f'{_held(args[0])}.{node.args[1]}'
            called = self.name_of(node.target, qualified(node.target))
        return f'{called}({", ".join([*args, *(f"{key} = {text}" for key, text in kwargs.items())])})'

    def line(self, node):
        """The statement for a node."""
        if getattr(node.target, '__module__', None) == '_operator' and node.target.__name__ in IN_PLACE:
            into, by = map(self.value, node.args)
            return f'{into} {IN_PLACE[node.target.__name__]} {by};  {node.name} = {into}'
        return f'{node.name}{self.kind(node, " : ")} = {self.call(node)}'

    def kind(self, node, before):
        """The annotation of a node."""
        if node.type is None:
            return ''
        text = type_text(node.type)
        if text.startswith('typing.') or '.' in text and not text.startswith('torch.'):
            text = self.name_of(node.type, text.split('[')[0])
        return before + text


def _held(text):
    return text if text.isidentifier() or text[-1:] in ')]' else f'({text})'


def _last_uses(nodes):
    """By node, those that nothing takes after it."""
    last, seen = {}, set()
    for node in reversed(list(nodes)):
        def note(used, node=node):
            if used not in seen:
                seen.add(used)
                last.setdefault(node, []).append(used)
            return used
        map_arg(node.args, note)
        map_arg(node.kwargs, note)
    return last


def written(nodes, root):
    """(text, globals) of a program."""
    writer, last, parameters, lines, returns = _Writer(nodes, root), _last_uses(nodes), [], [], ''
    for node in nodes:
        if node.op == 'output':
            returns = writer.kind(node, ' -> ')
            lines.append(f'return {writer.value(node.args[0])}')
        elif node.op == 'placeholder':
            parameters.append(f'{node.target}{writer.kind(node, " : ")}' + (f' = {writer.value(node.args[0])}' if node.args else ''))
            if node.target.lstrip('*') != node.name:
                lines.append(f'{node.name} = {node.target.lstrip("*")}')
        else:
            unused = [node] if not node.users else []
            freed = ''.join(f'{each.name} = ' for each in (*last.get(node, ()), *unused))
            lines.append(writer.line(node) + (f';  {freed}None' if freed else ''))
    body = '\n'.join(f'    {line}' for line in lines or ['pass'])
    parameters = ', '.join([root, *parameters] if root else parameters)
    return f'\n\n\ndef forward({parameters}){returns}:\n{body}\n    ', writer.globals
