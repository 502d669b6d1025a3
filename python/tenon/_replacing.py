"""Files that are written completely or not at all."""
import contextlib
import os
import stat

from ._errors import IoError


@contextlib.contextmanager
def replacing(path, where):
    """A new file that replaces path if all goes well: other programs see either the old or the new file, complete."""
    path = os.path.realpath(os.fspath(path))
    before = os.stat(path) if os.path.exists(path) else None
    if before is not None and not stat.S_ISREG(before.st_mode):
        raise IoError(f'[{where}] {os.fsdecode(path)} is not a regular file: it cannot be replaced')
    folder, name = os.path.split(path)
    fresh, opened = _beside(folder)
    try:
        with os.fdopen(opened, 'wb') as file:
            if before is not None:
                os.fchmod(file.fileno(), stat.S_IMODE(before.st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(fresh)
        raise


def _beside(folder):
    """(path, descriptor) of a new file in the same folder, with the permissions of the user's mask."""
    while True:
        fresh = os.path.join(os.fsdecode(folder), '.tenon-' + os.urandom(8).hex())
        with contextlib.suppress(FileExistsError):
            return fresh, os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, 'O_CLOEXEC', 0), 0o666)
