"""Modules that PyTorch has under another path: importing that path gives a module with the names of ours."""
import sys

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
    'nn.parallel.data_parallel': 'nn.parallel', 'nn.parallel.distributed': 'nn.parallel', 'signal.windows': 'windows', 'functional': '', '_tensor': '',
    'utils.data._utils': 'utils.data', 'utils.data._utils.collate': 'utils.data.collate', 'serialization': 'files',
}
_PACKAGES = frozenset(['utils.data._utils'])


def _object(path):
    """What has a path below tenon.torch."""
    from importlib import import_module
    try:
        return import_module(f'tenon.torch.{path}'.rstrip('.'))
    except ModuleNotFoundError:
        parent, _, name = path.rpartition('.')
        return getattr(import_module(f'tenon.torch.{parent}'), name)


class _Finder:
    """Finds the modules of the table, and loads them."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if not name.startswith('tenon.torch.') or name.removeprefix('tenon.torch.') not in PLACES:
            return None
        from importlib.machinery import ModuleSpec
        return ModuleSpec(name, _Finder,  # pyright: ignore[reportArgumentType]
                          is_package=name.removeprefix('tenon.torch.') in _PACKAGES)

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        place = PLACES[module.__name__.removeprefix('tenon.torch.')]
        # Where ours is an object, the module takes its place, and gets the switches that programs set.
        found = vars(sys.modules['tenon.torch.backends'])[place[9:]] if place.startswith('backends.') else _object(place)
        module.__doc__ = found.__doc__

        def __getattr__(name):
            if name[:2] == '__':
                raise AttributeError(name)
            return getattr(found, name)
        module.__dict__.update(__getattr__=__getattr__, __dir__=lambda: dir(found))


sys.meta_path.append(_Finder)
