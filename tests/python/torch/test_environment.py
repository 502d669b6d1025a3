"""What scripts ask PyTorch besides tensors: devices, compilation, processes, versions."""
import importlib
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
    assert ours.nn.Linear(2, 1).compile() is None


def test_a_machine_without_cuda(torch):
    def run(t):
        return (t.cuda.is_available() and None, t.cuda.memory_allocated() if not t.cuda.is_available() else 0, t.distributed.is_available(),
                t.distributed.is_initialized(), t.xpu.is_available())
    if not torch.cuda.is_available():
        same(torch, lambda t: run(t)[1:2] + run(t)[3:])
    assert ours.cuda.memory_stats() == {} or ours.cuda.is_available()
    assert isinstance(ours.cuda.is_bf16_supported(), bool) and ours.version.cuda is None and ours.version.tenon == tenon.__version__


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


def test_memory_by_pytorchs_names(cuda):
    x = ours.ones(1000, 10)
    stats, nested = cuda.memory_stats(), cuda.memory_stats_as_nested_dict()
    assert stats['allocated_bytes.all.current'] == cuda.memory_allocated() == nested['allocated_bytes']['all']['current'] >= x.numel() * 4
    assert stats['reserved_bytes.all.peak'] == cuda.max_memory_cached() >= cuda.memory_cached()
    with pytest.raises(ValueError, match='between 0 and 1'):
        cuda.set_per_process_memory_fraction(1.5)


def test_random_numbers_of_devices(cuda):
    cuda.manual_seed(3)
    state, first = cuda.get_rng_state_all(), ours.rand(2).tolist()
    cuda.set_rng_state_all(state)
    assert ours.rand(2).tolist() == first and cuda.initial_seed() == 3
    cuda.set_rng_state(state[0])
    cuda.seed()
    assert ours.rand(2).tolist() != first and cuda.get_rng_state().dtype is ours.uint8


def test_scopes_of_devices(cuda):
    with cuda.device(0), cuda.device_of(ours.ones(1)):
        assert not cuda.is_current_stream_capturing()
    cuda.init()
    cuda.ipc_collect()
    cuda.set_sync_debug_mode('warn')
    assert cuda.get_sync_debug_mode() == 1
    cuda.set_sync_debug_mode(0)
    with pytest.raises(RuntimeError, match='default'):
        cuda.set_sync_debug_mode('loud')


def unavailable(t):
    """What scripts ask of devices before they know whether there are any."""
    found = [getattr(t.cuda, name)() for name in 'memory_allocated max_memory_allocated memory_reserved memory_cached max_memory_cached get_rng_state_all'.split()]
    found += [getattr(t.xpu, name)() for name in '''is_available device_count is_initialized is_bf16_supported memory_allocated max_memory_allocated
        memory_reserved get_arch_list empty_cache seed_all'''.split()]
    found += [t.mps.is_available(), t.mps.device_count(), t.mtia.is_available(), t.mtia.device_count(), t.cuda.set_rng_state_all([])]
    found += [t.xpu.manual_seed(0), t.xpu.manual_seed_all(0), t.mps.manual_seed(0), t.cuda.manual_seed_all(0), t.cuda.seed_all()]
    with t.cuda.device(-1), t.cuda.device_of(t.ones(1)):
        found += [isinstance(t.ones(1), t.cuda.FloatTensor), isinstance(t.ones(1), t.FloatTensor), t.cuda.is_initialized()]
    return found


@pytest.mark.parametrize('call', ['mps.synchronize()', 'mps.empty_cache()', 'xpu.current_device()', 'xpu.set_device(0)', 'xpu.synchronize()', 'mps.get_rng_state()',
                                  'cuda.init()', 'cuda.get_rng_state()', 'cuda.FloatTensor(2)', 'cuda.set_per_process_memory_fraction(0.5)', 'xpu.Event()'])
def test_devices_that_are_not_there(torch, call):
    if torch.cuda.is_available() or torch.xpu.is_available() or torch.mps.is_available() or ours.cuda.is_available():
        pytest.skip('there are such devices')
    same(torch, unavailable)
    with pytest.raises((RuntimeError, LookupError), match=r'there is no such device|no device "cuda'):
        eval(f'ours.{call}')


def test_the_host_as_a_device(torch):
    def run(t):
        begin, end = t.cpu.Event(), t.cpu.Event()
        with t.cpu.stream(t.cpu.current_stream()):
            begin.record()
            end.record()
        end.synchronize()
        end.wait()
        t.cpu.Stream()
        t.cpu.set_device(0)
        return begin.query(), t.cpu.is_initialized(), t.cpu.device_count(), t.cpu.current_device()
    same(torch, run)


def test_memory_of_the_accelerator(monkeypatch):
    monkeypatch.setattr(ours.accelerator, '_devices', lambda: [tenon.device('cpu')])
    x = ours.ones(1000, 10)
    for device in (None, 0, 'cpu', tenon.device('cpu')):
        assert ours.accelerator.memory_allocated(device) == ours.accelerator.memory_stats(device)['allocated_bytes.all.current'] >= x.numel() * 4
    free, total = ours.accelerator.get_memory_info()
    assert 0 < free <= total and ours.accelerator.max_memory_reserved() >= ours.accelerator.memory_reserved()
    with ours.accelerator.device_index(0):
        ours.accelerator.reset_peak_memory_stats()
    with pytest.raises(ValueError, match='set_default_device'), ours.accelerator.device_index(1):
        pass
    monkeypatch.setattr(ours.accelerator, '_devices', list)
    assert ours.accelerator.memory_allocated() == 0 and ours.accelerator.memory_stats() == {}
    with pytest.raises(RuntimeError, match='no device except the host'):
        ours.accelerator.get_memory_info()


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


@pytest.mark.parametrize('name, instead', [('utils.cpp_extension', 'a plugin'), ('jit.trace_module', 'torch.export'), ('hub.list', 'hubconf'),
                                           ('distributed.send', 'one process')])
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


def test_divided_optimizers_of_one_process(torch, tmp_path):
    def run(t):
        from_optim = importlib.import_module(f'{t.__name__}.distributed.optim')
        dist, w, seen = t.distributed, t.nn.Parameter(t.tensor([1.0, 2.0])), []
        dist.init_process_group('gloo', init_method=f'file://{tmp_path}/{t.__name__}', world_size=1, rank=0)
        try:
            made = from_optim.ZeroRedundancyOptimizer([w], optimizer_class=t.optim.Adam, lr=0.1)
            schedule = t.optim.lr_scheduler.StepLR(made, 1, 0.5)
            for _ in range(3):
                made.zero_grad()
                (w * w).sum().backward()
                made.step()
                schedule.step()
            try:
                made.state_dict()
            except RuntimeError:
                seen.append('not collected')
            made.consolidate_state_dict()
            state = made.state_dict()
            again = from_optim.ZeroRedundancyOptimizer([w], t.optim.Adam, lr=1.0)
            again.load_state_dict(state)
            again.add_param_group({'params': [t.nn.Parameter(t.ones(1))], 'lr': 3.0})
            (w * w).sum().backward()
            again.step()
            seen += [w, isinstance(made, t.optim.Optimizer), type(made.optim).__name__, [group['lr'] for group in again.param_groups], sorted(state['state'][0])]
            return seen, dist.optim is from_optim
        finally:
            dist.destroy_process_group()
    same(torch, run)
    with pytest.raises(ValueError, match='init_process_group'):
        ours.distributed.optim.ZeroRedundancyOptimizer([ours.ones(1)], ours.optim.Adam)


def test_a_group_of_one_process(torch, monkeypatch, tmp_path):
    """Collectives and DistributedDataParallel where WORLD_SIZE is 1."""
    def run(t):
        dist, seen = t.distributed, []
        net = t.nn.Linear(2, 2)
        with t.no_grad():
            net.weight.copy_(t.tensor([[1.0, 2.0], [3.0, 4.0]]))
            net.bias.zero_()
        for call in (lambda: dist.get_rank(), lambda: dist.barrier(), lambda: t.nn.parallel.DistributedDataParallel(net),
                     lambda: dist.init_process_group('gloo', rank=0)):
            try:
                call()
            except ValueError as error:
                seen.append(type(error).__mro__[-4].__name__)
        dist.init_process_group('gloo', init_method=f'file://{tmp_path}/{t.__name__}', world_size=1, rank=0)
        try:
            x, parts, objects = t.arange(3.0), [t.zeros(3)], [None]
            dist.all_reduce(x, op=dist.ReduceOp.SUM)
            dist.broadcast(x, src=0)
            dist.all_gather(parts, x)
            dist.barrier()
            dist.all_gather_object(objects, {'a': 1})
            whole = t.zeros(3)
            dist.all_gather_into_tensor(whole, x)
            work = dist.all_reduce(x, async_op=True)
            work.wait()
            model = t.nn.parallel.DistributedDataParallel(net)
            with model.no_sync():
                model(t.ones(1, 2)).sum().backward()
            model(t.ones(1, 2)).sum().backward()
            seen += [x, parts, objects, whole, work.is_completed(), list(model.state_dict()), model.module is net, net.weight.grad,
                     dist.get_rank(), dist.get_world_size(), dist.get_backend(), dist.is_initialized()]
        finally:
            dist.destroy_process_group()
        return [*seen, dist.is_initialized()]
    for name in ('RANK', 'WORLD_SIZE'):
        monkeypatch.delenv(name, raising=False)
    same(torch, run)
    with pytest.raises(RuntimeError, match='one process trains'):
        ours.distributed.init_process_group('gloo', world_size=2, rank=1)
    with pytest.raises(ModuleNotFoundError, match='one process'):
        importlib.import_module('tenon.torch.distributed.fsdp')


def test_weights_of_the_hub(tmp_path, monkeypatch):
    monkeypatch.setenv('TORCH_HOME', str(tmp_path))
    (tmp_path / 'hub' / 'checkpoints').mkdir(parents=True)
    ours.save({'w': ours.ones(2)}, tmp_path / 'hub' / 'checkpoints' / 'net-0a1b.pth')
    assert ours.hub.load_state_dict_from_url('https://example.org/a/net-0a1b.pth')['w'].tolist() == [1, 1]
    ours.hub.download_url_to_file(f'file://{tmp_path}/hub/checkpoints/net-0a1b.pth', tmp_path / 'copy.pth')
    assert ours.utils.model_zoo.load_url(f'file://{tmp_path}/copy.pth')['w'].tolist() == [1, 1]
    for load in (ours.hub.load_state_dict_from_url, ours.utils.model_zoo.load_url):
        with pytest.raises(RuntimeError, match='nothing is downloaded'):
            load('https://example.org/other.pth')


def test_switches_of_compilers_and_backends():
    """They take what scripts set, and give it back."""
    ours._dynamo.config.suppress_errors = True
    ours._inductor.config.triton.cudagraphs = True
    ours._dynamo.reset()
    assert ours._dynamo.config.suppress_errors and ours._inductor.config.triton.cudagraphs and not ours._dynamo.config.verbose
    assert ours._dynamo.optimize('eager')(len) is len and ours._C._jit_set_profiling_mode(False) is None
    with pytest.raises(AttributeError, match='no attribute'):
        ours._C.no_such_name
    cuda = ours.backends.cuda
    cuda.enable_flash_sdp(False)
    with cuda.sdp_kernel(enable_flash=True, enable_math=False):
        assert cuda.flash_sdp_enabled() and not cuda.math_sdp_enabled()
    assert not cuda.flash_sdp_enabled() and cuda.math_sdp_enabled()
    cuda.enable_flash_sdp(True)
    with ours.cuda.nvtx.range('step {}', 1):
        assert ours.cuda.nvtx.range_push('a') == 0 and ours.cuda.nvtx.range_pop() == 0 and ours.cuda.nvtx.range_pop() == -2


def test_gradients_as_one_vector(torch):
    def run(t):
        tensors = [t.arange(4.0).reshape(2, 2), t.ones(3)]
        flat = t._utils._flatten_dense_tensors(tensors)
        return flat, t._utils._unflatten_dense_tensors(flat * 2, tensors), [len(each) for each in t._utils._take_tensors(tensors, 16)]
    same(torch, run)


def test_benchmark_timer(torch, capsys):
    """Runs the statement so many times after the set-up, on so many threads, and describes itself as PyTorch's Timer does."""
    def run(t):
        bench = importlib.import_module(f'{t.__name__}.utils.benchmark')
        threads = []
        found = bench.Timer('f(x)', 'x = torch.ones(2)', globals={'f': lambda x: threads.append(t.get_num_threads())}, num_threads=1).timeit(20)
        spec = bench.TaskSpec('x + y', 'pass', label='Sum', sub_label='two', description='float')
        made = bench.Measurement(10, [1e-3, 1.1e-3, 1.05e-3, 1.2e-3, 0.9e-3], spec)
        merged = bench.Measurement.merge([made, made])
        odd = bench.Measurement(1, [1e-6, 5e-6, 2e-6, 9e-6], bench.TaskSpec('s', 'a\nb'))
        return (found.number_per_run, len(found.times), set(threads), found.task_spec.setup, found.label, made.median, made.mean, made.iqr,
                made.significant_figures, made.times, made.title, made.as_row_name, made.env, made.description, made.meets_confidence(), made.has_warnings,
                len(merged[0].times), [repr(each).partition('\n')[2].partition('WARNING')[0] for each in (made, odd, merged[0])], odd.has_warnings,
                bench.select_unit(3e-5), bench.select_unit(2.0), bench.trim_sigfig(1234.5, 2), bench.trim_sigfig(12.345, 1))
    same(torch, run)
    bench = ours.utils.benchmark
    calls = []
    found = bench.Timer('f()', globals={'f': lambda: time.sleep(0.002)}, label='L').blocked_autorange(lambda n, s: calls.append(s), min_run_time=0.02)
    assert found.median > 0.0019 and sum(calls) >= 0.02 and calls == found.raw_times
    assert bench.Timer('f()', globals={'f': lambda: time.sleep(0.002)}).adaptive_autorange(0.9, min_run_time=0.01).times[0] > 0.0019
    for wrong in ({'language': 'c++'}, {'global_setup': '#include <x>'}):
        with pytest.raises(ValueError, match=r'\[Timer\]'):
            bench.Timer('x', **wrong)
    table = bench.Compare([bench.Measurement(1, [n * 1e-6], bench.TaskSpec(f's{n}', '', '', 'All', f'row {n % 2}', f'column {n // 2}', num_threads=n // 4 + 1))
                           for n in range(1, 7)])
    table.trim_significant_figures()
    table.print()
    lines = capsys.readouterr().out.splitlines()
    assert 'All' in lines[0] and lines[1].split('|')[1:] and [cell.strip() for cell in lines[1].split('|')[1:]] == ['column 0', 'column 1', 'column 2', 'column 3']
    assert lines[2].startswith('1 threads: ') and lines[-1] == '' and 'microseconds (us)' in lines[-2]
    assert [cell.strip() for cell in next(line for line in lines if 'row 0' in line).split('|')] == ['row 0', '', '2.0', '', '']
    assert lines[5].startswith('2 threads: ')


def test_versions_are_compared_by_number(torch):
    """Scripts choose between what old and new versions of PyTorch have."""
    def run(t):
        v = t.__version__
        return (v >= '2.0', v > '1.13.1', v < '3', v >= '2.2', v >= (1, 9), v < (2, 0), v <= '10.0.0', int(v.split('.')[0]), tuple(int(n) for n in v.split('.')[:2]),
                v.startswith('2.'), isinstance(v, str), v == v, v >= '2.0.0+cu118', [1, 2] < [3], v != '1.4')
    same(torch, run)
    assert ours.__version__.endswith(tenon.__version__) and ours.torch_version.TorchVersion('1.10') > '1.9'
    with pytest.raises(TypeError):
        _ = ours.__version__ < 3
