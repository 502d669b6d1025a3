"""nn.utils beside PyTorch: parametrisations, norms of weights, pruning, fusion, clipping."""
import copy
import importlib
import inspect
import pathlib
import pickle
import sys

import pytest

import tenon.torch

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from scenarios import same, same_error


def utils(torch):
    """torch.nn.utils, parametrizations, parametrize, prune."""
    return [importlib.import_module(f'{torch.__name__}.nn.utils{part}') for part in ('', '.parametrizations', '.parametrize', '.prune')]


def filled(torch, module):
    """A module with the same weights in both."""
    with torch.no_grad():
        for i, x in enumerate(module.parameters()):
            n = x.numel()
            at = torch.arange(n, dtype=torch.float32)
            x.copy_(torch.sin(at * at * 0.37 + at * (1.7 + i) + 0.3).reshape(x.shape) * 0.8)
    return module


def linear(torch, n=4, m=3):
    return filled(torch, torch.nn.Linear(n, m))


def rows(torch, n=4):
    return torch.cos(torch.arange(2 * n, dtype=torch.float32)).reshape(2, n)


def trained(torch, module, x=None):
    """Output, and all gradients by name."""
    y = module(rows(torch) if x is None else x)
    (y * y).sum().backward()
    return [y, {name: p.grad for name, p in module.named_parameters()}]


def test_functions_take_pytorchs_arguments(torch):
    for theirs, ours in zip(utils(torch), utils(tenon.torch)):
        for name, value in vars(theirs).items():
            if name[0] != '_' and inspect.isfunction(value) and value.__module__.startswith('torch.nn.utils'):
                assert hasattr(ours, name), name
                mine, other = ([(p.name, p.default) for p in inspect.signature(f).parameters.values()] for f in (getattr(ours, name), value))
                if not (name == 'cached' or mine == other):
                    assert mine == other, name


# Parametrisations ------------------------------------------------------------------------------------------------------------------

def parts(torch):
    """Parametrisations: one with an inverse, one without, one of two tensors, one that changes the shape."""
    class Double(torch.nn.Module):
        def forward(self, x):
            return x * 2

        def right_inverse(self, x):
            return x / 2

    class Symmetric(torch.nn.Module):
        def forward(self, x):
            return torch.triu(x) + torch.transpose(torch.triu(x, 1), -1, -2)

    class Sum(torch.nn.Module):
        def forward(self, a, b):
            return a + b

        def right_inverse(self, x):
            return x * 0.25, x * 0.75

    class Turned(torch.nn.Module):
        def forward(self, x):
            return torch.transpose(x, 0, 1)

        right_inverse = forward

    class Half(torch.nn.Module):
        def forward(self, x):
            return x[:1]
    return Double, Symmetric, Sum, Half, Turned


def parametrized(torch, *which):
    _, _, parametrize, _ = utils(torch)
    m = linear(torch, 4, 4)
    for i in which:
        parametrize.register_parametrization(m, 'weight', parts(torch)[i]())
    return m


def assigned(torch, m, value):
    m.weight = value
    return m


PARAMETRIZE = {
    'one': lambda t, p: [repr(parametrized(t, 0)), list(parametrized(t, 0).state_dict()), *trained(t, parametrized(t, 0))],
    'an inverse that is a view': lambda t, p: (lambda m: [m.weight, m.parametrizations.weight.original])(parametrized(t, 4)),
    'no inverse': lambda t, p: trained(t, parametrized(t, 1)),
    'two in a row': lambda t, p: [repr(parametrized(t, 1, 0)), *trained(t, parametrized(t, 1, 0))],
    'of two tensors': lambda t, p: [list(parametrized(t, 2).state_dict()), *trained(t, parametrized(t, 2))],
    'assigned': lambda t, p: (lambda m: [m.weight, m.parametrizations.weight.original])(assigned(t, parametrized(t, 0), t.ones(4, 4))),
    'assigned, two': lambda t, p: (lambda m: [m.weight, m.parametrizations.weight.original0])(assigned(t, parametrized(t, 2), t.ones(4, 4))),
    'is': lambda t, p: (lambda m: [p.is_parametrized(m), p.is_parametrized(m, 'weight'), p.is_parametrized(m, 'bias'), type(m).__name__,
                                   p.type_before_parametrizations(m) is t.nn.Linear, isinstance(m, t.nn.Linear)])(parametrized(t, 0)),
    'removed': lambda t, p: (lambda m: [p.remove_parametrizations(m, 'weight') is m, repr(m), m.weight, list(m.state_dict()), type(m) is t.nn.Linear,
                                        m.weight.requires_grad])(parametrized(t, 0)),
    'removed, as it was': lambda t, p: (lambda m: [p.remove_parametrizations(m, 'weight', False).weight, p.is_parametrized(m)])(parametrized(t, 0)),
    'removed, of two tensors': lambda t, p: (lambda m: p.remove_parametrizations(m, 'weight').weight)(parametrized(t, 2)),
    'identity kept': lambda t, p: (lambda m, w: [p.register_parametrization(m, 'weight', parts(t)[1]()) is m, m.parametrizations.weight.original is w])(
        *(lambda m: (m, m.weight))(linear(t, 4, 4))),
    'a buffer': lambda t, p: (lambda m: [m.register_buffer('b', t.ones(2)), p.register_parametrization(m, 'b', parts(t)[0]()) and 0, m.b,
                                         list(m.state_dict()), p.remove_parametrizations(m, 'b') and 0, list(m.state_dict())])(t.nn.Module()),
    'unsafe': lambda t, p: list(p.register_parametrization(linear(t), 'weight', parts(t)[3](), unsafe=True).weight.shape),
    'both tensors': lambda t, p: (lambda m: [p.register_parametrization(m, 'bias', parts(t)[0]()) and 0, repr(m), list(m.state_dict()),
                                             p.remove_parametrizations(m, 'weight') and 0, repr(m), *trained(t, m)])(parametrized(t, 0)),
    'deepcopy': lambda t, p: (lambda c: [repr(c), list(c.state_dict()), c.weight])(copy.deepcopy(parametrized(t, 0))),
    'transfer': lambda t, p: (lambda m: [repr(m), m.weight])(p.transfer_parametrizations_and_params(parametrized(t, 0), linear(t, 4, 4))),
}
PARAMETRIZE_ERRORS = {
    'no such tensor': lambda t, p: p.register_parametrization(linear(t), 'absent', parts(t)[0]()),
    'shape changes': lambda t, p: p.register_parametrization(linear(t), 'weight', parts(t)[3]()),
    'cannot be assigned': lambda t, p: assigned(t, parametrized(t, 1), t.ones(4, 4)),
    'nothing to remove': lambda t, p: p.remove_parametrizations(linear(t), 'weight'),
    'two tensors as they were': lambda t, p: p.remove_parametrizations(parametrized(t, 2), 'weight', False),
    'pickled': lambda t, p: pickle.dumps(parametrized(t, 0)),
}


@pytest.mark.parametrize('name', PARAMETRIZE)
def test_parametrize(torch, name):
    same(torch, lambda namespace: PARAMETRIZE[name](namespace, utils(namespace)[2]))


@pytest.mark.parametrize('name', PARAMETRIZE_ERRORS)
def test_parametrize_errors(torch, name):
    same_error(torch, lambda namespace: PARAMETRIZE_ERRORS[name](namespace, utils(namespace)[2]))


def test_removing_parametrisations_from_a_copy_leaves_the_original():
    t, parametrize = tenon.torch, utils(tenon.torch)[2]
    m = parametrized(t, 0)
    other = copy.deepcopy(m)
    parametrize.remove_parametrizations(other, 'weight')
    assert parametrize.is_parametrized(m) and m.weight.tolist() == other.weight.tolist() and type(other) is t.nn.Linear
    with pytest.raises(ValueError, match='original is torch.float32'):  # tensors keep their memory
        m.weight = t.ones(3, 4)


def test_cached_computes_once(torch):
    def run(torch):
        calls = []

        class Noted(torch.nn.Module):
            def forward(self, x):
                calls.append(1)
                return x * 2
        parametrize = utils(torch)[2]
        m = parametrize.register_parametrization(linear(torch), 'weight', Noted(), unsafe=True)
        calls.clear()
        with parametrize.cached():
            same_object = m.weight is m.weight
        return len(calls), same_object, m.weight is m.weight, len(calls)
    same(torch, run)


MAPS = [(4, 4, 'matrix_exp'), (4, 4, 'cayley'), (4, 4, 'householder'), (5, 3, 'matrix_exp'), (3, 5, 'cayley'), (5, 3, 'householder'), (3, 5, 'householder'),
        (3, 5, None), (4, 4, None)]


@pytest.mark.parametrize(('n', 'm', 'kind'), MAPS)
@pytest.mark.parametrize('trivial', [True, False])
def test_orthogonal(torch, n, m, kind, trivial):
    """With the same state both have the same matrix and the same gradients, and the matrix is orthogonal."""
    theirs, ours = (utils(namespace)[1].orthogonal(linear(namespace, n, m), orthogonal_map=kind, use_trivialization=trivial)
                    for namespace in (torch, tenon.torch))
    assert repr(ours) == repr(theirs) and list(ours.state_dict()) == list(theirs.state_dict())
    if not trivial:
        assert torch.allclose(torch.tensor(ours.weight.tolist()), theirs.weight, atol=1e-5)
    with torch.no_grad():  # away from what it begins with; the diagonal holds signs
        original = theirs.parametrizations.weight.original
        change = torch.sin(torch.arange(original.numel(), dtype=torch.float32)).reshape(original.shape) * 0.1
        original.add_(change.triu(1) if n > m else change.tril(-1))
    ours.load_state_dict({name: tenon.torch.tensor(x.contiguous().numpy()) for name, x in theirs.state_dict().items()})
    w = ours.weight
    assert torch.allclose(torch.tensor(w.tolist()), theirs.weight, atol=1e-5)
    product = tenon.torch.matmul(w, tenon.torch.adjoint(w)) if n > m else tenon.torch.matmul(tenon.torch.adjoint(w), w)
    assert tenon.torch.allclose(product, tenon.torch.eye(min(n, m)), atol=1e-5)
    weights = torch.cos(torch.arange(n * m, dtype=torch.float32)).reshape(m, n)
    (theirs.weight * weights).sum().backward()
    (ours.weight * tenon.torch.tensor(weights.numpy())).sum().backward()
    gradient = theirs.parametrizations.weight.original.grad
    assert torch.allclose(torch.tensor(ours.parametrizations.weight.original.grad.tolist()), gradient, atol=1e-4)


def orthogonal_assigned(torch):
    layer = utils(torch)[1].orthogonal(linear(torch, 3, 3))
    layer.weight = torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
    return layer.weight


def test_an_orthogonal_matrix_can_be_assigned(torch):
    same(torch, orthogonal_assigned)
    same_error(torch, lambda t: utils(t)[1].orthogonal(linear(t), orthogonal_map='odd'))
    same_error(torch, lambda t: utils(t)[1].orthogonal(linear(t), 'bias'))
    same_error(torch, lambda t: utils(t)[1].orthogonal(linear(t), 'absent'))


@pytest.mark.parametrize('dim', [0, 1, None])
def test_weight_norm(torch, dim):
    def run(torch):
        m = utils(torch)[1].weight_norm(linear(torch), dim=dim)
        return [repr(m), list(m.state_dict()), m.state_dict(), *trained(torch, m)]
    same(torch, run)


@pytest.mark.parametrize('dim', [0, 1, None])
@pytest.mark.filterwarnings('ignore::FutureWarning')
def test_older_weight_norm(torch, dim):
    def run(torch):
        old = utils(torch)[0]
        m = old.weight_norm(linear(torch), dim=dim)
        found = [repr(m), m.state_dict(), *trained(torch, m)]
        new = utils(torch)[1].weight_norm(linear(torch), dim=dim)
        new.load_state_dict(m.state_dict())
        return [*found, new.weight, old.remove_weight_norm(m) is m, list(m.state_dict()), m.weight, len(m._forward_pre_hooks)]
    same(torch, run)


def with_vectors(torch, module, older):
    """spectral_norm() with the same vectors in both."""
    old, new, _, _ = utils(torch)
    module = (old if older else new).spectral_norm(module, n_power_iterations=2)
    with torch.no_grad():
        for name, x in module.named_buffers():
            values = torch.cos(torch.arange(x.numel(), dtype=torch.float32) * (2.0 if 'u' in name else 3.0) + 0.1)
            x.copy_(values / torch.linalg.norm(values))
    return module


@pytest.mark.parametrize('older', [True, False])
@pytest.mark.parametrize('kind', ['Linear', 'Conv2d', 'ConvTranspose2d'])
def test_spectral_norm(torch, older, kind):
    def run(torch):
        made = torch.nn.Linear(4, 3) if kind == 'Linear' else getattr(torch.nn, kind)(2, 3, 3)
        m = with_vectors(torch, filled(torch, made), older)
        x = rows(torch) if kind == 'Linear' else torch.cos(torch.arange(50, dtype=torch.float32)).reshape(1, 2, 5, 5)
        found = [repr(m), list(m.state_dict()), trained(torch, m, x), m(x), m.state_dict()]
        before = m.eval()(x)
        return [*found, before, m(x), m.state_dict()]
    same(torch, run, tolerance=1e-4)


def test_spectral_norm_of_a_vector_and_its_errors(torch):
    same(torch, lambda t: utils(t)[1].spectral_norm(linear(t), 'bias').bias)
    same(torch, lambda t: list(utils(t)[0].remove_spectral_norm(utils(t)[0].spectral_norm(linear(t))).state_dict()))
    same_error(torch, lambda t: utils(t)[1].spectral_norm(linear(t), n_power_iterations=0))
    same_error(torch, lambda t: utils(t)[1].spectral_norm(linear(t), 'absent'))
    same_error(torch, lambda t: utils(t)[0].spectral_norm(utils(t)[0].spectral_norm(linear(t))))
    same_error(torch, lambda t: utils(t)[0].remove_spectral_norm(linear(t)))
    same_error(torch, lambda t: utils(t)[0].remove_weight_norm(linear(t)))


# Pruning ---------------------------------------------------------------------------------------------------------------------------

def pruned(torch, *steps):
    prune, m = utils(torch)[3], linear(torch, 5, 4)
    for name, *given in steps:
        getattr(prune, name)(m, *given)
    return [list(m.state_dict()), m.state_dict(), m.weight, prune.is_pruned(m), len(m._forward_pre_hooks), *trained(torch, m, rows(torch, 5))]


PRUNINGS = {
    'identity': [('identity', 'weight')],
    'smallest': [('l1_unstructured', 'weight', 0.3)],
    'a count': [('l1_unstructured', 'weight', 7)],
    'none': [('l1_unstructured', 'weight', 0)],
    'all': [('l1_unstructured', 'bias', 1.0)],
    'channels': [('ln_structured', 'weight', 0.5, 2, 0)],
    'channels by largest': [('ln_structured', 'weight', 2, float('inf'), 1)],
    'channels by sum': [('ln_structured', 'weight', 1, 1, -1)],
    'twice': [('l1_unstructured', 'weight', 0.2), ('l1_unstructured', 'weight', 0.5)],
    'elements, then channels': [('l1_unstructured', 'weight', 0.2), ('ln_structured', 'weight', 1, 2, 0)],
    'channels, then elements': [('ln_structured', 'weight', 1, 2, 1), ('l1_unstructured', 'weight', 3)],
    'three': [('ln_structured', 'weight', 1, 2, 1), ('ln_structured', 'weight', 1, 2, 1), ('l1_unstructured', 'weight', 3)],
    'two tensors': [('l1_unstructured', 'weight', 0.2), ('l1_unstructured', 'bias', 1)],
    'removed': [('l1_unstructured', 'weight', 0.4), ('remove', 'weight')],
}


@pytest.mark.parametrize('name', PRUNINGS)
def test_pruning(torch, name):
    same(torch, pruned, *PRUNINGS[name])


def test_pruning_by_mask_importance_and_at_random(torch):
    def by_mask(torch):
        prune, m = utils(torch)[3], linear(torch)
        mask = torch.eye(4)[:3]
        prune.custom_from_mask(m, 'weight', mask)
        return m.weight, m.weight_mask

    def by_importance(torch):
        prune, m = utils(torch)[3], linear(torch)
        prune.l1_unstructured(m, 'weight', 5, importance_scores=torch.arange(12, dtype=torch.float32).reshape(3, 4))
        return m.weight

    def of_several(torch):
        prune, m = utils(torch)[3], torch.nn.Sequential(linear(torch), linear(torch, 3, 5))
        with torch.no_grad():
            m[1].weight.mul_(1.1)  # no ties
        prune.global_unstructured([(m[0], 'weight'), (m[1], 'weight')], prune.L1Unstructured, amount=0.4)
        return [m.state_dict(), [type(hook).__name__ for part in m for hook in part._forward_pre_hooks.values()]]

    def of_a_tensor(torch):
        prune = utils(torch)[3]
        return prune.L1Unstructured(0.5).prune(torch.tensor([3.0, -1.0, 0.5, 2.0])), prune.LnStructured(1, 2, 0).prune(torch.tensor([[1.0, 2.0], [0.1, 0.2]]))

    def at_random(torch):
        prune, m, k = utils(torch)[3], linear(torch), linear(torch)
        prune.random_unstructured(m, 'weight', 5)
        prune.random_structured(k, 'weight', 1, 0)
        rows = [x for x in k.weight_mask.tolist() if not any(x)]
        return int(m.weight_mask.sum().item()), len(rows), int(k.weight_mask.sum().item())
    for scenario in (by_mask, by_importance, of_several, of_a_tensor, at_random):
        same(torch, scenario)


def test_a_custom_pruning_method(torch):
    def run(torch):
        prune = utils(torch)[3]

        class Every(prune.BasePruningMethod):
            PRUNING_TYPE = 'unstructured'

            def compute_mask(self, t, default_mask):
                mask = default_mask.clone()
                mask.reshape(-1)[::2] = 0
                return mask
        m = linear(torch)
        Every.apply(m, 'weight')
        prune.l1_unstructured(m, 'weight', 2)
        hook, = m._forward_pre_hooks.values()
        return m.weight, type(hook).__name__, len(hook), type(hook[0]).__name__
    same(torch, run)


PRUNING_ERRORS = {
    'more than there are': lambda t, p: p.l1_unstructured(linear(t), 'weight', 13),
    'a part above 1': lambda t, p: p.l1_unstructured(linear(t), 'weight', 1.5),
    'below 0': lambda t, p: p.l1_unstructured(linear(t), 'weight', -1),
    'no number': lambda t, p: p.l1_unstructured(linear(t), 'weight', 'x'),
    'channels of a vector': lambda t, p: p.ln_structured(linear(t), 'bias', 1, 2, 0),
    'dim': lambda t, p: p.ln_structured(linear(t), 'weight', 1, 2, 5),
    'no such parameter': lambda t, p: p.identity(linear(t), 'absent'),
    'not pruned': lambda t, p: p.remove(linear(t), 'weight'),
    'global of channels': lambda t, p: p.global_unstructured([(linear(t), 'weight')], p.RandomStructured, amount=1),
    'no method': lambda t, p: p.PruningContainer().add_pruning_method(3),
}


@pytest.mark.parametrize('name', PRUNING_ERRORS)
def test_pruning_errors(torch, name):
    same_error(torch, lambda namespace: PRUNING_ERRORS[name](namespace, utils(namespace)[3]))


# Fusion, vectors, clipping ---------------------------------------------------------------------------------------------------------

def with_statistics(torch, bn):
    filled(torch, bn)
    bn.running_mean.copy_(torch.sin(torch.arange(3, dtype=torch.float32)))
    bn.running_var.copy_(torch.cos(torch.arange(3, dtype=torch.float32)) + 2)
    return bn.eval()


FUSIONS = {
    'conv': lambda t, u: (lambda c, b: [u.fuse_conv_bn_eval(c, b), b(c(planes(t)))])(
        filled(t, t.nn.Conv2d(2, 3, 3)).eval(), with_statistics(t, t.nn.BatchNorm2d(3))),
    'conv without a bias': lambda t, u: (lambda c, b: [u.fuse_conv_bn_eval(c, b), b(c(planes(t)))])(
        filled(t, t.nn.Conv2d(2, 3, 3, bias=False)).eval(), with_statistics(t, t.nn.BatchNorm2d(3, affine=False))),
    'transposed': lambda t, u: (lambda c, b: [u.fuse_conv_bn_eval(c, b, True), b(c(planes(t)))])(
        filled(t, t.nn.ConvTranspose2d(2, 3, 3)).eval(), with_statistics(t, t.nn.BatchNorm2d(3))),
}


def planes(torch):
    return torch.cos(torch.arange(50, dtype=torch.float32)).reshape(1, 2, 5, 5)


@pytest.mark.parametrize('name', FUSIONS)
def test_fusion(torch, name):
    def run(torch):
        made, expected = FUSIONS[name](torch, utils(torch)[0])
        assert torch.allclose(made(planes(torch)), expected, atol=1e-5)
        return made.state_dict(), [x.requires_grad for x in made.parameters()]
    same(torch, run)


def test_fusion_of_linear_layers_and_its_errors(torch):
    def run(torch):
        layer, bn = linear(torch).eval(), with_statistics(torch, torch.nn.BatchNorm1d(3))
        made = utils(torch)[0].fuse_linear_bn_eval(layer, bn)
        assert torch.allclose(made(rows(torch)), bn(layer(rows(torch))), atol=1e-5)
        return made.state_dict()
    same(torch, run)
    same_error(torch, lambda t: utils(t)[0].fuse_linear_bn_eval(linear(t), t.nn.BatchNorm1d(3)))
    same_error(torch, lambda t: utils(t)[0].fuse_linear_bn_eval(linear(t).eval(), t.nn.BatchNorm1d(4).eval()))


def test_vectors(torch):
    def run(torch):
        u, m = utils(torch)[0], linear(torch)
        row = u.parameters_to_vector(m.parameters())
        (row * row).sum().backward()
        u.vector_to_parameters(torch.arange(15, dtype=torch.float32), m.parameters())
        return row, m.weight.grad, m.state_dict()
    same(torch, run)
    same_error(torch, lambda t: utils(t)[0].vector_to_parameters([1.0], linear(t).parameters()))


@pytest.mark.parametrize('order', [1, 2, 2.5, float('inf'), 0])
@pytest.mark.parametrize('most', [0.5, 1e6])
def test_clipping_of_norms(torch, order, most):
    def run(torch):
        u, m = utils(torch)[0], linear(torch)
        (m(rows(torch)) ** 2).sum().backward()
        norm = u.get_total_norm([x.grad for x in m.parameters()], order)
        found = u.clip_grad_norm_(m.parameters(), most, order, foreach=False)
        u.clip_grads_with_norm_(m.bias, 0.1, norm)
        u.clip_grad_value_(m.weight, 0.05, foreach=True)
        return norm, found, [x.grad for x in m.parameters()]
    same(torch, run)


def test_clipping_where_there_is_nothing_or_nan(torch):
    def infinite(torch):
        x = torch.ones(2, requires_grad=True)
        (x * float('inf')).sum().backward()
        utils(torch)[0].clip_grad_norm_(x, 1.0, error_if_nonfinite=True)
    same(torch, lambda t: [utils(t)[0].clip_grad_norm_([], 1.0), utils(t)[0].get_total_norm([]), utils(t)[0].clip_grad_norm_(linear(t).parameters(), 1.0)])
    same_error(torch, infinite)


def test_skip_init_and_memory_formats(torch):
    same(torch, lambda t: [repr(utils(t)[0].skip_init(t.nn.Linear, 3, 4, bias=False)),
                           list(utils(t)[0].convert_conv2d_weight_memory_format(t.nn.Conv2d(1, 2, 3), t.channels_last).weight.shape)])
    same_error(torch, lambda t: utils(t)[0].skip_init(t.nn.ReLU))
