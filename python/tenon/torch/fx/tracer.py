"""Tracer: runs a module with stand-ins for its inputs, and has what is done with them recorded."""
import builtins
import functools
import inspect
import math
import sys
import threading
from types import FunctionType
from typing import Any

from ...nn.container import Sequential
from ...nn.module import Module
from ...nn.parameter import Parameter
from ..._core import Shortcut, Tensor, dtype, ops
from ..._methods import Later
from .graph import Graph
from .graph_module import GraphModule
from .naming import constant
from .node import map_aggregate
from .proxy import Attribute, Proxy, TraceError, proxy_in

PH: Any = type('PHBase', (), {'__repr__': lambda self: 'PH', '__doc__': 'What stands for an input in concrete_args.'})()

_wrapped: list = []  # (globals, name) of the functions that wrap() keeps whole
_recording = threading.RLock()
_STARS = {inspect.Parameter.VAR_POSITIONAL: '*', inspect.Parameter.VAR_KEYWORD: '**'}


def wrap(fn_or_name):
    """At the top of a module: calls of a function of this module, given by itself or its name, are recorded whole."""
    name = fn_or_name if isinstance(fn_or_name, str) else getattr(fn_or_name, '__name__', None)
    if name is None:
        raise RuntimeError(f'[wrap] needs a function or its name, not {type(fn_or_name).__name__}')
    frame = inspect.currentframe()
    caller = frame and frame.f_back
    if caller is None or caller.f_code.co_name != '<module>':
        raise NotImplementedError('[wrap] must be called at the top level of a module')
    _wrapped.append((caller.f_globals, name))
    return fn_or_name


class _Patches:
    """Replaced entries of namespaces, until they are undone."""

    def __init__(self):
        self._undo, self._methods, self.made = [], {}, {}  # made: by id of a function, what records its calls

    def put(self, space, name, value):
        before = space.__dict__.get(name, self) if isinstance(space, type) else space.get(name, self)
        self._undo.append((space, name, before))
        setattr(space, name, value) if isinstance(space, type) else space.__setitem__(name, value)

    def undo(self):
        for space, name, before in reversed(self._undo):
            if isinstance(space, type):
                setattr(space, name, before)
            elif before is self:
                del space[name]
            else:
                space[name] = before

    def recorder(self, function, method=None):
        """A function that records a call with proxies, and otherwise is the function."""
        made = self.made if method is None else self._methods
        if id(function) not in made:
            @functools.wraps(function)
            def call(*args, **kwargs):
                proxy = proxy_in((args, kwargs))
                if proxy is None:
                    return function(*args, **kwargs)
                target = ('call_method', method) if method else ('call_function', function)
                return proxy.tracer.create_proxy(*target, args, kwargs)
            setattr(call, '_records', True)
            made[id(function)] = call
        return made[id(function)]

    def replace_functions(self, space):
        """Has a namespace record the calls of its functions."""
        for name, found in list(space.items()):
            if _is_function(found) and name[:1] != '_' and name != 'is_tensor':
                self.put(space, name, self.recorder(found))
        if '__getattr__' in space:
            self._follow(space, space['__getattr__'])

    def _follow(self, space, get):
        """The same for names that the namespace finds on their first use."""
        def find(name):
            found = get(name)
            if not _is_function(found):
                return found
            self._undo.append((space, name, found))
            space[name] = self.recorder(found)
            return space[name]
        self.put(space, '__getattr__', find)


_OPS = Shortcut, FunctionType, type(ops['add']), type(math.sqrt)


def _is_function(found):
    return isinstance(found, _OPS) and not hasattr(found, '_records')


class Tracer:
    """Records a module or function as a Graph. Subclasses say which modules stay whole, and what to do with values.

    Control flow that depends on values cannot be recorded, nor anything that is not a call with a recorded value.
    """

    record_stack_traces = False

    def __init__(self, autowrap_modules=(math,), autowrap_functions=(), param_shapes_constant=False):
        self._spaces, self._functions = autowrap_modules, autowrap_functions
        self.root: Any = None
        self.graph: Any = None
        self._paths = {}  # of the root's modules, by id

    # What subclasses change ----------------------------------------------------------------------------------------------------

    def is_leaf_module(self, m, module_qualified_name):
        """Whether a call of a module is recorded whole: those of torch.nn, except containers."""
        return type(m).__module__.startswith(('tenon.nn', 'tenon.torch.nn', 'tenon.torch.ao')) and not isinstance(m, Sequential)

    def call_module(self, m, forward, args, kwargs):
        """What a module returns when it is called."""
        path = self.path_of_module(m)
        return forward(*args, **kwargs) if not self.is_leaf_module(m, path) else self.create_proxy('call_module', path, args, kwargs)

    def create_proxy(self, kind, target, args, kwargs, name=None, type_expr=None, proxy_factory_fn=None):
        """Records a call; returns what stands for its result."""
        node = self.create_node(kind, target, tuple(map(self.create_arg, args)), {k: self.create_arg(v) for k, v in kwargs.items()}, name, type_expr)
        return (proxy_factory_fn or self.proxy)(node)

    def create_node(self, kind, target, args, kwargs, name=None, type_expr=None):
        """Adds a node to the graph."""
        return self.graph.create_node(kind, target, args, kwargs, name, type_expr)

    def proxy(self, node):
        """What stands for the result of a node."""
        return Proxy(node, self)

    def create_arg(self, a):
        """A value as an argument of a node: a proxy becomes its node, a tensor of the module its path."""
        return map_aggregate(a, self._one_arg)

    def to_bool(self, obj):
        """The truth of a proxy."""
        raise TraceError('symbolically traced variables cannot be used as inputs to control flow')

    def iter(self, obj):
        """What a loop over a proxy gets."""
        raise TraceError("Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or **kwargs function "
                         "argument: give the number of entries, as in `a, b = x`")

    def keys(self, obj):
        """What ** of a proxy gets."""
        return Attribute(obj, 'keys')()

    # Recording -----------------------------------------------------------------------------------------------------------------

    def path_of_module(self, mod):
        """The path of a module below the root."""
        path = self._paths.get(id(mod))
        if path is None:
            raise NameError(f'[Tracer] a {type(mod).__name__} is called that is no submodule: make it one, or call it outside')
        return path

    def _one_arg(self, a):
        if isinstance(a, Proxy):
            return a.node
        if isinstance(a, Tensor):
            return self.create_node('get_attr', self._path_of_tensor(a), (), {})
        if isinstance(a, Module):
            return self.create_node('get_attr', self.path_of_module(a), (), {})
        if isinstance(a, (type, range, dtype)) or callable(a) or constant(a) is not None:
            return a
        raise NotImplementedError(f'[Tracer] argument of type: {type(a)}: override create_arg for it')

    def _path_of_tensor(self, x):
        named = self.root.named_parameters() if isinstance(x, Parameter) else self.root.named_buffers()
        path = next((name for name, found in named if found is x), None)
        if path is None:
            if isinstance(x, Parameter):
                raise NameError('[Tracer] a Parameter is used that is not one of the module: assign it to an attribute')
            path = next((name for name, found in vars(self.root).items() if found is x), None)
        if path is None:
            number = sum(name.startswith('_tensor_constant') for name in vars(self.root))
            path = f'_tensor_constant{number}'
            setattr(self.root, path, x)
        return path

    def create_args_for_root(self, root_fn, is_module, concrete_args=None):
        """(function, arguments): placeholders for the inputs, those of concrete_args as given."""
        given, args, first = concrete_args or {}, [self.root] if is_module else [], int(is_module)
        parameters = list(inspect.signature(root_fn).parameters.values())[first:]
        if not isinstance(given, dict):
            given = {p.name: value for p, value in zip(parameters, given)}
        parameters.sort(key=lambda p: p.kind in _STARS)  # as in the function's code
        specialised = 0
        for p in parameters:
            star = _STARS.get(p.kind, '')
            if p.name in given and given[p.name] is not PH:
                specialised += 1
                args.append(self._specialised(p.name, given[p.name], specialised))
                continue
            default = () if p.default is p.empty else (p.default,)
            kind = None if p.annotation is p.empty else p.annotation
            args.append(self.create_proxy('placeholder', star + p.name, default, {}, name=('_' if star else '') + p.name, type_expr=kind))
        plain = all(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
        return root_fn if plain else self._by_position(root_fn, len(args)), args

    def _specialised(self, name, value, number):
        """A value in place of an input, which stays and is compared with it."""
        stays = self.create_proxy('placeholder', f'{name}_{number}', (), {})
        if value is not None and not isinstance(value, Tensor):
            from ... import torch
            text = f'{name} has been specialized to have value {value} but got another value'
            self.create_proxy('call_function', torch._assert, (stays == value, text), {})
        return value

    @staticmethod
    def _by_position(function, count):
        """The function with all arguments by position, *args and **kwargs as one each."""
        code = function.__code__
        flags = code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
        return FunctionType(code.replace(co_flags=flags, co_argcount=count, co_kwonlyargcount=0), function.__globals__, function.__name__,
                            closure=function.__closure__)

    def trace(self, root, concrete_args=None):
        """The Graph of a module or function; concrete_args has values for inputs that then are not inputs."""
        is_module = isinstance(root, Module)
        self.root, self.graph = root if is_module else Module(), Graph(tracer_cls=type(self))
        self._paths = {id(module): name for name, module in self.root.named_modules()}
        whole = inspect.unwrap(type(root).forward if is_module else root)
        with _recording:
            function, args = self.create_args_for_root(whole, is_module, concrete_args)
            patches = _Patches()
            try:
                self._patch(patches, whole)
                found = function(*args)
            finally:
                patches.undo()
        kind = getattr(whole, '__annotations__', {}).get('return')
        self.create_node('output', 'output', (self.create_arg(found),), {}, type_expr=kind)
        return self.graph

    def _patch(self, patches, function):
        for name, method in list(vars(Tensor).items()):
            if isinstance(method, Later):
                getattr(Tensor, name)  # puts the method there, as long as functions are themselves
        torch = 'tenon.torch'
        names = torch, *(f'{torch}.{each}' for each in ('nn.functional', 'linalg', 'fft', 'special'))
        for space in (*(vars(sys.modules[name]) for name in names if name in sys.modules), *map(vars, self._spaces)):
            patches.replace_functions(space)
        for name, method in list(vars(Tensor).items()):
            if name[:1] != '_' and _is_function(method) and name != 'as_subclass':
                patches.put(Tensor, name, patches.recorder(method, name))
        self._patch_modules(patches)
        # What programs have imported by name.
        users = [function, *(type(module).forward for module in self.root.modules())]
        for space in {id(each): each for each in (getattr(user, '__globals__', {}) for user in users)}.values():
            for name, found in list(space.items()) if str(space.get('__name__')).split('.')[0] != 'tenon' else ():
                if id(found) in patches.made:
                    patches.put(space, name, patches.made[id(found)])
        for space, name in (*_wrapped, *((each.__globals__, each.__name__) for each in self._functions)):
            patches.put(space, name, patches.recorder(space[name] if name in space else getattr(builtins, name)))

    def _patch_modules(self, patches):
        call = Module.__call__

        def call_module(module, /, *args, **kwargs):
            if module is self.root or id(module) not in self._paths and proxy_in((args, kwargs)) is None:
                return call(module, *args, **kwargs)
            return self.call_module(module, lambda *args, **kwargs: call(module, *args, **kwargs), args, kwargs)
        patches.put(Module, '__call__', call_module)


class GraphAppendingTracer(Tracer):
    """Records into a graph that is there."""

    def __init__(self, graph):
        super().__init__()
        self.graph = graph
        self.root = graph.owning_module


def symbolic_trace(root, concrete_args=None):
    """The GraphModule of a module or function: what it does with its inputs, recorded once."""
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
