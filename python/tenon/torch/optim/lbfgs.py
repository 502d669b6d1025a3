"""L-BFGS: quasi-Newton steps from the last gradients (Nocedal & Wright 2006, algorithms 7.4 and 7.5)."""
import math

import tenon

from ..._core import ops
from .optimizer import Optimizer, as_complex, as_real, check, zeros_like


class LBFGS(Optimizer):
    """Takes a closure that computes the loss and its gradients anew, which it calls several times in a step; all parameters are one
    group.

    line_search_fn='strong_wolfe' searches along each direction (Nocedal & Wright 2006, algorithms 3.5 and 3.6), None takes lr.
    maximize=True ascends.
    """

    def __init__(self, params, lr=1, max_iter=20, max_eval=None, tolerance_grad=1e-7, tolerance_change=1e-9, history_size=100,
                 line_search_fn=None, *, maximize=False):
        check('LBFGS', lr=lr)
        if line_search_fn not in (None, 'strong_wolfe'):
            raise RuntimeError(f"[LBFGS] line_search_fn must be None or 'strong_wolfe', not {line_search_fn!r}")
        super().__init__(params, {'lr': lr, 'max_iter': max_iter, 'max_eval': max_iter * 5 // 4 if max_eval is None else max_eval,
                                  'tolerance_grad': tolerance_grad, 'tolerance_change': tolerance_change, 'history_size': history_size,
                                  'line_search_fn': line_search_fn, 'maximize': maximize})
        if len(self.param_groups) != 1:
            raise ValueError('[LBFGS] takes one group of parameters')
        self._params = self.param_groups[0]['params']

    def _gradient(self):
        """All gradients of the minimised function as one vector of real numbers; a complex number counts as two."""
        found = ops['concat']([_flat(zeros_like(x) if x.grad is None else x.grad) for x in self._params], 0)
        return -found if self.param_groups[0]['maximize'] else found

    def _height(self, loss):
        """The minimised value: the loss, or its negative."""
        return -float(loss) if self.param_groups[0]['maximize'] else float(loss)

    def _move(self, places, length, direction):
        """Moves the parameters to places + length · direction."""
        at = 0
        for x, place in zip(self._params, places):
            count = x.numel() * (2 if x.dtype.is_complex else 1)
            x[...] = place + _shaped(ops['slice'](direction, 0, at, at + count), x) * length
            at += count

    def step(self, closure=None):
        if closure is None:
            raise TypeError('[LBFGS] step(closure) needs a function that computes the loss and its gradients, and returns the loss')
        self._tell('pre', closure)
        with tenon.no_grad():
            loss = self._step(closure)
        self._tell('post', closure)
        return loss

    def _evaluate(self, closure):
        """(loss, gradient) at the current parameters."""
        loss = self._height(self._loss_of(closure))
        self.state[self._params[0]]['func_evals'] += 1
        return loss, self._gradient()

    def _step(self, closure):
        group, state = self.param_groups[0], self.state[self._params[0]]
        for key in ('func_evals', 'n_iter'):
            state.setdefault(key, 0)
        first = self._loss_of(closure)
        loss, gradient = self._height(first), self._gradient()
        state['func_evals'] += 1
        evaluations = state['func_evals']
        if _largest(gradient) <= group['tolerance_grad']:
            return first
        for iteration in range(1, group['max_iter'] + 1):
            state['n_iter'] += 1
            direction = self._direction(state, gradient, group['history_size'])
            slope = _dot(gradient, direction)
            state['prev_flat_grad'], state['prev_loss'] = gradient, loss
            length = float(group['lr']) * (min(1.0, 1 / ops['sum'](ops['abs'](gradient)).item()) if state['n_iter'] == 1 else 1.0)
            state['d'], state['t'] = direction, length
            if slope > -group['tolerance_change']:
                break
            before = loss
            places = [ops['clone'](x) for x in self._params]

            def along(t, places=places, direction=direction):
                self._move(places, t, direction)
                return self._evaluate(closure)
            if group['line_search_fn'] == 'strong_wolfe':
                tries = group['max_eval'] - (state['func_evals'] - evaluations + 1)
                loss, gradient, length = _strong_wolfe(along, direction, length, loss, gradient, slope, tries)
                self._move(places, length, direction)
            elif iteration != group['max_iter']:
                loss, gradient = along(length)
            else:
                self._move(places, length, direction)
            state['t'] = length
            if (state['func_evals'] - evaluations + 1 >= group['max_eval'] or _largest(gradient) <= group['tolerance_grad']
                    or _largest(direction * length) <= group['tolerance_change'] or abs(loss - before) < group['tolerance_change']):
                break
        return first

    def _direction(self, state, gradient, history):
        """The two loops over the kept differences of places and gradients; the first time the gradient alone."""
        if state['n_iter'] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1.0)
            return -gradient
        change, moved = gradient - state['prev_flat_grad'], state['d'] * state['t']
        curvature = _dot(change, moved)
        if curvature > 1e-10:
            if len(state['old_dirs']) == history:
                for key in ('old_dirs', 'old_stps', 'ro'):
                    state[key].pop(0)
            state['old_dirs'].append(change)
            state['old_stps'].append(moved)
            state['ro'].append(1 / curvature)
            state['H_diag'] = curvature / _dot(change, change)
        kept = list(zip(state['old_dirs'], state['old_stps'], state['ro']))
        q, shares = -gradient, []
        for y, s, ro in reversed(kept):
            shares.append(_dot(s, q) * ro)
            q = q - y * shares[-1]
        r = q * state['H_diag']
        for (y, s, ro), share in zip(kept, reversed(shares)):
            r = r + s * (share - _dot(y, r) * ro)
        return r


def _flat(x):
    """The elements as a vector of real numbers."""
    return ops['reshape'](as_real(x), (-1,))


def _shaped(flat, x):
    """The inverse of _flat(), in the shape and kind of x."""
    if not x.dtype.is_complex:
        return ops['reshape'](flat, x.shape)
    return as_complex(ops['reshape'](flat, (*x.shape, 2)))


def _dot(x, y):
    return ops['sum'](x * y).item()


def _largest(x):
    return ops['max'](ops['abs'](x)).item()


def _cubic_minimum(a, b, low, high):
    """The minimum between low and high of the cubic through two points (place, value, slope); Nocedal & Wright 2006, eq. 3.59."""
    (x1, f1, g1), (x2, f2, g2) = sorted((a, b))
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1 * d1 - g1 * g2
    if square < 0:
        return (low + high) / 2
    d2 = math.sqrt(square)
    return min(max(x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2)), low), high)


def _strong_wolfe(along, direction, t, loss, gradient, slope, tries, c1=1e-4, c2=0.9, tolerance=1e-9):
    """(loss, gradient, length) that satisfy the strong Wolfe conditions, or the best found in so many evaluations after the first."""
    size, start = _largest(direction), (0.0, loss, slope)
    previous, previous_gradient = start, gradient

    def look(t):
        value, found = along(t)
        return (t, value, _dot(found, direction)), found
    point, found = look(t)
    bracket, used = None, 0
    while used < tries and not bracket:
        t, value, rise = point
        if value > loss + c1 * t * slope or (used > 1 and value >= previous[1]):
            bracket = [(previous, previous_gradient), (point, found)]
        elif abs(rise) <= -c2 * slope:
            return value, found, t
        elif rise >= 0:
            bracket = [(previous, previous_gradient), (point, found)]
        else:
            following = _cubic_minimum(previous, point, t + 0.01 * (t - previous[0]), t * 10)
            previous, previous_gradient = point, found
            point, found = look(following)
            used += 1
    bracket = bracket or [(start, gradient), (point, found)]
    return _zoom(look, bracket, loss, slope, size, c1, c2, tolerance, tries - used)


def _zoom(look, bracket, loss, slope, size, c1, c2, tolerance, tries):
    """Narrows a bracket [(point, gradient)] until its lower end satisfies the conditions."""
    bracket.sort(key=lambda end: end[0][1])
    stalled = False
    for _ in range(tries):
        (low, _), (high, _) = bracket
        left, right = sorted((low[0], high[0]))
        if (right - left) * size < tolerance:
            break
        t = _cubic_minimum(low, high, left, right)
        # Near an end it tries once, and then moves a tenth inwards.
        margin = 0.1 * (right - left)
        if min(right - t, t - left) < margin:
            if stalled or t >= right or t <= left:
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                stalled = False
            else:
                stalled = True
        else:
            stalled = False
        point, found = look(t)
        if point[1] > loss + c1 * t * slope or point[1] >= low[1]:
            bracket[1] = (point, found)
            bracket.sort(key=lambda end: end[0][1])
        else:
            if abs(point[2]) <= -c2 * slope:
                return point[1], found, t
            if point[2] * (high[0] - low[0]) >= 0:
                bracket[1] = bracket[0]
            bracket[0] = (point, found)
    (t, value, _), found = bracket[0]
    return value, found, t
