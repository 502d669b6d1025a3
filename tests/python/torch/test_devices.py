"""Missing devices: they are values until they are used."""
import pickle

import pytest

import tenon
import tenon.torch as ours

HERE = {device.type for device in tenon.devices()}
AWAY = [name for name in ('cuda', 'cuda:0', 'cuda:1', 'mps', 'xpu:0') if name.partition(':')[0] not in HERE]
USES = {
    'made there': lambda d: ours.zeros(2, device=d),
    'tensor': lambda d: ours.tensor([1.0], device=d),
    'moved': lambda d: ours.zeros(2).to(d),
    'module': lambda d: ours.nn.Linear(2, 2).to(d),
    'made module': lambda d: ours.nn.Linear(2, 2, device=d),
    'scope': lambda d: _within(d),
    'loaded': lambda d: _loaded(d),
}


def _within(device):
    with device:
        return ours.zeros(2)


def _loaded(device):
    import io
    file = io.BytesIO()
    ours.save({'x': ours.ones(2)}, file)
    file.seek(0)
    return ours.load(file, map_location=device)


@pytest.mark.parametrize('name', AWAY)
def test_a_missing_device_is_a_value(torch, name):
    mine, theirs = ours.device(name), torch.device(name)
    assert (str(mine), repr(mine), mine.type, mine.index) == (str(theirs), repr(theirs), theirs.type, theirs.index)
    assert mine == ours.device(name) and hash(mine) == hash(ours.device(name)) and mine != ours.device('cpu')
    assert isinstance(mine, ours.device) and ours.device(mine) is mine and pickle.loads(pickle.dumps(mine)) == mine


@pytest.mark.parametrize('use', USES)
def test_its_first_use_says_what_is_missing(use):
    for name in AWAY:
        with pytest.raises((tenon.Error, RuntimeError), match=name.partition(':')[0]):
            USES[use](ours.device(name))
    assert ours.get_default_device() == ours.device('cpu')


def test_which_plugin_is_missing():
    with pytest.raises(tenon.Error, match='no plugin with devices "mps" is loaded'):
        ours.zeros(2, device=ours.device('mps'))


def test_devices_that_exist():
    assert isinstance(ours.zeros(1).device, ours.device) and not isinstance('cpu', ours.device)
    assert ours.device('cpu') == ours.zeros(1).device and ours.device(type='cpu', index=0) == ours.device('cpu')
    with pytest.raises(tenon.Error, match='no device "gpu4"'):
        ours.device('gpu4')


def test_the_usual_choice_of_a_device():
    device = ours.device('cuda' if ours.cuda.is_available() else 'mps' if ours.backends.mps.is_available() else 'cpu')
    assert ours.nn.Linear(2, 1).to(device)(ours.ones(1, 2, device=device)).device == device
