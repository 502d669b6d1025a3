"""Ops as functions: arguments by position and by name, results, errors."""
import pytest

import tenon


def test_every_op_is_a_function_with_its_schema():
    from tenon import _core
    assert len(_core.ops) > 150
    for name, op in _core.ops.items():
        assert op.__name__ == name and op.schema.startswith(name + '(')
        assert callable(getattr(tenon, name))


def test_arguments_by_position_and_name():
    x = tenon.tensor([[1., 2.], [3., 4.]])
    for y in (tenon.sum(x, 0), tenon.sum(x, dims=0), tenon.sum(x, axis=0), tenon.sum(x, [0]), tenon.sum(x=x, dims=(0,)),
              x.sum(0), x.sum(axis=-2)):
        assert y.tolist() == [4, 6]
    assert x.sum(0, True).shape == x.sum(axis=0, keepdims=True).shape == (1, 2)
    assert x.reshape(4, 1).shape == x.reshape((4, 1)).shape == x.reshape([4, 1]).shape == tenon.reshape(x, 4, 1).shape
    assert x.sum(dtype=float).dtype is x.sum(dtype='float64').dtype is tenon.float64


def test_several_results_have_names():
    found = tenon.tensor([3., 1., 2.]).sort()
    values, indices = found
    assert values.tolist() == found.values.tolist() == [1, 2, 3] and indices.tolist() == found.indices.tolist() == [1, 2, 0]


def test_out_and_in_place():
    x, y = tenon.tensor([1., 2.]), tenon.zeros(2)
    assert tenon.add(x, 1, out=y) is y and y.tolist() == [2, 3]
    assert x.add_(y) is x and x.tolist() == [3, 5]
    assert x.clamp_(max=4).tolist() == [3, 4] and x.zero_().tolist() == [0, 0] and x.fill_(2).tolist() == [2, 2]
    with pytest.raises(TypeError):
        tenon.sort(x, out=y)
    with pytest.raises(TypeError):
        tenon.add(x, 1, out=3)


@pytest.mark.parametrize('call, error, text', [
    (lambda x: tenon.softmax(x), TypeError, r'\[softmax\] argument dim is missing; the op is softmax\(Tensor x, int dim\)'),
    (lambda x: tenon.softmax(x, 0, 1), TypeError, r'\[softmax\] takes 2 arguments, not 3'),
    (lambda x: tenon.softmax(x, 0, x=x), TypeError, r'\[softmax\] got argument x twice'),
    (lambda x: tenon.softmax(x, size=0), TypeError, r"\[softmax\] has no argument 'size'"),
    (lambda x: tenon.softmax(x, 'a'), TypeError, r'argument dim must be int, not str'),
    (lambda x: tenon.softmax(x, 1.5), TypeError, r'argument dim must be int, not float'),
    (lambda x: tenon.softmax(x, 2 ** 70), ValueError, r'beyond 64 bits'),
    (lambda x: tenon.softmax(x, 9), IndexError, r'\[softmax\] dim 9 out of range'),
    (lambda x: tenon.softmax('a', 0), TypeError, r'argument x must be Tensor, not str'),
    (lambda x: tenon.concat(x), TypeError, r'a list or tuple of tensors'),
    (lambda x: tenon.concat([x, 1]), TypeError, r'not int inside the list'),
    (lambda x: x.reshape(2, 'a'), TypeError, r'not str inside the list'),
    (lambda x: x.reshape(7), ValueError, r'\[reshape\]'),
    (lambda x: x + tenon.zeros(5), ValueError, r'\[add\]'),
    (lambda x: x.sum(dtype='float33'), ValueError, r"no dtype is called 'float33'"),
    (lambda x: x.sum(dtype=3), TypeError, r'argument dtype'),
    (lambda x: tenon.full((2,), 1, device='nowhere'), tenon.NotFoundError, 'nowhere'),
    (lambda x: tenon.device(3), TypeError, 'named by a str'),
    (lambda x: tenon.op('sofmax'), tenon.NotFoundError, 'softmax'),
    (lambda x: tenon.gelu(x, '\ud800'), ValueError, 'surrogates'),
    (lambda x: x + 2 ** 70, ValueError, 'beyond 64 bits')])
def test_errors_name_op_argument_and_schema(call, error, text):
    with pytest.raises(error, match=text):
        call(tenon.tensor([1., 2.]))


@pytest.mark.parametrize('dtype', ['int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64'])
def test_integers_compare_with_numbers_beyond_their_dtype(dtype):
    values = [0, 1, 100]
    x = tenon.tensor(values, dtype=dtype)
    for number in (-2 ** 63, -2 ** 40, -40000, -300, -1, 300, 70000, 2 ** 40, 2 ** 63 - 1):
        assert (x < number).tolist() == [each < number for each in values] == (number > x).tolist()
        assert (x <= number).tolist() == [each <= number for each in values] == tenon.greater_equal(number, x).tolist()
        assert not (x == number).any() and (x != number).all()
    top = tenon.tensor([2 ** 64 - 1], dtype=tenon.uint64)
    assert (top > -1).all() and not (top == -1).any()


def test_errors_are_also_what_python_expects():
    for kind, also in ((tenon.InvalidArgumentError, ValueError), (tenon.OutOfRangeError, IndexError),
                       (tenon.UnimplementedError, NotImplementedError), (tenon.OutOfMemoryError, MemoryError)):
        assert issubclass(kind, also) and issubclass(kind, tenon.Error)
    with pytest.raises(tenon.Error):
        tenon.zeros(2 ** 40, 2 ** 20)


def test_dtypes_and_devices():
    assert tenon.float32.itemsize == 4 and str(tenon.float32) == 'float32' and repr(tenon.int8) == 'tenon.int8'
    assert tenon.promote_types(tenon.int32, 'float32') is tenon.float32
    cpu = tenon.device('cpu')
    assert cpu == 'cpu' and cpu == tenon.zeros(1).device and cpu != 'nowhere' and cpu.type == 'cpu' and cpu in tenon.devices()
    assert tenon.float32 in cpu.info['dtypes'] and cpu.memory()['used'] >= 0
    assert "kernel of plugin 'cpu'" in tenon.explain('add', 'cpu') and tenon.explain(tenon.add) != ''
    assert any(plugin['id'] == 'cpu' and plugin['state'] == 'loaded' for plugin in tenon.plugins())


def test_generators():
    tenon.manual_seed(7)
    first = tenon.randn(4).tolist()
    tenon.manual_seed(7)
    assert tenon.randn(4).tolist() == first
    assert tenon.randn(4, generator=tenon.Generator(7)).tolist() == first
    generator = tenon.Generator(3)
    state = generator.get_state()
    draw = tenon.rand(3, generator=generator).tolist()
    generator.set_state(state)
    assert tenon.rand(3, generator=generator).tolist() == draw


def test_a_generator_is_seeded_and_passed_on():
    generator = tenon.Generator()
    assert generator.manual_seed(5) is generator
    drawn = tenon.uniform((4,), generator=tenon.Generator().manual_seed(5)).tolist()
    assert drawn == tenon.uniform((4,), generator=generator).tolist() != tenon.uniform((4,), generator=generator).tolist()


@pytest.mark.parametrize('dtype', ['bool', 'uint8', 'int32', 'int64'])
def test_integers_refuse_a_negative_power(dtype):
    x = tenon.tensor([1, 2], dtype=tenon.int64).to(dtype)
    for call in (lambda: x ** -1, lambda: tenon.pow(x, -2), lambda: x.pow_(-1)):
        with pytest.raises(ValueError, match=r'\[pow\] .*(negative power.*write -\d\.0|does not fit u8)'):
            call()
    assert (x ** -1.).tolist() == ([1, 1] if dtype == 'bool' else [1, 0.5])


def test_a_tensor_of_negative_powers_truncates():
    base = tenon.tensor([-2, -1, 1, 2])
    assert (base ** tenon.tensor(-1)).tolist() == [0, -1, 1, 0]
    assert (2 ** tenon.tensor([-1, 0, 3])).tolist() == [0, 1, 8]


def test_more_places_than_can_be_counted_are_refused():
    x, mask = tenon.ones(1).expand((2 ** 40, 1)), tenon.ones(1, dtype=tenon.bool).expand((1, 2 ** 42))
    with pytest.raises(ValueError, match='more elements than memory can address'):
        tenon.masked_select(x, mask)


def test_a_long_unknown_name_is_refused():
    with pytest.raises(tenon.NotFoundError, match='no op'):
        tenon.op('relu' * 4_000_000)  # compared with each name this would take minutes
    with pytest.raises(tenon.NotFoundError, match="did you mean 'softmax'"):
        tenon.op('sofmax')
