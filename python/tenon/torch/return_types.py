"""The types of results that have several parts, named tuples that print like PyTorch's: torch.return_types.max."""
import functools
from collections import namedtuple
from typing import Any

_FIELDS = {name: fields for fields, names in {
    'values indices': 'max min median nanmedian mode sort topk kthvalue cummax cummin', 'min max': 'aminmax',
    'hist bin_edges': 'histogram histogramdd', 'mantissa exponent': 'frexp', 'a tau': 'geqrf', 'sign logabsdet': 'slogdet linalg_slogdet',
    'eigenvalues eigenvectors': 'linalg_eig linalg_eigh', 'Q R': 'qr linalg_qr', 'U S V': 'svd', 'U S Vh': 'linalg_svd', 'U H': 'linalg_polar',
    'L info': 'linalg_cholesky_ex', 'inverse info': 'linalg_inv_ex', 'result info': 'linalg_solve_ex', 'LD pivots': 'linalg_ldl_factor',
    'LD pivots info': 'linalg_ldl_factor_ex', 'LU pivots': 'linalg_lu_factor', 'LU pivots info': 'linalg_lu_factor_ex',
    'P L U': 'linalg_lu lu_unpack', 'solution cloned_coefficient': 'triangular_solve',
    'solution residuals rank singular_values': 'linalg_lstsq'}.items() for name in names.split()}


def _shown(self):
    fields = ',\n'.join(f'{name}={value!r}' for name, value in zip(self._fields, self, strict=True))
    return f'torch.return_types.{type(self).__name__}(\n{fields})'


def _again(name, parts):
    return returned(name)(*parts)


def _reduced(self):
    return _again, (type(self).__name__, tuple(self))


@functools.cache
def returned(name) -> Any:
    """The type of what a function returns."""
    fields = _FIELDS[name].split()
    counts = {'n_fields': len(fields), 'n_sequence_fields': len(fields), 'n_unnamed_fields': 0}
    return type(name, (namedtuple(name, fields),), {'__slots__': (), '__repr__': _shown, '__reduce__': _reduced, '__module__': 'torch.return_types',
                                                    **counts})


def __getattr__(name):
    if name in _FIELDS:
        return returned(name)
    raise AttributeError(f"module 'torch.return_types' has no attribute {name!r}")


def __dir__():
    return sorted(_FIELDS)
