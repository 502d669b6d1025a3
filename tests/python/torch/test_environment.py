"""What scripts ask PyTorch besides tensors: devices, compilation, processes, versions."""
import pathlib
import sys
import time

import pytest

import tenon
import tenon.torch as ours

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from beside import same


def test_compiled_functions_give_the_same(torch):
    def run(t):
        module = t.nn.Linear(2, 1)
        with t.no_grad():
            module.weight.fill_(0.5)
            module.bias.fill_(1.0)

        @t.compiler.disable
        def plain(x):
            return x * 2
        return plain(t.ones(2)), t.compiler.is_compiling(), module(t.ones(3, 2)).detach()
    same(torch, run)
    module = ours.nn.Linear(2, 1)
    assert ours.compile(module) is module and module.compile() is None

    @ours.compile(mode='max-autotune')
    def triple(x):
        return x * 3
    assert triple(ours.ones(2)).tolist() == [3, 3] and ours.compile(triple, backend='eager') is triple
    with pytest.raises(RuntimeError, match='not int'):
        ours.compile(3)


def test_a_machine_without_cuda(torch):
    def run(t):
        return (t.cuda.is_available() and None, t.cuda.memory_allocated() if not t.cuda.is_available() else 0, t.distributed.is_available() and None,
                t.distributed.is_initialized(), t.xpu.is_available())
    if not torch.cuda.is_available():
        same(torch, lambda t: run(t)[1:2] + run(t)[3:])
    assert ours.cuda.memory_stats() == {} or ours.cuda.is_available()
    assert isinstance(ours.cuda.is_bf16_supported(), bool) and ours.version.cuda is None and ours.version.__version__ == tenon.__version__


@pytest.fixture(name='cuda')
def on_the_host(monkeypatch):
    """torch.cuda whose only device is the host."""
    monkeypatch.setattr(ours.cuda, '_devices', lambda: [tenon.device('cpu')])
    monkeypatch.setattr(ours.cuda, '_device', lambda device: tenon.device('cpu'))
    return ours.cuda


def test_memory(cuda):
    before = cuda.memory_allocated()
    x = ours.ones(1000, 10)
    assert cuda.memory_allocated() >= before + 40000 and cuda.max_memory_allocated() >= cuda.memory_allocated() <= cuda.memory_reserved()
    del x
    cuda.reset_peak_memory_stats()
    assert cuda.max_memory_allocated() < before + 40000 and f'used: {cuda.memory_allocated()}' in cuda.memory_summary()
    free, total = cuda.mem_get_info()
    assert 0 < free <= total == cuda.get_device_properties(0).total_memory and cuda.is_bf16_supported()
    cuda.set_device(0)


def test_streams_and_events(cuda):
    begin, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    with pytest.raises(ValueError, match='not recorded'):
        begin.elapsed_time(end)
    with cuda.stream(cuda.Stream()) as stream:
        begin.record()
        time.sleep(0.002)
        stream.record_event(end)
    stream.wait_stream(cuda.current_stream())
    assert begin.elapsed_time(end) >= 2 and end.query() and stream.query()


def test_a_module_inside_data_parallel(torch):
    def run(t):
        inner = t.nn.Linear(2, 1)
        with t.no_grad():
            inner.weight.fill_(0.5)
            inner.bias.fill_(1.0)
        m = t.nn.DataParallel(inner)
        return m(t.ones(3, 2)).detach(), sorted(m.state_dict()), m.module is inner
    same(torch, run)


def work(i, path):
    (pathlib.Path(path) / str(i)).write_text(str((ours.ones(3) * i).sum().item()))
    if i == 7:
        raise ValueError


def test_processes(tmp_path):
    ours.multiprocessing.spawn(work, (tmp_path,), nprocs=2, start_method='fork')
    assert [(tmp_path / str(i)).read_text() for i in range(2)] == ['0.0', '3.0']
    with pytest.raises(RuntimeError, match='process 7 ended with 1'):
        ours.multiprocessing.spawn(work, (tmp_path,), nprocs=8, start_method='fork')
    assert ours.multiprocessing.get_sharing_strategy() in ours.multiprocessing.get_all_sharing_strategies()


@pytest.mark.parametrize('name, instead', [('utils.benchmark', 'tenon bench'), ('jit.trace', 'torch.compile'), ('hub.load', 'torch.load'),
                                           ('distributed.init_process_group', 'one process'), ('nn.parallel.DistributedDataParallel', 'one process')])
def test_what_is_not_offered_says_what_to_use(name, instead):
    found = ours
    with pytest.raises(AttributeError, match=instead):
        for part in name.split('.'):
            found = getattr(found, part)


def test_tensors_go_through_dlpack(torch):
    x = torch.arange(4.0)
    assert ours.utils.dlpack.from_dlpack(x).tolist() == [0, 1, 2, 3]
    assert torch.utils.dlpack.from_dlpack(ours.utils.dlpack.to_dlpack(ours.ones(2))).tolist() == [1, 1]
    base = ours.arange(3.0)
    shared = ours.utils.dlpack.from_dlpack(ours.utils.dlpack.to_dlpack(base))
    shared[0] = 5
    assert base.tolist() == [5, 1, 2] and ours.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(torch.ones(2))).tolist() == [1, 1]


def test_kernels_of_attention_are_the_backends_choice():
    from tenon.torch.nn.attention import SDPBackend, sdpa_kernel
    x = ours.ones(1, 2, 3, 4)
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]):
        assert ours.nn.functional.scaled_dot_product_attention(x, x, x).shape == (1, 2, 3, 4)
