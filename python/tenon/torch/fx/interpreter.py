"""Interpreter: runs a graph node by node. Transformer: makes another graph while it does."""
from .graph import Graph
from .graph_module import GraphModule
from .node import map_aggregate, map_arg
from .proxy import Proxy
from .tracer import Tracer


class Interpreter:
    """Runs the graph of a module. Subclasses change what nodes of a kind do, or what is done with each (run_node).

    env has the results of nodes, until the last node that takes them.
    """

    def __init__(self, module, garbage_collect_values=True, graph=None):
        self.module, self.submodules = module, dict(module.named_modules())
        self.graph = graph if graph is not None else module.graph
        self.env = {}
        self.name = 'Interpreter'
        self.garbage_collect_values = garbage_collect_values

    def run(self, *args, initial_env=None, enable_io_processing=True):
        """What the graph returns for inputs; initial_env has results of nodes that then do not run."""
        self.env = dict(initial_env or {})
        self.args_iter = iter(args)
        left = {}  # by node, how many of those that take it are still to run
        for node in self.graph.nodes:
            if node in self.env:
                continue
            self.env[node] = self.run_node(node)
            if node.op == 'output':
                return self.env[node]
            for taken in node.all_input_nodes if self.garbage_collect_values else ():
                left[taken] = left.get(taken, len(taken.users)) - 1
                if left[taken] == 0:
                    self.env.pop(taken, None)
        return None

    def run_node(self, n):
        """The result of a node."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target, args, kwargs):
        """The next input, or the default of this one."""
        if target.startswith('*'):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(f'[Interpreter] expected an input for {target}: run() got too few') from None

    def get_attr(self, target, args, kwargs):
        """A tensor of the module."""
        return self.fetch_attr(target)

    def call_function(self, target, args, kwargs):
        """The result of a function."""
        return target(*args, **kwargs)

    def call_method(self, target, args, kwargs):
        """The result of a method of the first argument."""
        return getattr(args[0], target)(*args[1:], **kwargs)

    def call_module(self, target, args, kwargs):
        """The result of a module."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target, args, kwargs):
        """What the graph returns."""
        return args[0]

    def fetch_attr(self, target):
        """What the module has under a path."""
        found = self.module
        for part in target.split('.'):
            if not hasattr(found, part):
                raise RuntimeError(f'[Interpreter] the graph names {target!r}, which the module lacks')
            found = getattr(found, part)
        return found

    def fetch_args_kwargs_from_env(self, n):
        """(args, kwargs) of a node, with results for the nodes among them."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args, n):
        """Arguments of a node with results for the nodes among them."""
        def find(node):
            if node not in self.env:
                raise RuntimeError(f'[Interpreter] node {n} takes {node}, which has no result: check the order with graph.lint()')
            return self.env[node]
        return map_arg(args, find)


class Transformer(Interpreter):
    """Makes a new GraphModule of another: what a subclass's methods compute with proxies is its program."""

    def __init__(self, module):
        super().__init__(module)
        self.new_graph = Graph()
        self.tracer = Tracer()
        self.tracer.graph, self.tracer.root = self.new_graph, module

    def placeholder(self, target, args, kwargs):
        """A new input."""
        return Proxy(self.new_graph.placeholder(target, **({'default_value': args[0], 'default': True} if args else {})), self.tracer)

    def get_attr(self, target, args, kwargs):
        """A tensor of the module, as a proxy."""
        return self.tracer.create_proxy('get_attr', target, args, kwargs)

    def call_module(self, target, args, kwargs):
        """A call of a module."""
        return self.tracer.create_proxy('call_module', target, args, kwargs)

    def call_function(self, target, args, kwargs):
        """A call of a function."""
        return self.tracer.create_proxy('call_function', target, args, kwargs)

    def call_method(self, target, args, kwargs):
        """A call of a method."""
        return self.tracer.create_proxy('call_method', target, args, kwargs)

    def transform(self):
        """The new module."""
        found = super().run(enable_io_processing=False)
        self.new_graph.output(map_result(found))
        return GraphModule(self.module, self.new_graph)


def map_result(value):
    """A result with nodes for the proxies within."""
    return map_aggregate(value, lambda each: each.node if isinstance(each, Proxy) else each)
