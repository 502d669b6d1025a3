"""weight_norm and spectral_norm as before parametrisations: a hook writes the weight before each forward."""
import warnings

from .... import _core, no_grad
from ...._core import ops
from ...._errors import InvalidArgumentError
from ....nn.module import Parameter
from .spectral import check_power_iterations, default_dim, sigma, start


def norm_except(v, dim):
    """The norm of v over all dimensions but one, in v's rank; over all of it, with rank 0, if dim is None or -1."""
    if dim is None or dim == -1:
        return ops['norm'](v, 2.0)
    dim %= v.ndim
    return ops['norm'](v, 2.0, tuple(d for d in range(v.ndim) if d != dim), True)


def _tensor_of(where, module, name):
    if name not in module._parameters or module._parameters[name] is None:
        raise InvalidArgumentError(f'[{where}] {type(module).__name__} has no parameter {name!r}')
    return module._parameters[name]


def _find(where, kind, module, name):
    for number, hook in module._forward_pre_hooks.items():
        if isinstance(hook, kind) and hook.name == name:
            return number, hook
    raise InvalidArgumentError(f'[{where}] {name!r} of {module!r} has none')


def _register(where, hook, module):
    if any(isinstance(other, type(hook)) and other.name == hook.name for other in module._forward_pre_hooks.values()):
        raise RuntimeError(f'[{where}] {hook.name!r} has one already')
    hook.attach(module, _tensor_of(where, module, hook.name))
    module.register_forward_pre_hook(hook)
    module.register_forward_hook(hook.put_back)


def _unregister(module, number, hook):
    del module._forward_pre_hooks[number]
    for behind in [key for key, other in module._forward_hooks.items() if getattr(other, '__self__', None) is hook]:
        del module._forward_hooks[behind]


class _Hook:
    """A pre-hook that writes the weight. What it writes while a graph is recorded stays in the module for that forward only, because no
    run would write it."""

    def __init__(self, name):
        self.name, self._before = name, None

    def write(self, module, weight):
        """Sets the weight."""
        self._before = getattr(module, self.name) if _core._trace_active() else None
        setattr(module, self.name, weight)

    def put_back(self, module, inputs, output):
        """Sets the weight of before the recorded forward again."""
        if self._before is not None:
            setattr(module, self.name, self._before)
            self._before = None


class WeightNorm(_Hook):
    """weight = g · v / |v| (Salimans & Kingma 2016), written before each forward."""

    def __init__(self, name, dim):
        super().__init__(name)
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module):
        """The weight made of g and v."""
        g, v = getattr(module, self.name + '_g'), getattr(module, self.name + '_v')
        return v * (g / norm_except(v, self.dim))

    def attach(self, module, weight):
        """Replaces the weight by g and v."""
        delattr(module, self.name)
        module.register_parameter(self.name + '_g', Parameter(norm_except(weight.detach(), self.dim)))
        module.register_parameter(self.name + '_v', Parameter(weight.detach()))
        setattr(module, self.name, self.compute_weight(module))

    def remove(self, module):
        """Replaces g and v by the weight again."""
        with no_grad():
            weight = self.compute_weight(module)
        for name in (self.name, self.name + '_g', self.name + '_v'):
            delattr(module, name)
        setattr(module, self.name, Parameter(weight))

    def __call__(self, module, inputs):
        self.write(module, self.compute_weight(module))


def weight_norm(module, name='weight', dim=0):
    """Trains the length g and the direction v of a weight; lengths are over all dimensions but one, or over all with dim=None."""
    warnings.warn('[weight_norm] nn.utils.parametrizations.weight_norm is the newer one', FutureWarning, stacklevel=2)
    _register('weight_norm', WeightNorm(name, dim), module)
    return module


def remove_weight_norm(module, name='weight'):
    """Removes weight_norm(); the weight keeps its value."""
    number, hook = _find('remove_weight_norm', WeightNorm, module, name)
    hook.remove(module)
    _unregister(module, number, hook)
    return module


class SpectralNorm(_Hook):
    """weight divided by its largest singular value (Miyato et al. 2018), written before each forward."""

    def __init__(self, name, n_power_iterations, dim, eps):
        check_power_iterations(n_power_iterations)
        super().__init__(name)
        self.n_power_iterations, self.dim, self.eps = n_power_iterations, dim, eps

    def _vectors(self, module):
        return getattr(module, self.name + '_u'), getattr(module, self.name + '_v')

    def compute_weight(self, module, do_power_iteration):
        """The weight divided by sigma; in training the vectors are refined first."""
        weight = getattr(module, self.name + '_orig')
        count = self.n_power_iterations if do_power_iteration else 0
        return weight / sigma(weight, self.dim, *self._vectors(module), count, self.eps, v_first=True)

    def attach(self, module, weight):
        """Puts the weight under another name, and the vectors beside it."""
        delattr(module, self.name)
        module.register_parameter(self.name + '_orig', weight)
        setattr(module, self.name, weight.detach())
        for suffix, x in zip(('_u', '_v'), start(weight, self.dim, self.eps)):
            module.register_buffer(self.name + suffix, x)

    def remove(self, module):
        """Replaces them by the divided weight again."""
        with no_grad():
            weight = self.compute_weight(module, False)
        for suffix in ('', '_u', '_v', '_orig'):
            delattr(module, self.name + suffix)
        setattr(module, self.name, Parameter(weight.detach()))

    def __call__(self, module, inputs):
        self.write(module, self.compute_weight(module, module.training))


def spectral_norm(module, name='weight', n_power_iterations=1, eps=1e-12, dim=None):
    """Divides a weight by its largest singular value, which each forward in training refines."""
    _register('spectral_norm', SpectralNorm(name, n_power_iterations, default_dim(module) if dim is None else dim, eps), module)
    return module


def remove_spectral_norm(module, name='weight'):
    """Removes spectral_norm(); the weight keeps its value."""
    number, hook = _find('remove_spectral_norm', SpectralNorm, module, name)
    hook.remove(module)
    _unregister(module, number, hook)
    return module
