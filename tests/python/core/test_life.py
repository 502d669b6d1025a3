"""Lifetimes: reference cycles through callbacks, threads, fork, the end of the process."""
import gc
import os
import subprocess
import sys
import threading
import tracemalloc
import weakref

import pytest

import tenon
from tenon.autograd import Function


def used():
    gc.collect()
    return tenon.device('cpu').memory()['used']


def resident():
    """The resident memory of the process in bytes."""
    with open('/proc/self/statm') as file:
        return int(file.read().split()[1]) * os.sysconf('SC_PAGE_SIZE')


class KeepsOutput(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.output = x * 2
        return ctx.output

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


def circle_through_hook(w):
    y = w * 2
    y.register_hook(lambda gradient: (y, None)[1])
    return y


def circle_of_leaf(w):
    x = tenon.zeros(1000, requires_grad=True)
    x.register_hook(lambda gradient: (x, None)[1])
    return x


def circle_through_function(w):
    return KeepsOutput.apply(w)


def circle_through_object(w):
    x = type('Own', (tenon.Tensor,), {})(w * 1)
    x.itself = x
    return x


def no_circle(w):
    return (w * 2 + 1).exp()


def error(w):
    with pytest.raises(ValueError):
        w + tenon.zeros(3)
    return w * 1


@pytest.mark.parametrize('backward', [False, True])
@pytest.mark.parametrize('make', [circle_through_hook, circle_of_leaf, circle_through_function, circle_through_object,
                                  no_circle, error])
def test_memory_does_not_grow(make, backward):
    w = tenon.zeros(1000, requires_grad=True)

    def once():
        y = make(w)
        if backward:
            y.sum().backward()
        w.grad = None
    once()
    before = used()
    for _ in range(50):
        once()
    assert used() == before


def test_a_hook_outlives_the_object_it_was_registered_on():
    seen = []
    x = tenon.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda gradient: seen.append(gradient.tolist()))
    total = y.sum()
    del y
    gc.collect()
    total.backward()
    assert seen == [[1, 1]]


def test_a_reference_cycle_that_a_graph_needs_still_works():
    seen = []
    x = tenon.ones(2, requires_grad=True)

    def build():
        y = x * 2
        y.register_hook(lambda gradient: seen.append(y.tolist()))
        return y.sum()
    total = build()
    gc.collect()
    total.backward()
    assert seen == [[2, 2]] and x.grad.tolist() == [2, 2]
    before = used()
    del total
    assert used() <= before


def test_a_removed_hook_releases_its_tensor():
    class Callable:
        def __call__(self, gradient):
            pass
    hook = Callable()
    ref = weakref.ref(hook)
    x = tenon.ones(1, requires_grad=True)
    handle = x.register_hook(hook)
    del hook
    assert ref() is not None
    handle.remove()
    del x, handle
    gc.collect()
    assert ref() is None


def test_threads_train_at_once():
    results, errors = {}, []

    def train(seed):
        try:
            generator = tenon.Generator(seed)
            w = tenon.randn(64, 64, generator=generator).requires_grad_()
            x = tenon.randn(128, 64, generator=generator)
            for _ in range(20):
                loss = ((x @ w).tanh() ** 2).mean()
                w.grad = None
                loss.backward()
                with tenon.no_grad():
                    w -= w.grad
            results[seed] = loss.item()
        except Exception as error:  # it is shown below
            errors.append(error)
    for _ in range(3):
        threads = [threading.Thread(target=train, args=(seed % 4,)) for seed in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not errors
    again = dict(results)
    for seed in range(4):
        train(seed)
    assert results == pytest.approx(again, rel=1e-4)


def test_threads_share_a_tensor_and_a_list():
    shared = [tenon.ones(64, 64) for _ in range(8)]
    stop = threading.Event()
    errors = []

    def read():
        while not stop.is_set():
            try:
                tenon.concat(shared).sum().item()
            except (ValueError, IndexError) as error:
                if 'concat' not in str(error):
                    errors.append(error)

    def write():
        for _ in range(300):
            shared.append(tenon.ones(64, 64))
            shared.pop(0)
        stop.set()
    threads = [threading.Thread(target=read), threading.Thread(target=read), threading.Thread(target=write)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_a_hook_may_use_the_interpreter_from_the_backward_of_another_thread():
    x = tenon.ones(2, requires_grad=True)
    seen = []
    x.register_hook(lambda gradient: seen.append(threading.current_thread().name))
    thread = threading.Thread(target=lambda: (x * 2).sum().backward(), name='other')
    thread.start()
    thread.join()
    assert seen == ['other']


@pytest.mark.skipif(not hasattr(os, 'fork'), reason='this system has no fork')
def test_a_forked_child_computes():
    program = '''
import os, sys, tenon
x = tenon.ones(256, 256)
(x @ x).sum().item()
child = os.fork()
if child == 0:
    w = tenon.ones(4, requires_grad=True)
    (w * 2).sum().backward()
    os._exit(0 if w.grad.tolist() == [2, 2, 2, 2] and (tenon.ones(3) + 1).tolist() == [2, 2, 2] else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
'''
    assert subprocess.run([sys.executable, '-c', program], timeout=60).returncode == 0


@pytest.mark.parametrize('program', [
    'import tenon; x = tenon.ones(3, requires_grad=True); x.register_hook(print); y = x * 2',
    'import tenon, threading; t = threading.Thread(target=lambda: tenon.ones(9).sum()); t.start()',
    'import tenon, numpy; x = tenon.asarray(numpy.ones(3)); import builtins; builtins.kept = x',
    'import tenon; tenon.kept = tenon.ones(3); raise SystemExit(0)'])
def test_the_end_of_the_process_is_quiet(program):
    done = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stderr == ''


def test_what_tenon_plugin_path_names_in_vain_is_told(tmp_path):
    (tmp_path / 'tenon_acme.so').write_bytes(b'no library')
    (tmp_path / 'tenon_acme.tenon.json').write_text(
        '{"id": "acme", "version": "1", "abi": {"major": 1, "minor": 0}, "library": "tenon_acme.so"}')
    program = 'import tenon; tenon.ones(3); tenon.ones(3, device="acme")'
    env = {**os.environ, 'TENON_PLUGIN_PATH': f'{tmp_path}:{tmp_path / "missing"}'}
    done = subprocess.run([sys.executable, '-c', program], env=env, capture_output=True, text=True, timeout=60)
    warnings = [line for line in done.stderr.splitlines() if line.startswith('tenon: warning: TENON_PLUGIN_PATH: ')]
    assert len(warnings) == 2, done.stderr
    assert f'{tmp_path / "tenon_acme.tenon.json"}: not an ELF file' in warnings[0]
    assert warnings[1].endswith(f'{tmp_path / "missing"}: there is no such directory')
    assert 'NotFoundError' in done.stderr and 'acme.tenon.json was refused: ' in done.stderr


def test_import_is_light():
    program = 'import sys, tenon; print([m for m in ("numpy", "torch", "inspect", "tenon.nn", "tenon._op_docs") if m in sys.modules])'
    done = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == '[]'


def test_hooks_added_and_removed_keep_nothing():
    x = tenon.ones(2, requires_grad=True)
    y = x * 2
    alive = weakref.WeakSet()

    class Hook:
        def __call__(self, gradient):
            return None

    def come_and_go(count):
        for target in (x, y):
            for _ in range(count):
                hook = Hook()
                alive.add(hook)
                target.register_hook(hook).remove()
    come_and_go(10)
    assert not alive
    tracemalloc.start()
    come_and_go(100)
    before = resident()
    come_and_go(50_000)
    assert tracemalloc.get_traced_memory()[0] < 100_000
    tracemalloc.stop()
    if 'asan' not in os.environ.get('LD_PRELOAD', ''):  # which keeps what is freed
        assert resident() - before < 3 << 20


def test_a_hook_is_removed_among_others():
    x, calls = tenon.ones(2, requires_grad=True), []
    handles = [x.register_hook(lambda gradient, n=n: calls.append(n)) for n in range(5)]
    for n in (1, 3, 4):
        handles[n].remove()
        handles[n].remove()
    x.sum().backward()
    assert calls == [0, 2]
