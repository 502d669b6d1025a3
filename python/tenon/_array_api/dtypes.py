"""Dtypes of the Array API: queries of their kinds, promotion and limits."""
from .. import _core
from .._core import Tensor, as_dtype, promote_types
from .._creation import _check, _place
from .._dtypes import FLOAT8, FLOATS, HALF, KINDS, PARTS, STANDARD
from .._errors import DtypeError, InvalidArgumentError
from .._names import accept_both_names


def kind_of(dtype):
    """'bool', 'signed integer', 'unsigned integer', 'real floating' or 'complex floating'."""
    if dtype.name in HALF:
        return 'real floating'
    if dtype.name in FLOAT8:
        raise DtypeError(f'{dtype} is for storage: cast it to a floating dtype first, or use scaled_matmul')
    return next(kind for kind, names in KINDS.items() if dtype.name in names)


def names_of(kind):
    """The names of the standard's dtypes of a kind, of a tuple of kinds, or with None of all kinds."""
    if kind is None:
        return STANDARD
    if isinstance(kind, tuple):
        wanted = {name for each in kind for name in names_of(each)}
        return tuple(name for name in STANDARD if name in wanted)
    if not isinstance(kind, str):
        raise DtypeError(f'a kind of dtypes is a str or a tuple of them, not {type(kind).__name__}')
    if kind not in KINDS:
        raise InvalidArgumentError(f'no kind of dtypes is called {kind!r}: {", ".join(KINDS)}')
    return KINDS[kind]


def _as_dtype(dtype, name):
    if not isinstance(dtype, (_core.dtype, str)):
        raise TypeError(f'[{name}] needs a dtype, not {type(dtype).__name__}')
    return as_dtype(dtype)


def isdtype(dtype, kind):
    """Whether a dtype is of a kind, which is a dtype, a name such as 'integral' or 'real floating', or a tuple of those."""
    dtype = _as_dtype(dtype, 'isdtype')
    if isinstance(kind, tuple):
        fits = [isdtype(dtype, each) for each in kind]  # a wrong kind is an error even after one that fits
        return any(fits)
    if isinstance(kind, _core.dtype):
        return dtype is kind
    return dtype.name in names_of(kind) or (dtype.name in HALF and kind in ('real floating', 'numeric'))


def astype(x, dtype, /, *, copy=True, device=None):
    """x in a dtype; with copy=False x itself if it already has it."""
    _check(x, 'astype')
    made = _place(x, _as_dtype(dtype, 'astype'), device)
    return _core.ops['clone'](x) if copy and made is x else made


def can_cast(from_, to, /):
    """Whether promotion alone turns one dtype, or a tensor's, into another."""
    from_, to = from_.dtype if isinstance(from_, Tensor) else _as_dtype(from_, 'can_cast'), _as_dtype(to, 'can_cast')
    try:
        return promote_types(from_, to) is to
    except ValueError:
        return False


def _with_number(dtype, number):
    """The dtype that a tensor and a Python number give together; the number has a kind but no size."""
    kind = kind_of(dtype)
    if isinstance(number, complex):
        if kind == 'complex floating':
            return dtype
        return promote_types(dtype if kind == 'real floating' else _core.float32, _core.complex64)
    if isinstance(number, float):
        return dtype if 'floating' in kind else _core.float32
    return _core.int64 if kind == 'bool' and not isinstance(number, bool) else dtype


def result_type(*arrays_and_dtypes):
    """The dtype that an op gives for these tensors, dtypes and Python numbers."""
    dtypes, numbers = [], []
    for each in arrays_and_dtypes:
        if isinstance(each, Tensor):
            dtypes.append(each.dtype)
        elif isinstance(each, (bool, int, float, complex)):
            numbers.append(each)
        else:
            dtypes.append(_as_dtype(each, 'result_type'))
    if not dtypes:
        raise InvalidArgumentError('[result_type] needs at least one tensor or dtype')
    out = dtypes[0]
    for dtype in dtypes[1:]:
        out = promote_types(out, dtype)
    for number in numbers:
        out = _with_number(out, number)
    return out


class _Limits:
    """Attributes with a repr that shows them."""
    __slots__ = ()

    def __repr__(self):
        return f'{type(self).__name__}({", ".join(f"{name}={getattr(self, name)}" for name in self.__slots__)})'


class finfo(_Limits):
    """Limits of a floating dtype, or of a complex dtype's parts."""
    __slots__ = ('bits', 'eps', 'max', 'min', 'smallest_normal', 'dtype')

    def __init__(self, type, /):
        dtype = type.dtype if isinstance(type, Tensor) else _as_dtype(type, 'finfo')
        name = PARTS.get(dtype.name, dtype.name)
        if name not in FLOATS:
            raise InvalidArgumentError(f'[finfo] {dtype} is not a floating dtype: iinfo has the limits of integers')
        self.bits, self.max, digits, bottom = FLOATS[name]
        self.eps = 2.0 ** (1 - digits)
        self.min = -self.max
        self.smallest_normal = 2.0 ** bottom
        self.dtype = as_dtype(name)


class iinfo(_Limits):
    """Limits of an integer dtype."""
    __slots__ = ('bits', 'max', 'min', 'dtype')

    def __init__(self, type, /):
        dtype = type.dtype if isinstance(type, Tensor) else _as_dtype(type, 'iinfo')
        if dtype.name not in KINDS['integral']:
            raise InvalidArgumentError(f'[iinfo] {dtype} is not an integer dtype: finfo has the limits of floats')
        self.bits, self.dtype = 8 * dtype.itemsize, dtype
        signed = dtype.name in KINDS['signed integer']
        self.max = 2 ** (self.bits - signed) - 1
        self.min = -2 ** (self.bits - 1) if signed else 0


accept_both_names(globals(), ['astype', 'can_cast', 'isdtype'])
