#!/usr/bin/env python3
"""Records how NumPy prints arrays, for print_test.cpp: record_print.py > print_cases.inc"""
import numpy as np

DTYPES = {'bool': 'Bool', 'uint8': 'U8', 'uint16': 'U16', 'uint32': 'U32', 'uint64': 'U64', 'int8': 'I8',
          'int16': 'I16', 'int32': 'I32', 'int64': 'I64', 'float16': 'F16', 'float32': 'F32', 'float64': 'F64',
          'complex64': 'C64', 'complex128': 'C128'}
inf, nan = np.inf, np.nan
rng = np.random.default_rng(7)


def arrays():
    for dtype in ('float16', 'float32', 'float64'):
        for values in ([1, 2, 3], [0.1, 0.25, 1.5], [1 / 3, 2 / 3], [-1.5, 2.25, 0], [-0.0, 0.0], [1e-5, 1], [1e-4, 0.5],
                       [1, 1000], [1, 1001], [nan, 1, inf], [nan, nan], [inf, -inf], [-inf, 1.5], [nan, 123456],
                       [1.5, nan, -inf, 2.25], [0.001, 0.002], [3.14159265358979, 2.71828182845905], [1e4, 6e4],
                       [-1e-7, 1.25], [0.1 + 0.2], [0.1, 1.25e-3, 1e4], [99.99999999], [5e-5, -12]):
            yield np.array(values, dtype)
    for dtype in ('float32', 'float64'):
        for values in ([1e8, 1], [99999999, 1e5], [1e10], [1.5e-10, 2e20], [1e-38, 1e38], [16777217, 123456789],
                       [123456.789, 0.5], [1e7, 12345678], [-1e9, nan, inf], [1.0000001, 1], [1e6, 1], [999999, 1000], [0.1, 1.2345e-6]):
            yield np.array(values, dtype)
    yield np.array([1e300, 1e-300])
    yield np.array([5e-324, 1.7976931348623157e308])
    yield np.array([0.1234567890123, 12.5, 100])
    yield np.array([1e-100, 1.5])
    for dtype in ('float16', 'float32', 'float64'):
        for value in (0, -0.0, 1, 0.1, 1 / 3, 1e-4, 9e-5, nan, inf, -inf, 60000, -2.5):
            yield np.array(value, dtype)
    for value in (1e15, 1e16, 123456789, 1e-5, 0.1 + 0.2, 1e22, 1.5e300):
        yield np.array(value)
    for value in (1e15, 1e16, 123456789, 3e38, 1e-5):
        yield np.array(value, 'float32')
    for dtype in ('int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64'):
        yield np.array([1, 20, 100], dtype)
        yield np.array(7, dtype)
        yield np.array([np.iinfo(dtype).min, 0, np.iinfo(dtype).max], dtype)
    yield np.array([-1, 10, -100])
    yield np.array([[1, -2], [30, 4]])
    yield np.array([True, False])
    yield np.array([[True, True], [True, True]])
    yield np.array(True)
    yield np.array(False)
    for dtype in ('complex64', 'complex128'):
        yield np.array([1 + 2j, -3.5 - 0.25j], dtype)
        yield np.array([1 / 3 + 1j, 100], dtype)
        yield np.array([complex(nan, 1), complex(1, -inf)], dtype)
        yield np.array([1e10 + 1j, 1 + 1e-7j], dtype)
        yield np.array([[1j, 2], [3, 4j]], dtype)
        for value in (1 + 2j, 0j, 2.5, -0.5j, 1e20 + 1j, complex(nan, inf), complex(0, nan), complex(-0.0, 1), 1j / 3):
            yield np.array(value, dtype)
    for shape in ((0,), (2, 0), (0, 3), (1, 1, 0)):
        yield np.zeros(shape, 'float32')
    yield np.zeros((1, 1, 1, 1), 'float32')
    for shape in ((40,), (5, 7), (2, 3, 4), (3, 1, 2, 2), (2, 30)):
        yield rng.normal(size=shape).astype('float32')
        yield rng.normal(size=shape) * 1e5
        yield rng.integers(-1000, 1000, shape)
        yield rng.random(shape) < 0.5
        yield (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype('complex64')
    yield np.arange(12.0).reshape(3, 4).T
    yield np.arange(24).reshape(2, 3, 4).transpose(2, 0, 1)
    yield (np.arange(40.0) - 20) / 7


def literal(value):
    if np.isnan(value):
        return 'NAN'
    if np.isinf(value):
        return 'INFINITY' if value > 0 else '-INFINITY'
    return float(value).hex()


def elements(a):
    flat = a.ravel()
    if a.dtype.kind == 'c':
        return '', ', '.join(f'{literal(v.real)}, {literal(v.imag)}' for v in flat)
    if a.dtype.kind == 'f':
        return '', ', '.join(map(literal, flat))
    return ', '.join(f'{int(v)}{"ULL" if a.dtype == np.uint64 else "LL"}'.replace('-9223372036854775808LL', 'INT64_MIN')
                     .replace('18446744073709551615ULL', '-1') for v in flat), ''


def main():
    print(f'// Recorded from NumPy {np.__version__} by record_print.py: dtype, shape, integers, reals (neither: 0, 1, 2, …), text.')
    print('// clang-format off')
    for shape, dtype in (((1001,), 'float64'), ((2, 1000), 'int64'), ((1500, 1), 'int32'), ((10, 10, 30), 'float32'),
                         ((1, 7, 7, 7, 7), 'int64'), ((1000, 1), 'float32'), ((6, 200), 'uint16')):
        a = np.arange(np.prod(shape), dtype=dtype).reshape(shape)
        print(f'{{DType::{DTYPES[dtype]}, {{{", ".join(map(str, shape))}}}, {{}}, {{}}, R"({str(a)})"}},')
    for a in arrays():
        integers, reals = elements(a)
        shape = ', '.join(map(str, a.shape))
        print(f'{{DType::{DTYPES[a.dtype.name]}, {{{shape}}}, {{{integers}}}, {{{reals}}}, R"({str(a)})"}},')


if __name__ == '__main__':
    main()
