"""Nested dicts, lists and tuples as flat lists and back."""
from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any, NamedTuple

from ... import _trees

__all__ = ['GetAttrKey', 'LeafSpec', 'MappingKey', 'PyTree', 'SequenceKey', 'TreeSpec', 'key_get', 'keystr', 'register_pytree_node', 'tree_all',
           'tree_any', 'tree_flatten', 'tree_flatten_with_path', 'tree_iter', 'tree_leaves', 'tree_leaves_with_path', 'tree_map', 'tree_map_',
           'tree_map_only', 'tree_map_with_path', 'tree_structure', 'tree_unflatten']

PyTree = object


class NodeDef(NamedTuple):
    """How a container becomes (parts, what else to keep), and a container again."""

    flatten_fn: Any
    unflatten_fn: Any


# By type.
SUPPORTED_NODES = _KINDS = {
    list: NodeDef(lambda x: (list(x), None), lambda parts, kept: list(parts)),
    tuple: NodeDef(lambda x: (list(x), None), lambda parts, kept: tuple(parts)),
    dict: NodeDef(lambda x: (list(x.values()), list(x)), lambda parts, kept: dict(zip(kept, parts))),
    OrderedDict: NodeDef(lambda x: (list(x.values()), list(x)), lambda parts, kept: OrderedDict(zip(kept, parts))),
    defaultdict: NodeDef(lambda x: (list(x.values()), (x.default_factory, list(x))), lambda parts, kept: defaultdict(kept[0], zip(kept[1], parts))),
    deque: NodeDef(lambda x: (list(x), x.maxlen), lambda parts, kept: deque(parts, maxlen=kept)),
    namedtuple: NodeDef(lambda x: (list(x), type(x)), lambda parts, kept: kept(*parts)),
}
_KEYED = {}  # by type: ([(key, part)], what else to keep) of a container whose parts have keys of their own
_dict_flatten, _dict_unflatten = _KINDS[dict]


def register_pytree_node(cls, flatten_fn, unflatten_fn, *, flatten_with_keys_fn=None, **kwargs):
    """Makes a class a container: flatten_fn(x) gives (parts, context), unflatten_fn(parts, context) a container, and flatten_with_keys_fn(x)
    ([(key, part)], context) for functions that tell paths."""
    if cls in _KINDS:
        raise ValueError(f'[register_pytree_node] {cls.__name__} is registered already')
    _KINDS[cls] = NodeDef(flatten_fn, unflatten_fn)
    _trees.containers.setdefault(cls, _KINDS[cls])  # arguments and results of programs
    if flatten_with_keys_fn is not None:
        _KEYED[cls] = flatten_with_keys_fn


_register_pytree_node = register_pytree_node  # its older name


class SequenceKey(NamedTuple):
    """A place of a list or tuple."""

    idx: int

    def __str__(self):
        return f'[{self.idx!r}]'

    def get(self, sequence):
        return sequence[self.idx]


class MappingKey(NamedTuple):
    """A key of a dict."""

    key: Any

    def __str__(self):
        return f'[{self.key!r}]'

    def get(self, mapping):
        return mapping[self.key]


class GetAttrKey(NamedTuple):
    """An attribute."""

    name: str

    def __str__(self):
        return f'.{self.name}'

    def get(self, obj):
        return getattr(obj, self.name)


def keystr(kp):
    """A path as text: "['layers'][0].weight"."""
    return ''.join(map(str, kp))


def key_get(obj, kp):
    """What lies at a path of obj."""
    for key in kp:
        obj = key.get(obj)
    return obj


def _dict_flatten_with_keys(d):
    """([(key, value)], keys) of a dict."""
    return [(MappingKey(key), value) for key, value in d.items()], list(d)


def _with_keys(tree):
    """[(key, part)] of a container."""
    if type(tree) in _KEYED:
        return _KEYED[type(tree)](tree)[0]
    if isinstance(tree, dict):
        return _dict_flatten_with_keys(tree)[0]
    parts = _KINDS[_get_node_type(tree)].flatten_fn(tree)[0]
    named = getattr(tree, '_fields', None)
    return [(SequenceKey(i) if named is None else GetAttrKey(named[i]), part) for i, part in enumerate(parts)]


def _get_node_type(tree):
    """The key of SUPPORTED_NODES, if it is a container."""
    return namedtuple if isinstance(tree, tuple) and hasattr(tree, '_fields') else type(tree)


def _kind(tree, is_leaf):
    if is_leaf is not None and is_leaf(tree):
        return None
    return _KINDS.get(_get_node_type(tree))


class TreeSpec:
    """The structure of a tree without its leaves."""

    def __init__(self, type=None, context=None, children_specs=()):
        self.type, self.context, self.children_specs = type, context, list(children_specs)
        self.num_children = len(self.children_specs)
        self.num_leaves = sum(each.num_leaves for each in self.children_specs) if type is not None else 1
        self.num_nodes = 1 + sum(each.num_nodes for each in self.children_specs)

    def is_leaf(self):
        return self.type is None

    def __eq__(self, other):
        return isinstance(other, TreeSpec) and (self.type, self.context, self.children_specs) == (other.type, other.context, other.children_specs)

    def __hash__(self):
        return hash((self.type, self.num_leaves, self.num_nodes))

    def __repr__(self):
        return '*' if self.type is None else f'TreeSpec({self.type.__name__}, {self.context}, {self.children_specs})'

    def _filled(self, leaves):
        if self.type is None:
            return next(leaves)
        make = (_KINDS.get(self.type) or _KINDS[namedtuple]).unflatten_fn
        return make([each._filled(leaves) for each in self.children_specs], self.context)

    def unflatten(self, leaves):
        """A tree of this structure with the leaves."""
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(f'[tree_unflatten] {len(leaves)} leaves for a tree with {self.num_leaves}')
        return self._filled(iter(leaves))


def LeafSpec():
    """The structure of a leaf."""
    return TreeSpec()


def tree_flatten(tree, is_leaf=None):
    """(leaves, structure)."""
    kind = _kind(tree, is_leaf)
    if kind is None:
        return [tree], TreeSpec()
    parts, context = kind.flatten_fn(tree)
    found = [tree_flatten(part, is_leaf) for part in parts]
    return [leaf for leaves, _ in found for leaf in leaves], TreeSpec(type(tree), context, [spec for _, spec in found])


def tree_leaves_with_path(tree, is_leaf=None):
    """[(path, leaf)]: a path is a tuple of keys."""
    if _kind(tree, is_leaf) is None:
        return [((), tree)]
    return [((key, *path), leaf) for key, part in _with_keys(tree) for path, leaf in tree_leaves_with_path(part, is_leaf)]


def tree_flatten_with_path(tree, is_leaf=None):
    """([(path, leaf)], structure)."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func, tree, *rests, is_leaf=None):
    """The tree with func(path, leaf, …) in place of each leaf."""
    paths = iter([path for path, _ in tree_leaves_with_path(tree, is_leaf)])
    return tree_map(lambda *leaves: func(next(paths), *leaves), tree, *rests, is_leaf=is_leaf)


def tree_unflatten(leaves, treespec):
    """A tree of a structure with the leaves."""
    if not isinstance(treespec, TreeSpec):  # the older order of the arguments
        leaves, treespec = treespec, leaves
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f'[tree_unflatten] needs a TreeSpec, not {type(treespec).__name__}')
    return treespec.unflatten(leaves)


def tree_leaves(tree, is_leaf=None):
    """The leaves, in order."""
    return tree_flatten(tree, is_leaf)[0]


def tree_iter(tree, is_leaf=None):
    """An iterator over the leaves."""
    return iter(tree_leaves(tree, is_leaf))


def tree_structure(tree, is_leaf=None):
    """The structure."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func, tree, *rests, is_leaf=None):
    """The tree with func(leaf, …) in place of each leaf; rests: trees of the same structure for further arguments."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = []
    for rest in rests:
        values, other = tree_flatten(rest, is_leaf)
        if other != spec:
            raise ValueError(f'[tree_map] the trees have other structures: {other} and {spec}')
        others.append(values)
    return spec.unflatten(map(func, leaves, *others))


def tree_map_(func, tree, *rests, is_leaf=None):
    """Calls func for each leaf and returns the tree as it is."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def tree_map_only(type_or_types_or_pred, func, tree, is_leaf=None):
    """tree_map() of the leaves of some types, or of those for which a function is true."""
    chosen = type_or_types_or_pred
    is_chosen = chosen if callable(chosen) and not isinstance(chosen, type) else lambda x: isinstance(x, chosen)
    return tree_map(lambda x: func(x) if is_chosen(x) else x, tree, is_leaf=is_leaf)


def tree_all(pred, tree, is_leaf=None):
    """Whether pred holds for all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None):
    """Whether pred holds for a leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))
