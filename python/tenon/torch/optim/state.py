"""The state of an optimizer as programs see it: counts and rates, which are numbers to a step, are float32 tensors as in PyTorch."""
from collections import defaultdict
from collections.abc import MutableMapping

from ... import _core
from ..._core import Tensor, ops

# The entries that are numbers to a step.
SCALARS = {'step': int, 'eta': float, 'mu': float, 'mu_product': float}


class _Shown(MutableMapping, dict):  # pyright: ignore[reportGeneralTypeIssues]
    """A dict whose entries are those of another one, `kept`."""

    def __init__(self, kept):
        self._kept = kept

    def __delitem__(self, key):
        del self._kept[key]

    def __iter__(self):
        return iter(self._kept)

    def __len__(self):
        return len(self._kept)

    def __contains__(self, key):
        return key in self._kept

    def copy(self):
        """A plain dict of the entries."""
        return dict(self.items())

    def __or__(self, other):
        return {**self, **other}

    def __repr__(self):
        return repr(self.copy())


class State(_Shown):
    """What an optimizer keeps for one parameter."""

    def __init__(self, kept):
        super().__init__(kept)
        self._given = {}  # the tensors of numbers: (tensor, its version, the number it was last seen with)

    def __getitem__(self, key):
        value = self._kept[key]
        if key not in SCALARS or isinstance(value, Tensor):
            return value
        if key not in self._given:
            tensor = ops['full']((), float(value), _core.float32)
            self._given[key] = tensor, tensor.version, value
        self.meet()
        return self._given[key][0]

    def __setitem__(self, key, value):
        self._given.pop(key, None)
        if key in SCALARS and isinstance(value, Tensor):
            number = SCALARS[key](value.item())
            self._given[key] = value, value.version, number
            value = number
        self._kept[key] = value

    def __delitem__(self, key):
        self._given.pop(key, None)
        super().__delitem__(key)

    def meet(self):
        """Numbers and the tensors given out become equal: what the program wrote to a tensor counts, otherwise what steps made of the number."""
        for key, (tensor, version, number) in list(self._given.items()):
            if tensor.version != version:
                self._kept[key] = SCALARS[key](tensor.item())
            elif self._kept.get(key, number) != number:
                tensor.fill_(float(self._kept[key]))
            self._given[key] = tensor, tensor.version, self._kept.get(key, number)

    def __reduce__(self):
        return dict, (self.copy(),)


class States(_Shown):
    """The states of an optimizer by parameter; one that is missing is made, as by a defaultdict."""

    def __init__(self, kept):
        super().__init__(kept)
        self._states = {}

    def __getitem__(self, key):
        kept, found = self._kept[key], self._states.get(key)
        if found is None or found._kept is not kept:
            found = self._states[key] = State(kept)
        return found

    def __setitem__(self, key, value):
        self._kept[key] = {}
        self[key].update(value)

    def __delitem__(self, key):
        self._states.pop(key, None)
        super().__delitem__(key)

    def get(self, key, default=None):
        """The state of a parameter that has one."""
        if key not in self:
            return default
        return self[key]

    def meet(self):
        """State.meet() of all that were looked at."""
        if not _core._trace_active():
            for state in self._states.values():
                state.meet()

    def __reduce__(self):
        return States, (self._kept,)


def kept_of(states):
    """The dicts that steps work with, of what a program assigned to `state`."""
    if isinstance(states, States):
        return states._kept
    kept = defaultdict(dict)
    States(kept).update(states)
    return kept
