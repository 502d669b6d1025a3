"""A step of a graph: an input, a constant, a call, or the output."""
from typing import Any, Callable, Union

from .naming import constant, qualified, type_text

_OPS = 'placeholder', 'get_attr', 'call_function', 'call_method', 'call_module', 'output'
_impure: set = set()


def map_aggregate(value, fn) -> Any:
    """fn of everything within tuples, lists, dicts and slices."""
    if isinstance(value, tuple):
        found = [map_aggregate(each, fn) for each in value]
        return type(value)(*found) if hasattr(value, '_fields') else tuple(found)
    if isinstance(value, list):
        return [map_aggregate(each, fn) for each in value]
    if isinstance(value, dict):
        return {key: map_aggregate(each, fn) for key, each in value.items()}
    if isinstance(value, slice):
        return slice(map_aggregate(value.start, fn), map_aggregate(value.stop, fn), map_aggregate(value.step, fn))
    return fn(value)


def map_arg(value, fn) -> Any:
    """Arguments with fn(node) for each node among them."""
    if not callable(fn):
        raise TypeError(f'[map_arg] needs a function, not {type(fn).__name__}')
    return map_aggregate(value, lambda each: fn(each) if isinstance(each, Node) else each)


def has_side_effect(fn):
    """Keeps calls of a function whose results nothing uses; returns the function."""
    _impure.add(fn)
    return fn


def _shown(value):
    """An argument in the listing of a graph."""
    if isinstance(value, (tuple, list)):
        text = ', '.join(map(_shown, value)) + (',' if isinstance(value, tuple) and len(value) == 1 else '')
        return f'({text})' if isinstance(value, tuple) else f'[{text}]'
    if isinstance(value, dict):
        return '{' + ', '.join(f'{key}: {_shown(each)}' for key, each in value.items()) + '}'
    return f'%{value}' if isinstance(value, Node) else value if isinstance(value, str) else constant(value) or str(value)


Target = Union[Callable[..., Any], str]
Argument = Any


class Node:
    """A step: `op` is its kind, `target` what it calls, and args and kwargs its arguments, in which other nodes stand for their results.

    target is a function for call_function, the name of a method for call_method, the path of a module or tensor for call_module and
    get_attr, and the name of an argument for placeholder. users has the nodes that take this one, and meta whatever passes note.
    """

    def __init__(self, graph, name, op, target: Any, args, kwargs, return_type=None):
        if op not in _OPS:
            raise ValueError(f'[Node] op is {op!r}, must be one of {", ".join(_OPS)}')
        if op == 'call_function' and not callable(target) or op != 'call_function' and not isinstance(target, str):
            raise ValueError(f'[Node] {op} has the target {target!r}: call_function takes a function, the others a str')
        self.graph, self.name, self.op, self.target, self.type = graph, name, op, target, return_type
        self.users, self.meta = {}, {}
        self._input_nodes: Any = {}
        self._args: Any = ()
        self._kwargs: Any = {}
        self._prev = self._next = self
        self._erased = False
        self._set(args, kwargs)

    def _set(self, args, kwargs):
        for before in self._input_nodes:
            before.users.pop(self, None)
        self._input_nodes = {}

        def note(node):
            self._input_nodes[node] = None
            node.users[self] = None
            return node
        self._args, self._kwargs = map_arg(tuple(args), note), map_arg(dict(kwargs), note)

    args = property(lambda self: self._args, lambda self, args: self._set(args, self._kwargs), doc='Positional arguments.')
    kwargs = property(lambda self: self._kwargs, lambda self, kwargs: self._set(self._args, kwargs), doc='Named arguments.')
    next = property(lambda self: self._next, doc='The node behind.')
    prev = property(lambda self: self._prev, doc='The node in front.')
    all_input_nodes = property(lambda self: list(self._input_nodes), doc='The nodes among the arguments, each once.')
    stack_trace = property(lambda self: self.meta.get('stack_trace'), lambda self, text: self.meta.__setitem__('stack_trace', text), doc='Text of a pass.')

    def prepend(self, x):
        """Moves a node of the same graph in front of this one."""
        if x.graph is not self.graph:
            raise AssertionError('[Node.prepend] the nodes are of different graphs')
        if x is self:
            return
        x._unlink()
        before = self._prev
        before._next, x._prev, x._next, self._prev = x, before, self, x

    def append(self, x):
        """Moves a node of the same graph behind this one."""
        self._next.prepend(x)

    def _unlink(self):
        self._prev._next, self._next._prev = self._next, self._prev

    def update_arg(self, idx, arg):
        """Replaces a positional argument."""
        args = list(self._args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx, arg):
        """Puts a positional argument in front of another."""
        if not 0 <= idx <= len(self._args):
            raise AssertionError(f'[Node.insert_arg] idx is {idx}, must be between 0 and {len(self._args)}')
        self.args = (*self._args[:idx], arg, *self._args[idx:])

    def update_kwarg(self, key, arg):
        """Replaces or adds a named argument."""
        self.kwargs = {**self._kwargs, key: arg}

    def replace_input_with(self, old_input, new_input):
        """Takes another node wherever this one takes old_input."""
        def swap(node):
            return new_input if node is old_input else node
        self._set(map_arg(self._args, swap), map_arg(self._kwargs, swap))

    def replace_all_uses_with(self, replace_with, delete_user_cb=lambda user: True, *, propagate_meta=False):
        """Has the nodes that take this one take another; returns those that delete_user_cb agreed to."""
        if propagate_meta:
            replace_with.meta.update(self.meta)
        changed = [user for user in self.users if delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    def is_impure(self, impure_random=True):
        """Whether the node stays although nothing uses its result: inputs, the output, writes in place, functions with side effects."""
        if self.op in ('placeholder', 'output'):
            return True
        if self.op == 'call_method':
            return str(self.target)[-1:] == '_' and str(self.target)[-2:] != '__'
        if self.op == 'call_function':
            name = getattr(self.target, '__name__', '')
            return self.target in _impure or name in ('_assert', 'setitem') or name[-1:] == '_' and name[-2:] != '__' and name not in ('and_', 'or_', 'not_')
        return False

    def format_node(self, placeholder_names=None, maybe_return_typename=None, **_):
        """The node's line in the listing of its graph; the arguments have no effect."""
        if self.op == 'output':
            return f'return {self._args[0]!r}'
        typed = f'{type_text(self.type)} ' if self.type is not None else ''
        target = qualified(self.target) if self.op == 'call_function' else self.target
        line = f'%{self.name} : {typed}[num_users={len(self.users)}] = {self.op}[target={target}]'
        if self.op == 'placeholder':
            return line + (f'(default={self._args[0]})' if self._args else '')
        return line if self.op == 'get_attr' else f'{line}(args = {_shown(self._args)}, kwargs = {_shown(self._kwargs)})'

    def __repr__(self):
        return self.name
