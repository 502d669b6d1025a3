"""torch.multiprocessing: Python's own. Its queues copy tensors, except those after share_memory_(), whose memory processes share."""
import multiprocessing
from typing import Any

globals().update({name: getattr(multiprocessing, name) for name in multiprocessing.__all__})


def get_all_sharing_strategies():
    """{'copy'}"""
    return {'copy'}


def get_sharing_strategy():
    """'copy'"""
    return 'copy'


def set_sharing_strategy(new_strategy):
    """Accepted without effect: tensors are copied."""


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method='spawn'):
    """Runs fn(i, *args) in nprocs processes; raises if one fails. With join=False returns the processes."""
    context: Any = multiprocessing.get_context(start_method)
    processes = [context.Process(target=fn, args=(i, *args), daemon=daemon) for i in range(nprocs)]
    for each in processes:
        each.start()
    if not join:
        return processes
    for each in processes:
        each.join()
    failed = [(i, each.exitcode) for i, each in enumerate(processes) if each.exitcode]
    if failed:
        raise RuntimeError(f'[spawn] process {failed[0][0]} ended with {failed[0][1]}: its error is above')
    return None
