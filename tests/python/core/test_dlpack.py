"""Memory shared with other libraries through DLPack."""
import numpy as np
import pytest

import tenon


@pytest.fixture(params=['gpusim:0', 'gpusim:1'])
def device(request, there):
    """One whose plugin says what DLPack calls it."""
    return there(request.param)


class Producer:
    """Somebody else's array in the memory of a tensor; keeps what it was asked."""

    def __init__(self, x, versioned=True):
        self.x, self.versioned = x, versioned

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()

    def __dlpack__(self, *, stream=None, **new):
        if new and not self.versioned:
            raise TypeError('an old producer')
        self.stream, self.asked = stream, new
        return self.x.__dlpack__(stream=stream, **new)


@pytest.mark.parametrize('versioned', [True, False])
def test_devices_share_both_ways(device, versioned):
    x = tenon.arange(6, device=device, dtype=tenon.float32)
    assert x.__dlpack_device__() == (12, int(device[-1]))
    producer = Producer(x.reshape(2, 3).mT, versioned)
    made = tenon.from_dlpack(producer)
    assert str(made.device) == device and made.shape == (3, 2) and made.strides == (1, 3)
    assert isinstance(producer.stream, int) and producer.stream > 2 and ('max_version' in producer.asked) is versioned
    made[0, 1] = 9
    assert x.tolist() == [0, 1, 2, 9, 4, 5] and (made + made).tolist() == [[0, 18], [2, 8], [4, 10]]
    copied, moved = tenon.from_dlpack(producer, copy=True), tenon.from_dlpack(producer, device='cpu')
    made[0, 0] = 3
    assert copied[0, 0].item() == 0 and moved.tolist() == [[0, 9], [1, 4], [2, 5]] and str(moved.device) == 'cpu:0'


def test_capsules_of_devices(device):
    x = tenon.ones(4, device=device)
    for version in None, (1, 0):
        made = tenon.from_dlpack(x.__dlpack__(max_version=version))
        made *= 2
    assert x.tolist() == [4] * 4
    del x
    assert made.tolist() == [4] * 4


def test_streams_of_consumers(device):
    x = tenon.ones(4, device=device)
    for stream in None, -1, 1, 2, 1 << 40:
        x.__dlpack__(stream=stream)
    for stream in 0, -7, 1 << 70:
        with pytest.raises(tenon.InvalidArgumentError):
            x.__dlpack__(stream=stream)
    with pytest.raises(TypeError):
        x.__dlpack__(stream='0')
    with pytest.raises(tenon.PreconditionError, match='captures'):
        with tenon.capture(device):
            x.__dlpack__()


def test_consumers_on_the_host_get_a_copy(device):
    x = tenon.arange(3, device=device)
    there = np.from_dlpack(x, device='cpu')
    there[0] = 8
    assert there.tolist() == [8, 1, 2] and x.tolist() == [0, 1, 2]
    with pytest.raises(BufferError, match='copy=False'):
        x.__dlpack__(dl_device=(1, 0), copy=False)
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(2, 0))


def test_what_other_libraries_cannot_use(there):
    x = tenon.ones(2, device=there('vulkan'))
    for call in x.__dlpack__, x.__dlpack_device__, lambda: tenon.from_dlpack(Producer(x)):
        with pytest.raises(tenon.UnimplementedError, match=r'vulkan:0 has no DLPack code.*cpu\(\)'):
            call()
    assert np.from_dlpack(x, device='cpu').tolist() == np.from_dlpack(x.cpu()).tolist() == [1, 1]


@pytest.mark.parametrize('code', [(8, 0), (12, 99), (2, -1), (1 << 40, 0)])
def test_devices_that_nobody_has(code):
    class Elsewhere:
        def __dlpack_device__(self):
            return code

        def __dlpack__(self, **_):
            return tenon.ones(2, device='meta').__dlpack__()

    with pytest.raises(tenon.Error):
        tenon.from_dlpack(Elsewhere())


def test_numpy_shares_both_ways():
    array = np.arange(6, dtype='float32').reshape(2, 3)
    x = tenon.from_dlpack(array)
    x[0, 0] = 9
    assert array[0, 0] == 9
    back = np.from_dlpack(x)
    assert np.shares_memory(back, array)
    assert tenon.from_dlpack(array.T).strides == (1, 3)


def test_copy_and_devices():
    x = tenon.arange(3)
    assert x.__dlpack_device__() == (1, 0)
    copied = np.from_dlpack(x, copy=True)
    copied[0] = 7
    assert x.tolist() == [0, 1, 2]
    assert tenon.from_dlpack(x, copy=True).shares_memory(x) is False
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(2, 0))


@pytest.mark.parametrize('device', [str(device) for device in tenon.devices()])
def test_tensors_of_any_device_are_taken(device):
    x = tenon.arange(3, device=device)
    shared, copied, moved = tenon.from_dlpack(x), tenon.from_dlpack(x, copy=True), tenon.from_dlpack(x, device='cpu')
    x[0] = 5
    assert shared.tolist() == [5, 1, 2] and copied.tolist() == [0, 1, 2] and str(moved.device) == 'cpu:0'
    with pytest.raises(tenon.Error, match='requires a gradient'):
        tenon.from_dlpack(tenon.ones(2, device=device, requires_grad=True))


def test_capsules_are_taken_once():
    x = tenon.arange(3)
    for version in (None, (1, 0)):
        capsule = x.__dlpack__(max_version=version)
        assert ('versioned' in repr(capsule)) is (version is not None)
        from tenon import _core
        assert _core._from_capsule(capsule).tolist() == [0, 1, 2]
        with pytest.raises(TypeError, match='nobody took'):
            _core._from_capsule(capsule)
    del capsule  # a capsule that nobody takes is freed
    x.__dlpack__()


def test_read_only_memory_stays_as_it_is():
    array = np.arange(3.)
    array.flags.writeable = False
    x = tenon.from_dlpack(array)
    with pytest.raises((tenon.Error, ValueError)):
        x += 1
    assert array.tolist() == [0, 1, 2]


@pytest.mark.parametrize('wrong', [3, 'a', None, object()])
def test_what_has_no_dlpack_is_refused(wrong):
    with pytest.raises(TypeError, match='__dlpack__'):
        tenon.from_dlpack(wrong)


def test_a_tensor_with_history_must_be_detached():
    x = tenon.ones(2, requires_grad=True)
    with pytest.raises((tenon.Error, BufferError), match='detach'):
        np.from_dlpack(x)


@pytest.mark.parametrize('dtype', ['float32', 'float64', 'int64', 'uint8', 'bool', 'bfloat16', 'float16', 'complex64'])
def test_pytorch_shares_both_ways(torch, dtype):
    other = torch.ones(2, 3).to(getattr(torch, dtype))
    x = tenon.from_dlpack(other)
    assert x.dtype is getattr(tenon, dtype) and x.data_ptr == other.data_ptr()
    back = torch.from_dlpack(x)
    assert back.dtype is other.dtype and back.data_ptr() == other.data_ptr()
    assert tenon.asarray(other).data_ptr == other.data_ptr()
