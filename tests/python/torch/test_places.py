"""Import lines of PyTorch's scripts: modules under PyTorch's paths, and what libraries ask of torch.jit."""
import collections
import importlib
import pathlib
import subprocess
import sys

import pytest

import tenon.torch as ours
from tenon.torch._places import PLACES

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from scenarios import same, same_error

IMPORTS = '''distributions.normal.Normal distributions.categorical.Categorical distributions.kl.kl_divergence distributions.utils.broadcast_all
    distributions.utils.clamp_probs distributions.utils.lazy_property distributions.utils.euler_constant distributions.one_hot_categorical.OneHotCategorical
    optim.sgd.SGD optim.adamw.AdamW optim.adam.Adam optim.rmsprop.RMSprop optim.optimizer.required optim.lr_scheduler._LRScheduler
    nn.modules.rnn.LSTM nn.modules.rnn.RNNBase nn.modules.transformer.TransformerEncoderLayer nn.modules.transformer._get_clones
    nn.modules.transformer._get_activation_fn nn.modules.activation.MultiheadAttention nn.modules.fold.Unfold nn.modules.pixelshuffle.PixelShuffle
    nn.modules.module._IncompatibleKeys nn.modules.utils._reverse_repeat_tuple nn.modules.upsampling.Upsample nn.modules.flatten.Flatten
    nn.init._no_grad_trunc_normal_ nn.parallel.DataParallel backends.cudnn.benchmark backends.cuda.matmul backends.mps.is_available
    backends.cudnn.flags signal.windows.hann functional.einsum _tensor.Tensor types.Device types.Number types._size jit.Final jit.is_scripting jit.annotate
    nn.common_types._size_2_t nn._reduction.get_enum _utils._flatten_dense_tensors nn.parallel.DistributedDataParallel
    distributed.init_process_group distributed.ReduceOp _dynamo.reset _dynamo.config _inductor.config _C.default_generator
    cuda.nvtx.range_push profiler.profiler.profile nn.utils.weight_norm.WeightNorm nn.utils.clip_grad.clip_grad_norm_ hub.load_state_dict_from_url
    utils.model_zoo.load_url nn.modules.conv._ConvTransposeNd nn.modules.module._addindent utils._pytree.tree_map serialization.load hub utils.model_zoo utils.data._utils.collate.default_collate'''.split()


@pytest.mark.parametrize('path', IMPORTS)
def test_imports(torch, path):
    for package in (torch.__name__, ours.__name__):
        module, _, name = path.rpartition('.')
        found = importlib.import_module(f'{package}.{module}' if module else package)
        assert hasattr(found, name) or importlib.import_module(f'{package}.{path}'), package


def test_paths_are_pytorchs(torch):
    for path in PLACES:
        importlib.import_module(f'torch.{path}')
        module = importlib.import_module(f'tenon.torch.{path}')
        assert dir(module), path


def test_a_path_has_the_objects_of_its_place():
    code = '''import tenon.torch as torch, tenon.torch.backends.cudnn as cudnn, tenon.torch.signal.windows
from tenon.torch.distributions.normal import Normal
from tenon.torch.optim.sgd import SGD
cudnn.benchmark = True
print(Normal is torch.distributions.Normal, SGD is torch.optim.SGD, torch.backends.cudnn.benchmark, cudnn.is_available(), torch.backends.cudnn.version())
with torch.backends.cudnn.flags(enabled=False):
    print(torch.signal.windows.hann(3).tolist())'''
    done = subprocess.run([sys.executable, '-c', code], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == ['True True True False None', '[0.0, 1.0, 0.0]']
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module('tenon.torch.distributions.nothing')


def test_jit(torch):
    def run(t):
        jit = t.jit

        @jit.ignore
        def first(x):
            return x + 1

        @jit.ignore(drop=True)
        def second(x):
            return x + 2

        @jit.unused
        def third(x):
            return x + 3
        x = t.ones(2)
        return (jit.is_scripting(), jit.is_tracing(), first(x), second(x), third(x), jit.annotate(int, 3), jit.isinstance(3, int), jit.isinstance([3], (str, list[int])),
                jit.export(first)(x))
    same(torch, run)
    net = ours.nn.ReLU()
    assert ours.jit.script(net) is net and ours.jit.script(ours.relu) is ours.relu
    assert ours.jit.trace(net, ours.ones(1)) is net and ours.jit.optimize_for_inference(ours.jit.freeze(net.eval())) is net
    with pytest.raises(RuntimeError, match='training mode'):
        ours.jit.freeze(net.train())
    with pytest.raises(AttributeError, match='tenon.graph.trace'):
        ours.jit.trace_module(net, {})
    with pytest.raises(RuntimeError, match=r'\[jit.script\]'):
        ours.jit.script(3)


Point = collections.namedtuple('Point', 'x y')
TREES = {
    'nested': lambda t: {'a': [t.ones(2), (3, None)], 'b': Point(1, [2])}, 'ordered': lambda t: collections.OrderedDict([('b', 1), ('a', [2])]),
    'default': lambda t: collections.defaultdict(list, {'k': [1, 2]}), 'deque': lambda t: collections.deque([1, (2, 3)], 5), 'leaf': lambda t: 4, 'empty': lambda t: [[], {}],
}


def tree(t):
    return importlib.import_module(f'{t.__name__}.utils._pytree')


@pytest.mark.parametrize('name', TREES)
@pytest.mark.filterwarnings('ignore')
def test_trees(torch, name):
    def run(t):
        p, value = tree(t), TREES[name](t)
        leaves, spec = p.tree_flatten(value)
        again, other = p.tree_unflatten(leaves, spec), p.tree_structure(value)
        return (leaves, type(again).__name__, again, spec == other, spec.num_leaves, spec.is_leaf(), p.tree_leaves(value), p.tree_map(lambda x: [x], value),
                p.tree_map_only(int, lambda x: x + 1, value), p.tree_any(lambda x: x == 3, 3), p.tree_all(lambda x: x is not None, [1, None]),
                p.tree_map(lambda x, y: (x, y), [1, [2]], [3, [4]]), p.tree_leaves(value, is_leaf=lambda x: isinstance(x, list)))
    same(torch, run)


class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b


def test_registered_trees(torch):
    def run(t):
        class Own(Pair):
            pass
        p = tree(t)
        p.register_pytree_node(Own, lambda x: ([x.a, x.b], 'kept'), lambda parts, kept: Own(*parts))
        found = p.tree_map(lambda x: x * 2, [Own(1, [2])])
        return type(found[0]).__name__, found[0].a, found[0].b
    same(torch, run)
    same_error(torch, lambda t: tree(t).tree_unflatten([1], tree(t).tree_structure([1, 2])))
    same_error(torch, lambda t: tree(t).tree_map(max, [1, 2], [1]))


def test_parts_of_distributions(torch):
    def run(t):
        u = importlib.import_module(f'{t.__name__}.distributions.utils')
        p = t.tensor([0.0, 0.25, 1.0])
        matrix = t.arange(9.0).reshape(3, 3)
        return (u.clamp_probs(p), u.probs_to_logits(p[1:2], is_binary=True), u.logits_to_probs(p), u.broadcast_all(1.0, p), u.vec_to_tril_matrix(t.arange(1.0, 7.0)),
                u.vec_to_tril_matrix(t.arange(1.0, 4.0), -1), u.tril_matrix_to_vec(matrix), u.tril_matrix_to_vec(matrix, -1), u._sum_rightmost(matrix, 1), u.euler_constant)
    same(torch, run)


def test_types(torch):
    def run(t):
        types = importlib.import_module(f'{t.__name__}.types')
        return isinstance(3, types.Number), isinstance(t.device('cpu'), types._device), isinstance(t.float32, types._dtype), isinstance(t.Size([1]), t.Size)
    same(torch, run)


def test_a_function_and_a_module_of_one_name():
    code = """import tenon.torch as torch
from tenon.torch.nn.utils.weight_norm import WeightNorm
print(WeightNorm.__name__, type(torch.nn.utils.weight_norm(torch.nn.Linear(2, 2)).weight_g).__name__)"""
    done = subprocess.run([sys.executable, '-c', code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ['WeightNorm', 'Parameter']
