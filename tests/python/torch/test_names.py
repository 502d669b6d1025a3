"""Every public function of PyTorch is offered, or a table says why not; and what the namespace itself knows."""
import importlib
import inspect
import pathlib
import re

import pytest

import tenon
import tenon.torch as ours

ROOT = pathlib.Path(__file__).resolve().parents[3]
NAMESPACES = '', 'special', 'linalg', 'fft', 'nn.functional', 'nn.init', 'random', 'testing', 'foreach'


def functions(module):
    """The names of the public functions of a module of PyTorch."""
    found = {name: getattr(module, name) for name in dir(module) if not name.startswith('_')}
    return sorted(name for name, value in found.items() if callable(value) and not inspect.isclass(value) and not inspect.ismodule(value))


@pytest.mark.parametrize('namespace', NAMESPACES)
def test_every_function_is_offered_or_refused_by_name(torch, namespace):
    path = '.' + namespace if namespace else ''
    theirs, mine = importlib.import_module('torch' + path), importlib.import_module('tenon.torch' + path)
    silent, said = [], 0
    for name in functions(theirs):
        try:
            assert callable(getattr(mine, name)), name
        except AttributeError as error:
            said += 'is not offered here: ' in str(error)
            if 'is not offered here: ' not in str(error):
                silent.append(name)
    assert not silent
    assert said < 210 if not namespace else said <= 15


def test_functions_of_libtorch(torch):
    """tenon::nn::functional has LibTorch's functions of networks: the C++ test that uses each name is compiled with the others."""
    headers = (pathlib.Path(torch.__file__).parent / 'include/torch/csrc/api/include/torch/nn/functional').glob('*.h')
    declared = re.compile(r'^inline (?:Tensor|std::tuple<[^>]*>) ([a-z]\w*)\(', re.MULTILINE)
    theirs = {name for header in headers for name in declared.findall(header.read_text())}
    ours = set(re.findall(r'using nn::functional::(\w+);', (ROOT / 'tests/libs/nn/functional_test.cpp').read_text()))
    assert len(theirs) > 80 and theirs - ours == {'multi_head_attention_forward'}


@pytest.mark.parametrize('namespace', NAMESPACES)
def test_absent_names_are_not_offered(namespace):
    from tenon.torch import _absent
    module = importlib.import_module('tenon.torch' + ('.' + namespace if namespace else ''))
    both = [name for name in _absent._WHY.get(namespace, ()) if hasattr(module, name)]
    assert not both


MAKERS = [
    lambda m: m.tensor([1.0, 2.0]), lambda m: m.tensor(1j), lambda m: m.tensor([1]), lambda m: m.as_tensor([1.0]), lambda m: m.asarray([1.0]),
    lambda m: m.zeros(2), lambda m: m.ones(2), lambda m: m.empty(2), lambda m: m.full((2,), 1.0), lambda m: m.full((2,), 1), lambda m: m.eye(2),
    lambda m: m.arange(0, 1, 0.5), lambda m: m.arange(3), lambda m: m.linspace(0, 1, 3), lambda m: m.logspace(0, 1, 3), lambda m: m.rand(2),
    lambda m: m.randn(2), lambda m: m.normal(0.0, 1.0, (2,)), lambda m: m.hann_window(4), lambda m: m.scalar_tensor(1),
    lambda m: m.mul(m.tensor([1]), 1.5), lambda m: m.special.i0(m.tensor([1])), lambda m: m.tensor([1.5], dtype=m.float32),
]


@pytest.mark.parametrize('name', ['float64', 'float32'])
def test_default_dtype(torch, name):
    try:
        for module in (torch, ours):
            module.set_default_dtype(getattr(module, name))
        dtypes = [[str(make(module).dtype).removeprefix('torch.') for make in MAKERS] for module in (ours, torch)]
        assert ours.get_default_dtype() is getattr(ours, name)
        assert name != 'float64' or ours.tensor([0.1]).item() == 0.1
    finally:
        for module in (torch, ours):
            module.set_default_dtype(module.float32)
    assert dtypes[0] == dtypes[1]
    with pytest.raises(TypeError, match='not a floating dtype'):
        ours.set_default_dtype(ours.int64)


@pytest.mark.parametrize('name', ['float16', 'bfloat16', 'float32', 'float64', 'float8_e4m3fn', 'float8_e5m2', 'complex64', 'int8', 'uint8', 'int64'])
def test_limits(torch, name):
    kind = 'iinfo' if 'int' in name else 'finfo'
    mine, theirs = (getattr(module, kind)(getattr(module, name)) for module in (ours, torch))
    for attribute in (each for each in dir(theirs) if each[0] != '_'):
        assert getattr(mine, attribute) == pytest.approx(getattr(theirs, attribute)) if attribute != 'dtype' else mine.dtype == theirs.dtype
    assert repr(mine) == repr(theirs) and mine == getattr(ours, kind)(getattr(ours, name))


def test_default_device():
    with ours.device('cpu') as host:
        assert ours.get_default_device() == host and ours.zeros(2).device == host
    ours.set_default_device('cpu')
    assert ours.rand(2).device == ours.device('cpu') == ours.get_default_device()
    ours.set_default_device(None)


def test_sizes():
    size = ours.Size([2, 3, 4])
    assert size.numel() == 24 and repr(size[:2]) == 'torch.Size([2, 3])' and repr(size + (5,)) == 'torch.Size([2, 3, 4, 5])'
    assert repr((1,) + size) == 'torch.Size([1, 2, 3, 4])' and type((1,) + size) is type(size * 2) is type(size[::-1]) is ours.Size
    for add in (lambda: size + [1], lambda: [1] + size):
        with pytest.raises(TypeError):
            add()
    assert isinstance(ours.zeros(2).shape, ours.Size) and size[0] == 2 and not isinstance([2], ours.Size)


def test_memory_of_other_objects(tmp_path):
    memory = bytearray(b'\0\0\x80?' * 3)
    x = ours.frombuffer(memory, dtype=ours.float32, count=2, offset=4)
    x[0] = 2.0
    assert x.tolist() == [2, 1] and memory[4:8] == b'\0\0\0@'
    for arguments in ({'count': 4}, {'offset': 12}, {'count': 0}, {'offset': 1}):
        with pytest.raises(ValueError, match='frombuffer'):
            ours.frombuffer(memory, dtype=ours.float32, **arguments)
    with pytest.raises(TypeError, match='bfloat16'):
        ours.frombuffer(memory, dtype=ours.bfloat16)
    (tmp_path / 'x').write_bytes(bytes(16))
    ours.from_file(str(tmp_path / 'x'), shared=True, size=4)[1] = 1.0
    assert ours.from_file(str(tmp_path / 'x'), size=4).tolist() == [0, 1, 0, 0]


def test_random_state():
    ours.manual_seed(5)
    first = ours.rand(3).tolist()
    assert ours.initial_seed() == 5
    with ours.random.fork_rng():
        ours.rand(10)
    second = ours.rand(3).tolist()
    ours.manual_seed(5)
    assert [ours.rand(3).tolist(), ours.rand(3).tolist()] == [first, second]


def test_functions_in_place(torch):
    for name, arguments in (('nan_to_num_', ()), ('clamp_max_', (0.5,)), ('ldexp_', (2.0,)), ('xlogy_', (3.0,)), ('threshold_', (0.0, 7.0))):
        mine, theirs = ours.tensor([1.0, -2.0, 0.25]), torch.tensor([1.0, -2.0, 0.25])
        arguments = [(ours.tensor(x), torch.tensor(x)) if name in ('ldexp_', 'xlogy_') else (x, x) for x in arguments]
        found = getattr(ours, name)(mine, *(pair[0] for pair in arguments))
        getattr(torch, name)(theirs, *(pair[1] for pair in arguments))
        assert found is mine and mine.tolist() == pytest.approx(theirs.tolist()), name
    x = ours.tensor([-1.0, 2.0])
    assert ours.nn.functional.relu_(x) is x and x.tolist() == [0, 2]
    w = ours.tensor([0.5, 0.25], requires_grad=True)
    y = ours.sinc_(w * 1)
    assert ours.autograd.grad(y.sum(), w)[0].tolist() == pytest.approx(torch.autograd.grad(
        torch.sinc(v := torch.tensor([0.5, 0.25], requires_grad=True)).sum(), v)[0].tolist())


SPELLINGS = {
    'range': lambda m, x: m.range(1, 4, 0.5), 'nuclear_norm': lambda m, x: m.nuclear_norm(x), 'frobenius_norm': lambda m, x: m.frobenius_norm(x, 0),
    'norm_except_dim': lambda m, x: m.norm_except_dim(x, 2, 1), 'select_copy': lambda m, x: m.select_copy(x, 1, -1),
    'slice_copy': lambda m, x: m.slice_copy(x, 1, 1, 4, 2), 'split_copy': lambda m, x: m.split_copy(x, 2, 1)[-1],
    'detach_copy': lambda m, x: m.detach_copy(x), 'max_pool1d_with_indices': lambda m, x: m.max_pool1d_with_indices(x, 2)[1],
    'adaptive_max_pool1d': lambda m, x: m.adaptive_max_pool1d(x, 2)[1], 'orgqr': lambda m, x: m.orgqr(x.T, x[0, :2]),
    'conv_tbc': lambda m, x: m.conv_tbc(m.reshape(x, (5, 1, 3)), m.reshape(x[:, :4], (2, 3, 2)), x[0, :2], 1),
    'affine_grid_generator': lambda m, x: m.affine_grid_generator(m.reshape(x[:2, :3], (1, 2, 3)), [1, 1, 2, 3], False),
    'grid_sampler_2d': lambda m, x: m.grid_sampler_2d(m.reshape(x, (1, 1, 3, 5)), m.reshape(x[:2, :4], (1, 2, 2, 2)), 0, 1, True),
    'sym': lambda m, x: m.tensor([m.sym_max(1, 2.0), m.sym_min(1, 2), m.sym_int(2.5), m.sym_float(2), m.sym_sqrt(4), m.sym_sum([1, 2])]),
    'is': lambda m, x: m.tensor([m.is_same_size(x, x), m.is_signed(x), m.is_conj(x), m.is_neg(x), m.is_distributed(x)]),
    'max_pool2d_with_indices': lambda m, x: m.nn.functional.max_pool2d_with_indices(x[None], 2)[1],
}


@pytest.mark.filterwarnings('ignore:.*deprecated')
@pytest.mark.parametrize('name', SPELLINGS)
def test_rare_spellings(torch, name):
    torch.manual_seed(0)
    x = torch.randn(3, 5)
    wanted, found = SPELLINGS[name](torch, x), SPELLINGS[name](ours, ours.tensor(x.numpy()))
    assert str(found.dtype) == str(wanted.dtype) and torch.allclose(torch.tensor(found.numpy()), wanted, atol=1e-6)


def test_segment_reduce(torch):
    from torch.testing._internal.common_methods_invocations import op_db
    done = 0
    for entry in (each for each in op_db if each.name == '_segment_reduce'):
        for sample in entry.sample_inputs('cpu', torch.float64, requires_grad=True):
            theirs = torch.segment_reduce(sample.input, *sample.args, **sample.kwargs)
            x = ours.tensor(sample.input.detach().numpy(), requires_grad=True)
            mine = ours.segment_reduce(x, *sample.args, **{name: ours.tensor(value.detach().numpy()) if isinstance(value, torch.Tensor) else value
                                                           for name, value in sample.kwargs.items()})
            assert torch.allclose(torch.tensor(mine.detach().numpy()), theirs.detach(), equal_nan=True)
            seed = torch.linspace(1, 2, theirs.numel(), dtype=torch.float64).reshape(theirs.shape)
            (got,), (wanted,) = ours.autograd.grad(mine, x, ours.tensor(seed.numpy())), torch.autograd.grad(theirs, sample.input, seed)
            assert torch.allclose(torch.tensor(got.numpy()), wanted, equal_nan=True)
            done += 1
    assert done > 100


def test_testing():
    assert_close, make_tensor = ours.testing.assert_close, ours.testing.make_tensor
    for dtype in (ours.float32, ours.float64, ours.bfloat16, ours.int64, ours.uint8, ours.bool, ours.complex64):
        x = make_tensor(3, 4, dtype=dtype, device='cpu', exclude_zero=True)
        assert x.shape == (3, 4) and x.dtype is dtype and ours.all(ours.ne(x, 0)).item()
        assert_close(x, ours.clone(x))
    x = make_tensor((50,), dtype=ours.float64, device='cpu', low=2, high=3, requires_grad=True)
    assert x.requires_grad and ours.min(x).item() >= 2 and ours.max(x).item() < 3
    with pytest.raises(AssertionError, match='^so: '):
        assert_close(x, x + 1, msg=lambda text: 'so: ' + text)


def test_switches():
    ours.use_deterministic_algorithms(True, warn_only=True)
    assert ours.are_deterministic_algorithms_enabled() and ours.get_deterministic_debug_mode() == 1
    ours.set_deterministic_debug_mode('default')
    assert not ours.are_deterministic_algorithms_enabled()
    ours.set_float32_matmul_precision('high')
    assert ours.get_float32_matmul_precision() == 'high'
    ours.set_float32_matmul_precision('highest')


def test_devices_answer_honestly():
    others = [device for device in tenon.devices() if device.type != 'cpu']
    assert ours.accelerator.is_available() == bool(others) and ours.mps.is_available() is False and ours.cpu.is_available() is True
    assert (ours.accelerator.current_accelerator() is None) == (not others)


def test_low_rank(torch):
    ours.manual_seed(0)
    A = torch.randn(30, 4, dtype=torch.float64) @ torch.randn(4, 20, dtype=torch.float64)
    U, S, V = ours.svd_lowrank(ours.tensor(A.numpy()), q=6)
    assert S.tolist()[:4] == pytest.approx(torch.linalg.svdvals(A)[:4].tolist()) and max(S.tolist()[4:]) < 1e-10
    assert torch.allclose(torch.tensor(((U * S) @ V.mT).numpy()), A)
    U, S, V = ours.svd_lowrank(ours.tensor(A.mT.contiguous().numpy()), q=5, M=ours.ones(20, 30, dtype=ours.float64))
    assert torch.allclose(torch.tensor(((U * S) @ V.mT).numpy()) + 1, A.mT)
    assert ours.pca_lowrank(ours.tensor(A.numpy()), q=4)[1].tolist() == pytest.approx(torch.linalg.svdvals(A - A.mean(0))[:4].tolist())
