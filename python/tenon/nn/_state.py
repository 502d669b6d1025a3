"""Saving a module's tensors by path, and loading them."""
import warnings
from collections import OrderedDict, namedtuple

import tenon
from ._hooks import Hooks
from .parameter import Parameter


class IncompatibleKeys(namedtuple('IncompatibleKeys', 'missing_keys unexpected_keys')):
    """The names that a state lacked, and those that the module does not have."""

    __slots__ = ()

    def __repr__(self):
        if not any(self):
            return '<All keys matched successfully>'
        return f'_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})'


def _about(what, names):
    return [f'{what} key(s) in state_dict: ' + ', '.join(f'"{name}"' for name in names) + '. '] if names else []


_HOOKS = tuple(f'_{kind}_hooks{more}' for kind in ('forward', 'forward_pre', 'backward', 'backward_pre', 'state_dict', 'state_dict_pre',
                                                    'load_state_dict_pre', 'load_state_dict_post') for more in ('', '_with_kwargs', '_always_called'))
_CACHES = ('_is_full_backward_hook', '_flat_weights', '_flat_weights_names', '_flat_weight_refs', '_all_weights')


def from_pytorch(state):
    """The attributes of a module from those that PyTorch pickles, less its hooks."""
    lost = [name for name in _HOOKS if state.get(name)]
    if lost:
        warnings.warn(f'hooks of a module are left out: {", ".join(lost)}', stacklevel=3)
    names = ('_parameters', '_buffers', '_modules')
    parameters, buffers, parts = (state[name] for name in names)
    left_out = {*names, '_non_persistent_buffers_set', *_HOOKS, *_CACHES}
    return {**{name: value for name, value in state.items() if name not in left_out}, **parameters, **buffers, **parts,
            '_empty_names': tuple(name for name, x in parameters.items() if x is None), '_buffer_names': tuple(buffers),
            '_unsaved_names': tuple(state['_non_persistent_buffers_set'])}


class Saving(Hooks):
    """The part of Module that saves and loads a state."""

    _version = 1
    _may_be_missing = ()  # buffers that a strict load leaves unchanged if an older state lacks them

    # Saving ------------------------------------------------------------------------------------------------------------------

    def state_dict(self, *, destination=None, prefix='', keep_vars=False):
        """Parameters and buffers by path, sharing their elements; without history unless keep_vars.

        >>> list(tenon.nn.Linear(2, 3).state_dict())
        ['weight', 'bias']
        """
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()  # pyright: ignore[reportAttributeAccessIssue]
        about, versions = {'version': self._version}, getattr(destination, '_metadata', None)
        if versions is not None:
            versions[prefix[:-1]] = about
        for hook in list(self._state_pre_hooks.values()):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, part in self._own_parts():
            part.state_dict(destination=destination, prefix=f'{prefix}{name}.', keep_vars=keep_vars)
        for number, hook in list(self._state_hooks.items()):
            changed = hook(self, destination, prefix, about)
            if changed is not None:
                if not self._has(number, 'replaces'):
                    raise RuntimeError(f'[{type(self).__name__}] a state_dict post-hook must return None')
                destination = changed
        return destination

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        """Writes what belongs to this module alone; modules may override it."""
        for name, x, is_buffer in self._own():
            if not is_buffer or name not in self._unsaved_names:
                destination[prefix + name] = x if keep_vars else x.detach()
        if self._has_extra('get_extra_state'):
            destination[prefix + '_extra_state'] = self.get_extra_state()

    def _has_extra(self, name):
        return getattr(type(self), name) is not getattr(Saving, name)

    def get_extra_state(self):
        """More to save, under "_extra_state"; defined by subclasses together with set_extra_state()."""
        raise NotImplementedError(f'[{type(self).__name__}] has no get_extra_state(): define it to save more than parameters and buffers')

    def set_extra_state(self, state):
        """Takes what get_extra_state() returned; defined by subclasses."""
        raise NotImplementedError(f'[{type(self).__name__}] has no set_extra_state(): define it to load what get_extra_state() gives')

    # Loading -----------------------------------------------------------------------------------------------------------------

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Copies tensors by path into the parameters and buffers; everything is checked before anything is copied.

        `strict`: the names must be the same. `assign` puts the given tensors in place of the module's own instead of copying.
        Returns (missing_keys, unexpected_keys).
        """
        if not hasattr(state_dict, 'keys'):
            raise TypeError(f'[load_state_dict] wants a dict of tensors by name, not {type(state_dict).__name__}')
        about = getattr(state_dict, '_metadata', None) or {}
        given = OrderedDict((name, state_dict[name]) for name in state_dict.keys())  # noqa: SIM118 it need not iterate
        missing, unexpected, problems, copies = [], [], [], []
        self._load(given, '', about, assign, (missing, unexpected, problems), copies)
        keys = IncompatibleKeys(missing, unexpected)
        if not problems and any(module._load_hooks for module in self.modules()):  # they see the loaded module
            _run(copies)
            self._call_load_hooks(keys)
            copies = []
        if strict:
            problems = _about('Missing', missing) + _about('Unexpected', unexpected) + problems
        if problems:  # in the words that programs look for
            raise tenon.InvalidArgumentError('\n\t'.join([f'[load_state_dict] Error(s) in loading state_dict for {type(self).__name__}:', *problems]))
        _run(copies)
        return keys

    def _load(self, given, prefix, about, assign, found, copies):
        mine = {**about.get(prefix[:-1], {}), 'assign_to_params_buffers': assign, 'copies': copies}
        self._load_from_state_dict(given, prefix, mine, True, *found)
        for name, part in self._own_parts():
            path = f'{prefix}{name}.'
            part._load({key: x for key, x in given.items() if key.startswith(path)}, path, about, assign, found, copies)

    def _call_load_hooks(self, keys):
        for module in reversed(list(self.modules())):  # parts first
            for hook in list(module._load_hooks.values()):
                if hook(module, keys) is not None:
                    raise RuntimeError(f'[{type(module).__name__}] a load_state_dict post-hook must return None: it changes the lists')

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        """Loads what belongs to this module alone; modules may override it."""
        for number, hook in list(self._load_pre_hooks.items()):
            args = state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
            hook(self, *args) if self._has(number, 'with_module') else hook(*args)
        own = {name: x for name, x, is_buffer in self._own() if not is_buffer or name not in self._unsaved_names}
        version = local_metadata.get('version')
        for name, x in own.items():
            key = prefix + name
            if key in state_dict:
                self._take(name, x, key, state_dict[key], local_metadata, error_msgs)
            elif strict and not (name in self._may_be_missing and (version is None or version < 2)):
                missing_keys.append(key)
        self._take_extra(state_dict, prefix + '_extra_state', local_metadata, strict, missing_keys)
        if strict:
            parts = {name for name, _ in self._own_parts()}
            for key in state_dict:
                name, _, rest = key[len(prefix):].partition('.')
                extra = name == '_extra_state' and not rest and self._has_extra('set_extra_state')
                if key.startswith(prefix) and not extra and not (name in parts if rest else name in own):
                    unexpected_keys.append(key)

    def _take_extra(self, state_dict, key, local_metadata, strict, missing_keys):
        if not self._has_extra('set_extra_state'):
            return
        if key in state_dict:
            _later(local_metadata, lambda: self.set_extra_state(state_dict[key]))
        elif strict:
            missing_keys.append(key)

    def _take(self, name, x, key, value, local_metadata, error_msgs):
        """Copies one tensor, or puts it in place, once all have been checked."""
        try:
            value = tenon.asarray(value)
            fits = value.shape == x.shape
        except Exception as error:
            error_msgs.append(f'While copying the parameter named "{key}", expected a Tensor, not {type(value).__name__}: {error}')
            return
        if not fits:
            error_msgs.append(f'size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, '
                              f'the shape in current model is {x.shape}.')
        elif local_metadata.get('assign_to_params_buffers'):
            made = value
            if isinstance(x, Parameter):
                made = value.requires_grad_(x.requires_grad) if isinstance(value, Parameter) else Parameter(value, x.requires_grad)
            _later(local_metadata, lambda: self._set(name, made))
        else:
            if x.device.type == 'meta' != value.device.type:
                warnings.warn(f'for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current model, which is a '
                              'no-op. (Did you mean to pass `assign=True` to assign items in the state dictionary to their corresponding key in the '
                              'module instead of copying them in place?)', stacklevel=2)
            to = x.detach()
            _later(local_metadata, lambda: to.copy_(tenon._core.ops['cast'](value, to.dtype)))

    # Hooks -------------------------------------------------------------------------------------------------------------------

    def register_state_dict_pre_hook(self, hook):
        """Calls hook(module, prefix, keep_vars) before state_dict() collects."""
        return self._register('_state_pre_hooks', hook)

    def register_state_dict_post_hook(self, hook):
        """Calls hook(module, state_dict, prefix, local_metadata) after state_dict() collected; it changes the dict in place."""
        return self._register('_state_hooks', hook)

    def _register_state_dict_hook(self, hook):
        return self._register('_state_hooks', hook, replaces=True)

    def register_load_state_dict_pre_hook(self, hook):
        """Calls hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs) before loading."""
        return self._register_load_state_dict_pre_hook(hook, True)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        return self._register('_load_pre_hooks', hook, with_module=with_module)

    def register_load_state_dict_post_hook(self, hook):
        """Calls hook(module, incompatible_keys) after loading; names that it removes from the two lists are no longer errors."""
        return self._register('_load_hooks', hook)


def _run(copies):
    with tenon.no_grad():
        for copy in copies:
            copy()


def _later(local_metadata, copy):
    """Does it once everything has been checked, or at once if a module loads by itself."""
    if 'copies' in local_metadata:
        local_metadata['copies'].append(copy)
    else:
        _run([copy])
