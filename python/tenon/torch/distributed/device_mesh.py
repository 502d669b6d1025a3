"""torch.distributed.device_mesh: names that others write into annotations; one process has no mesh."""

__all__ = ['DeviceMesh', 'init_device_mesh']


class DeviceMesh:
    """Devices of several processes, which are not offered here."""

    def __init__(self, *args, **kwargs):
        raise RuntimeError('[DeviceMesh] a mesh needs several processes: one process trains here')


def init_device_mesh(device_type, mesh_shape, *, mesh_dim_names=None, **kwargs):
    """Raises RuntimeError."""
    return DeviceMesh()
