"""Ops that draw random numbers: an error, different numbers for each entry, or the same."""
from .._core import ops
from .call import Same, rule
from .elementwise import elementwise

# Ops that a level sees even if none of their arguments is a batch.
DRAWS = ['uniform', 'normal', 'randint', 'randperm', 'bernoulli', 'dropout_mask', 'dropout']


def _check(call):
    if call.randomness == 'error':
        raise RuntimeError('[vmap] the function draws random numbers: say randomness="different" or "same"')
    return call.randomness == 'same'


@rule('uniform', 'normal', 'randint')
def shaped(call):
    if _check(call):
        return Same((call.run(),))
    return call.run(shape=(call.size, *call['shape']))


@rule('randperm')
def randperm(call):
    if _check(call):
        return Same((call.run(),))
    keys = ops['uniform']((call.size, call['n']), device=call['device'], generator=call['generator'])
    return ops['cast'](ops['argsort'](keys, 1), call['dtype'] or 'int64')


@rule('bernoulli')
def bernoulli(call):
    if not _check(call):
        return call.run(p=call.whole('p'))
    if not call.is_batch('p'):
        return Same((call.run(),))
    p = call['p']
    drawn = ops['uniform'](call.shape('p'), dtype=p.dtype, device=p.device, generator=call['generator'])
    return ops['cast'](ops['less'](drawn, p), p.dtype)


@rule('dropout_mask', 'dropout')
def dropout(call):
    if call.name == 'dropout' and not call['training']:
        return elementwise(call) if call.is_batch('x') else Same((call.run(),))
    if not _check(call):
        return call.run(x=call.whole('x'))
    if not call.is_batch('x'):
        return Same((call.run(),))
    x = call['x']
    mask = call.run(x=ops['full'](call.shape('x'), 1, x.dtype, x.device))
    return mask if call.name == 'dropout_mask' else x * mask
