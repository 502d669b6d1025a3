"""IDX files (http://yann.lecun.com/exdb/mnist), plain or compressed by gzip, and Fashion-MNIST, which comes in them."""
import errno
import os

from .. import _core
from .._core import ops
from .._errors import DataLossError, FileNotFoundError, present
from .dataset import TensorDataset


def read_idx(path):
    """The tensor of an IDX file.

    The file's header says how many bytes are unpacked; no more ever are. Raises tenon.IoError (an OSError) where the file
    cannot be read or is none (a folder, a FIFO, a device), its FileNotFoundError where there is none, tenon.DataLossError where it is malformed or cut off.
    """
    return _core._read_idx(os.fsencode(present(path)))


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
