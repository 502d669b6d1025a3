"""torch._higher_order_ops.associative_scan: running results of a function of two trees, in a logarithmic number of calls."""
from . import join
from .shape import flip
from .utils import _pytree as trees

__all__ = ['associative_scan']


def associative_scan(combine_fn, xs, dim, reverse=False, combine_mode='pointwise'):
    """Trees like xs whose entry i along dim is the combination of entries 0 to i, or with reverse of i to the last; combine_fn(a, b) must be
    associative and works on many entries at once (Blelloch 1990, section 1.2). combine_mode has no effect."""
    leaves, spec = trees.tree_flatten(xs)
    if not leaves:
        raise RuntimeError('[associative_scan] xs has no tensors')
    if len({x.shape[dim] for x in leaves}) != 1:
        raise RuntimeError(f'[associative_scan] tensors have different sizes along dim {dim}: {[tuple(x.shape) for x in leaves]}')

    def combine(left, right):
        return trees.tree_leaves(combine_fn(spec.unflatten(left), spec.unflatten(right)))

    def part(parts, *along):
        return [x[(slice(None),) * (dim % x.ndim) + (slice(*along),)] for x in parts]

    def scan(parts):
        count = parts[0].shape[dim]
        if count < 2:
            return parts
        odd = scan(combine(part(parts, 0, count - 1, 2), part(parts, 1, None, 2)))
        even = combine(part(odd, 0, (count - 1) // 2), part(parts, 2, None, 2)) if count > 2 else []
        even = [join.cat([first, *rest], dim) for first, *rest in zip(part(parts, 0, 1), *([even] if even else []))]
        return [_interleaved(a, b, dim % a.ndim) for a, b in zip(even, odd)]

    def turned(parts):
        return [flip(x, (dim,)) for x in parts] if reverse else parts
    return spec.unflatten(turned(scan(turned(leaves))))


def _interleaved(even, odd, dim):
    """Entries of even and odd in turn; even has as many, or one more."""
    both = join.stack([even[(slice(None),) * dim + (slice(odd.shape[dim]),)], odd], dim + 1).flatten(dim, dim + 1)
    rest = even[(slice(None),) * dim + (slice(odd.shape[dim], None),)]
    return join.cat([both, rest], dim) if rest.shape[dim] else both
