"""torch.utils.swap_tensors, torch.jit's files, and small names beside PyTorch."""
import io
import pathlib
import sys

import pytest

import tenon.torch as ours

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from beside import same


def parameters(t):
    layer, new = t.nn.Linear(2, 2, bias=False), t.nn.Parameter(t.ones(3, 2))
    old, new.tag = layer.weight, 'new'
    t.utils.swap_tensors(layer.weight, new)
    layer(t.ones(1, 2)).sum().backward()
    return layer.weight is old, old.tag, hasattr(new, 'tag'), new.shape, layer(t.ones(1, 2)), layer.weight.grad, new.grad


def kinds(t):
    p, x = t.nn.Parameter(t.ones(2)), t.zeros(3, dtype=t.int32)
    t.utils.swap_tensors(p, x)
    t.utils.swap_tensors(p, p)
    return isinstance(p, t.nn.Parameter), isinstance(x, t.nn.Parameter), str(p.dtype), p.requires_grad, x


def histories(t):
    a = t.ones(2, requires_grad=True)
    b, c = a * 2, t.zeros(1)
    t.utils.swap_tensors(b, c)
    c.sum().backward()
    return b, b.requires_grad, c.grad_fn.name(), a.grad


@pytest.mark.parametrize('run', [parameters, kinds, histories])
def test_swapped_tensors(torch, run):
    same(torch, run)


def test_only_tensors_are_swapped():
    with pytest.raises(TypeError, match=r'\[swap_tensors\].*int'):
        ours.utils.swap_tensors(ours.ones(1), 3)


class Two(ours.nn.Module):
    def forward(self, a, b):
        return a @ b.T, a.sum(0)


class Fixed(ours.nn.Module):
    def forward(self, a):
        return a.view(2, 4) * ours.arange(4.0)


def test_a_traced_module_is_saved_and_loaded(tmp_path):
    net = ours.nn.Sequential(ours.nn.Linear(4, 8), ours.nn.Dropout(0.5), ours.nn.Linear(8, 3)).eval()
    x, file = ours.rand(5, 4), io.BytesIO()
    ours.jit.trace(net, ours.ones(2, 4)).save(tmp_path / 'net.pt')
    ours.jit.save(net, file)
    file.seek(0)
    for loaded in ours.jit.load(tmp_path / 'net.pt').eval(), ours.jit.load(file, map_location='cpu'):
        assert ours.allclose(loaded(x), net(x))
    with pytest.raises(NotImplementedError, match='cannot be trained'):
        loaded.train()
    assert len(net.state_dict()) == 4


def test_sizes_of_what_is_traced(tmp_path):
    path = tmp_path / 'program.pt'
    ours.jit.save(ours.jit.trace(Two().eval(), (ours.ones(3, 4), ours.ones(2, 4))), path)
    product, sums = ours.jit.load(path)(ours.ones(6, 4), ours.ones(5, 4))
    assert product.shape == (6, 5) and sums.tolist() == [6.0] * 4
    ours.jit.trace(Fixed().eval(), ours.ones(2, 4)).save(path)
    assert ours.jit.load(path)(ours.ones(2, 4)).tolist() == [[0, 1, 2, 3]] * 2


def test_what_cannot_be_saved_or_loaded_says_what_to_do(torch, tmp_path):
    with pytest.raises(RuntimeError, match=r'\[jit.save\].*torch.jit.trace'):
        ours.jit.script(ours.nn.ReLU()).save(tmp_path / 'net.pt')
    with pytest.warns(UserWarning, match='training mode'):
        ours.jit.save(ours.jit.trace(ours.nn.ReLU(), ours.ones(2)), tmp_path / 'net.pt')
    with pytest.raises(NotImplementedError, match='extra files'):
        ours.jit.save(ours.nn.ReLU(), tmp_path / 'net.pt', {'a': 'b'})
    with pytest.warns(FutureWarning):
        torch.jit.save(torch.jit.script(torch.nn.ReLU()), tmp_path / 'theirs.pt')
    with pytest.raises(ValueError, match=r'\[jit.load\].*TorchScript.*torch.onnx.export'):
        ours.jit.load(tmp_path / 'theirs.pt')


def test_the_type_of_a_device(torch):
    def run(t):
        kind = t.device
        kinds = [type(t.device('cpu')), type(t.device('meta')), type(t.device('cuda:1')), type(t.ones(1).device), int, t.dtype]
        return [each == kind for each in kinds], [each != kind for each in kinds], {kind: 1, t.dtype: 2}[kinds[0]]
    same(torch, run)


def rates(t):
    found = []
    for rate in 1, 0.5, t.tensor(0.5):
        schedule = t.optim.lr_scheduler.StepLR(t.optim.SGD([t.zeros(1, requires_grad=True)], lr=rate), 1)
        found.append((first := schedule.get_last_lr(), type(first[0]) is type(rate)))
        schedule.optimizer.step()
        schedule.step()
        found.append((first, schedule.get_last_lr()))
    return found


def test_rates_of_a_schedule_are_those_of_the_optimizer(torch):
    same(torch, rates)


@pytest.mark.filterwarnings('ignore')
def test_names_of_the_compiler_and_of_devices(torch):
    def run(t):
        with t.compiler.set_stance('default'):
            found = [t.compiler.set_stance('eager_on_recompile')(abs)(-1)]
        return found, isinstance(t.cuda.default_generators, tuple), isinstance(t.export.default_decompositions(), dict)
    same(torch, run)
    with pytest.raises(RuntimeError, match='disable=True'):
        ours.compiler.set_stance('force_eager')


ABSENT = {'ao.quantization.prepare_qat': 'quantize_dynamic', 'ao.quantization.MinMaxObserver': 'quantize_dynamic', 'qint32': 'quantize_int4', 'uint4': 'quantize_int4',
          'cuda.utilization': 'nvidia-smi', 'cuda.MemPool': 'memory_stats', 'cuda.FloatStorage': 'untyped_storage', 'mps.Stream': 'no plugin',
          'library.triton_op': 'custom_op', 'nn.attention.list_flash_attention_impls': 'one kernel', 'jit.CompilationUnit': 'torch.export',
          'compiler.save_cache_artifacts': 'torch.export.save', 'accelerator.Graph': 'torch.cuda.graph', 'testing.FileCheck': 'assert',
          'export.ShapesCollection': 'dynamic_shapes', 'profiler.ExecutionTraceObserver': 'ProfilerActivity', 'overrides.redispatch_function': 'DisableTorchFunction',
          'optim.swap_in_optimizer_params_and_state': 'load_state_dict', 'nn.Container': 'Module'}


@pytest.mark.parametrize('name', ABSENT)
def test_an_absent_name_says_what_to_use(name):
    place, _, name = name.rpartition('.')
    module = ours
    for part in filter(None, place.split('.')):
        module = getattr(module, part)
    assert not hasattr(module, 'no_such_name') or place == 'ao.quantization'
    with pytest.raises(AttributeError, match=f'{name}. is not offered here.*{ABSENT[f"{place}.{name}".lstrip(".")]}'):
        getattr(module, name)
