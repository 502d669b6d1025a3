"""Names below torch's public ones that packages import: trees with paths, stages of the dispatcher, sizes, marks for compilers."""
import importlib
import pathlib
import sys

import pytest

import tenon.torch as ours

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from beside import same

IMPORTS = '''hub._get_torch_home hub.HASH_REGEX hub.tqdm utils.model_zoo.tqdm utils.checkpoint.get_device_states jit.ScriptModule jit.TracerWarning jit._overload
    jit.annotations.BroadcastingList2 serialization.add_safe_globals serialization.DEFAULT_PROTOCOL serialization.MAP_LOCATION
    distributed.device_mesh.DeviceMesh _C._TensorMeta _C.DispatchKeySet _C._disabled_torch_function_impl _dynamo.utils.is_compile_supported
    _dynamo.eval_frame.OptimizedModule _dynamo._trace_wrapped_higher_order_op.TransformGetItemToIndex _subclasses.fake_tensor.FakeTensor
    fx.experimental.symbolic_shapes.guard_or_false fx.experimental.proxy_tensor.get_proxy_mode fx.graph_module._copy_attr fx.node.Target
    _prims_common.is_contiguous_or_false _tensor_str.PRINT_OPTS Future complex32 float8_e8m0fnu _assert_async _C._nn _C._are_functorch_transforms_active
    _dynamo.eval_frame distributed.tensor.DTensor distributed.rpc utils.flop_counter.FlopCounterMode profiler.kineto_available
    autograd.profiler.EventList autograd.profiler.emit_nvtx nn.modules.module._EXTRA_STATE_KEY_SUFFIX nn.parallel.scatter_gather.gather ScriptModule TensorType _jit_internal._copy_to_script_wrapper onnx.symbolic_helper.parse_args
    nn.attention.flex_attention._DEFAULT_SPARSE_BLOCK_SIZE cuda.CUDAGraph cuda.graph cuda.make_graphed_callables ao.quantization.QuantStub
    __config__.show Stream Event _custom_ops.custom_op _higher_order_ops.associative_scan.associative_scan'''.split()


@pytest.mark.parametrize('path', IMPORTS)
def test_imports(torch, path):
    for package in (torch.__name__, ours.__name__):
        module, _, name = path.rpartition('.')
        assert hasattr(importlib.import_module(f'{package}.{module}' if module else package), name), package


def test_paths_of_trees(torch):
    def run(t):
        tree = t.utils._pytree
        nested = {'a': [t.ones(2), (t.zeros(1), 3)], 'b': 4}
        leaves, spec = tree.tree_flatten_with_path(nested)
        named = tree.tree_map_with_path(lambda path, leaf: tree.keystr(path), nested)
        return [tree.keystr(path) for path, _ in leaves], spec.num_leaves, named, tree.key_get(nested, leaves[1][0]), tree._dict_flatten({'x': 1, 'y': 2})
    same(torch, run)


def test_paths_of_registered_containers(torch):
    def run(t):
        tree = t.utils._pytree

        class Pair:
            def __init__(self, left, right):
                self.left, self.right = left, right
        tree.register_pytree_node(Pair, lambda x: ([x.left, x.right], None), lambda parts, _: Pair(*parts),
                                  flatten_with_keys_fn=lambda x: ([(tree.GetAttrKey('left'), x.left), (tree.MappingKey('r'), x.right)], None))
        return [tree.keystr(path) for path, _ in tree.tree_leaves_with_path([Pair(1, {'k': 2})])], tree.tree_leaves(Pair(1, [2, 3]))
    same(torch, run)


@pytest.mark.parametrize('count', [1, 2, 3, 7, 8])
@pytest.mark.parametrize('reverse', [False, True])
def test_associative_scan(count, reverse):
    """The recurrence h = a·h + b of state-space models, step by step in double precision."""
    generator = ours.Generator().manual_seed(0)
    a, b = (ours.rand(2, count, 3, dtype=ours.float64, generator=generator).requires_grad_() for _ in 'ab')
    scan = importlib.import_module('tenon.torch._higher_order_ops.associative_scan').associative_scan
    product, h = scan(lambda left, right: (left[0] * right[0], left[1] * right[0] + right[1]), (a, b), dim=1, reverse=reverse)
    steps, state, factor = [], ours.zeros(2, 3, dtype=ours.float64), ours.ones(2, 3, dtype=ours.float64)
    for i in reversed(range(count)) if reverse else range(count):
        state, factor = a[:, i] * state + b[:, i], factor * a[:, i]
        steps.append((state, factor))
    wanted = [ours.stack(each, 1) for each in zip(*(steps[::-1] if reverse else steps))]
    ours.testing.assert_close([h, product], wanted)
    weights = ours.rand(2, count, 3, dtype=ours.float64)
    found, right = (ours.autograd.grad((x * weights + y * weights).sum(), (a, b)) for x, y in ((h, product), wanted))
    ours.testing.assert_close(found, right)


def test_stubs_of_quantization_give_their_input(torch):
    def run(t):
        x = t.arange(3.)
        return t.ao.quantization.QuantStub()(x), t.ao.quantization.DeQuantStub()(x)
    same(torch, run)


def test_arguments_of_to(torch):
    def run(t):
        parse, x = importlib.import_module(t.__name__ + '._C')._nn._parse_to, t.ones(1, dtype=t.float64)
        return [tuple(map(str, parse(*args, **named)[:3])) for args, named in (
            (('cpu',), {}), ((t.float16,), {}), ((x,), {}), (('cpu', t.float32, True), {}), ((), {'dtype': t.int8, 'device': 'cpu'}))]
    assert run(ours) == run(torch)


def test_storages_of_files(torch, tmp_path):
    (tmp_path / 'bytes').write_bytes(bytes(range(16)))

    def run(t):
        storage = t.UntypedStorage.from_file(str(tmp_path / 'bytes'), shared=False, nbytes=16)
        return t.asarray(storage[4:12], dtype=t.uint8).view(t.int32), storage.untyped().nbytes()
    same(torch, run)


def test_dtypes_that_no_tensor_has():
    assert ours.complex32 is ours.chalf and ours.float32 != ours.complex32 and repr(ours.float8_e8m0fnu) == 'torch.float8_e8m0fnu'
    with pytest.raises(TypeError):
        ours.ones(2, dtype=ours.complex32)
    with pytest.raises(RuntimeError, match='several processes'):
        importlib.import_module('tenon.torch.distributed.tensor').distribute_tensor(ours.ones(2))


def test_parts_for_devices():
    """Two parts on the CPU: the devices of a test need not be several."""
    inner = importlib.import_module('tenon.torch.nn.parallel.scatter_gather')
    inputs = {'x': ours.arange(6.).reshape(3, 2).requires_grad_(), 'more': (ours.ones(3), 'text')}
    parts = inner.scatter(inputs, ['cpu', 'cpu'])
    assert [part['x'].shape[0] for part in parts] == [2, 1] and [part['more'][1] for part in parts] == ['text', 'text']
    whole = inner.gather(parts, 'cpu')
    assert ours.equal(whole['x'], inputs['x']) and whole['more'][1] == 'text'
    whole['x'].sum().backward()
    assert ours.equal(inputs['x'].grad, ours.ones(3, 2))
    assert inner.gather([ours.tensor(1.), ours.tensor(2.)], 'cpu').tolist() == [1, 2]
    assert inner.scatter_kwargs((ours.ones(2),), {}, ['cpu', 'cpu'])[1] == ({}, {}) and inner.scatter((), ['cpu']) == [()]
    with pytest.raises(ValueError, match='structures'):
        inner.gather([[ours.ones(1)], (ours.ones(1),)], 'cpu')


def test_parts_of_printed_tensors(torch):
    def run(t):
        inner = importlib.import_module(f'{t.__name__}._tensor_str')
        text = inner._tensor_str(t.arange(4.) / 3, 3)
        return text, inner._add_suffixes('x(' + text, ['size=4', 'more=2'], 2, force_newline=False), inner.PRINT_OPTS.edgeitems, str(t.futures.Future[int])[-11:]
    assert run(ours) == run(torch)


def test_safe_globals_are_told(torch):
    def run(t):
        inner = t.serialization
        inner.clear_safe_globals()
        inner.add_safe_globals([dict])
        with inner.safe_globals([list]):
            within = inner.get_safe_globals()
        return len(within), inner.get_safe_globals() == [dict]
    same(torch, run)


def test_what_was_never_captured_is_refused():
    with pytest.raises(RuntimeError, match='nothing was captured'):
        ours.cuda.CUDAGraph().replay()
    with pytest.raises(RuntimeError, match='several processes'):
        ours.distributed.device_mesh.init_device_mesh('cpu', (2,))
    with pytest.raises(RuntimeError, match='torch.export'):
        ours.jit.ScriptModule()


def test_state_of_random_numbers_is_restored():
    devices, states = ours.utils.checkpoint.get_device_states(ours.ones(2))
    assert (devices, states) == ([], [])
    state = ours.get_rng_state()
    first = ours.rand(3)
    ours.utils.checkpoint.set_device_states([0], [state])
    assert ours.equal(first, ours.rand(3))


def test_ops_under_autocast():
    """A function for an Autocast key is called instead of the op, which it may call."""
    library = ours.library.Library('inner_names', 'FRAGMENT')
    library.define('twice(Tensor x) -> Tensor')
    library.impl('twice', lambda x: x * 2, 'CompositeExplicitAutograd')
    seen = []

    def autocast(x):
        seen.append(x.dtype)
        return ours.ops.inner_names.twice(x.to(ours.bfloat16))
    library.impl('twice', autocast, 'AutocastCPU')
    x = ours.ones(2)
    assert ours.ops.inner_names.twice(x).dtype == ours.float32
    with ours.autocast('cpu'):
        assert ours.ops.inner_names.twice(x).dtype == ours.bfloat16
    assert seen == [ours.float32]
