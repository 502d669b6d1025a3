"""Pruning: a mask keeps elements of a parameter at 0; a hook applies it before each forward.

A pruned parameter `name` is stored as `name_orig`, its mask as the buffer `name_mask`; `name` is their product.
"""
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from .... import no_grad
from ...._core import ops
from ...._errors import InvalidArgumentError, OutOfRangeError
from ..._common import cast, full

__all__ = ['BasePruningMethod', 'CustomFromMask', 'Identity', 'L1Unstructured', 'LnStructured', 'PruningContainer', 'RandomStructured',
           'RandomUnstructured', 'custom_from_mask', 'global_unstructured', 'identity', 'is_pruned', 'l1_unstructured', 'ln_structured',
           'random_structured', 'random_unstructured', 'remove']


def _check_amount(amount):
    """Checks a count, or a share from 0 to 1."""
    if isinstance(amount, bool) or not isinstance(amount, (int, float)):
        raise TypeError(f'[prune] amount must be an int or a float, not {type(amount).__name__}')
    if amount < 0 or isinstance(amount, float) and not amount <= 1:
        raise InvalidArgumentError(f'[prune] amount {amount} must be a count, or a float from 0 to 1')


def _count(amount, size):
    """How many of `size` elements are pruned."""
    count = round(amount * size) if isinstance(amount, float) else amount
    if count > size:
        raise InvalidArgumentError(f'[prune] amount {amount} is more than the {size} there are')
    return count


def _dim(t, dim):
    if t.ndim < 2:
        raise InvalidArgumentError(f'[prune] structured pruning needs rank 2 at least, not {t.ndim}')
    if not -t.ndim <= dim < t.ndim:
        raise OutOfRangeError(f'[prune] dim {dim} is out of range for a tensor of rank {t.ndim}')
    return dim % t.ndim


def _without(mask, at):
    """mask with zeros at places of the flattened tensor."""
    flat = ops['reshape'](ops['clone'](mask), (mask.size,))
    return ops['reshape'](ops['scatter'](flat, 0, at, full(at.shape, 0, mask)), mask.shape)


def _channels(mask, at, dim):
    """mask with zeros in channels of a dimension."""
    kept = ops['scatter'](full((mask.shape[dim],), 1, mask), 0, at, full(at.shape, 0, mask))
    return mask * ops['reshape'](kept, tuple(-1 if d == dim else 1 for d in range(mask.ndim)))


def _hook_of(module, name):
    """(number, method) of the hook that prunes a parameter, or None."""
    return next(((number, hook) for number, hook in module._forward_pre_hooks.items()
                 if isinstance(hook, BasePruningMethod) and hook._tensor_name == name), None)


def _behind(earlier, method):
    """A container with the earlier methods and this one."""
    if not isinstance(earlier, PruningContainer):
        earlier = PruningContainer(earlier)
    earlier.add_pruning_method(method)
    return earlier


class BasePruningMethod(ABC):
    """A way to choose what to prune: subclass it with compute_mask(), and PRUNING_TYPE 'unstructured', 'structured' or 'global'."""

    _tensor_name: Any
    dim: Any
    PRUNING_TYPE = 'unstructured'

    def __call__(self, module, inputs):
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t, default_mask):
        """A mask for a tensor t, given what is already masked."""

    def apply_mask(self, module):
        """The parameter multiplied by its mask."""
        original = getattr(module, self._tensor_name + '_orig')
        return cast(getattr(module, self._tensor_name + '_mask'), original.dtype) * original

    @classmethod
    def apply(cls, module, name, *args, importance_scores=None, **kwargs):
        """Prunes a parameter of a module by this method, after earlier methods; returns the method."""
        found = _hook_of(module, name)
        if found is None and (name not in module._parameters or module._parameters[name] is None):
            raise AttributeError(f'[prune] {type(module).__name__} has no parameter {name!r}')
        method = cls(*args, **kwargs)
        method._tensor_name = name
        original = getattr(module, name if found is None else name + '_orig')
        if importance_scores is not None and importance_scores.shape != original.shape:
            raise InvalidArgumentError(f'[prune] importance_scores have shape {importance_scores.shape}, the parameter {original.shape}')
        scores = (getattr(module, name) if importance_scores is None else importance_scores).detach()
        if found is None:
            mask = method.compute_mask(scores, full(original.shape, 1, original))
            delattr(module, name)
            module.register_parameter(name + '_orig', original)
        else:  # a later method sees what earlier ones left
            number, earlier = found
            del module._forward_pre_hooks[number]
            method = _behind(earlier, method)
            mask = method.compute_mask(scores, getattr(module, name + '_mask'))
        module.register_buffer(name + '_mask', mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t, default_mask=None, importance_scores=None):
        """A pruned copy of a tensor."""
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise InvalidArgumentError(f'[prune] importance_scores have shape {scores.shape}, the tensor {t.shape}')
        mask = full(t.shape, 1, t) if default_mask is None else default_mask
        return t * self.compute_mask(scores.detach(), mask)

    def remove(self, module):
        """Makes the pruned values the parameter again."""
        name = self._tensor_name
        with no_grad():
            value = self.apply_mask(module)
        trained = getattr(module, name + '_orig')
        for suffix in ('', '_orig', '_mask'):
            delattr(module, name + suffix)
        with no_grad():
            trained.copy_(value)
        setattr(module, name, trained)


class PruningContainer(BasePruningMethod):
    """Methods that prune one tensor, one after the other."""

    def __init__(self, *args):
        self._pruning_methods: tuple[Any, ...] = ()
        methods = args[0] if len(args) == 1 and isinstance(args[0], Iterable) else args
        for i, method in enumerate(methods):
            if not i:
                self._tensor_name = getattr(method, '_tensor_name', None)
            self.add_pruning_method(method)

    def add_pruning_method(self, method):
        """Adds a method for the same tensor."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f'[prune] {type(method).__name__} is not a pruning method')
        name = getattr(method, '_tensor_name', None)
        if name != self._tensor_name:
            raise InvalidArgumentError(f'[prune] the container is for {self._tensor_name!r}, the method for {name!r}')
        self._pruning_methods += (method,)

    def __len__(self):
        return len(self._pruning_methods)

    def __iter__(self):
        return iter(self._pruning_methods)

    def __getitem__(self, index):
        return self._pruning_methods[index]

    def compute_mask(self, t, default_mask):
        """The mask of the last method, which chooses among what is left."""
        method = self._pruning_methods[-1]
        kind = method.PRUNING_TYPE
        if kind == 'unstructured':
            left = ops['select'](ops['nonzero'](ops['reshape'](default_mask, (-1,)) != 0), 1, 0)
            flat, mask = ops['reshape'](t, (-1,)), ops['reshape'](default_mask, (-1,))
            part = method.compute_mask(ops['index_select'](flat, 0, left), ops['index_select'](mask, 0, left))
            return ops['reshape'](ops['scatter'](mask, 0, left, cast(part, mask.dtype)), t.shape)
        if kind == 'structured':
            dim = _dim(t, method.dim)
            others = tuple(d for d in range(t.ndim) if d != dim)
            left = ops['select'](ops['nonzero'](ops['sum'](default_mask, others) != 0), 1, 0)
            part = method.compute_mask(ops['index_select'](t, dim, left), ops['index_select'](default_mask, dim, left))
            from ...index import index_copy
            return index_copy(default_mask, dim, left, cast(part, default_mask.dtype))
        if kind == 'global':
            return method.compute_mask(t, default_mask)
        raise InvalidArgumentError(f'[prune] PRUNING_TYPE {kind!r} is not known')


class Identity(BasePruningMethod):
    """Prunes nothing: the parameter gets a mask of ones."""

    def compute_mask(self, t, default_mask):
        return default_mask


class RandomUnstructured(BasePruningMethod):
    """Prunes elements at random: a count, or a share from 0 to 1."""

    def __init__(self, amount):
        _check_amount(amount)
        self.amount = amount

    def _scores(self, t):
        return ops['uniform'](t.shape, 0.0, 1.0, None, t.device)

    def compute_mask(self, t, default_mask):
        count = _count(self.amount, t.size)
        if not count:
            return ops['clone'](default_mask)
        scores = ops['reshape'](self._scores(t), (t.size,))
        return _without(default_mask, ops['slice'](ops['argsort'](scores, 0), 0, 0, count))


class L1Unstructured(RandomUnstructured):
    """Prunes the smallest elements: a count, or a share from 0 to 1."""

    def _scores(self, t):
        return ops['abs'](t)


class RandomStructured(BasePruningMethod):
    """Prunes channels of a dimension at random: a count, or a share from 0 to 1."""

    PRUNING_TYPE = 'structured'

    def __init__(self, amount, dim=-1):
        _check_amount(amount)
        self.amount, self.dim = amount, dim

    def _scores(self, t, dim):
        return ops['uniform']((t.shape[dim],), 0.0, 1.0, None, t.device)

    def compute_mask(self, t, default_mask):
        dim = _dim(t, self.dim)
        count = _count(self.amount, t.shape[dim])
        if not count:
            return ops['clone'](default_mask)
        return _channels(default_mask, ops['slice'](ops['argsort'](self._scores(t, dim), 0), 0, 0, count), dim)


class LnStructured(RandomStructured):
    """Prunes the channels of a dimension with the smallest n-norms: a count, or a share from 0 to 1."""

    def __init__(self, amount, n, dim=-1):
        super().__init__(amount, dim)
        self.n = n

    def _scores(self, t, dim):
        from ...reduce import norm
        return norm(t, self.n, tuple(d for d in range(t.ndim) if d != dim))


class CustomFromMask(BasePruningMethod):
    """Prunes by a mask."""

    PRUNING_TYPE = 'global'

    def __init__(self, mask):
        self.mask = mask

    def compute_mask(self, t, default_mask):
        return default_mask * cast(self.mask, default_mask.dtype)


def identity(module, name):
    """Gives a parameter a mask of ones; returns the module."""
    Identity.apply(module, name)
    return module


def random_unstructured(module, name, amount):
    """Prunes elements of a parameter at random; returns the module."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module, name, amount, importance_scores=None):
    """Prunes the smallest elements of a parameter, or the least important ones; returns the module."""
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module, name, amount, dim):
    """Prunes channels of a parameter at random; returns the module."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module, name, amount, n, dim, importance_scores=None):
    """Prunes channels of a parameter with the smallest n-norms; returns the module."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module, name, mask):
    """Prunes a parameter by a mask; returns the module."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters, pruning_method, importance_scores=None, **kwargs):
    """Prunes several (module, name) together, as if they were one tensor; importance_scores: a dict for some of them."""
    if not isinstance(parameters, Iterable):
        raise TypeError(f'[global_unstructured] parameters must be pairs of module and name, not {type(parameters).__name__}')
    pairs, given = list(parameters), importance_scores or {}
    if not isinstance(given, dict):
        raise TypeError(f'[global_unstructured] importance_scores must be a dict, not {type(given).__name__}')
    scores = [given.get((module, name), getattr(module, name)).detach() for module, name in pairs]
    masks = [getattr(module, name + '_mask', None) for module, name in pairs]
    masks = [full(x.shape, 1, x) if mask is None else mask for x, mask in zip(scores, masks)]
    whole = ops['concat']([ops['reshape'](x, (x.size,)) for x in scores], 0)
    container = PruningContainer()
    container._tensor_name = 'temp'
    method = pruning_method(**kwargs)
    method._tensor_name = 'temp'
    if method.PRUNING_TYPE != 'unstructured':
        raise TypeError(f'[global_unstructured] is for unstructured methods, not {method.PRUNING_TYPE} ones')
    container.add_pruning_method(method)
    mask = container.compute_mask(whole, ops['concat']([ops['reshape'](x, (x.size,)) for x in masks], 0))
    at = 0
    for (module, name), x in zip(pairs, scores):
        custom_from_mask(module, name, ops['reshape'](ops['slice'](mask, 0, at, at + x.size), x.shape))
        at += x.size


def remove(module, name):
    """Makes the pruned values the parameter again; returns the module."""
    found = _hook_of(module, name)
    if found is None:
        raise InvalidArgumentError(f'[prune] {name!r} of {type(module).__name__} is not pruned')
    number, hook = found
    hook.remove(module)
    del module._forward_pre_hooks[number]
    return module


def is_pruned(module):
    """Whether a parameter of the module, or of a part of it, is pruned."""
    return any(isinstance(hook, BasePruningMethod) for part in module.modules() for hook in part._forward_pre_hooks.values())


