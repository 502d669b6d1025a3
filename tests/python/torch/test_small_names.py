"""Single names that scripts ask for: cells, fake quantization, futures, storages by dtype, gradients of convolutions, models of a folder."""
import pathlib
import sys
import threading

import pytest

import tenon.torch as ours

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from beside import same


def waves(t, *shape, grad=False):
    count = 1
    for n in shape:
        count *= n
    return t.arange(count, dtype=t.float32).mul(0.7).sin().reshape(shape).requires_grad_(grad)


@pytest.mark.parametrize('name, gates', [('rnn_tanh_cell', 1), ('rnn_relu_cell', 1), ('gru_cell', 3), ('lstm_cell', 4)])
@pytest.mark.parametrize('biases', [True, False])
def test_cells(torch, name, gates, biases):
    def run(t):
        x, h, c = waves(t, 3, 5, grad=True), waves(t, 3, 4, grad=True), waves(t, 3, 4, grad=True)
        weights = [waves(t, 4 * gates, 5, grad=True), waves(t, 4 * gates, 4, grad=True)]
        given = [waves(t, 4 * gates), waves(t, 4 * gates) * 2] if biases else []
        found = getattr(t, name)(x, (h, c) if name == 'lstm_cell' else h, *weights, *given)
        outs = found if isinstance(found, tuple) else (found,)
        sum((out * out).sum() for out in outs).backward()
        return outs, x.grad, h.grad, [w.grad for w in weights]
    same(torch, run)


def test_fake_quantization(torch):
    def run(t):
        x = t.tensor([[-3.0, -1.2, 0.1], [0.5, 2.6, 9.0]], requires_grad=True)
        found = [t.fake_quantize_per_tensor_affine(x, 0.1, 3, -8, 7), t.fake_quantize_per_tensor_affine(x, t.tensor(0.5), t.tensor(1, dtype=t.int32), 0, 7),
                 t.fake_quantize_per_channel_affine(x, t.tensor([0.5, 0.25]), t.tensor([0, 2], dtype=t.int32), 0, -8, 7),
                 t.fake_quantize_per_channel_affine(x, t.tensor([0.5, 0.25, 1.0]), t.zeros(3, dtype=t.int32), 1, -128, 127)]
        sum((each * each).sum() for each in found).backward()
        return found, x.grad
    same(torch, run)
    x = ours.ones(2, 3)
    for call, what in ((lambda: ours.fake_quantize_per_tensor_affine(x, 1.0, 0, 7, -8), 'above'), (lambda: ours.fake_quantize_per_tensor_affine(x.int(), 1.0, 0, 0, 7), 'dtype'),
                       (lambda: ours.fake_quantize_per_channel_affine(x, ours.ones(3), ours.zeros(3), 0, 0, 7), 'shape')):
        with pytest.raises((ValueError, TypeError), match=what):
            call()


def futures(t):
    first, second, told = t.futures.Future(), t.futures.Future(), []
    both = t.futures.collect_all([first, second])
    then = first.then(lambda f: f.value() + 1).then(lambda f: f.wait() * 10)
    first.add_done_callback(lambda f: told.append(f.value()))
    found = [first.done(), both.done(), then.done()]
    first.set_result(3)
    found += [first.done(), both.done(), then.wait(), told]
    threading.Timer(0.01, second.set_result, ['late']).start()
    found += [second.wait(), [each.value() for each in both.wait()], t.futures.wait_all([first, second])]
    failed = t.futures.Future()
    failed.set_exception(KeyError('lost'))
    for call in (failed.wait, failed.then(lambda f: f.wait()).wait, t.futures.Future().value, lambda: first.set_result(4), lambda: t.futures.Future().set_exception(3)):
        try:
            call()
        except Exception as error:
            found.append(isinstance(error, Exception))
    return found, t.jit.wait(t.jit.fork(lambda a, b=1: a + b, 2, b=3))


def test_futures(torch):
    same(torch, futures)


def storages(t):
    made = [t.FloatStorage([1, 2, 3]), t.LongStorage([4, 5]), t.BoolStorage([True, False]), t.DoubleStorage(2).fill_(0.5), t.HalfStorage([0.5])]
    x = t.ones(2).storage()
    return [(each.tolist(), str(each.dtype), len(each), each.nbytes()) for each in made], isinstance(x, t.FloatStorage), isinstance(x, t.LongStorage), isinstance(
        made[1], t.LongStorage), isinstance(3, t.SymInt), isinstance(True, t.SymBool), isinstance(1.0, t.SymFloat), t.GradScaler is t.amp.GradScaler


def test_storages_by_dtype_and_unknown_sizes(torch):
    same(torch, storages)


def anomalies(t):
    found = [t.is_anomaly_enabled()]
    t.set_anomaly_enabled(True)
    found += [t.is_anomaly_enabled(), t.is_anomaly_check_nan_enabled()]
    t.set_anomaly_enabled(False)
    with t.autograd.set_detect_anomaly(True):
        found.append(t.is_anomaly_enabled())
    return found, t.is_anomaly_enabled()


def test_anomaly_mode(torch):
    same(torch, anomalies)


@pytest.mark.parametrize('dims', [1, 2, 3])
def test_gradients_of_convolutions(torch, dims):
    import torch.nn.grad
    size = (6, 5, 4)[:dims]

    def run(t):
        x, w, options = waves(t, 2, 4, *size), waves(t, 6, 2, *(2,) * dims), {'stride': 2, 'padding': 1, 'groups': 2}
        out = getattr(t.nn.functional, f'conv{dims}d')(x, w, **options)
        g = waves(t, *out.shape)
        return getattr(t.nn.grad, f'conv{dims}d_input')(x.shape, w, g, **options), getattr(t.nn.grad, f'conv{dims}d_weight')(x, w.shape, g, **options)
    same(torch, run)


def test_models_of_a_folder(torch, tmp_path):
    (tmp_path / 'helper.py').write_text('FACTOR = 3\n')
    (tmp_path / 'hubconf.py').write_text('dependencies = ["json"]\nfrom helper import FACTOR\ndef small(width, scale=1):\n    return width * scale * FACTOR\nconstant = 3\n')
    same(torch, lambda t: t.hub.load(str(tmp_path), 'small', 2, source='local', scale=5))
    for folder, name, options, what in ((tmp_path, 'constant', {'source': 'local'}, 'cannot find callable'), (tmp_path / 'no', 'small', {'source': 'local'}, 'there is no'),
                                        ('owner/repository', 'small', {}, 'nothing is downloaded'), (tmp_path, 'small', {'source': 'disk'}, "'local' or 'github'")):
        with pytest.raises((RuntimeError, FileNotFoundError, ValueError), match=what):
            ours.hub.load(str(folder), name, **options)
    (tmp_path / 'hubconf.py').write_text('dependencies = ["no_such_package"]\n')
    with pytest.raises(RuntimeError, match='no_such_package'):
        ours.hub.load(str(tmp_path), 'small', source='local')


def kept_in_step(t):
    weight = t.tensor([0.0, 1.0, 2.0], requires_grad=True)
    modes = []

    def step(leaf):
        modes.append(t.is_grad_enabled())
        if not modes[-1]:
            leaf.add_(leaf.grad, alpha=-0.5)
            leaf.grad = None
    weight.register_post_accumulate_grad_hook(step)
    for create_graph in (False, True):
        (weight * t.tensor([1.0, 2.0, 3.0])).sum().backward(create_graph=create_graph)
    return weight, weight.grad, modes


@pytest.mark.filterwarnings('ignore:Using backward')
def test_hooks_after_accumulation_may_change_the_leaf(torch):
    same(torch, kept_in_step)


def ends_of_passes(t):
    told = []
    x = t.ones(2, requires_grad=True)

    def hook(gradient):
        t.autograd.Variable._execution_engine.queue_callback(lambda: told.append('end'))
        told.append('hook')
    y = x * 2
    y.register_hook(hook)
    x.register_hook(lambda gradient: told.append('leaf'))
    y.sum().backward()
    return told


def test_callbacks_at_the_end_of_a_pass(torch):
    same(torch, ends_of_passes)
    with pytest.raises(RuntimeError, match='no backward pass'):
        ours.autograd.graph.queue_callback(print)


def rearranged(t):
    from importlib import import_module
    rearrange = import_module(t.__name__ + '.func').rearrange
    x = t.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    found = [rearrange(x, pattern, **lengths) for pattern, lengths in (
        ('b h w c -> b h w c', {}), ('b h w c -> (b h) w c', {}), ('b h w c -> h (b w) c', {}), ('b h w c -> b c h w', {}), ('b h w c -> b (c h w)', {}),
        ('b h (w1 w) c -> (b w1) h w c', {'w1': 2}), ('b h (w w1) c -> b h w (c w1)', {'w1': 2}), ('b ... -> ... b', {}), ('... c -> c (...)', {}), ('b h w c -> b h 1 (w c)', {}))]
    return found, rearrange([x[0], x[1]], 'n a b c -> a n b c')


def test_rearrange(torch):
    same(torch, rearranged)
    x = ours.ones(2, 3)
    for pattern, lengths in (('a b', {}), ('a b c -> a', {}), ('a b -> a', {}), ('a a -> a', {}), ('(a c) b -> a b c', {'c': 3}), ('a (b c) -> a b c', {}), ('a b) -> b a', {})):
        with pytest.raises(ValueError, match='rearrange'):
            ours.func.rearrange(x, pattern, **lengths)


def spellings(t):
    try:
        t.set_default_tensor_type(t.DoubleTensor)
        found = [t.zeros(1).dtype]
        t.set_default_tensor_type('torch.FloatTensor')
        found.append(t.zeros(1).dtype)
    finally:
        t.set_default_dtype(t.float32)
    x = t.arange(4)
    shared = t.from_dlpack(t.to_dlpack(x))
    shared[0] = -9
    generator = t.Generator()
    again = generator.set_state(generator.get_state())
    storage = t.TypedStorage(5, dtype=t.float32)
    names = t.nn.Parameter, t.nn.Linear(1, 1), t.optim.SGD, t.utils.data.DataLoader
    return [str(each) for each in found], x, again is generator, t.is_storage(storage), len(storage), t.Event(device='cpu').query(), [
        t.typename(each).startswith('torch.') for each in names], t.native_channel_shuffle(t.ones(1, 4, 2, 2), 2)


@pytest.mark.filterwarnings('ignore')
def test_spellings(torch):
    same(torch, spellings)
    with pytest.raises(TypeError, match='no type of tensors'):
        ours.set_default_tensor_type(3)


def recomputed(t):
    from importlib import import_module
    checkpoint = import_module(t.__name__ + '.utils.checkpoint').checkpoint
    runs = []

    @checkpoint(use_reentrant=False)
    def part(x, scale=1.0):
        runs.append(1)
        return (x * scale).sin()
    x = t.ones(3, requires_grad=True)
    part(x, scale=2.0).sum().backward()
    return x.grad, len(runs)


def test_checkpoint_as_a_decorator(torch):
    same(torch, recomputed)


def backends(t):
    seen = [t.compiler.get_default_backend()]
    t.compiler.set_default_backend('eager')
    seen.append(t.compiler.get_default_backend())

    def double(x):
        return x * 2
    compiled = t.compile(double)
    seen.append(compiled(t.ones(2)))
    t.compiler.set_default_backend(None)
    return seen, t.compiler.get_default_backend()


def test_default_backends(torch):
    same(torch, backends)


def own_operands(t):
    class Pair(tuple):
        def __rmul__(self, factor):
            return Pair(factor * each for each in self)

        def __radd__(self, other):
            return Pair(other + each for each in self)
    return list(t.tensor([2.0]) * Pair([t.ones(1), t.zeros(1)])), list(t.tensor(1) + Pair([t.ones(1)]))


def test_subclasses_of_tuples_compute_themselves(torch):
    same(torch, own_operands)
    with pytest.raises(TypeError, match='asarray'):
        ours.ones(2) * (1, 2)


SIZES = {
    'zeros': lambda t: t.zeros(size=(2, 3)), 'ones': lambda t: t.ones(size=[2], dtype=t.float64), 'empty': lambda t: t.empty(size=(2, 3)) * 0, 'both': lambda t: t.zeros(2, size=(2,)),
    'rand': lambda t: t.rand(size=(2, 3)) * 0, 'randn': lambda t: t.randn(size=(4,)) * 0, 'randint': lambda t: t.randint(1, size=(2,)), 'from keyword': lambda t: t.randint(high=1, size=(2,)),
    'from two': lambda t: t.randint(3, 4, size=(2,)), 'arange': lambda t: t.arange(end=3), 'start, end': lambda t: t.arange(start=1, end=3), 'nothing': lambda t: t.arange()}


@pytest.mark.parametrize('name', SIZES)
def test_sizes_by_keyword(torch, name):
    same(torch, SIZES[name])


def pinned(t):
    from importlib import import_module
    pin_memory = import_module(t.__name__ + '.utils.data._utils.pin_memory').pin_memory

    class Own:
        def pin_memory(self):
            return 'own'
    return pin_memory(Own()), pin_memory('text'), pin_memory(3)


def test_pinning(torch):
    same(torch, pinned)
