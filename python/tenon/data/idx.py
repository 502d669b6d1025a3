"""IDX files (http://yann.lecun.com/exdb/mnist), plain or gzipped, and Fashion-MNIST, which uses them."""
import errno
import os

from .. import _core
from .._core import ops
from .._errors import DataLossError, FileNotFoundError, present
from .dataset import TensorDataset


def read_idx(path):
    """The tensor of an IDX file.

    Never unpacks more bytes than the file's header announces. Raises tenon.IoError (an OSError) if the file cannot be read or is not a
    regular file (a folder, a FIFO, a device), FileNotFoundError if there is none, and tenon.DataLossError if it is malformed or
    truncated.
    """
    return _core._read_idx(os.fsencode(present(path)))


class FashionMNIST(TensorDataset):
    """60,000 (or, train=False, 10,000) images of ten kinds of clothing: (image, label).

    Images are float32 (1, 28, 28) from 0 to 1, labels int64. `root` is the folder of the four .gz files; its default is where Debian's
    package dataset-fashion-mnist puts them.
    """

    classes = ('T-shirt/top', 'trouser', 'pullover', 'dress', 'coat', 'sandal', 'shirt', 'sneaker', 'bag', 'ankle boot')

    def __init__(self, root='/usr/share/datasets/fashion-mnist', train=True):
        part = os.path.join(os.fspath(root), 'train' if train else 't10k')
        paths = part + '-images-idx3-ubyte.gz', part + '-labels-idx1-ubyte.gz'
        for path in paths:
            if not os.path.exists(path):
                raise FileNotFoundError(errno.ENOENT, "[FashionMNIST] the file is not there: install Debian's dataset-fashion-mnist, or give "
                                        'the folder of the files as root', path)
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
