"""torch.futures: values that are set later, here by whoever calls set_result()."""
import threading
import types
from typing import Any

__all__ = ['Future', 'collect_all', 'wait_all']


class Future:
    """A value that may be set once, from any thread."""

    __class_getitem__ = classmethod(types.GenericAlias)

    def __init__(self, *, devices=None):
        self._ready, self._lock, self._callbacks = threading.Event(), threading.Lock(), []
        self._value: Any = None
        self._error: Any = None

    def done(self):
        """Whether the value or an exception was set."""
        return self._ready.is_set()

    def wait(self) -> Any:
        """The value, once it is set; raises the exception that was set in its place."""
        self._ready.wait()
        if self._error is not None:
            raise self._error
        return self._value

    def value(self) -> Any:
        """The value, which must have been set."""
        if not self.done():
            raise RuntimeError('[Future] value() before the value is set: use wait()')
        return self.wait()

    def set_result(self, result):
        """Sets the value and runs the callbacks."""
        self._set(result, None)

    def set_exception(self, result):
        """Sets an exception, which wait() raises."""
        if not isinstance(result, Exception):
            raise TypeError(f'[Future] {result!r} is of type {type(result).__name__}, not an Exception.')
        self._set(None, result)

    def _set(self, value, error):
        with self._lock:
            if self.done():
                raise RuntimeError('[Future] the value was set before')
            self._value, self._error = value, error
            self._ready.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)

    def add_done_callback(self, callback):
        """Calls callback(self) once the value is set, at once if it is."""
        with self._lock:
            if not self.done():
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback):
        """A Future of what callback(self) returns once the value is set."""
        after = Future()

        def run(future):
            try:
                found = callback(future)
            except Exception as error:
                after.set_exception(error)
            else:
                after.set_result(found)
        self.add_done_callback(run)
        return after


def collect_all(futures):
    """A Future of the list of these futures, once all are set."""
    futures, every, lock = list(futures), Future(), threading.Lock()
    left = len(futures)

    def one_less(_):
        nonlocal left
        with lock:
            left -= 1
            last = left == 0
        if last:
            every.set_result(futures)
    if not futures:
        every.set_result(futures)
    for each in futures:
        each.add_done_callback(one_less)
    return every


def wait_all(futures):
    """The values of all futures."""
    return [each.wait() for each in collect_all(futures).wait()]
