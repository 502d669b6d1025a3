"""Ops that are linear in some of their arguments, jointly or in each one."""
from .._core import Tensor, int64, ops
from .._op_facts import LINEAR, VIEWS
from .call import Call, rule


def _linear(*names):
    """Makes the rule of ops that are jointly linear in these arguments: the op applied to the tangents."""
    def tangents(call):
        return call.run(**{name: call.tangent_or_zeros(name) for name in names})
    return tangents


@rule(*VIEWS)
def view(call):
    """The tangent of a view is a view of the tangent, so that a write to one shows in the other."""
    return call.run(x=call.tangent('x'))


@rule('pad')
def pad(call):
    return call.run(x=call.tangent('x'), value=0.0)


@rule('nll_loss')
def nll_loss(call):
    """Linear in the log-probabilities, the only argument with a tangent; the total weight is constant."""
    return call.run(log_probs=call.tangent_or_zeros('log_probs'))[0], None


@rule('softmax_cross_entropy')
def softmax_cross_entropy(call):
    """Σ p·dx for the logarithm of each row, less dx of the class for the loss; the weights are constants."""
    logits, change = call['logits'], call.tangent('logits')
    _, counted, lse = call.run()
    wide = ops['cast'](change, lse.dtype)
    p = ops['exp'](ops['cast'](logits, lse.dtype) - ops['unsqueeze'](lse, 1))
    mean = ops['sum'](p * wide, 1)
    counts = ops['not_equal'](counted, 0)
    target = ops['unsqueeze'](ops['where'](counts, call['target'], 0), 1)
    picked = ops['squeeze'](ops['gather'](wide, 1, ops['cast'](target, int64)), 1)
    loss = counted * (mean - picked)
    if call['reduction'] != 'none':
        loss = ops['sum'](loss)
    if call['reduction'] == 'mean':
        loss = loss / ops['sum'](counted)
    return loss, None, mean


@rule('add')
def add(call):
    tx, ty = call.tangent('x'), call.tangent('y')
    return tx if ty is None else ty if tx is None else ops['add'](tx, ty)


def _multilinear(*names, constant=None):
    """Makes the rule of ops that are linear in each argument: a sum over those that have tangents, with `constant` added once."""
    def tangents(call):
        without = {} if constant is None else {constant: None}
        parts = [call.run(**{name: call.tangent(name)}, **without) for name in names if call.tangent(name) is not None]
        return _total(parts), call.tangent(constant) if constant is not None and call.has(constant) else None
    return tangents


def _total(parts):
    total = None
    for part in parts:
        total = part if total is None else ops['add'](total, part)
    return total


def _products(*names):
    return lambda call: _multilinear(*names)(call)[0]


for _name, _arguments in LINEAR.items():
    rule(_name)(_products(*_arguments.split(', ')) if ',' in _arguments else _linear(*_arguments.split()))
rule('fft.c2c', 'fft.r2c', 'fft.c2r')(_linear('x'))


@rule('conv', 'conv_transpose')
def conv(call):
    total, bias = _multilinear('x', 'weight', constant='bias')(call)
    if bias is None:
        return total
    bias = ops['reshape'](bias, (-1, *(1,) * (call.y.ndim - 2)))
    return bias if total is None else ops['add'](total, bias)


@rule('linear')
def linear(call):
    """With an activation, the tangent of the linear part goes through the activation's rule."""
    from .level import tangents_of
    total, bias = _multilinear('x', 'weight', constant='bias')(_without_activation(call))
    t = bias if total is None else total if bias is None else ops['add'](total, bias)
    kind = call['activation']
    if kind == 'none' or t is None:
        return t
    pre = call.run(activation='none')
    t = t if t.shape == pre.shape else ops['expand'](t, pre.shape)
    name, more = ('gelu', ['tanh']) if kind == 'gelu_tanh' else (kind, ['none'] if kind == 'gelu' else [])
    results, tangents = tangents_of(name, [pre, *more], [t, *(None for _ in more)], call.level)
    call.results = results
    return tangents[0]


def _without_activation(call):
    args = list(call.args)
    args[call.place('activation')] = 'none'
    return Call(call.name, args, call.tangents, call.level)


@rule('einsum')
def einsum(call):
    xs, at = list(call['xs']), call.place('xs')
    return _total([call.run(xs=[*xs[:k], t, *xs[k + 1:]]) for k, t in enumerate(call.tangents[at]) if t is not None])


@rule('bernoulli', 'sign', 'floor', 'ceil', 'round', 'trunc', 'floor_divide')
def constant(call):
    """Piecewise constant ops of real numbers have tangents of zero."""
    if any(isinstance(x, Tensor) and x.dtype.is_complex for x in call.args):
        from .level import by_two_backward_passes
        return by_two_backward_passes(call)
    return None

