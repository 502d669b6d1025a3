"""The dtypes by name, their kinds and their limits."""
from ._core import (dtype as _dtype, bool, uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, bfloat16, float32, float64,
                    complex64, complex128, float8_e4m3fn, float8_e5m2)

__all__ = ['bool', 'uint8', 'uint16', 'uint32', 'uint64', 'int8', 'int16', 'int32', 'int64', 'float16', 'bfloat16', 'float32', 'float64',
           'complex64', 'complex128', 'float8_e4m3fn', 'float8_e5m2']

KINDS = {
    'bool': ('bool',),
    'signed integer': ('int8', 'int16', 'int32', 'int64'),
    'unsigned integer': ('uint8', 'uint16', 'uint32', 'uint64'),
    'real floating': ('float32', 'float64'),
    'complex floating': ('complex64', 'complex128'),
}
KINDS['integral'] = KINDS['signed integer'] + KINDS['unsigned integer']
KINDS['numeric'] = KINDS['integral'] + KINDS['real floating'] + KINDS['complex floating']
STANDARD = KINDS['bool'] + KINDS['numeric']
# Floating dtypes beyond the standard: they belong to the kind, but __array_namespace_info__() does not list them.
HALF = ('float16', 'bfloat16')
# Dtypes for storage, without arithmetic; they have no kind.
FLOAT8 = ('float8_e4m3fn', 'float8_e5m2')
PARTS = {'complex64': 'float32', 'complex128': 'float64'}

# bits, largest number, bits of the significand, smallest exponent
FLOATS = {'float16': (16, 65504.0, 11, -14), 'bfloat16': (16, (2 - 2.0 ** -7) * 2.0 ** 127, 8, -126),
          'float32': (32, (2 - 2.0 ** -23) * 2.0 ** 127, 24, -126), 'float64': (64, (2 - 2.0 ** -52) * 2.0 ** 1023, 53, -1022),
          'float8_e4m3fn': (8, 448.0, 4, -6), 'float8_e5m2': (8, 57344.0, 3, -14)}


def _to_complex(self):
    """The complex dtype whose parts have this dtype; a complex dtype itself."""
    if self.is_complex:
        return self
    for whole, part in PARTS.items():
        if part == self.name:
            return globals()[whole]
    raise RuntimeError(f'[to_complex] no complex dtype has parts of {self.name}: float32 and float64 have one')


def _to_real(self):
    """The dtype of the parts of a complex dtype; other dtypes themselves."""
    return globals()[PARTS[self.name]] if self.is_complex else self


# Methods of dtypes, as PyTorch has them.
setattr(_dtype, 'to_complex', _to_complex)
setattr(_dtype, 'to_real', _to_real)
