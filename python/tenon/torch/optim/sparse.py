"""Adam for tables of which a step reads few rows."""
from ..._core import ops
from .optimizer import Optimizer, check, zeros_like


class SparseAdam(Optimizer):
    """Adam (Kingma & Ba 2015) that leaves rows with a zero gradient alone, and their averages: those that a step did not read.

    Gradients are dense here, even for nn.Embedding(…, sparse=True), so a row that was read but has a gradient of zeros is left alone
    too.
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False):
        if not float(lr) > 0:
            raise ValueError(f'[SparseAdam] lr is {lr}, must be above 0')
        if not eps > 0:
            raise ValueError(f'[SparseAdam] eps is {eps}, must be above 0')
        check('SparseAdam', betas=betas)
        super().__init__(params, {'lr': lr, 'betas': betas, 'eps': eps, 'maximize': maximize})
        if any(x.dtype.is_complex for group in self.param_groups for x in group['params']):
            raise ValueError('[SparseAdam] is not for complex parameters: use Adam')

    def _first_state(self, group, x):
        return {'step': 0, 'exp_avg': zeros_like(x), 'exp_avg_sq': zeros_like(x)}

    def _update(self, group, params, grads, states):
        (beta1, beta2), lr = group['betas'], float(group['lr'])
        for x, grad, state in zip(params, grads, states):
            read = _rows(grad)
            if not read.shape[0]:
                continue
            step, found = state['step'], ops['index_select'](grad, 0, read)
            mean = _moved(state['exp_avg'], read, found, 1 - beta1)
            square = _moved(state['exp_avg_sq'], read, found * found, 1 - beta2)
            rate = lr * (1 - beta2 ** step) ** 0.5 / (1 - beta1 ** step)
            x[read] = ops['index_select'](x, 0, read) - mean / (ops['sqrt'](square) + group['eps']) * rate


def _rows(grad):
    """Which rows are not all zeros."""
    changed = grad != 0
    if grad.ndim > 1:
        changed = ops['any'](changed, tuple(range(1, grad.ndim)))
    return ops['reshape'](ops['nonzero'](changed), (-1,))


def _moved(average, read, values, share):
    """The rows of an average, moved towards values by a share and written back."""
    before = ops['index_select'](average, 0, read)
    after = before + (values - before) * share
    average[read] = after
    return after
