"""Memory shared with other libraries through DLPack."""
import numpy as np
import pytest

import tenon


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
