"""torch.utils.hooks: what registering a hook returns."""
from ..._methods import HookHandle as RemovableHandle

__all__ = ['RemovableHandle']
