"""Lines that PyTorch's users type out of habit and that no list of functions names."""
import pathlib
import sys
import warnings
from collections import deque

import numpy as np
import pytest

import tenon.torch as ours

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from beside import same


def decorated(t):
    x = t.ones(2, requires_grad=True)

    @t.no_grad
    def bare(y):
        """Its text."""
        return y * 2

    @t.enable_grad
    def recorded(y):
        return y * 2

    @t.inference_mode
    def inferred(y):
        return y * 2

    @t.no_grad
    def stepwise():
        for _ in range(2):
            yield t.is_grad_enabled()
    with t.no_grad():
        found = recorded(x).requires_grad
    return bare(x).requires_grad, bare.__doc__, found, inferred(x).requires_grad, list(stepwise()), t.is_grad_enabled()


def inferred(t):
    x = t.ones(3)
    with t.inference_mode():
        made, found = t.ones(3, dtype=t.int64), [x.is_inference(), t.is_inference(x + 1), (x * 2).clone().is_inference()]
    with t.no_grad():
        found += [t.is_inference(x * 2), (x > 0).is_inference()]
    return found, made.is_inference(), made.detach().is_inference(), made.clone().is_inference(), t.ones(1, requires_grad=True).is_inference(), (made + 1).is_inference()


def real_and_complex(t):
    found = [str(getattr(kind, name)()) for kind in (t.float32, t.float64, t.complex64, t.complex128) for name in ('to_real', 'to_complex')]
    found += [str(kind.to_real()) for kind in (t.int32, t.bool, t.bfloat16)]
    for kind in (t.int32, t.uint8):
        try:
            kind.to_complex()
        except RuntimeError:
            found.append('refused')
    return found


def steps_by_operands(t):
    x = t.ones(2, 2, requires_grad=True)
    return [each.grad_fn.name() for each in (x ** 2, x ** x, x.pow(x), x.clone().pow_(2))]


def shuffled(t):
    x, order = t.arange(12.0).reshape(4, 3), np.random.default_rng(0).permutation(4)
    found = [x[order], x[order[:2], order[2:] % 3], x[:, np.array([0, 2], dtype=np.int32)], x[np.array([True, False, False, True])], x[np.array(1)].clone()]
    x[order[:2]] = 0
    x[np.array([[True, False, True]] * 4)] += 5
    return found, x


def of_sequences(t):
    return [t.tensor(each) for each in (range(3), deque([1.0, 2.0]), [np.array([1.0, 2.0]), np.array([3, 4.0])], [[np.ones(2, 'f')], [np.zeros(2, 'f')]],
                                        [np.array([True])], (np.array(2.0), 1), [np.float64(1.5)], [np.arange(2, dtype=np.int32), np.arange(2)])]


def of_scalars(t):
    lists = ([[np.float64(1.0)]], [1.0, np.float64(2)], (np.float64(1), 2), [np.float32(1)], [1, np.float32(2)], [np.int32(1)], np.int16(3), [np.bool_(True)],
             [np.float16(1), 2.0], [np.float64(1), np.float32(1)], [np.float32(1), 1j], [np.float64(2), t.tensor(1.0)])
    return [t.tensor(each) for each in lists], t.as_tensor([np.float64(1)]), t.tensor([np.float64(1)], dtype=t.float32)


def seeded(t):
    return (t.manual_seed(3).initial_seed(), t.initial_seed(), t.Generator().manual_seed(5).initial_seed(), tuple(t.randint(high=3, size=(2,)).shape),
            t.manual_seed(-1).initial_seed(), t.randint(1, (2,)))


@pytest.mark.parametrize('run', [decorated, inferred, real_and_complex, steps_by_operands, shuffled, of_sequences, of_scalars, seeded])
def test_habits(torch, run):
    same(torch, run)


@pytest.mark.parametrize('key', [np.array(['a']), np.array([None]), b'ab', np.zeros((2, 2), dtype=[('a', 'f4')]), np.array([0.5])], ids=repr)
def test_keys_that_are_no_index_are_refused(key):
    x = ours.arange(4)
    with pytest.raises((TypeError, ValueError), match='index'):
        x[key]
    with pytest.raises((TypeError, ValueError), match='index'):
        x[key] = 1


@pytest.mark.parametrize('key', [np.array([4]), np.array([-5]), np.array([True])], ids=repr)
def test_an_index_out_of_range_is_refused(key):
    with pytest.raises((IndexError, ValueError)):
        ours.arange(4)[key]


@pytest.mark.parametrize('loss', ['mse_loss', 'l1_loss', 'smooth_l1_loss', 'huber_loss'])
def test_losses_of_two_shapes_warn(torch, loss):
    for package in torch, ours:
        with pytest.warns(UserWarning, match='broadcast'):
            getattr(package.nn.functional, loss)(package.ones(3, 1), package.zeros(3))
        with warnings.catch_warnings():
            warnings.simplefilter('error')
            getattr(package.nn.functional, loss)(package.ones(3, 1), package.zeros(3, 1))


def test_arrays_of_different_shapes_make_no_tensor():
    with pytest.raises(ValueError, match='shape'):
        ours.tensor([np.zeros(2), np.zeros(3)])


@pytest.mark.parametrize('run', [
    lambda: ours.special.hermite_polynomial_he(ours.ones(1), 2**62), lambda: ours.special.chebyshev_polynomial_w(ours.ones(1), 10**9)])
def test_an_endless_degree_is_refused(run):
    with pytest.raises(ValueError, match='degree'):
        run()


@pytest.mark.parametrize('run', [
    lambda: ours.can_cast(1, ours.int32), lambda: ours.randn(3, dtype='sum'), lambda: ours.ones(2).mul_(np.ones(2)), lambda: ours.manual_seed(0.5)])
def test_arguments_that_are_no_dtype_or_number_are_named(run):
    with pytest.raises(TypeError, match='dtype|Tensor|integer'):
        run()


def test_rows_of_a_dataset_of_tensors(torch):
    def run(t):
        rows = t.utils.data.TensorDataset(t.arange(5), t.arange(10.0).reshape(5, 2))
        return rows[1:3], rows[-1], rows[[0, 2]], rows[t.tensor([4, 1])], rows[t.arange(5) > 3]
    same(torch, run)
    with pytest.raises(IndexError, match='example 5 of 5'):
        ours.utils.data.TensorDataset(ours.arange(5))[5]


@pytest.mark.parametrize('kind', ['RNNCell', 'LSTMCell', 'GRUCell'])
def test_a_cell_without_state(torch, kind):
    same(torch, lambda t: {key: tuple(x.shape) for key, x in getattr(t.nn, kind)(3, 0).state_dict().items()})


@pytest.mark.parametrize('mode', ['nearest', 'linear'])
def test_a_size_beyond_memory_is_refused(mode):
    for size in 2**40, 2**62, 2**63 - 1:
        with pytest.raises((MemoryError, ValueError)):
            ours.nn.functional.interpolate(ours.ones(2, 3, 4), size=size, mode=mode)


def test_choices_beyond_memory_are_refused_at_once():
    for replaced in False, True:
        with pytest.raises((MemoryError, ValueError)):
            ours.combinations(ours.ones(100_000), 4, with_replacement=replaced)


def drawn_again(t):
    t.manual_seed(2**63 + 5)
    t.rand(3)
    state = t.get_rng_state()
    first = t.rand(4)
    t.set_rng_state(state.cpu().byte())
    with t.random.fork_rng():
        t.rand(2)
    return t.equal(first, t.rand(4)), state.dtype == t.uint8, state.ndim, state.device.type


def test_the_state_of_random_numbers_is_a_tensor_of_bytes(torch):
    same(torch, drawn_again)
    for bad in (ours.zeros(16), ours.zeros(5056, dtype=ours.uint8)):
        with pytest.raises((RuntimeError, TypeError), match='uint8|16 bytes that'):
            ours.set_rng_state(bad)
    with pytest.raises(TypeError, match=r'\[set_state\] needs a Tensor'):
        ours.set_rng_state(3)


def test_a_schedule_before_the_first_step_warns(torch):
    def run(t):
        def warned(*, first):
            optimizer = t.optim.SGD([t.nn.Parameter(t.ones(1))], lr=0.1)
            schedules = t.optim.lr_scheduler
            schedule = schedules.SequentialLR(optimizer, [schedules.ConstantLR(optimizer, 0.5, 2), schedules.StepLR(optimizer, 1)], [2])
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter('always')
                for _ in range(3):
                    if first:
                        optimizer.step()
                    schedule.step()
            return sum('lr_scheduler.step()' in str(each.message) for each in caught)
        return warned(first=True), warned(first=False)
    same(torch, run)


def test_recurrent_layers_under_autocast(torch):
    def run(t):
        layer, cell, x = t.nn.LSTM(3, 4), t.nn.GRUCell(3, 4), t.ones(2, 1, 3)
        with t.autocast('cpu', dtype=t.bfloat16):
            found = layer(x)[0].dtype, layer(x.bfloat16())[0].dtype, cell(x[0].bfloat16()).dtype
        return [str(each) for each in found]
    same(torch, run)


def test_the_dtype_of_scopes_without_autocast(torch):
    def run(t):
        with t.autocast('cuda', dtype=t.bfloat16, enabled=False):
            with t.autocast('cpu', dtype=t.float16, enabled=False):
                inner = str(t.get_autocast_dtype('cuda')), str(t.get_autocast_dtype('cpu'))
        return inner, str(t.get_autocast_dtype('cuda')), str(t.get_autocast_dtype('cpu'))
    same(torch, run)
