"""Modules that PyTorch has under another path: importing that path gives a module with the names of ours."""
import sys
from types import ModuleType
from typing import Any

_DISTRIBUTIONS = '''bernoulli beta binomial categorical cauchy chi2 continuous_bernoulli dirichlet exp_family exponential fishersnedecor gamma
    generalized_pareto geometric gumbel half_cauchy half_normal independent inverse_gamma kumaraswamy laplace lkj_cholesky log_normal
    logistic_normal lowrank_multivariate_normal mixture_same_family multinomial multivariate_normal negative_binomial normal
    one_hot_categorical pareto poisson relaxed_bernoulli relaxed_categorical studentT transformed_distribution uniform von_mises weibull wishart'''
_OPTIMIZERS = 'adadelta adagrad adamax adamw asgd nadam radam rmsprop rprop sgd sparse_adam'
_LAYERS = 'channelshuffle flatten fold pixelshuffle rnn upsampling'

# The object that has the names, by PyTorch's path; both below tenon.torch.
PLACES = {
    **{f'distributions.{name}': 'distributions' for name in _DISTRIBUTIONS.split()}, **{f'optim.{name}': 'optim' for name in _OPTIMIZERS.split()},
    **{f'nn.modules.{name}': 'nn' for name in _LAYERS.split()}, 'nn.modules.transformer': 'nn.transformer',
    **{f'backends.{name}': f'backends.{name}' for name in ('cuda', 'cudnn', 'mkldnn', 'mps')},
    'nn.parallel.data_parallel': 'nn.parallel', 'nn.parallel.distributed': 'nn.parallel',
    'nn.parallel.scatter_gather': 'nn.scatter_gather', 'signal.windows': 'windows', 'functional': '', '_tensor': '',
    'nn.utils.clip_grad': 'nn.utils.clip', 'nn.utils.init': 'nn.utils.making',
    'nn.utils.memory_format': 'nn.utils.making', 'nn.utils.weight_norm': 'nn.utils.norms', 'nn.utils.spectral_norm': 'nn.utils.norms',
    **{f'backends.{name}': f'backends.{name}' for name in ('mkl', 'openmp', 'opt_einsum', 'quantized')},
    'utils.data._utils.worker': 'utils.data', 'utils.data._utils.pin_memory': 'utils.data.pinning',
    'profiler.profiler': 'profiler', 'torch_version': 'version', 'nn.attention.flex_attention': 'nn.flex_attention', 'nn.attention.bias': 'nn.attention_bias',
    'utils.benchmark.utils.timer': 'utils.benchmark.timer', 'utils.benchmark.utils.common': 'utils.benchmark.measurement',
    'utils.benchmark.utils.compare': 'utils.benchmark.compare', 'utils.benchmark.utils': 'utils.benchmark',
    **dict.fromkeys('''_dynamo _dynamo.config _dynamo.eval_frame _dynamo.utils _dynamo._trace_wrapped_higher_order_op _inductor _inductor.config
        _functorch _functorch.config _logging'''.split(), '_compilers'),
    **dict.fromkeys('''_C _subclasses _subclasses.fake_tensor fx.experimental fx.experimental.symbolic_shapes fx.experimental.proxy_tensor
        _prims_common _tensor_str _jit_internal jit.annotations onnx.symbolic_helper onnx.symbolic_opset9 onnx.symbolic_opset11'''.split(), '_inner'),
    'utils.data._utils': 'utils.data', 'utils.data._utils.collate': 'utils.data.collate',
    'quantization': 'ao.quantization', 'autograd.anomaly_mode': 'autograd.anomaly', 'fx._symbolic_trace': 'fx.tracer', '_custom_ops': 'library',
    **dict.fromkeys(('_higher_order_ops', '_higher_order_ops.associative_scan'), 'scans'),
}
_PACKAGES = frozenset(['utils.data._utils', 'utils.benchmark.utils', '_dynamo', '_inductor', '_functorch', '_subclasses', 'fx.experimental',
                       '_higher_order_ops'])

# Modules that are not offered, and what to use instead; those below them too.
INSTEAD = {
    'utils.cpp_extension': 'write a plugin: docs/sdk/',
    **dict.fromkeys(('ao.ns', 'ao.pruning', 'ao.sparsity', 'nn.quantized'), 'see torch.ao.quantization.quantize_dynamic'),
    'utils.data.datapipes': 'write an IterableDataset, or a generator',
    **dict.fromkeys(('distributed.fsdp', 'distributed.elastic', 'distributed.algorithms',
                     'distributed.checkpoint', 'distributed.pipelining'), 'one process trains here'),
    'utils.mobile_optimizer': 'write a model with torch.onnx.export',
}


def _object(path):
    """What has a path below tenon.torch."""
    from importlib import import_module
    try:
        return import_module(f'tenon.torch.{path}'.rstrip('.'))
    except ModuleNotFoundError:
        parent, _, name = path.rpartition('.')
        return getattr(import_module(f'tenon.torch.{parent}'), name)


class _Callable(ModuleType):
    """A module that can be called as the function of its name."""

    _function: Any

    def __call__(self, *args, **kwargs):
        return self._function(*args, **kwargs)


class _Finder:
    """Finds the modules of the table, and loads them."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        place = name.removeprefix('tenon.torch.')
        if place in PLACES and place != name:
            from importlib.machinery import ModuleSpec
            return ModuleSpec(name, _Finder,  # pyright: ignore[reportArgumentType]
                              is_package=place in _PACKAGES)
        if place in INSTEAD and place != name:
            raise ModuleNotFoundError(f'[torch.{place}] is not offered here: {INSTEAD[place]}', name=name)
        return None

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        place = PLACES[module.__name__.removeprefix('tenon.torch.')]
        # Where ours is an object, the module takes its place, and gets the switches that programs set.
        found: Any = _object(place)
        if place.startswith('backends.'):
            found = vars(sys.modules['tenon.torch.backends'])[place[9:]]
        elif place in ('_compilers', '_inner'):
            found = found.PLACES[module.__name__.removeprefix('tenon.torch.')]
        module.__doc__ = found.__doc__
        parent, _, own = module.__name__.rpartition('.')
        if callable(getattr(sys.modules[parent], own, None)):
            # The import puts the module in the place of a function of its name.
            module.__class__ = _Callable
            module._function = getattr(sys.modules[parent], own)

        def __getattr__(name):
            if name[:2] == '__':
                raise AttributeError(name)
            return getattr(found, name)
        module.__dict__.update(__getattr__=__getattr__, __dir__=lambda: dir(found))


sys.meta_path.append(_Finder)
