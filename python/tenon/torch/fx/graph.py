"""Graph: the steps of a program in order."""
import contextlib

from .naming import Names, snake
from .node import Node, map_aggregate, map_arg
from .source import PythonCode, written


class _Nodes:
    """The nodes of a graph in order."""

    def __init__(self, graph, step='_next'):
        self._graph, self._step = graph, step

    def __iter__(self):
        end = self._graph._end
        node = getattr(end, self._step)
        while node is not end:
            if not node._erased:  # by the loop itself; it leads on all the same
                yield node
            node = getattr(node, self._step)

    def __reversed__(self):
        return _Nodes(self._graph, '_prev' if self._step == '_next' else '_next').__iter__()

    def __len__(self):
        return sum(1 for _ in self)


class _Place:
    """Where new nodes go; as a scope it restores the place before."""

    def __init__(self, graph, insert):
        self._graph, self._before, graph._insert = graph, graph._insert, insert

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._graph._insert = self._before


class Graph:
    """A program: inputs, calls and one output, in the order in which they run. GraphModule makes a module of it.

    str(graph) lists it, python_code() writes it in Python.
    """

    def __init__(self, owning_module=None, tracer_cls=None, tracer_extras=None):
        self.owning_module, self._tracer_cls = owning_module, tracer_cls
        self._names = Names()
        self._end = Node(self, '', 'output', 'end', (), {})
        self._insert = self._end.prepend

    nodes = property(lambda self: _Nodes(self), doc='The nodes in order.')

    def create_node(self, op, target, args=None, kwargs=None, name=None, type_expr=None):
        """Adds a node at the place for new ones: the end, or that of inserting_before() and inserting_after()."""
        called = target if isinstance(target, str) else target.__name__
        node = Node(self, self._names.take(name if name is not None else snake(called)), op, target, args or (), kwargs or {}, type_expr)
        self._check_own(node)
        self._insert(node)
        return node

    def _check_own(self, node):
        for each in node.all_input_nodes:
            if each.graph is not self:
                raise RuntimeError(f'[Graph] argument {each} of {node} is a node of another graph')

    def placeholder(self, name, type_expr=None, default_value=None, **given):
        """Adds an input; default_value is what it is if the program is called without it."""
        args = (default_value,) if default_value is not None or 'default' in given else ()
        return self.create_node('placeholder', name, args, type_expr=type_expr, name=name.replace('**', '_').replace('*', '_'))

    def get_attr(self, qualified_name, type_expr=None):
        """Adds a tensor of the module by its path."""
        return self.create_node('get_attr', qualified_name, name=snake(qualified_name), type_expr=type_expr)

    def call_function(self, the_function, args=None, kwargs=None, type_expr=None, name=None):
        """Adds a call of a function."""
        return self.create_node('call_function', the_function, args, kwargs, name, type_expr)

    def call_method(self, method_name, args=None, kwargs=None, type_expr=None):
        """Adds a call of a method of the first argument."""
        return self.create_node('call_method', method_name, args, kwargs, type_expr=type_expr)

    def call_module(self, module_name, args=None, kwargs=None, type_expr=None):
        """Adds a call of a module by its path."""
        if self.owning_module is not None and not has(self.owning_module, module_name):
            raise RuntimeError(f'[Graph.call_module] the module has no submodule {module_name!r}: add_submodule() adds it')
        return self.create_node('call_module', module_name, args, kwargs, type_expr=type_expr)

    def output(self, result, type_expr=None):
        """Adds the output: nodes, in tuples, lists and dicts as the program returns them."""
        return self.create_node('output', 'output', (result,), type_expr=type_expr)

    def output_node(self):
        """The output."""
        return next(node for node in reversed(self.nodes) if node.op == 'output')

    def find_nodes(self, *, op, target=None, sort=True):
        """The nodes of a kind, and of a target if one is given."""
        return [node for node in self.nodes if node.op == op and (target is None or node.target == target)]

    def inserting_before(self, n=None):
        """New nodes go in front of n, or to the very front; in a `with` only there."""
        return _Place(self, (self._end._next if n is None else n).prepend)

    def inserting_after(self, n=None):
        """New nodes go behind n, or to the very end; in a `with` only there."""
        if n is None:
            return _Place(self, self._end.prepend)
        last = [n]

        def insert(node):
            last[0].append(node)
            last[0] = node
        return _Place(self, insert)

    def erase_node(self, to_erase):
        """Removes a node that no other takes."""
        if to_erase.users:
            raise RuntimeError(f'[erase_node] {to_erase} is used by {", ".join(map(str, to_erase.users))}')
        if to_erase.graph is not self:
            raise RuntimeError(f'[erase_node] {to_erase} is a node of another graph')
        if not to_erase._erased:
            to_erase._set((), {})
            to_erase._unlink()
            to_erase._erased = True

    def node_copy(self, node, arg_transform=lambda x: x):
        """Adds a copy of a node, perhaps of another graph; arg_transform(node) gives what stands for its arguments here."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        copied = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        copied.meta = dict(node.meta)
        return copied

    def graph_copy(self, g, val_map, return_output_node=False):
        """Adds copies of the nodes of another graph; val_map gets them, and has what stands for inputs. Returns what the output returns."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == 'output':
                found = map_arg(node.args[0], val_map.__getitem__)
                return (found, node) if return_output_node else found
            val_map[node] = self.node_copy(node, val_map.__getitem__)
        return None

    def __deepcopy__(self, memo=None):
        copied, values = Graph(tracer_cls=self._tracer_cls), {}
        for node in self.nodes:
            values[node] = copied.node_copy(node, values.__getitem__)
        return copied

    def __reduce__(self):
        places = {node: place for place, node in enumerate(self.nodes)}

        def flat(value):
            return map_arg(value, lambda node: _At(places[node]))
        return _restored, ([(node.name, node.op, node.target, flat(node.args), flat(node.kwargs), node.type) for node in self.nodes],)

    def eliminate_dead_code(self, is_impure_node=None):
        """Removes calls whose results nothing uses, those with side effects excepted; returns whether there were any."""
        self.lint()
        before = len(self.nodes)
        for node in reversed(self.nodes):
            if not node.users and not (is_impure_node or Node.is_impure)(node):
                self.erase_node(node)
        return len(self.nodes) != before

    def lint(self):
        """Raises an error if a node takes one that comes later, names occur twice, or the module lacks what is called."""
        seen, names = set(), set()
        for node in self.nodes:
            for each in node.all_input_nodes:
                if each.graph is not self or each not in seen:
                    raise RuntimeError(f'[Graph.lint] argument {each} of node {node} was used before it has been defined: check the order of nodes')
            if node.name in names:
                raise RuntimeError(f'[Graph.lint] two nodes are called {node.name!r}')
            if node.op in ('call_module', 'get_attr') and self.owning_module is not None and not has(self.owning_module, node.target):
                raise RuntimeError(f'[Graph.lint] node {node} has the target {node.target!r}, which the module lacks')
            seen.add(node)
            names.add(node.name)

    def python_code(self, root_module='self', *, verbose=False, **_):
        """The program in Python: src is its text, globals what the text names."""
        return PythonCode(*written(self.nodes, root_module))

    def print_tabular(self):
        """Prints a table of the nodes."""
        rows = [('opcode', 'name', 'target', 'args', 'kwargs'), *((n.op, n.name, str(n.target), str(n.args), str(n.kwargs)) for n in self.nodes)]
        widths = [max(len(head) + 2, *map(len, column)) for head, *column in zip(*rows)]  # tabulate's widths
        lines = ['  '.join(text.ljust(width) for text, width in zip(row, widths)).rstrip() for row in rows]
        print('\n'.join([lines[0], '  '.join('-' * width for width in widths), *lines[1:]]))

    def __str__(self):
        return 'graph():' + ''.join(f'\n    {node.format_node()}' for node in self.nodes)


class _At:
    """A node in a pickle: its place in the graph."""

    def __init__(self, place):
        self.place = place


def _restored(records):
    graph, made = Graph(), []
    for name, op, target, args, kwargs, kind in records:
        args, kwargs = (map_aggregate(value, lambda each: made[each.place] if isinstance(each, _At) else each) for value in (args, kwargs))
        made.append(graph.create_node(op, target, args, kwargs, name, kind))
    return graph


def has(module, path):
    """Whether a module has something under a path."""
    with contextlib.suppress(AttributeError):
        for part in path.split('.'):
            module = getattr(module, part)
        return True
    return False
