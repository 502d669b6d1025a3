"""What a function does beside computing, and no run of its recording would do again: printing, asking and logging."""
import builtins
import contextlib
import sys

from ._errors import PreconditionError


def _stop(frame, event, called):
    """A profile function that ends the trace at such a call, before it has an effect."""
    if event == 'c_call' and (called is builtins.print or called is builtins.input):
        raise PreconditionError(f'[graph] {called.__name__} is called while a function is recorded, which no run would do again')
    if event == 'call' and 'logging' in sys.modules and frame.f_code is sys.modules['logging'].Logger.handle.__code__:
        raise PreconditionError('[graph] something is logged while a function is recorded, which no run would do again')


@contextlib.contextmanager
def stopped():
    """A scope in which this thread's calls of that kind raise an error instead. A profiler of the program is left to its work."""
    if sys.getprofile() is not None:
        yield
        return
    sys.setprofile(_stop)
    try:
        yield
    finally:
        sys.setprofile(None)
