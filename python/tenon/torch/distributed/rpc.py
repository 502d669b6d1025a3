"""torch.distributed.rpc: calls of other processes, of which there are none."""
from .._common import absent

__getattr__ = absent(__name__, dict.fromkeys(('init_rpc', 'shutdown', 'rpc_sync', 'rpc_async', 'remote', 'get_worker_info', 'TensorPipeRpcBackendOptions'),
                                             'one process trains here'))
