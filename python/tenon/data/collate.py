"""Makes a batch of examples of equal shapes."""
import tenon
from .._core import Tensor, ops


def default_collate(examples):
    """Stacks tensors and arrays, makes a tensor of numbers, and keeps text as a list; tuples and dicts are collated field by field.

    >>> x, label = tenon.data.default_collate([(tenon.zeros(2), 1), (tenon.ones(2), 0)])
    >>> x.shape, label.tolist()
    ((2, 2), [1, 0])
    """
    if not isinstance(examples, (list, tuple)) or not examples:
        raise TypeError('[collate] wants a list of at least one example')
    first = examples[0]
    for kind in (Tensor, dict, (tuple, list)):
        if isinstance(first, kind) and not all(isinstance(example, kind) for example in examples):
            raise TypeError(f'[collate] {" and ".join(sorted({type(x).__name__ for x in examples}))} in one batch')
    if isinstance(first, Tensor):
        return _stack(examples)
    if isinstance(first, (bool, int, float, complex)):
        return tenon.tensor(examples)
    if isinstance(first, (str, bytes)) or first is None:
        return list(examples)
    if isinstance(first, dict):
        for example in examples:
            if example.keys() != first.keys():
                raise ValueError(f'[collate] examples with keys {sorted(first)} and {sorted(example)} in one batch')
        return {key: default_collate([example[key] for example in examples]) for key in first}
    if isinstance(first, (tuple, list)):
        for example in examples:
            if len(example) != len(first):
                raise ValueError(f'[collate] examples of {len(first)} and {len(example)} fields in one batch')
        fields = [default_collate(list(field)) for field in zip(*examples)]
        return type(first)(*fields) if hasattr(first, '_fields') else tuple(fields)
    if hasattr(first, '__array__') or hasattr(first, '__dlpack__'):
        return _stack([tenon.asarray(example) for example in examples])
    raise TypeError(f'[collate] does not know how to batch {type(first).__name__}: give DataLoader a collate_fn')


def _stack(tensors):
    shape = tensors[0].shape
    for x in tensors:
        if x.shape != shape:
            raise ValueError(f'[collate] examples of shapes {shape} and {x.shape} in one batch: give DataLoader a collate_fn')
    return ops['stack'](tensors)
