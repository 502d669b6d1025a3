"""Schemas of custom ops: written from a function's annotations, read from text, and calls that are bound to them."""
import collections.abc
import inspect
import re
import types
import typing
from typing import Any, NamedTuple, NoReturn

from ... import _core
from ..._core import Tensor

_TYPES = {Tensor: 'Tensor', int: 'SymInt', float: 'float', bool: 'bool', str: 'str', _core.dtype: 'ScalarType', complex: 'Scalar'}
_LISTS = (list, tuple, collections.abc.Sequence)
_PYTHON = {'SymInt': 'int', 'ScalarType': 'dtype', 'Scalar': 'number'}
_REQUIRED = inspect.Parameter.empty


class Argument(NamedTuple):
    """One argument: its type as written, such as Tensor[] or float?."""
    name: str
    type: str
    default: Any
    is_written: bool
    keyword_only: bool


def infer_schema(prototype_function, /, *, mutates_args, op_name=None):
    """The schema of a function from the annotations of its arguments and results."""
    signature, hints = inspect.signature(prototype_function), typing.get_type_hints(prototype_function)

    def fail(text) -> NoReturn:
        raise ValueError(f'infer_schema(func): {text} Got func with signature {signature})')
    if mutates_args == 'unknown':
        mutates_args = [name for name, hint in hints.items() if name != 'return' and 'Tensor' in _type_of(hint, '')]
    texts, keywords = [], False
    for at, (name, each) in enumerate(signature.parameters.items()):
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            fail('We do not support *args and **kwargs.')
        if name not in hints:
            fail(f'Parameter {name} must have a type annotation.')
        kind = _type_of(hints[name], None)
        if kind is None:
            fail(f'Parameter {name} has unsupported type {hints[name]}. The valid types are: Tensor, int, float, bool, str, dtype, device, '
                 'numbers, lists of these, and Optional ones.')
        if name in mutates_args:
            if not kind.startswith('Tensor'):
                fail(f'Parameter {name} is in mutates_args but only Tensors or collections of Tensors can be mutated')
            kind = kind.replace('Tensor', f'Tensor(a{at}!)', 1)
        if each.kind is each.KEYWORD_ONLY and not keywords:
            keywords = True
            texts.append('*')
        texts.append(f'{kind} {name}' + ('' if each.default is each.empty else f'={_default(each.default)}'))
    unknown = set(mutates_args) - signature.parameters.keys()
    if unknown:
        fail(f'{sorted(unknown)} in mutates_args were not found in the signature.')
    if 'return' not in hints:
        fail('No return type annotation was provided. Please add one.')
    results = _results(hints['return'])
    if results is None:
        fail(f'Return has unsupported type {hints["return"]}.')
    return f'{op_name or ""}({", ".join(texts)}) -> {results}'


def _default(value):
    return f'"{value}"' if isinstance(value, str) else str(value).removeprefix('torch.')


def _type_of(annotation, otherwise):
    """An annotation in the words of schemas."""
    if annotation in _TYPES:
        return _TYPES[annotation]
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, getattr(types, 'UnionType', None)):  # the second from Python 3.10 on
        rest = [each for each in parts if each is not type(None)]
        kind = 'Scalar' if set(rest) in ({int, float, bool}, {int, float}) else _type_of(rest[0], None) if len(rest) == 1 else None
        return otherwise if kind is None else kind + '?' * (len(rest) < len(parts))
    if origin in _LISTS and parts and all(each in (parts[0], ...) for each in parts):
        kind = _type_of(parts[0], None)
        return otherwise if kind is None else kind + '[]'
    return 'Device' if getattr(annotation, '__name__', '') == 'device' else otherwise


def _results(annotation):
    if annotation in (None, type(None)):
        return '()'
    if typing.get_origin(annotation) is tuple:
        kinds = [_type_of(each, None) for each in typing.get_args(annotation)]
        return None if None in kinds else f'({", ".join(map(str, kinds))})'
    return _type_of(annotation, None)


class Schema:
    """(Tensor x, float p=0.5, *, bool flag=False) -> Tensor, of the op of that name."""

    def __init__(self, name, text):
        found = re.fullmatch(r'\s*\((.*)\)\s*->\s*(.+)', text, re.DOTALL)
        if not found:
            raise RuntimeError(f'[library] {text!r} is not a schema: write it as (Tensor x, float p=0.5) -> Tensor')
        self.name, self.text, self.arguments = name, f'{name}{text.strip()}', []
        keyword_only = False
        for part in filter(None, map(str.strip, re.split(r',(?![^\[(]*[\])])', found[1]))):
            if part == '*':
                keyword_only = True
                continue
            each = re.fullmatch(r'(\w+)(!|\(\w+(?:\|\w+)*!?(?:\s*->\s*[\w*|]+)?\))?([\[\]\d?]*)\s+(\w+)\s*(?:=\s*(.+))?', part, re.DOTALL)
            if not each:
                raise RuntimeError(f'[library] {part!r} in the schema of {name} is not an argument: write TYPE NAME or TYPE NAME=DEFAULT')
            default = _REQUIRED if each[5] is None else _value(each[5])
            self.arguments.append(Argument(each[4], each[1] + each[3], default, '!' in (each[2] or ''), keyword_only))

    def __str__(self):
        return self.text

    __repr__ = __str__

    @property
    def writes(self):
        """Whether an argument is written to."""
        return any(each.is_written for each in self.arguments)

    def bind(self, args, named):
        """The arguments in their order, checked."""
        free = [each for each in self.arguments if not each.keyword_only]
        if len(args) > len(free):
            raise RuntimeError(f'{self.name}() expected at most {len(free)} argument(s) but received {len(args)} argument(s). Declaration: {self}')
        given = {each.name: value for each, value in zip(free, args)}
        for name, value in named.items():
            if name in given or all(each.name != name for each in self.arguments):
                raise RuntimeError(f'{self.name}() got {"two values for" if name in given else "an unexpected"} argument {name!r}. Declaration: {self}')
            given[name] = value
        found = []
        for at, each in enumerate(self.arguments):
            value = given.get(each.name, each.default)
            if value is _REQUIRED:
                raise RuntimeError(f"{self.name}() is missing value for argument '{each.name}'. Declaration: {self}")
            if not _fits(each.type, value):
                wanted = re.sub(r'\w+', lambda word: _PYTHON.get(word[0], word[0]), each.type)
                raise RuntimeError(f"{self.name}() Expected a value of type '{wanted}' for argument '{each.name}' but instead found type "
                                   f"'{type(value).__name__}'.\nPosition: {at}\nValue: {value!r}\nDeclaration: {self}")
            found.append(list(value) if isinstance(value, tuple) and '[' in each.type else value)
        return found

    def call(self, function, args):
        """function with bound arguments, of which those after * go by name."""
        free, named = self.parts(args)
        return function(*free, **named)

    def parts(self, args):
        """Bound arguments in their order, and those after * by name."""
        named = {each.name: value for each, value in zip(self.arguments, args) if each.keyword_only}
        return tuple(args[:len(args) - len(named)]), named


def _value(text):
    """A default from its text."""
    text = text.strip()
    simple = {'None': None, 'True': True, 'False': False, 'true': True, 'false': False}
    if text in simple:
        return simple[text]
    if text[0] in '[(':
        return [_value(each) for each in text[1:-1].split(',') if each.strip()]
    if text[0] in '"\'':
        return text[1:-1]
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            pass
    return getattr(_core, text, text)


_CHECKS = {'Tensor': Tensor, 'int': int, 'SymInt': int, 'float': (int, float), 'bool': bool, 'str': str, 'Scalar': (int, float, complex)}


def _fits(kind, value):
    if kind.endswith('?'):
        return value is None or _fits(kind[:-1], value)
    if kind.endswith(']'):
        inner = kind[:kind.rindex('[')]
        return isinstance(value, (list, tuple)) and all(_fits(inner, each) for each in value)
    return kind not in _CHECKS or isinstance(value, _CHECKS[kind])
