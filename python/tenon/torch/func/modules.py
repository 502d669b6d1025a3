"""Modules as functions of their parameters."""
import contextlib

from ..._core import Tensor, ops
from ..._errors import InvalidArgumentError
from ...nn.module import Module

_ABSENT = object()


def _owners(module):
    """For the path of each parameter and buffer, under all its names: (its module, its name there, the tensor)."""
    found = {}
    for path, part in module._walk():
        for name, x, _ in part._own():
            found[f'{path}.{name}' if path else name] = part, name, x
    return found


def _merged(dicts):
    if isinstance(dicts, dict):
        return dict(dicts)
    found = {}
    for each in dicts:
        twice = found.keys() & each.keys()
        if twice:
            raise InvalidArgumentError(f'[functional_call] {sorted(twice)} come in more than one dict')
        found.update(each)
    return found


def _with_ties(owners, given):
    """given, completed for tensors that the module has under several names."""
    ties = {}
    for path, (_, _, x) in owners.items():
        ties.setdefault(id(x), []).append(path)
    found = dict(given)
    for paths in ties.values():
        values = {id(given[path]): given[path] for path in paths if path in given}
        if len(values) > 1:
            raise InvalidArgumentError(f'[functional_call] {paths} are one tensor, and got {len(values)}: give one, or say tie_weights=False')
        for value in values.values():
            found.update(dict.fromkeys(paths, value))
    return found


def _newcomers(module, paths):
    """The same for paths at which the module has nothing yet."""
    found = {}
    for path in paths:
        parent, _, name = path.rpartition('.')
        found[path] = module.get_submodule(parent), name, None
    return found


@contextlib.contextmanager
def _in_place(owners, given):
    """In this scope the module has other tensors."""
    before = [(*owners[path][:2], vars(owners[path][0]).get(owners[path][1], _ABSENT)) for path in given]
    try:
        for path, value in given.items():
            part, name, _ = owners[path]
            part._set(name, value)
        yield
    finally:
        for part, name, value in before:
            if value is _ABSENT:
                delattr(part, name)
            else:
                part._set(name, value)


def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """module(*args, **kwargs) with the tensors of a dict, or of several, in place of its parameters and buffers.

    Tensors that are not given stay the module's own, and what it lacks it has during the call; with strict both are an error. tie_weights:
    a tensor that the module has under several names is replaced under all of them. If forward() writes to buffers, it writes to the dict's
    tensors.
    """
    if not isinstance(module, Module):
        raise TypeError(f'[functional_call] wants a Module, not {type(module).__name__}')
    given, owners = _merged(parameter_and_buffer_dicts), _owners(module)
    unknown = sorted(given.keys() - owners.keys())
    if unknown and strict:
        raise RuntimeError(f'[functional_call] the module has no {", ".join(map(repr, unknown))}')
    for path, x in given.items():
        if not isinstance(x, Tensor):
            raise TypeError(f'[functional_call] {path!r} must be a Tensor, not {type(x).__name__}')
    if tie_weights:
        given = _with_ties(owners, given)
    owners.update(_newcomers(module, unknown))
    missing = sorted(owners.keys() - given.keys())
    if strict and missing:
        raise RuntimeError(f'[functional_call] {", ".join(map(repr, missing))} of the module are not given')
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _in_place(owners, given):
        return module(*args, **(kwargs or {}))


def stack_module_state(models):
    """(parameters, buffers) of several modules of one structure: by name, each stacked along a new first dimension, for vmap."""
    models = list(models)
    if not models:
        raise RuntimeError('[stack_module_state] no models')
    if any(model.training != models[0].training for model in models):
        raise RuntimeError('[stack_module_state] some models train and others do not: call train() or eval() of all')
    if any(type(model) is not type(models[0]) for model in models):
        raise RuntimeError(f'[stack_module_state] models of {sorted({type(model).__name__ for model in models})}: all must be of one class')
    parameters = _stacked([dict(model.named_parameters()) for model in models], True)
    return parameters, _stacked([dict(model.named_buffers()) for model in models], False)


def _stacked(states, trained):
    found = {}
    for name in states[0]:
        tensors = [state[name] for state in states]
        whole = ops['stack']([x.detach() for x in tensors])
        wants = {x.requires_grad for x in tensors}
        if len(wants) > 1:
            raise RuntimeError(f'[stack_module_state] {name!r} requires a gradient in some models alone')
        found[name] = whole.requires_grad_() if trained and wants.pop() else whole
    return found


def replace_all_batch_norm_modules_(root):
    """Removes the running statistics of all batch norms in a module, which then use those of each batch; returns the module."""
    for part in root.modules():
        if 'running_mean' in vars(part) and 'running_var' in vars(part):
            part.track_running_stats = False
            for name in ('running_mean', 'running_var', 'num_batches_tracked'):
                part._set(name, None)
    return root
