"""Measures a statement, with a number of threads, after the device has done its work."""
import enum
import importlib
import textwrap
import time
import timeit

from .... import _core
from .measurement import Measurement, TaskSpec


def timer():
    """Seconds of a clock, once all devices have done their work."""
    for device in _core.devices():
        if device.type != 'cpu':
            device.synchronize()
    return time.perf_counter()


class Language(enum.Enum):
    """The language of a statement."""

    PYTHON, CPP = range(2)


class Timer:
    """Runs stmt after setup, with the names of globals, on num_threads threads; label, sub_label and description name it in tables."""

    def __init__(self, stmt='pass', setup='pass', global_setup='', timer=timer, globals=None, label=None, sub_label=None, description=None,
                 env=None, num_threads=1, language=Language.PYTHON):
        if language not in (Language.PYTHON, 'py', 'python'):
            raise ValueError('[Timer] statements are measured in Python alone')
        if global_setup:
            raise ValueError('[Timer] global_setup is for C++: use setup')
        names = dict(globals or {})
        if 'torch' not in names:
            names['torch'] = importlib.import_module('tenon.torch')
        stmt, setup = textwrap.dedent(stmt).strip(), textwrap.dedent(setup).strip()
        self._task_spec = TaskSpec(stmt, setup, '', label, sub_label, description, env, num_threads)
        self._timer = timeit.Timer(stmt, setup, timer, names)

    def _time(self, number):
        """The time of so many runs."""
        before = _core.num_threads()
        _core.set_num_threads(self._task_spec.num_threads)
        try:
            return max(self._timer.timeit(number), 1e-9)
        finally:
            _core.set_num_threads(before)

    def timeit(self, number=1000000):
        """One measurement of so many runs, after a hundredth of them to warm up."""
        self._time(max(int(number // 100), 2))
        return Measurement(number, [self._time(number)], self._task_spec)

    def _block(self, min_run_time):
        """How often to run between two looks at the clock, so that looking costs next to nothing."""
        looks = [self._time(0) for _ in range(5)]
        overhead, number = sorted(looks)[2], 1
        while True:
            taken = self._time(number)
            if overhead / taken <= 1e-4 and taken >= min_run_time / 1000 or taken > min_run_time:
                return number
            number *= 10

    def _rounds(self, min_run_time, callback):
        """(runs, the times of so many runs, the sum of these), with one time more in each round."""
        number, times, total = self._block(min_run_time), [], 0.0
        while True:
            yield number, times, total
            times.append(self._time(number))
            total += times[-1]
            if callback is not None:
                callback(number, times[-1])

    def blocked_autorange(self, callback=None, min_run_time=0.2):
        """As many measurements as take min_run_time seconds, each of as many runs as make looking at the clock cheap."""
        rounds = self._rounds(min_run_time, callback)
        number, times, _ = next(each for each in rounds if each[2] >= min_run_time)
        return Measurement(number, times, self._task_spec)

    def adaptive_autorange(self, threshold=0.1, *, min_run_time=0.01, max_run_time=10.0, callback=None):
        """Measurements until their quartiles lie within threshold of the median, or for max_run_time seconds."""
        def done(total, found):
            return total >= max_run_time or total >= min_run_time and len(found.raw_times) > 3 and found.meets_confidence(threshold)
        measured = ((total, Measurement(number, times, self._task_spec)) for number, times, total in self._rounds(min_run_time, callback))
        return next(found for total, found in measured if done(total, found))
