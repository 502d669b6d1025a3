"""Storages, and memory that processes share, against PyTorch."""
import gc
import multiprocessing
import os
import pathlib
import sys

import pytest

import tenon.torch as ours

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from beside import same
from children import count

LINES = '''x.storage()[3]; len(x.storage()); x.storage().tolist(); x.storage().size(); str(x.storage().dtype); x.storage().data_ptr() == x.data_ptr()
type(x.storage()).__name__; x.untyped_storage().nbytes(); x.untyped_storage().size(); len(x.untyped_storage()); type(x.untyped_storage()).__name__
x.untyped_storage().data_ptr() == x[1].untyped_storage().data_ptr(); str(x.untyped_storage().device); x.untyped_storage().tolist()
x.untyped_storage()[7]; x.untyped_storage().is_shared(); x.untyped_storage().element_size(); x.storage().nbytes(); x[1].storage().size()
x[1].untyped_storage().nbytes(); t.is_storage(x.storage()); t.is_storage(x); isinstance(x.untyped_storage(), t.UntypedStorage); list(x.storage())
t.UntypedStorage(4).nbytes(); x.storage().clone().fill_(2).tolist(); x.untyped_storage().resize_(32).size(); x.storage().untyped().size()
x.is_shared(); x.share_memory_() is x; x.clone().share_memory_().is_shared(); x.t().contiguous().share_memory_(); repr(x.storage())
all(p.is_shared() for p in t.nn.Linear(2, 2).share_memory().parameters()); t.nn.BatchNorm1d(2).share_memory().running_mean.is_shared()'''


@pytest.mark.parametrize('text', LINES.replace('\n', '; ').split('; '))
def test_lines(torch, text):
    same(torch, lambda t: eval(text, {'t': t, 'x': t.arange(8.0).reshape(2, 4)}))


REACHES = '''x.view(3, 4)[:, 1:3].as_strided((2, 2), (4, 1), 5); x[::2].as_strided((3,), (2,), 1); x[4:].as_strided((2, 3), (3, 1), 0); x[6:].as_strided((2,), (1,), 3)
x.view(3, 4).t().as_strided((3,), (4,), 1); x[4:8].as_strided((3,), (1,)); t.as_strided(x[::3], (2, 2), (1, 2), 0); x[5:].as_strided((), (), 2)
t.empty(0).set_(x.storage()); t.empty(0).set_(x.untyped_storage(), 2, (2, 2)); t.empty(0).set_(x.untyped_storage(), 1, (3,), (2,))
t.empty(0, dtype=t.int32).set_(x.untyped_storage())[:3]; t.tensor([]).set_(t.UntypedStorage(16)).shape; t.zeros(2).set_(x[1:].storage())[0]
x[::2].as_strided((3,), (-1,), 4); x[::2].as_strided((3, 2), (1,), 0); x[4:].as_strided((2,), (1,), -1); t.zeros(3).as_strided((9,), (1,), 0)'''


@pytest.mark.parametrize('text', REACHES.replace('\n', '; ').split('; '))
def test_memory_that_a_view_does_not_show(torch, text):
    same(torch, lambda t: eval(text, {'t': t, 'x': t.arange(12.0)}))


def test_writes_beyond_a_view(torch):
    def run(t):
        x = t.arange(6.0)
        x[3:].as_strided((2,), (1,), 0).fill_(9)
        t.empty(0).set_(x.untyped_storage(), 5, (1,)).fill_(7)
        return x
    same(torch, run)


def test_gradients_of_memory_that_a_view_does_not_show(torch):
    def run(t):
        x = t.arange(12.0, requires_grad=True)
        y = [x[4:].as_strided((3, 2), (2, 1), 2), (x * 2)[::3].as_strided((2, 3), (3, 1), 1)]
        sum((each * t.arange(1.0, 7.0).reshape(each.shape)).sum() for each in y).backward()
        return y, x.grad
    same(torch, run)


def test_addbmm_gives_its_tensor_another_shape(torch):
    def run(t):
        x, a, b = t.ones(1, requires_grad=True), t.ones(2, 3, 4, requires_grad=True), t.ones(2, 4, 5)
        y = x * 3
        y.addbmm_(a, b, alpha=2)
        (y * y).sum().backward()
        return y, x.grad, a.grad, t.ones(1).addbmm_(a.detach(), b), t.ones(3, 5).addbmm_(a.detach(), b, beta=0)
    same(torch, run)


def test_writes_through_a_storage(torch):
    def run(t):
        x = t.zeros(2, 2)
        x.storage()[1] = 5
        x[1].untyped_storage().copy_(t.tensor([1.0, 2.0, 3.0, 4.0]).untyped_storage())
        return x
    same(torch, run)


def test_storages_do_not_grow():
    with pytest.raises(RuntimeError, match=r'\[resize_\] a storage of size 16 .* Tensor.resize_'):
        ours.zeros(4).untyped_storage().resize_(0)


def test_shared_parameters_keep_training(torch):
    def run(t):
        x = t.ones(2, 2, requires_grad=True)
        optimizer = t.optim.SGD([x], 0.5)
        x.share_memory_()
        (x * 3).sum().backward()
        optimizer.step()
        return x, x.grad, x.is_leaf, x.requires_grad
    same(torch, run)


@pytest.mark.parametrize('method', ['fork', 'spawn'])
def test_processes_write_into_shared_memory(method):
    x, module = ours.zeros(3).share_memory_(), ours.nn.Linear(1, 1).share_memory()
    with ours.no_grad():
        module.weight.fill_(1)
    copied = ours.zeros(3)
    context = multiprocessing.get_context(method)
    for each in x, x, copied:
        process = context.Process(target=count, args=(each, module))
        process.start()
        process.join(60)
        assert process.exitcode == 0
    assert x.tolist() == [2, 2, 2] and copied.tolist() == [0, 0, 0] and module.weight.item() == 8


def test_queues_share_what_is_shared():
    queue = multiprocessing.get_context('fork').Queue()
    x = ours.arange(4.0).share_memory_()
    queue.put((x, ours.nn.Parameter(ours.ones(2)).share_memory_()))
    again, weight = queue.get(timeout=60)
    again[0] = 9
    assert x[0].item() == 9 and type(weight) is ours.nn.Parameter and weight.is_shared()


def test_shared_memory_is_returned():
    gc.collect()
    before = len(os.listdir('/proc/self/fd'))
    for _ in range(5):
        ours.zeros(1000).share_memory_().add_(1)
    gc.collect()
    assert len(os.listdir('/proc/self/fd')) == before


def test_windows_of_a_view_with_gaps_share_its_memory():
    x = ours.arange(120).reshape(4, 5, 6)
    view = x.select(2, 1)[:, 1:4]
    windows = view.unfold(1, 2, 1)
    assert windows.stride() == (30, 6, 6) and windows.data_ptr() == view.data_ptr()
    x.fill_(7)
    assert (windows == 7).all()
