"""GraphModule: a module whose forward() is a graph."""
import copy
import itertools
import linecache

from ...nn.module import Module
from ...nn.parameter import Buffer, Parameter
from ..._core import Tensor
from .graph import Graph

_numbers = itertools.count()


def _compiled(code, file):
    """forward() of a program's text; tracebacks show its lines."""
    linecache.cache[file] = len(code.src), None, code.src.splitlines(True), file
    space = dict(code.globals)
    exec(compile(code.src, file, 'exec'), space)
    return space['forward']


def copy_attr(source, into, path):
    """Gives a module what another has under a path."""
    *prefix, last = path.split('.')
    for name in prefix:
        source, there = getattr(source, name), getattr(into, name, None)
        if there is source:
            return
        if there is None:
            there = Module()
            setattr(into, name, there)
        into = there
    _assign(into, last, getattr(source, last))


def _assign(module, name, value):
    if isinstance(value, Tensor) and not isinstance(value, (Parameter, Buffer)):
        module.register_buffer(name, value)
    else:
        setattr(module, name, value)

_copy_attr, _USER_PRESERVED_ATTRIBUTES_KEY = copy_attr, '_user_preserved_attributes'


class _CodeOnlyModule(Module):
    """A module with the attributes of a dict."""

    def __init__(self, body):
        self.__dict__ = body


class GraphModule(Module):
    """A module that runs a graph, with the submodules and tensors of `root` that it names, or of a dict by their paths.

    code is the program in Python. After a change of the graph, recompile() makes forward() anew; assigning `graph` does so, too.
    """

    def __new__(cls, *args, **kwargs):
        # forward() belongs to one object, so each has a class of its own.
        base = next(each for each in cls.__mro__ if '_of_graph' not in vars(each))
        names = {'__module__': base.__module__, '__qualname__': base.__qualname__, '_of_graph': True, '_file': f'<torch.fx {next(_numbers)}>'}
        return Module.__new__(type(base.__name__, (base,), names))

    def __init__(self, root, graph, class_name='GraphModule'):
        type(self).__name__ = class_name
        paths = [node.target for node in graph.nodes if node.op in ('get_attr', 'call_module')]
        if isinstance(root, Module):
            self.training = root.training
            for path in paths:
                copy_attr(root, self, path)
        else:
            missing = [path for path in paths if path not in root]
            if missing:
                raise RuntimeError(f'[GraphModule] the graph names {missing[0]!r}, which the dict lacks')
            for path in sorted(paths, key=lambda path: path.count('.')):
                self._put(path, root[path])
        self.graph = graph

    def _put(self, path, value):
        holder = self
        *prefix, last = path.split('.')
        for name in prefix:
            if not hasattr(holder, name):
                setattr(holder, name, Module())
            holder = getattr(holder, name)
        _assign(holder, last, value)

    @property
    def graph(self):
        """The graph."""
        return self._graph

    @graph.setter
    def graph(self, graph):
        if not isinstance(graph, Graph):
            raise AssertionError(f'[GraphModule.graph] needs a Graph, not {type(graph).__name__}')
        self._graph = graph
        graph.owning_module = self
        self.recompile()

    @property
    def code(self):
        """The program in Python."""
        return self._code

    def recompile(self):
        """Makes forward() of the graph as it is now; returns the program."""
        python = self._graph.python_code('self')
        self._code = python.src
        type(self).forward = _compiled(python, self._file)
        return python

    def add_submodule(self, target, m):
        """Adds a module under a path; returns whether it could."""
        holder = self
        *prefix, last = target.split('.')
        for name in prefix:
            if not hasattr(holder, name):
                setattr(holder, name, Module())
            holder = getattr(holder, name)
            if not isinstance(holder, Module):
                return False
        setattr(holder, last, m)
        return True

    def delete_submodule(self, target):
        """Removes the module under a path; returns whether there was one."""
        *prefix, last = target.split('.')
        holder = self
        for name in prefix:
            holder = getattr(holder, name, None)
        if not isinstance(getattr(holder, last, None), Module):
            return False
        delattr(holder, last)
        return True

    def delete_all_unused_submodules(self):
        """Removes modules that the graph does not call, nor takes anything of."""
        used = set()
        for node in self.graph.nodes:
            if node.op in ('call_module', 'get_attr'):
                parts = node.target.split('.')
                used.update('.'.join(parts[:n]) for n in range(1, len(parts) + 1))
                if node.op == 'call_module':
                    used.update(f'{node.target}.{name}' for name, _ in self.get_submodule(node.target).named_modules() if name)
        for name, _ in list(self.named_modules()):
            if name and name not in used:
                self.delete_submodule(name)

    def print_readable(self, print_output=True, **_):
        """The program as a class, printed unless print_output is False."""
        text = f'class {type(self).__name__}(torch.nn.Module):\n' + '\n'.join(f'    {line}'.rstrip() for line in self._code.strip().splitlines()) + '\n'
        if print_output:
            print(text)
        return text

    def _parts(self):
        return {name: value for name, value in vars(self).items() if name not in ('_graph', '_code')}, self._graph, type(self).__name__

    def __deepcopy__(self, memo):
        memo[id(self)] = made = _restored(type(self).__mro__[1], *copy.deepcopy(self._parts(), memo))
        return made

    def __copy__(self):
        attributes, graph, name = self._parts()
        return _restored(type(self).__mro__[1], attributes, copy.deepcopy(graph), name)

    def __reduce__(self):
        return _restored, (type(self).__mro__[1], *self._parts())

    def __repr__(self):
        return f'{super().__repr__()}\n{self._code}\n# To see more debug info, please use `graph_module.print_readable()`'

    __str__ = __repr__


def _restored(cls, attributes, graph, name):
    made = cls.__new__(cls)
    vars(made).update(attributes)
    type(made).__name__ = name
    made.graph = graph
    return made
