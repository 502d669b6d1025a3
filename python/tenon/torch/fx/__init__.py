"""torch.fx: programs that read and rewrite modules. A module is run once with stand-ins for its inputs, which record a graph of calls; the
graph is changed, and becomes a module again.

>>> import tenon.torch as torch
>>> def f(x):
...     return torch.relu(x) + 1
>>> traced = torch.fx.symbolic_trace(f)
>>> [node.name for node in traced.graph.nodes]
['x', 'relu', 'add', 'output']
>>> traced(torch.tensor([-1.0, 2.0])).tolist()
[1.0, 3.0]
"""
from .._common import absent
from .graph import Graph
from .graph_module import GraphModule
from .interpreter import Interpreter, Transformer
from .node import Node, has_side_effect, map_arg
from .proxy import Proxy
from .subgraph_rewriter import replace_pattern
from .tracer import PH, Tracer, symbolic_trace, wrap

__all__ = ['Graph', 'GraphModule', 'Interpreter', 'Node', 'PH', 'Proxy', 'Tracer', 'Transformer', 'has_side_effect', 'map_arg', 'replace_pattern',
           'symbolic_trace', 'wrap']

_INSTEAD = {'ProxyableClassMeta': 'build the object outside of the module', 'CodeGen': 'a graph writes its code itself: see Graph.python_code',
            'experimental': 'record a program with tenon.graph.trace, whose shapes are known'}
__getattr__ = absent(__name__, _INSTEAD)
