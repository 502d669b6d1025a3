"""The building blocks of networks: Module and Parameter."""
import tenon
from .. import _steps
from .._core import Tensor
from .._errors import DtypeError, InvalidArgumentError, UnimplementedError
from ._hooks import RemovableHandle as RemovableHandle  # optimizers have hooks, too
from ._state import Saving, from_pytorch
from .parameter import Buffer, Parameter

_LARGE = 16 << 20  # bytes that to() leaves behind, from which on devices get them back at once


def _name_layer(error, module):
    """Adds to an error's message the layer in which it arose, as a path within the outermost module that was called."""
    if not (isinstance(error, tenon.Error) or type(error) in (IndexError, RuntimeError, TypeError, ValueError)):
        return
    if len(error.args) != 1 or not isinstance(error.args[0], str):
        return
    # Collected on the way up: the original message, the layer's text, its path so far, and the module where that path begins.
    text, layer, path, last = error.__dict__.get('_layer', (error.args[0], None, '', None))
    if last is None:
        kind, extra = type(module).__name__, module.extra_repr()
        layer = f'{kind}({extra})' if extra else kind
    elif last is not module:
        name = next((name for name, part in module.named_modules() if part is last), '')
        path = '.'.join(filter(None, (name, path)))
    error.__dict__['_layer'] = text, layer, path, module
    if path:
        error.args = (f'{text}\n  in layer {path}: {layer}',)


def _mover(kind):
    def move(self, device=None):
        return self.to(kind if device is None else f'{kind}:{device}' if isinstance(device, int) else device)
    move.__name__ = move.__qualname__ = kind
    move.__doc__ = f'Moves to a device of kind {kind}: the first, or the one of a number.'
    return move


class Module(Saving):
    """A network, or a part of one.

    Assign parameters and other modules to attributes, and write `forward`:

    >>> class Net(tenon.nn.Module):
    ...     def __init__(self):
    ...         self.hidden = tenon.nn.Linear(4, 8)
    ...         self.out = tenon.nn.Linear(8, 2)
    ...     def forward(self, x):
    ...         return self.out(tenon.nn.functional.relu(self.hidden(x)))
    >>> Net()(tenon.ones((3, 4))).shape
    (3, 2)

    Its contents are found among its attributes: a Parameter is trained, a buffer (`register_buffer`) is saved and moved with the
    module, a Module is a part. Names are paths such as "hidden.weight".
    """

    training = True
    call_super_init = False  # whether __init__() calls that of the class after Module, with its arguments

    def __init__(self, *args, **kwargs):
        if self.call_super_init:
            super().__init__(*args, **kwargs)
        elif args or kwargs:
            raise TypeError(f'[{type(self).__name__}] Module.__init__() takes no arguments, but got {[*args, *kwargs]}')

    def forward(self, *args, **kwargs):
        """What the module computes; every subclass writes its own."""
        raise NotImplementedError(f'[{type(self).__name__}] has no forward: define forward(self, x) in the class')

    def __call__(self, *args, **kwargs):
        try:
            if self._hooked:
                return self._call_with_hooks(args, kwargs)
            return self.forward(*args, **kwargs)
        except Exception as error:
            _name_layer(error, self)
            raise

    def __setattr__(self, name, value):
        own = self.__dict__
        if isinstance(own.get(name), (Parameter, Module)) or name in self._buffer_names or name in self._empty_names:
            self._check_assigned(name, own.get(name), value)
        if type(value) is Buffer:
            self.register_buffer(name, value, value.persistent)
        else:
            object.__setattr__(self, name, value)

    def _check_assigned(self, name, old, value):
        """A parameter, buffer or submodule can only be replaced by another of these."""
        where, given = type(self).__name__, type(value).__name__
        if isinstance(value, (Parameter, Module, Buffer)):
            self._forget(name)
        elif name in self._buffer_names:
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(f'[{where}] {name} is a buffer: assign a Tensor or None, not {given}')
        elif value is not None:
            kind = 'module' if isinstance(old, Module) else 'parameter'
            raise TypeError(f'[{where}] {name} is a {kind}: assign a {kind.capitalize()} or None, not {given}')
        elif isinstance(old, Parameter) and name not in self._empty_names:
            object.__setattr__(self, '_empty_names', (*self._empty_names, name))

    def __delattr__(self, name):
        self._forget(name)
        object.__delattr__(self, name)

    # Modes -------------------------------------------------------------------------------------------------------------------

    def train(self, mode=True):
        """Switches layers that behave differently during training, such as Dropout; returns the module."""
        if not isinstance(mode, bool):
            raise InvalidArgumentError(f'[train] mode is True or False, not {type(mode).__name__}')
        self._set('training', mode)
        for part in self.children():
            part.train(mode)
        return self

    def eval(self):
        """The same as train(False)."""
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        """Sets whether parameters collect gradients; returns the module."""
        for x in self.parameters():
            x.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        """Drops the gradients of all parameters, or with set_to_none=False writes zeros."""
        for x in self.parameters():
            if set_to_none or x.grad is None:
                x.grad = None
            else:
                x.grad = tenon._core.ops['full_like'](x.grad.detach(), 0)

    def apply(self, fn):
        """Calls fn(module) for the submodules, innermost first, then for this module, and returns it."""
        for part in self.children():
            part.apply(fn)
        fn(self)
        return self

    def to(self, *args, device=None, dtype=None, non_blocking=False, memory_format=None):
        """Moves to a device, casts floating-point tensors to a dtype, or both, as given or as a tensor has them; returns the module.

        Parameters stay the same objects, so an optimizer keeps working with them; its state does not move. Hooks on parameters are not
        kept. non_blocking and memory_format have no effect.

        >>> net = tenon.nn.Linear(2, 2).to(tenon.float64)
        >>> net.weight.dtype
        tenon.float64
        """
        for i, given in enumerate(args):
            if isinstance(given, (tenon.dtype, type)):
                dtype = given
            elif isinstance(given, Tensor):
                device, dtype = given.device, given.dtype
            elif isinstance(given, (str, tenon.Device)):
                device = given
            elif not (isinstance(given, bool) and i or given is None and len(args) > 1):  # positional non_blocking without a device
                raise DtypeError(f'[Module.to] wants a device, a dtype or a Tensor, not {type(given).__name__}')
        if dtype is not None:
            dtype = tenon._core.as_dtype(dtype)
            if not (dtype.is_floating_point or dtype.is_complex):
                raise DtypeError(f'[Module.to] {dtype} is not a floating-point dtype')
        if device is not None:
            device = tenon.device(device) if isinstance(device, str) else device
        cast, move = tenon._core.ops['cast'], tenon._core.ops['to']
        left = {}  # bytes that a device gets back

        def change(x):
            new = converted(x)
            if new is not x:
                left[x.device] = left.get(x.device, 0) + x.nbytes
            return new

        def converted(x):
            if dtype is not None and x.dtype != dtype and x.dtype.is_floating_point:
                x = cast(x, dtype)
            if device is None or x.device == device:
                return x
            if x.device.type == 'meta':
                raise UnimplementedError('[Module.to] Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of '
                                         'torch.nn.Module.to() when moving module from meta to a different device.')
            return move(x, device)

        self._apply(change)
        for device, size in left.items():
            if size >= _LARGE:
                device.trim_memory()
        return self

    def _apply(self, fn, recurse=True):
        """Replaces each parameter, its gradient and each buffer by fn(tensor)."""
        done = {}  # shared tensors stay shared
        with tenon.no_grad():
            for module in self.modules() if recurse else (self,):
                for name, x, is_buffer in module._own():
                    if id(x) not in done:
                        done[id(x)] = self._changed(x, fn, is_buffer)
                    module._set(name, done[id(x)])
        _steps.moved()
        return self

    @staticmethod
    def _changed(x, fn, is_buffer):
        plain = x if is_buffer else x.detach()
        new = fn(plain)
        if new is plain:
            return x
        if is_buffer or not isinstance(x, Parameter):
            return x._like(new) if hasattr(x, '_like') else new
        new = new.detach().requires_grad_(x.requires_grad)
        if x.grad is not None:
            new.grad = fn(x.grad)
        x._become(new)
        return x

    def float(self):
        """Casts floating-point tensors to float32."""
        return self.to(tenon.float32)

    def double(self):
        """Casts floating-point tensors to float64."""
        return self.to(tenon.float64)

    def half(self):
        """Casts floating-point tensors to float16."""
        return self.to(tenon.float16)

    def bfloat16(self):
        """Casts floating-point tensors to bfloat16."""
        return self.to(tenon.bfloat16)

    def type(self, dst_type):
        """Casts all parameters and buffers to a dtype, integers included."""
        dtype = tenon._core.as_dtype(dst_type)
        return self._apply(lambda x: x if x.dtype == dtype else tenon._core.ops['cast'](x, dtype))

    def cpu(self):
        """Moves to the CPU."""
        return self.to('cpu')

    cuda, xpu, mtia, ipu = (_mover(kind) for kind in ('cuda', 'xpu', 'mtia', 'ipu'))

    def to_empty(self, *, device, recurse=True):
        """Moves to a device without the values: the tensors there are undefined."""
        device = tenon.device(device) if isinstance(device, str) else device
        return self._apply(lambda x: tenon.empty(x.shape, dtype=x.dtype, device=device), recurse)

    def share_memory(self):
        """Moves parameters and buffers into memory that processes share."""
        for x in (*self.parameters(), *self.buffers()):
            x.share_memory_()
        return self

    def compile(self, *args, **kwargs):
        """Has no effect: the module runs as written. For a recorded one use tenon.compile(module)."""

    # Display -----------------------------------------------------------------------------------------------------------------

    def extra_repr(self) -> str:
        """The text in parentheses of a module without parts."""
        return ''

    def _get_name(self):
        return type(self).__name__

    def _shown_parts(self):
        """(name, text) of the parts."""
        return [(name, repr(part)) for name, part in self._own_parts()]

    def __repr__(self):
        extra = self.extra_repr()
        lines = extra.split('\n') if extra else []
        parts = [f'({name}): {text}'.replace('\n', '\n  ') for name, text in self._shown_parts()]
        if not parts and len(lines) < 2:
            return f'{self._get_name()}({extra})'
        return f'{self._get_name()}(\n  ' + '\n  '.join(lines + parts) + '\n)'

    def __setstate__(self, state):
        self.__dict__.update(from_pytorch(state) if '_parameters' in state else state)
