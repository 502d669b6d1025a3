"""Tests that compare with PyTorch request the fixture `torch`, which gives them the mark `pytorch`."""
import importlib.util
import os
import pathlib
import sys

import pytest


@pytest.fixture(scope='session')
def torch():
    import torch
    torch.set_num_threads(1)
    return torch


@pytest.fixture
def there():
    """A function that takes a device's name, loads the simulator if that is its, and gives the name. ./dev test builds both the simulator
    and Vulkan; where a build lacks one, or no driver is installed, the test is skipped."""
    import tenon

    def named(device):
        simulator = os.environ.get('TENON_SIMULATOR')
        if device.startswith('gpusim') and simulator:
            tenon.load_plugin(str(pathlib.Path(simulator) / 'tenon_gpusim.tenon.json'))
        if device.partition(':')[0] not in {'meta', *(found.type for found in tenon.devices())}:
            pytest.skip(f'{device} is not there')
        return device
    return named


@pytest.fixture(autouse=True)
def printing(request):
    """Tensors print in PyTorch's format only in the tests of tenon.torch, whichever test imported it first."""
    found = sys.modules.get('tenon.torch.printing')
    if found is not None:
        in_folder = (pathlib.Path(__file__).parent / 'torch') in request.path.parents
        (found.install if in_folder else found.uninstall)()


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(items):
    there = importlib.util.find_spec('torch') is not None
    for item in items:
        if 'torch' in getattr(item, 'fixturenames', ()):
            item.add_marker('pytorch')
            if not there:
                item.add_marker(pytest.mark.skip(reason='PyTorch is not installed: ./dev test --pytorch installs it'))
