"""replace_pattern: parts of a graph that do what a function does become what another function does."""
from typing import Any, NamedTuple

from ...nn.module import Module
from .graph import Graph, has
from .graph_module import GraphModule, copy_attr
from .node import Node, map_aggregate


class Match(NamedTuple):
    """A part that was replaced: its last node, and the nodes for those of the pattern."""
    anchor: Any
    nodes_map: Any


class _Matcher:
    """Finds a pattern that ends at a node."""

    def __init__(self, pattern):
        self.found = {}
        self._pattern = pattern

    def matches(self, result, anchor):
        """Whether the pattern, which returns `result`, ends at a node, and nothing else takes what is within."""
        if not self._same(result, anchor):
            return False
        inner = [node for mine, node in self.found.items() if mine.op not in ('placeholder', 'get_attr') and mine is not result]
        within = {id(node) for node in self.found.values()}
        return all(id(user) in within for node in inner for user in node.users)

    def _same(self, mine, other):
        if isinstance(mine, Node):
            if mine in self.found:
                return self.found[mine] is other or not isinstance(other, Node) and self.found[mine] == other
            if mine.op == 'placeholder':
                self.found[mine] = other
                return True
            if not isinstance(other, Node) or mine.op != other.op or mine.target != other.target:
                return False
            self.found[mine] = other
            return self._same(mine.args, other.args) and self._same(mine.kwargs, other.kwargs)
        if isinstance(mine, (tuple, list)):
            return isinstance(other, (tuple, list)) and len(mine) == len(other) and all(map(self._same, mine, other))
        if isinstance(mine, dict):
            return isinstance(other, dict) and mine.keys() == other.keys() and all(self._same(mine[key], other[key]) for key in mine)
        return not isinstance(other, Node) and type(mine) is type(other) and mine == other


def _graph_of(thing):
    from .tracer import symbolic_trace
    if isinstance(thing, Graph):
        return thing
    return thing.graph if isinstance(thing, GraphModule) else symbolic_trace(thing).graph


def replace_pattern(gm, pattern, replacement):
    """Replaces the parts of a module's graph that do what `pattern` does, a function of their inputs, by what `replacement` does; returns
    the matches. Parts do not overlap, and nothing outside of one may take what is computed within.
    """
    wanted, given, matches, gone = _graph_of(pattern), _graph_of(replacement), [], set()
    result = wanted.output_node().args[0]
    if not isinstance(result, Node):
        raise RuntimeError('[replace_pattern] the pattern must return one value')
    inputs = [[node for node in graph.nodes if node.op == 'placeholder'] for graph in (wanted, given)]
    if len(inputs[0]) != len(inputs[1]):
        raise RuntimeError(f'[replace_pattern] the pattern has {len(inputs[0])} inputs, the replacement {len(inputs[1])}')
    renewed = {}  # a node that is gone: what stands for it
    for anchor in list(gm.graph.nodes):
        matcher = _Matcher(wanted)
        if anchor.op in ('placeholder', 'output') or not matcher.matches(result, anchor):
            continue
        inner = [node for mine, node in matcher.found.items() if mine.op not in ('placeholder', 'get_attr')]
        if gone.intersection(inner):
            continue
        gone.update(inner)
        matches.append(Match(anchor, dict(matcher.found)))
        values = {new: _current(matcher.found.get(old), renewed) for old, new in zip(*inputs)}
        with gm.graph.inserting_before(anchor):
            found = gm.graph.graph_copy(given, values)
        anchor.replace_all_uses_with(found)
        renewed[anchor] = found
        for node in [node for node in reversed(list(gm.graph.nodes)) if node in inner]:
            gm.graph.erase_node(node)
        for node in given.nodes:
            if node.op in ('call_module', 'get_attr') and isinstance(replacement, Module) and not has(gm, node.target):
                copy_attr(replacement, gm, node.target)
    gm.recompile()
    return matches


def _current(value, renewed):
    return map_aggregate(value, lambda each: renewed.get(each, each) if isinstance(each, Node) else each)
