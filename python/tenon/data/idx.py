"""IDX files (http://yann.lecun.com/exdb/mnist), plain or compressed by gzip, and Fashion-MNIST, which comes in them."""
import array
import gzip
import math
import os
import struct
import sys

from .. import _core
from .._core import ops
from .._errors import DataLossError, IoError
from .dataset import TensorDataset

_DTYPES = {0x08: ('uint8', 'B'), 0x09: ('int8', 'b'), 0x0b: ('int16', 'h'), 0x0c: ('int32', 'i'), 0x0d: ('float32', 'f'),
           0x0e: ('float64', 'd')}
_MAX_DIMS = 8


def read_idx(path):
    """The tensor of an IDX file.

    Raises tenon.IoError (an OSError) where it cannot be read, tenon.DataLossError where it is malformed.
    """
    path = os.fspath(path)

    def fail(reason):
        raise DataLossError(f'[read_idx] {path}: {reason}')

    def read(file, size, what):
        data = file.read(size)
        if len(data) != size:
            fail(f'the file ends within {what}, {size - len(data)} bytes early')
        return data
    try:
        plain = open(path, 'rb')
    except OSError as error:
        raise IoError(f'[read_idx] {path}: {error.strerror or error}') from error
    with plain:
        packed = plain.read(2) == b'\x1f\x8b'
        most = os.fstat(plain.fileno()).st_size * (1032 if packed else 1)  # deflate never gives more for a byte
        plain.seek(0)
        with gzip.open(plain) if packed else plain as file:
            try:
                zero, code, rank = struct.unpack('>HBB', read(file, 4, 'the magic number'))
                if zero != 0:
                    fail('no IDX file: it begins with bytes other than 0, 0')
                if code not in _DTYPES:
                    fail(f'unknown element type {code}')
                if not 1 <= rank <= _MAX_DIMS:
                    fail(f'{rank} dimensions')
                shape = struct.unpack(f'>{rank}I', read(file, 4 * rank, 'the sizes'))
                name, letter = _DTYPES[code]
                nbytes = math.prod(shape) * getattr(_core, name).itemsize
                if nbytes > most:
                    fail(f'the sizes ask for {nbytes} bytes, more than the file can hold')
                data = read(file, nbytes, 'the elements')
                if file.read(1):
                    fail('bytes behind the elements')
            except (EOFError, gzip.BadGzipFile, OverflowError, OSError) as error:
                if isinstance(error, DataLossError):
                    raise
                fail(str(error))
    if sys.byteorder == 'little' and getattr(_core, name).itemsize > 1:
        swapped = array.array(letter, data)
        swapped.byteswap()
        data = swapped.tobytes()
    return _core._from_bytes(data, name, shape)


class FashionMNIST(TensorDataset):
    """60,000 (or, train=False, 10,000) images of ten kinds of clothing: (image, label).

    Images are float32 (1, 28, 28) from 0 to 1, labels int64. `root` is the folder of the four .gz files; Debian's package
    dataset-fashion-mnist puts them where the default says.
    """

    classes = ('T-shirt/top', 'trouser', 'pullover', 'dress', 'coat', 'sandal', 'shirt', 'sneaker', 'bag', 'ankle boot')

    def __init__(self, root='/usr/share/datasets/fashion-mnist', train=True):
        part = os.path.join(os.fspath(root), 'train' if train else 't10k')
        paths = part + '-images-idx3-ubyte.gz', part + '-labels-idx1-ubyte.gz'
        for path in paths:
            if not os.path.exists(path):
                raise IoError(f'[FashionMNIST] {path} is not there: install Debian\'s dataset-fashion-mnist, or give '
                                        'the folder of the files as root')
        images, labels = map(read_idx, paths)
        if images.ndim != 3 or labels.ndim != 1 or images.shape[0] != labels.shape[0]:
            raise DataLossError(f'[FashionMNIST] {root}: images and labels do not match')
        super().__init__(images.reshape((images.shape[0], 1, *images.shape[1:])), ops['cast'](labels, 'int64'))

    @staticmethod
    def _as_floats(image, label):
        return ops['cast'](image, 'float32') / 255, label

    def __getitem__(self, index):
        return self._as_floats(*super().__getitem__(index))

    def batch(self, indices):
        """Images (N, 1, 28, 28) and labels (N)."""
        return self._as_floats(*super().batch(indices))
