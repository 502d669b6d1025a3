"""Lazy modules: they see their first input before they know how many channels it has, and become the module itself then."""
from ...nn import Module
from . import modules as _modules


class _Lazy(Module):
    """Without parameters until its first call. Make optimizers, load states and move it behind that: this is an error before."""

    _real: type
    _dims = 0  # dimensions behind the channels
    _order = ()  # arguments behind the number of features whose defaults differ: of InstanceNorm

    def __init__(self, *args, **kwargs):
        super().__init__()
        self._arguments = args, kwargs

    def _own(self):
        name = type(self).__name__
        raise ValueError(f'[{name}] has no parameters before its first call: call the module with an example first')

    def forward(self, input, *args, **kwargs):
        if input.ndim <= self._dims:
            raise ValueError(f'[{type(self).__name__}] input has rank {input.ndim}, must be {self._dims + 1} at least')
        given, named = self.__dict__.pop('_arguments')
        named = {**{key: True for key in self._order[len(given):] if key}, **named}
        kept = dict(self.__dict__)
        made = self._real(input.shape[-1 - self._dims], *given, **named)
        self.__dict__.update({**made.__dict__, **kept})
        self.__class__ = self._real
        return self.forward(input, *args, **kwargs)

    def extra_repr(self):
        args, kwargs = self._arguments
        return ', '.join([*map(repr, args), *(f'{key}={value!r}' for key, value in kwargs.items())])


for _name, _dims in [('Linear', 0), *((f'{kind}{n}d', n) for kind in ('Conv', 'ConvTranspose', 'BatchNorm', 'InstanceNorm') for n in (1, 2, 3))]:
    _kind = getattr(_modules, _name)
    globals()['Lazy' + _name] = type('Lazy' + _name, (_Lazy,), {
        '_real': _kind, '_dims': _dims, '_order': ('', '', 'affine', 'track_running_stats') if _name.startswith('Instance') else (), '__module__': __name__,
        '__doc__': f'{_name} that takes its number of input features from its first input. ' + (_Lazy.__doc__ or '')})

__all__ = [name for name in globals() if name.startswith('Lazy')]  # pyright: ignore[reportUnsupportedDunderAll]
