"""torch.autograd.graph: what ops save for their gradients goes through hooks."""
import gc
import threading
import weakref

import pytest
import tenon.torch as ours
from tenon.torch.autograd.graph import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks


def test_hooks_see_the_same_as_in_pytorch(torch):
    def counts(library):
        packed, unpacked = [], []

        def pack(x):
            packed.append(tuple(x.shape))
            return len(packed), x.detach().clone()

        def unpack(pair):
            unpacked.append(pair[0])
            return pair[1]
        x = library.arange(6.0).reshape(2, 3).requires_grad_()
        w = library.full((3, 4), 0.1).requires_grad_()
        with library.autograd.graph.saved_tensors_hooks(pack, unpack):
            y = ((x @ w).exp() * 2).sum()
        y.backward()
        return sorted(packed), sorted(unpacked), x.grad.sum().item(), w.grad.sum().item()
    mine, theirs = counts(ours), counts(torch)
    assert mine[0] == theirs[0] == [(2, 3), (2, 4), (3, 4)]
    assert mine[1] == theirs[1] and mine[2:] == pytest.approx(theirs[2:])


def test_anything_may_be_packed_and_is_freed_with_the_graph():
    class Box:
        def __init__(self, x):
            self.x = x
    boxes = []

    def pack(x):
        box = Box(x.numpy().copy())
        boxes.append(weakref.ref(box))
        return box
    x = ours.tensor([1.0, 2.0], requires_grad=True)
    with saved_tensors_hooks(pack, lambda box: ours.from_numpy(box.x)):
        y = (x * x).sum()
    assert all(box() is not None for box in boxes) and len(boxes) == 2
    y.backward()
    assert x.grad.tolist() == [2.0, 4.0]
    del y
    gc.collect()
    assert all(box() is None for box in boxes)


def test_the_innermost_hooks_win():
    seen = []
    x = ours.tensor([1.0], requires_grad=True)
    with saved_tensors_hooks(lambda x: seen.append('outer') or x, lambda x: x):
        with saved_tensors_hooks(lambda x: seen.append('inner') or x, lambda x: x):
            x * x
        x * x
    x * x
    assert seen == ['inner', 'inner', 'outer', 'outer']


def test_second_gradients_reach_through_packed_tensors():
    x = ours.tensor([2.0, 3.0], requires_grad=True)
    with saved_tensors_hooks(lambda x: x.tolist(), ours.tensor):
        y = (x ** 3).sum()
    first, = ours.autograd.grad(y, x, create_graph=True)
    assert ours.autograd.grad(first.sum(), x)[0].tolist() == [12.0, 18.0]


def test_a_function_saves_through_hooks():
    class Cube(ours.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x ** 3

        @staticmethod
        def backward(ctx, g):
            x, = ctx.saved_tensors
            return 3 * x * x * g
    packed = []
    x = ours.tensor([2.0], requires_grad=True)
    with saved_tensors_hooks(lambda x: packed.append(x) or len(packed) - 1, lambda i: packed[i] * 10):
        y = Cube.apply(x)
    assert len(packed) == 1 and not packed[0].requires_grad
    y.backward(retain_graph=True)
    assert x.grad.tolist() == [1200.0]
    with pytest.raises(RuntimeError, match='Cube.*saved_tensors_hooks packed'):
        ours.autograd.grad(y, x, create_graph=True)


def test_save_on_cpu():
    x = ours.tensor([1.0, 2.0], requires_grad=True)
    w = ours.tensor([3.0, 4.0])
    with save_on_cpu(pin_memory=True):
        y = (x * w).sum()
    w += 1  # what was saved is a copy
    y.backward()
    assert x.grad.tolist() == [3.0, 4.0]


def test_disabled_hooks_raise():
    with disable_saved_tensors_hooks('not here'):
        with pytest.raises(RuntimeError, match='not here'):
            with save_on_cpu():
                pass
    with saved_tensors_hooks(lambda x: x, lambda x: x):
        with pytest.raises(RuntimeError, match='too late'):
            with disable_saved_tensors_hooks('too late'):
                pass


@pytest.mark.parametrize('unpack, error', [(lambda x: 3, 'must return a Tensor, not int'), (lambda x: x[:1], 'not the tensor of shape'),
                                           (lambda x: 1 / 0, 'division')])
def test_bad_hooks(unpack, error):
    x = ours.tensor([1.0, 2.0], requires_grad=True)
    with saved_tensors_hooks(lambda x: x, unpack):
        y = (x * x).sum()
    with pytest.raises((TypeError, ValueError, RuntimeError, ZeroDivisionError), match=error):
        y.backward()
    with saved_tensors_hooks(lambda x: 1 / 0, unpack):
        with pytest.raises(ZeroDivisionError):
            x * x


def test_hooks_belong_to_their_thread():
    seen = []
    x = ours.tensor([1.0], requires_grad=True)

    def other():
        x * x
    with saved_tensors_hooks(lambda x: seen.append(x) or x, lambda x: x):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert seen == []
