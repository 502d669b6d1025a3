"""8-bit floats hold numbers; anything but a cast, a move or scaled_matmul refuses them."""
import copy
import pickle

import numpy as np
import pytest

import tenon

FORMATS = (tenon.float8_e4m3fn, tenon.float8_e5m2)
formats = pytest.mark.parametrize('dtype', FORMATS, ids=str)


def test_dtypes():
    for dtype, name, short, most in zip(FORMATS, ('float8_e4m3fn', 'float8_e5m2'), ('f8_e4m3', 'f8_e5m2'), (448, 57344)):
        assert repr(dtype) == f'tenon.{name}' and dtype.itemsize == 1 and dtype.is_signed
        assert not dtype.is_floating_point and not dtype.is_complex
        assert tenon._core.as_dtype(short) is dtype and tenon._core.as_dtype(name) is dtype
        assert pickle.loads(pickle.dumps(dtype)) is dtype and copy.deepcopy(dtype) is dtype
        assert dtype in tenon.device('cpu').info['dtypes']
        limits = tenon.finfo(dtype)
        assert limits.bits == 8 and limits.max == most and tenon.tensor(limits.max, dtype=dtype).item() == most
        assert tenon.tensor(limits.smallest_normal, dtype=dtype).item() == limits.smallest_normal
        assert not tenon.isdtype(dtype, ('numeric', 'bool')) and tenon.isdtype(dtype, dtype)


@formats
def test_numbers_in_and_out(dtype):
    x = tenon.tensor([[0.3, -1.0], [2.0, 300.0]], dtype=dtype)
    wanted = [[0.3125, -1.0], [2.0, 288.0 if dtype is tenon.float8_e4m3fn else 320.0]]
    assert x.dtype is dtype and x.nbytes == 4 and x.tolist() == wanted
    assert x[1, 0].item() == 2.0 and x.T.tolist() == [list(row) for row in zip(*wanted)]
    assert tenon.zeros((2, 3), dtype=dtype).to('float32').tolist() == [[0.0] * 3] * 2
    assert tenon.full((2,), 2.5, dtype=dtype).tolist() == [2.5] * 2 and tenon.ones_like(x).dtype is dtype
    assert tenon.concat([x, x]).shape == (4, 2) and x.clone().tolist() == wanted
    x[0] = 4
    assert x.tolist()[0] == [4.0, 4.0]
    with pytest.raises(ValueError, match='complex'):
        x[0] = 1j


def test_numbers_beyond_the_range():
    large = tenon.tensor([448.0, 464.0, 465.0, float('inf'), float('nan'), -1e9])
    four, five = (large.to(dtype).to('float32').tolist() for dtype in FORMATS)
    assert four[:2] == [448.0, 448.0] and all(x != x for x in four[2:])
    assert five[:4] == [448.0, 448.0, 448.0, float('inf')] and five[4] != five[4] and five[5] == -float('inf')
    assert tenon.tensor([61439.0, 61440.0]).to('float8_e5m2').tolist() == [57344.0, float('inf')]


@formats
def test_text(dtype):
    x = tenon.tensor([0.5, -448.0, 0.015625], dtype=dtype)
    assert repr(x) == f"tensor([ 5.0000e-01, -4.4800e+02,  1.5625e-02], dtype={dtype})" or str(dtype) in repr(x)
    assert '448' in repr(tenon.tensor([448.0, 1.0], dtype=dtype)) and 'nan' in repr(tenon.tensor([float('nan')], dtype=dtype))


@formats
def test_files_pickles_and_other_libraries(dtype, tmp_path):
    x = tenon.tensor([0.5, -3.0, 96.0], dtype=dtype)
    tenon.io.save(tmp_path / 'x.safetensors', {'x': x})
    assert b'F8_E' in (tmp_path / 'x.safetensors').read_bytes()
    for y in (tenon.io.load(tmp_path / 'x.safetensors')['x'], pickle.loads(pickle.dumps(x)), copy.deepcopy(x),
              tenon.from_dlpack(x)):
        assert y.dtype is dtype and y.tolist() == x.tolist()
    for take in (memoryview, np.asarray, np.from_dlpack, lambda t: t.numpy()):
        with pytest.raises((TypeError, BufferError, RuntimeError)):
            take(x)
    tenon.testing.assert_close(x, x.clone())
    with pytest.raises(AssertionError):
        tenon.testing.assert_close(x, tenon.tensor([0.5, -3.0, 104.0], dtype=dtype).to('float16').to(dtype).flip(0))


@formats
def test_no_arithmetic_and_no_promotion(dtype):
    x, y = tenon.tensor([1.0, 2.0], dtype=dtype), tenon.tensor([1.0, 2.0])
    for fn in (lambda: x + x, lambda: x * 2, lambda: 2.0 - x, lambda: -x, lambda: x.exp(), lambda: x.relu(), lambda: x == x,
               lambda: x < x, lambda: x.sum(), lambda: x.mean(), lambda: x.max(), lambda: x.softmax(-1), lambda: x.std(),
               lambda: x.sort(), lambda: x.argmax(), lambda: tenon.matmul(x, x), lambda: x.cumsum(0), lambda: x.isnan(),
               lambda: tenon.layer_norm(x, [2]), lambda: tenon.mse_loss(x, x), lambda: x.clamp(0, 1)):
        with pytest.raises((tenon.Error, TypeError), match=r'cast|8-bit'):
            fn()
    for fn in (lambda: x + y, lambda: y.to('int32') * x, lambda: tenon.where(tenon.tensor([True, False]), x, y),
               lambda: tenon.concat([x, y]), lambda: tenon.promote_types(dtype, 'float32'),
               lambda: tenon.promote_types('bool', dtype), lambda: tenon.promote_types(*FORMATS)):
        with pytest.raises(ValueError, match='no common dtype.*8-bit floats are storage'):
            fn()
    with pytest.raises(ValueError, match=r'scaled_matmul\(\)'):
        tenon.matmul(x, y)


# Whatever takes a tensor either moves it, converts it or says what to do.
@formats
def test_every_op_of_one_tensor(dtype):
    moves = {'alias', 'cast', 'clone', 'contiguous', 'expand', 'flatten', 'flip', 'reshape', 'roll', 'squeeze', 'to', 'tril', 'triu',
             'diagonal', 'ravel', 'unsqueeze', 'permute', 'transpose', 'tile', 'repeat', 'stack', 'concat'}
    x = tenon.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=dtype)
    ran = set()
    for name, op in tenon._core.ops.items():
        try:
            made = op(x)  # most require more arguments
        except (TypeError, ValueError, tenon.Error):
            continue
        ran.add(name)
        assert not isinstance(made, tenon.Tensor) or made.dtype is dtype, name
    assert ran <= moves, ran - moves
    assert {'clone', 'contiguous', 'flip', 'tril'} <= ran


def test_gradients_end_at_a_cast():
    x = tenon.tensor([1.0, 2.0], requires_grad=True)
    assert not x.to('float8_e4m3fn').requires_grad
    with pytest.raises((tenon.Error, ValueError, RuntimeError)):
        tenon.zeros(2, dtype='float8_e5m2').requires_grad_()


def operands(m=3, k=5, n=4, left='float8_e4m3fn', right='float8_e5m2'):
    generator = np.random.default_rng(7)
    a, b = (tenon.tensor(generator.normal(size=shape).astype('float32')).to(dtype)
            for shape, dtype in (((m, k), left), ((k, n), right)))
    return a, b, tenon.tensor(0.5), tenon.tensor(3.0)


@pytest.mark.parametrize('result', ['float32', 'float16', 'bfloat16'])
@pytest.mark.parametrize('biased', [False, True])
def test_scaled_matmul(result, biased):
    for left in FORMATS:
        for right in FORMATS:
            a, b, scale_a, scale_b = operands(left=left, right=right)
            bias = tenon.tensor([1.0, 2.0, -3.0, 0.25]) if biased else None
            made = tenon.scaled_matmul(a, b, scale_a, scale_b, bias, dtype=result)
            wanted = 1.5 * np.asarray(a.to('float64')) @ np.asarray(b.to('float64')) + (np.asarray(bias) if biased else 0)
            assert str(made.dtype) == result and made.shape == (3, 4)
            np.testing.assert_allclose(np.asarray(made.to('float64')), wanted, **{
                'float32': dict(rtol=1e-6, atol=1e-6), 'float16': dict(rtol=1e-3, atol=1e-3),
                'bfloat16': dict(rtol=8e-3, atol=8e-3)}[result])
    assert tenon.scaled_matmul(*operands()).dtype is tenon.float32


def test_scaled_matmul_refuses():
    a, b, scale_a, scale_b = operands()
    wide = a.to('float16')
    for args, message in (((wide, b, scale_a, scale_b), "'a' has dtype f16, expected f8_e4m3 or f8_e5m2"),
                          ((a, b.T, scale_a, scale_b), r'inner sizes differ: shapes \(3, 5\) and \(4, 5\)'),
                          ((a[0], b, scale_a, scale_b), "'a' has shape"),
                          ((a, b, tenon.ones(3), scale_b), r'scale_a has shape \(3,?\)'),
                          ((a, b, scale_a, 2.0), "'scale_b' must be a tensor"),
                          ((a, b, scale_a, scale_b, tenon.ones(3)), 'bias has shape'),
                          ((a, b, scale_a, scale_b, None, 'float64'), 'dtype must be f32, f16 or bf16, got f64'),
                          ((a, b, scale_a, scale_b, None, 'float8_e4m3fn'), 'dtype must be')):
        with pytest.raises((ValueError, TypeError), match=message):
            tenon.scaled_matmul(*args)


def test_scaled_matmul_gradient():
    a, b, scale_a, scale_b = operands()
    bias = tenon.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    weights = tenon.arange(12, dtype='float32').reshape((3, 4))
    (tenon.scaled_matmul(a, b, scale_a, scale_b, bias, dtype='bfloat16').to('float32') * weights).sum().backward()
    assert bias.grad.tolist() == weights.sum(0).tolist()
    scale = tenon.tensor(0.5, requires_grad=True)
    with pytest.raises(tenon.Error, match='scales have no gradient'):
        tenon.scaled_matmul(a, b, scale, scale_b).sum().backward()
