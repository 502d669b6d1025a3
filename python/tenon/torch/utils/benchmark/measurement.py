"""What a Timer measured."""
import dataclasses
import math
import statistics
from typing import Any

UNITS = {'ns': 'nanosecond', 'us': 'microsecond', 'ms': 'millisecond', 's': 'second'}
_MAX_DIGITS = 4
_MIN_CONFIDENCE = 25e-9  # seconds that a clock is trusted to


def select_unit(t):
    """(the unit that suits a time, its length in seconds)."""
    step = max(min(int(math.log10(t) // 3) if t > 0 else 0, 0), -3)
    return {-3: 'ns', -2: 'us', -1: 'ms', 0: 's'}[step], 10.0 ** (3 * step)


def trim_sigfig(x, n):
    """x rounded to n significant digits."""
    magnitude = math.ceil(math.log10(abs(x))) if x else 0
    scale = 10 ** (magnitude - n)
    return float(round(x / scale) * scale)


@dataclasses.dataclass(frozen=True)
class TaskSpec:
    """What is measured."""

    stmt: str
    setup: str
    global_setup: str = ''
    label: Any = None
    sub_label: Any = None
    description: Any = None
    env: Any = None
    num_threads: int = 1

    @property
    def title(self):
        """The label, or the statement."""
        if self.label is not None:
            return self.label + (f': {self.sub_label}' if self.sub_label else '')
        return self.sub_label or self.stmt

    def setup_str(self):
        """The set-up, indented behind its heading."""
        if self.setup in ('', 'pass') or not self.setup:
            return ''
        lines = self.setup.splitlines()
        return f'setup: {self.setup}' if len(lines) == 1 else 'setup:\n' + '\n'.join('  ' + line for line in lines) + '\n'

    def summarize(self):
        """Title, description and set-up, a line each."""
        return '\n'.join(filter(None, [self.title, self.description or '', self.setup_str()]))


class Measurement:
    """Times of several repetitions; each ran the statement number_per_run times."""

    def __init__(self, number_per_run, raw_times, task_spec, metadata=None):
        self.number_per_run, self.raw_times, self.task_spec, self.metadata = number_per_run, list(raw_times), task_spec, metadata
        self.times = [t / number_per_run for t in raw_times]

    def __getattr__(self, name):
        if name in TaskSpec.__dataclass_fields__:
            return getattr(self.task_spec, name)
        raise AttributeError(f'{type(self).__name__!r} object has no attribute {name!r}')

    @property
    def median(self):
        """The median of the times, in seconds a run."""
        return statistics.median(self.times)

    @property
    def mean(self):
        """The mean of the times, in seconds a run."""
        return statistics.fmean(self.times)

    def _quartiles(self):
        times, last = sorted(self.times), len(self.times) - 1

        def at(part):
            low = int(part * last)
            return times[low] + (times[min(low + 1, last)] - times[low]) * (part * last - low)
        return at(0.25), at(0.75)

    @property
    def iqr(self):
        """The distance between the quartiles."""
        low, high = self._quartiles()
        return high - low

    @property
    def significant_figures(self):
        """How many digits of the median the spread of the times supports."""
        times, count = sorted(self.times), len(self.times)
        middle = times[count // 4:-(-3 * count // 4)]
        half = max(1.645 * statistics.pstdev(middle) / len(middle) ** 0.5, _MIN_CONFIDENCE)
        return min(_MAX_DIGITS, max(1, math.floor(math.log10(self.median / half))))

    @property
    def has_warnings(self):
        """Whether the times spread more than 10 % of the median."""
        return not self.meets_confidence()

    def meets_confidence(self, threshold=0.1):
        """Whether the quartiles lie closer together than threshold of the median."""
        return self.iqr / self.median < threshold

    @property
    def title(self):
        """The title of what was measured."""
        return self.task_spec.title

    @property
    def as_row_name(self):
        """What names the row in a table."""
        return self.task_spec.sub_label or self.task_spec.stmt or '[Unknown]'

    @staticmethod
    def merge(measurements):
        """One Measurement for each kind of task, with all its times as of single runs."""
        groups = {}
        for each in measurements:
            groups.setdefault(each.task_spec, []).extend(each.times)
        return [Measurement(1, times, spec) for spec, times in groups.items()]

    def __repr__(self):
        unit, length = select_unit(self.median)
        parts = [f'{object.__repr__(self)}', self.task_spec.summarize()]
        many = len(self.times) > 1
        parts.append(f"  {'Median: ' if many else ''}{self.median / length:.2f} {unit}")
        if many:
            low, high = self._quartiles()
            parts.append(f'  IQR:    {self.iqr / length:.2f} {unit} ({low / length:.2f} to {high / length:.2f})')
        threads = self.task_spec.num_threads
        parts.append(f"  {len(self.times)} measurement{'s' if many else ''}, {self.number_per_run} runs {'per measurement' if many else ''}, {threads} "
                     f"thread{'s' if threads > 1 else ''}")
        if self.has_warnings and many:
            parts.append(f'  WARNING: Interquartile range is {self.iqr / self.median * 100:.1f}% of the median measurement.')
        return '\n'.join(parts)
