"""torch.nn.parallel.scatter_gather: nested tensors cut into parts for several devices, and put together again."""
from ..._core import Tensor
from .. import join
from ..modes import device
from ..utils import _pytree as trees

__all__ = ['gather', 'scatter', 'scatter_kwargs']


def scatter(inputs, target_gpus, dim=0):
    """A list with a tree like inputs for each device: parts of the tensors along dim, and all else as it is. Fewer trees where a tensor is
    too short."""
    places = [device(each) for each in target_gpus]
    leaves, spec = trees.tree_flatten(inputs)
    parts = [[part.to(place) for part, place in zip(x.chunk(len(places), dim), places)] if isinstance(x, Tensor) else [x] * len(places) for x in leaves]
    return [spec.unflatten(each) for each in zip(*parts)] if leaves else [inputs] * len(places)


def scatter_kwargs(inputs, kwargs, target_gpus, dim=0):
    """scatter() of positional and named arguments: (a tuple of tuples, a tuple of dicts) of equal lengths."""
    positional, named = (scatter(each, target_gpus, dim) if each else [] for each in (inputs, kwargs))
    count = max(len(positional), len(named))
    return (*positional, *[()] * (count - len(positional))), (*named, *[{}] * (count - len(named)))


def gather(outputs, target_device, dim=0):
    """A tree like each of outputs, on a device, whose tensors are those of all of them joined along dim; numbers become vectors."""
    place = device(target_device)
    leaves, specs = zip(*map(trees.tree_flatten, outputs))
    if any(spec != specs[0] for spec in specs):
        raise ValueError('[gather] the outputs have other structures')
    return specs[0].unflatten([join.cat([x.to(place).reshape(-1) if x.ndim == 0 else x.to(place) for x in each], dim) if isinstance(each[0], Tensor)
                               else each[0] for each in zip(*leaves)])
