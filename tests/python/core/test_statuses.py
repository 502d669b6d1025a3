"""Each status of the C ABI is an exception in Python. They come from a layer over calls, as a plugin of C would push it."""
import ctypes
import re

import pytest

import tenon


class Text(ctypes.Structure):
    _fields_ = [('data', ctypes.c_char_p), ('size', ctypes.c_uint64)]


CALL = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p)


class Layer(ctypes.Structure):
    _fields_ = [('struct_size', ctypes.c_uint32), ('flags', ctypes.c_uint32), ('ctx', ctypes.c_void_p), ('call', CALL), ('call_into', ctypes.c_void_p)]


# By code, from 1 on, with the class of Python's own that it is.
STATUSES = [(tenon.InvalidArgumentError, ValueError), (tenon.OutOfRangeError, IndexError), (tenon.NotFoundError, LookupError),
            (tenon.AlreadyExistsError, tenon.Error), (tenon.UnimplementedError, NotImplementedError), (tenon.OutOfMemoryError, MemoryError),
            (tenon.PreconditionError, tenon.Error), (tenon.DeviceLostError, tenon.Error), (tenon.IoError, OSError),
            (tenon.DataLossError, tenon.Error), (tenon.InternalError, tenon.Error), (tenon.CancelledError, tenon.Error),
            (tenon.TimeoutError, TimeoutError), (tenon.PeerLostError, ConnectionError)]


@pytest.fixture(scope='module')
def core():
    """The libtenon that the package has loaded."""
    with open('/proc/self/maps') as maps:
        library = ctypes.CDLL(re.search(r'/\S*libtenon\.so\.\S*', maps.read())[0])
    library.tn_status_make.restype = ctypes.c_void_p
    library.tn_status_make.argtypes = [ctypes.c_uint32, Text]
    for name in ('push', 'pop'):
        function = getattr(library, f'tn_call_layer_{name}')
        function.restype, function.argtypes = ctypes.c_void_p, [ctypes.POINTER(Layer)]
    return library


@pytest.mark.parametrize('code, kinds', list(enumerate(STATUSES, 1)), ids=lambda one: None if isinstance(one, int) else one[0].__name__)
def test_a_status_is_an_exception(core, code, kinds):
    x = tenon.ones(3)
    layer = Layer(ctypes.sizeof(Layer), 0, None, CALL(lambda *_: core.tn_status_make(code, Text(b'rank 3 went', 11))), None)
    assert core.tn_call_layer_push(layer) is None
    try:
        with pytest.raises(kinds[0], match='rank 3 went') as caught:
            tenon.exp(x)
    finally:
        core.tn_call_layer_pop(layer)
    assert type(caught.value) is kinds[0] and isinstance(caught.value, kinds[1])
    assert tenon.exp(x * 0).tolist() == [1, 1, 1]
