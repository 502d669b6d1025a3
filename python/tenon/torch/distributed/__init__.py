"""torch.distributed for a group of one process: each collective gives what it gives where that process is all there is."""
import enum
import os
from typing import Any

from .._common import absent, check
from . import device_mesh, nn, rpc


class ReduceOp(enum.Enum):
    """How all_reduce() and reduce() combine processes; of a single one each gives the tensor itself."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM = range(9)


class ProcessGroup:
    """A group of this process alone."""

    def __init__(self, backend='gloo'):
        self.backend = backend

    def rank(self):
        return 0

    def size(self):
        return 1


class Work:
    """A collective that was asked for with async_op=True; it is done."""

    def wait(self, timeout=None):
        return True

    def is_completed(self):
        return True

    is_success = is_completed


class group:
    """The group that functions use where none is given."""

    WORLD: Any = None


GroupMember = group


def is_initialized():
    """Whether init_process_group() has run."""
    return group.WORLD is not None


# Packages ask it before they import what several processes need; a group of one process can be made all the same.
is_available = is_initialized


def is_torchelastic_launched():
    """False."""
    return False


def is_nccl_available():
    """False."""
    return False


def is_gloo_available():
    """Whether the backend of hosts can be named: True."""
    return True


is_mpi_available = is_nccl_available


def _told(name, given):
    """A rank or a size: the one given, or that of the environment."""
    if given >= 0:
        return given
    if name not in os.environ:
        raise ValueError(f'[init_process_group] environment variable {name} expected, but not set: give world_size=1 and rank=0')
    return int(os.environ[name])


def init_process_group(backend=None, init_method=None, timeout=None, world_size=-1, rank=-1, store=None, group_name='', pg_options=None,
                       device_id=None):
    """Makes the group of this process, of which world_size, or WORLD_SIZE in the environment, must be 1.

    Raises ValueError if a group was made before or a size is missing, RuntimeError for several processes.
    """
    if is_initialized():
        raise ValueError('[init_process_group] trying to initialize the default process group twice')
    size, rank = _told('WORLD_SIZE', world_size), _told('RANK', rank)
    if size != 1 or rank != 0:
        raise RuntimeError(f'[init_process_group] rank {rank} of {size} processes: here one process trains; start it with WORLD_SIZE=1')
    group.WORLD = ProcessGroup('gloo' if backend is None else str(backend).lower())


def destroy_process_group(group=None):
    """Forgets the group."""
    _group(None)
    if group is None or group is globals()['group'].WORLD:
        globals()['group'].WORLD = None


def _group(given):
    if not is_initialized():
        raise ValueError('Default process group has not been initialized, please make sure to call init_process_group.')
    return group.WORLD if given is None else given


def _only(rank, what='rank'):
    if rank not in (0, None):
        raise ValueError(f'[distributed] {what} is {rank}, but this process is the only one')


def get_rank(group=None):
    """0."""
    return _group(group).rank()


def get_world_size(group=None):
    """1."""
    return _group(group).size()


def get_backend(group=None):
    """The name that init_process_group() was given."""
    return _group(group).backend


def get_process_group_ranks(group):
    """[0]"""
    _group(group)
    return [0]


def new_group(ranks=None, timeout=None, backend=None, pg_options=None, use_local_synchronization=False, group_desc=None, device_id=None):
    """Another group of this process."""
    world = _group(None)
    for rank in ranks or ():
        _only(rank)
    return ProcessGroup(world.backend if backend is None else backend)


def _done(group, async_op):
    _group(group)
    return Work() if async_op else None


def all_reduce(tensor, op=ReduceOp.SUM, group=None, async_op=False):
    """Leaves the tensor as it is: the sum, mean or other reduction over one process."""
    check(tensor, 'all_reduce')
    return _done(group, async_op)


def reduce(tensor, dst=None, op=ReduceOp.SUM, group=None, async_op=False, group_dst=None):
    """As all_reduce()."""
    _only(dst, 'dst')
    return all_reduce(tensor, op, group, async_op)


def broadcast(tensor, src=None, group=None, async_op=False, group_src=None):
    """Leaves the tensor of the only process as it is."""
    _only(src, 'src')
    check(tensor, 'broadcast')
    return _done(group, async_op)


def _one(tensors, name):
    if len(tensors) != 1:
        raise ValueError(f'[{name}] {len(tensors)} tensors for 1 process')
    return tensors[0]


def all_gather(tensor_list, tensor, group=None, async_op=False):
    """Writes the tensor into the only one of tensor_list."""
    done = _done(group, async_op)
    _one(tensor_list, 'all_gather').copy_(tensor.detach())
    return done


def all_gather_into_tensor(output_tensor, input_tensor, group=None, async_op=False):
    """Writes input_tensor into output_tensor, which may have one more dimension of size 1."""
    done = _done(group, async_op)
    output_tensor.copy_(input_tensor.detach().reshape(output_tensor.shape))
    return done


reduce_scatter_tensor = all_gather_into_tensor


def gather(tensor, gather_list=None, dst=None, group=None, async_op=False, group_dst=None):
    """Writes the tensor into the only one of gather_list."""
    _only(dst, 'dst')
    return all_gather(gather_list or (), tensor, group, async_op)


def scatter(tensor, scatter_list=None, src=None, group=None, async_op=False, group_src=None):
    """Writes the only one of scatter_list into the tensor."""
    _only(src, 'src')
    return all_gather([tensor], _one(scatter_list or (), 'scatter'), group, async_op)


def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None, async_op=False):
    """Writes the only one of input_list into output."""
    return all_gather([output], _one(input_list, 'reduce_scatter'), group, async_op)


def all_to_all(output_tensor_list, input_tensor_list, group=None, async_op=False):
    """Writes the only input into the only output."""
    return all_gather(output_tensor_list, _one(input_tensor_list, 'all_to_all'), group, async_op)


def barrier(group=None, async_op=False, device_ids=None):
    """Waits for nobody."""
    return _done(group, async_op)


def all_gather_object(object_list, obj, group=None):
    """Puts obj into the only place of object_list."""
    _group(group)
    _one(object_list, 'all_gather_object')
    object_list[0] = obj


def gather_object(obj, object_gather_list=None, dst=None, group=None, group_dst=None):
    """Puts obj into the only place of object_gather_list."""
    _only(dst, 'dst')
    all_gather_object(object_gather_list or (), obj, group)


def broadcast_object_list(object_list, src=None, group=None, device=None, group_src=None):
    """Leaves the objects of the only process as they are."""
    _only(src, 'src')
    _group(group)


_absent = absent(__name__, dict.fromkeys(('send', 'recv', 'isend', 'irecv', 'P2POp', 'batch_isend_irecv', 'TCPStore', 'FileStore', 'HashStore',
                                              'fsdp', 'init_device_mesh', 'DeviceMesh', 'elastic',
                                              'algorithms', 'pipelining', 'checkpoint', 'launch', 'run'),
                                             'one process trains here'))


def __getattr__(name):
    if name == 'optim':  # imports torch.optim
        from importlib import import_module
        return import_module(f'{__name__}.optim')
    return _absent(name)
