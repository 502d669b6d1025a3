"""Adam for tables of which a step reads few rows."""
from ..._core import ops
from .optimizer import Optimizer, check, rows_of, zeros_like


class SparseAdam(Optimizer):
    """Adam (Kingma & Ba 2015) for sparse gradients: rows that they do not hold are left alone, and so are their averages."""

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
        raise RuntimeError('[SparseAdam] does not support dense gradients: use Adam')

    def _update_sparse(self, group, params, grads, states):
        (beta1, beta2), lr = group['betas'], float(group['lr'])
        for x, grad, state in zip(params, grads, states):
            read, found = rows_of('SparseAdam', group, x, grad)
            if not read.shape[0]:
                continue
            step = state['step']
            mean = _moved(state['exp_avg'], read, found, 1 - beta1)
            square = _moved(state['exp_avg_sq'], read, found * found, 1 - beta2)
            rate = lr * (1 - beta2 ** step) ** 0.5 / (1 - beta1 ** step)
            x[read] = ops['index_select'](x, 0, read) - mean / (ops['sqrt'](square) + group['eps']) * rate


def _moved(average, read, values, share):
    """The rows of an average, moved towards values by a share and written back."""
    before = ops['index_select'](average, 0, read)
    after = before + (values - before) * share
    average[read] = after
    return after
