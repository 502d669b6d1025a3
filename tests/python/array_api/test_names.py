"""Every name of the Array API 2024.12 is there with the signature of the standard's text."""
import inspect
import math

import pytest

import tenon

STANDARD = '''
arange(start, /, stop=None, step=1, *, dtype=None, device=None)
asarray(obj, /, *, dtype=None, device=None, copy=None)
empty(shape, *, dtype=None, device=None)
empty_like(x, /, *, dtype=None, device=None)
eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)
from_dlpack(x, /, *, device=None, copy=None)
full(shape, fill_value, *, dtype=None, device=None)
full_like(x, /, fill_value, *, dtype=None, device=None)
linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True)
meshgrid(*arrays, indexing='xy')
ones(shape, *, dtype=None, device=None)
ones_like(x, /, *, dtype=None, device=None)
tril(x, /, *, k=0)
triu(x, /, *, k=0)
zeros(shape, *, dtype=None, device=None)
zeros_like(x, /, *, dtype=None, device=None)
astype(x, dtype, /, *, copy=True, device=None)
can_cast(from_, to, /)
finfo(type, /)
iinfo(type, /)
isdtype(dtype, kind)
result_type(*arrays_and_dtypes)
clip(x, /, min=None, max=None)
take(x, indices, /, *, axis=None)
take_along_axis(x, indices, /, *, axis=-1)
__array_namespace_info__()
matmul(x1, x2, /)
matrix_transpose(x, /)
tensordot(x1, x2, /, *, axes=2)
vecdot(x1, x2, /, *, axis=-1)
broadcast_arrays(*arrays)
broadcast_to(x, /, shape)
concat(arrays, /, *, axis=0)
expand_dims(x, /, *, axis=0)
flip(x, /, *, axis=None)
moveaxis(x, source, destination, /)
permute_dims(x, /, axes)
repeat(x, repeats, /, *, axis=None)
reshape(x, /, shape, *, copy=None)
roll(x, /, shift, *, axis=None)
squeeze(x, /, axis)
stack(arrays, /, *, axis=0)
tile(x, repetitions, /)
unstack(x, /, *, axis=0)
argmax(x, /, *, axis=None, keepdims=False)
argmin(x, /, *, axis=None, keepdims=False)
count_nonzero(x, /, *, axis=None, keepdims=False)
nonzero(x, /)
searchsorted(x1, x2, /, *, side='left', sorter=None)
where(condition, x1, x2, /)
unique_all(x, /)
unique_counts(x, /)
unique_inverse(x, /)
unique_values(x, /)
argsort(x, /, *, axis=-1, descending=False, stable=True)
sort(x, /, *, axis=-1, descending=False, stable=True)
cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False)
cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False)
max(x, /, *, axis=None, keepdims=False)
mean(x, /, *, axis=None, keepdims=False)
min(x, /, *, axis=None, keepdims=False)
prod(x, /, *, axis=None, dtype=None, keepdims=False)
std(x, /, *, axis=None, correction=0.0, keepdims=False)
sum(x, /, *, axis=None, dtype=None, keepdims=False)
var(x, /, *, axis=None, correction=0.0, keepdims=False)
all(x, /, *, axis=None, keepdims=False)
any(x, /, *, axis=None, keepdims=False)
diff(x, /, *, axis=-1, n=1, prepend=None, append=None)
'''.split('\n')
UNARY = '''abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor imag isfinite isinf isnan log
log1p log2 log10 logical_not negative positive real reciprocal round sign signbit sin sinh square sqrt tan tanh trunc'''
BINARY = '''add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide equal
floor_divide greater greater_equal hypot less less_equal logaddexp logical_and logical_or logical_xor maximum minimum multiply
nextafter not_equal pow remainder subtract'''
SIGNATURES = ([line for line in STANDARD if line] + [name + '(x, /)' for name in UNARY.split()] +
              [name + '(x1, x2, /)' for name in BINARY.split()])
# The op's name for an argument.
IN_TABLE = {'axis': ('dims', 'dim'), 'axes': ('dims',), 'keepdims': ('keepdim',), 'shape': ('shape',)}
DEFAULTS = {'none': None, 'false': False, 'true': True}

METHODS = '''__abs__ __add__ __and__ __array_namespace__ __bool__ __complex__ __dlpack__ __dlpack_device__ __eq__ __float__
__floordiv__ __ge__ __getitem__ __gt__ __index__ __int__ __invert__ __le__ __lshift__ __lt__ __matmul__ __mod__ __mul__ __ne__
__neg__ __or__ __pos__ __pow__ __rshift__ __setitem__ __sub__ __truediv__ __xor__ to_device'''.split()
SWAPPED = 'add sub mul truediv floordiv mod pow matmul and or xor lshift rshift'.split()


def standard(line):
    scope = {}
    exec(f'def {line}: pass', scope)
    name = line[:line.index('(')]
    return name, list(inspect.signature(scope[name]).parameters.values())


def check_python(function, wanted):
    """Every call that the standard allows is possible: same names, defaults, and at least the same ways to pass them."""
    parameters = inspect.signature(function).parameters
    has = list(parameters.values())
    for at, want in enumerate(wanted):
        if want.kind in (want.POSITIONAL_ONLY, want.VAR_POSITIONAL):
            assert has[at].kind in (want.kind, want.POSITIONAL_OR_KEYWORD)
            mine = has[at]
        else:
            mine = parameters[want.name]
            assert mine.kind in (want.kind, want.POSITIONAL_OR_KEYWORD)
            if want.kind is want.POSITIONAL_OR_KEYWORD:
                assert has[at] is mine
        assert mine.default == want.default and type(mine.default) is type(want.default), want
    asked = {p.name for p in wanted}
    for mine in has[len([p for p in wanted if p.kind is p.POSITIONAL_ONLY]):]:
        assert mine.name in asked or mine.default is not mine.empty or mine.kind is mine.VAR_POSITIONAL


def check_op(op, wanted):
    """The same for an op, which describes its parameters itself."""
    has = {name: default for name, _, default in op.parameters}
    places = list(has)
    for at, want in enumerate(wanted):
        if want.kind is want.POSITIONAL_ONLY:
            mine = places[at]
        else:
            mine = next(name for name in IN_TABLE.get(want.name, ()) + (want.name,) if name in has)
            with pytest.raises((TypeError, ValueError)) as caught:  # the name is known, the value is not
                op(**{want.name: object()})
            assert 'has no argument' not in str(caught.value)
            assert want.name in inspect.signature(op).parameters
            if want.kind is want.POSITIONAL_OR_KEYWORD:
                assert places[at] == mine
        if want.default is not want.empty:
            text = has.pop(mine)
            assert (DEFAULTS[text] if text in DEFAULTS else int(text)) == want.default
        elif want.kind is want.POSITIONAL_ONLY or mine in has:
            has.pop(mine)
    assert all(default is not None for default in has.values())


@pytest.mark.parametrize('line', SIGNATURES, ids=lambda line: line[:line.index('(')])
def test_signature(line):
    name, wanted = standard(line)
    function = getattr(tenon, name)
    assert function.__doc__ or isinstance(function, tenon.Op)
    if isinstance(function, tenon.Op):
        check_op(function, wanted)
    else:
        check_python(function, wanted)


def test_constants_and_dtypes():
    assert (tenon.e, tenon.pi, tenon.inf, tenon.newaxis) == (math.e, math.pi, math.inf, None) and math.isnan(tenon.nan)
    sizes = dict(bool=1, int8=1, int16=2, int32=4, int64=8, uint8=1, uint16=2, uint32=4, uint64=8, float32=4, float64=8,
                 complex64=8, complex128=16)
    for name, size in sizes.items():
        dtype = getattr(tenon, name)
        assert dtype == dtype and dtype != None and dtype.itemsize == size and tenon.zeros(1, dtype=dtype).dtype == dtype  # noqa: E711
    assert len({getattr(tenon, name) for name in sizes}) == len(sizes)


def test_array_object():
    for name in METHODS + [f'__{op}__' for op in SWAPPED] + [f'__r{op}__' for op in SWAPPED] + [f'__i{op}__' for op in SWAPPED]:
        assert callable(getattr(tenon.Tensor, name)), name
    x = tenon.ones((2, 3, 4), dtype=tenon.int16)
    assert (x.shape, x.ndim, x.size, x.dtype, x.device) == ((2, 3, 4), 3, 24, tenon.int16, tenon.device('cpu'))
    assert x.T.shape == (4, 3, 2) and x.mT.shape == (2, 4, 3)
    assert x.to_device(x.device) is x and x.to_device('cpu', stream=None) is x
    for version in (None, '2024.12', '2023.12'):
        assert x.__array_namespace__(api_version=version) is tenon
    with pytest.raises(ValueError, match='2035.01'):
        x.__array_namespace__(api_version='2035.01')


def test_info():
    info = tenon.__array_namespace_info__()
    assert info.capabilities() == {'boolean indexing': True, 'data-dependent shapes': True, 'max dimensions': 16}
    tenon.zeros((1,) * 16)
    with pytest.raises(ValueError):
        tenon.zeros((1,) * 17)
    assert info.default_device() in info.devices() and info.devices() == tenon.devices()
    assert tenon.zeros(1).device == info.default_device()
    assert info.default_dtypes() == {'real floating': tenon.asarray(1.).dtype, 'complex floating': tenon.asarray(1j).dtype,
                                     'integral': tenon.asarray(1).dtype, 'indexing': tenon.argmax(tenon.ones(2)).dtype}
    assert list(info.dtypes(kind=('bool', 'real floating'))) == ['bool', 'float32', 'float64']
    assert len(info.dtypes()) == 13 and info.dtypes(kind='complex floating')['complex64'] is tenon.complex64
    for bad, error in (('float', ValueError), (3, TypeError)):
        with pytest.raises(error):
            info.dtypes(kind=bad)
