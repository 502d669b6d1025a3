"""Older names of autocast's functions, which include the kind of device."""
from .autocast_mode import get_autocast_dtype, is_autocast_enabled, set_autocast_dtype, set_autocast_enabled

__all__ = ['get_autocast_cpu_dtype', 'get_autocast_gpu_dtype', 'is_autocast_cpu_enabled', 'set_autocast_cpu_dtype',
           'set_autocast_cpu_enabled', 'set_autocast_gpu_dtype']


def get_autocast_cpu_dtype():
    """get_autocast_dtype("cpu")"""
    return get_autocast_dtype('cpu')


def get_autocast_gpu_dtype():
    """get_autocast_dtype("cuda")"""
    return get_autocast_dtype('cuda')


def set_autocast_cpu_dtype(dtype):
    """set_autocast_dtype("cpu", dtype)"""
    set_autocast_dtype('cpu', dtype)


def set_autocast_gpu_dtype(dtype):
    """set_autocast_dtype("cuda", dtype)"""
    set_autocast_dtype('cuda', dtype)


def is_autocast_cpu_enabled():
    """is_autocast_enabled("cpu")"""
    return is_autocast_enabled('cpu')


def set_autocast_cpu_enabled(enabled):
    """set_autocast_enabled("cpu", enabled)"""
    set_autocast_enabled('cpu', enabled)
