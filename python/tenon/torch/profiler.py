"""torch.profiler, built on tenon.profiler: what ran, for how long and where, under PyTorch's names; times are in microseconds."""
import contextlib
import enum
import gzip
import json
import os
import shutil
import socket
import threading
import time

from .._errors import InvalidArgumentError
from .._profiler import profiler as _profiler
from ._common import absent

__all__ = ['EventList', 'FunctionEvent', 'ProfilerAction', 'ProfilerActivity', 'kineto_available', 'profile', 'record_function', 'schedule', 'supported_activities',
           'tensorboard_trace_handler']

__path__ = []  # `import torch.profiler.profiler`: _places.py
_threads = threading.local()


class ProfilerActivity(enum.Enum):
    CPU, XPU, CUDA, MTIA, HPU, PrivateUse1 = range(6)


class ProfilerAction(enum.Enum):
    """What happens in a step: nothing, warm-up, recording, or recording followed by on_trace_ready."""
    NONE, WARMUP, RECORD, RECORD_AND_SAVE = range(4)


def kineto_available():
    """True: profiles are recorded."""
    return True


def supported_activities():
    """Calls of ops, and devices that report their times."""
    return {ProfilerActivity.CPU, ProfilerActivity.CUDA}


def schedule(*, wait, warmup, active, repeat=0, skip_first=0, skip_first_wait=0):
    """A function from the number of a step to its action: skip_first steps, then cycles of wait, warmup and active steps, `repeat`
    times or, if that is 0, for ever."""
    if min(wait, warmup, repeat, skip_first, skip_first_wait) < 0 or active < 1:
        raise InvalidArgumentError(f'[schedule] wait {wait}, warmup {warmup}, active {active}, repeat {repeat}, skip_first {skip_first}: active must be '
                                   'positive, the others not negative')
    length = wait + warmup + active

    def action(step):
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        if repeat and step // length >= repeat:
            return ProfilerAction.NONE
        at = step % length
        if at < wait:
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD_AND_SAVE if at == length - 1 else ProfilerAction.RECORD
    return action


def tensorboard_trace_handler(dir_name, worker_name=None, use_gzip=False):
    """An on_trace_ready that writes each trace into a folder, under its own name."""
    def handler(prof):
        os.makedirs(dir_name, exist_ok=True)
        name = f'{worker_name or f"{socket.gethostname()}_{os.getpid()}"}.{time.time_ns()}.pt.trace.json'
        prof.export_chrome_trace(os.path.join(dir_name, name + ('.gz' if use_gzip else '')))
    return handler


class record_function(contextlib.ContextDecorator):
    """A scope, or a function, that a profile shows under a name.

    >>> import tenon.torch as torch
    >>> with torch.profiler.profile() as prof, torch.profiler.record_function('forward'):
    ...     y = torch.ones(3) + 1
    >>> sorted(event.key for event in prof.key_averages())
    ['add', 'forward', 'full']
    """

    def __init__(self, name, args=None):
        self.name = name
        self._starts = []

    def __enter__(self):
        self._starts.append(time.perf_counter_ns())
        return self

    def __exit__(self, *_):
        recording = getattr(_threads, 'recording', None)
        begin = self._starts.pop()
        if recording is not None:
            recording.ranges.append((self.name, begin, time.perf_counter_ns()))


class FunctionEvent:
    """A call, or the calls of one key: times in microseconds."""

    def __init__(self, key):
        self.key, self.count = key, 0
        self.cpu_time_total = self.self_cpu_time_total = self.device_time_total = self.self_device_time_total = 0.0

    name = property(lambda self: self.key)
    cpu_time = property(lambda self: self.cpu_time_total / self.count if self.count else 0.0)
    device_time = property(lambda self: self.device_time_total / self.count if self.count else 0.0)
    cuda_time_total = property(lambda self: self.device_time_total)
    self_cuda_time_total = property(lambda self: self.self_device_time_total)

    def _add(self, total, own, device):
        self.count += 1
        self.cpu_time_total += total
        self.self_cpu_time_total += own
        self.device_time_total += device
        self.self_device_time_total += device
        return self

    def __repr__(self):
        return (f'<FunctionEvent key={self.key} self_cpu_time={_text(self.self_cpu_time_total)} cpu_time={_text(self.cpu_time)} '
                f'count={self.count}>')


def _text(microseconds):
    for unit, size in (('s', 1e6), ('ms', 1e3)):
        if microseconds >= size:
            return f'{microseconds / size:.3f}{unit}'
    return f'{microseconds:.3f}us'


class EventList(list):
    """The events of a profile by key."""

    def total_average(self):
        total = FunctionEvent('Total')
        for event in self:
            total.count += event.count
            for name in ('cpu_time_total', 'self_cpu_time_total', 'device_time_total', 'self_device_time_total'):
                setattr(total, name, getattr(total, name) + getattr(event, name))
        return total

    @property
    def self_cpu_time_total(self):
        return sum(event.self_cpu_time_total for event in self)

    def table(self, sort_by=None, row_limit=100, max_src_column_width=75, max_name_column_width=55, max_shapes_column_width=80, header=None,
              top_level_events_only=False):
        """A row for each key, as text."""
        rows = list(self)
        if sort_by is not None:
            by = sort_by.replace('cuda', 'device')
            if not hasattr(FunctionEvent(''), by):
                raise InvalidArgumentError(f'[table] sort_by is {sort_by!r}: cpu_time, cpu_time_total, self_cpu_time_total, device_time_total and count '
                                           'are possible')
            rows.sort(key=lambda event: getattr(event, by), reverse=True)
        rows = rows[:row_limit] if row_limit >= 0 else rows
        total = self.self_cpu_time_total or 1.0
        told = any(event.device_time_total for event in self)
        titles = ['Name', 'Self CPU %', 'Self CPU', 'CPU total %', 'CPU total', 'CPU time avg']
        titles += ['Self device', 'Device total'] * told + ['# of Calls']
        lines = [[event.key[:max_name_column_width], f'{100 * event.self_cpu_time_total / total:.2f}%', _text(event.self_cpu_time_total),
                  f'{100 * event.cpu_time_total / total:.2f}%', _text(event.cpu_time_total), _text(event.cpu_time)]
                 + [_text(event.self_device_time_total), _text(event.device_time_total)] * told + [str(event.count)] for event in rows]
        widths = [max(len(line[i]) for line in [titles, *lines]) + 2 for i in range(len(titles))]
        rule = '  '.join('-' * width for width in widths)
        text = ['  '.join(cell.rjust(width) for cell, width in zip(line, widths)) for line in (titles, *lines)]
        head = [] if header is None else ['=' * len(rule), header]
        return '\n'.join([*head, rule, text[0], rule, *text[1:], rule, f'Self CPU time total: {_text(self.self_cpu_time_total)}', ''])

    def __str__(self):
        return self.table()


class _Recording:
    """One stretch of recorded calls with the named scopes in it."""

    def __init__(self):
        self.profiler, self.ranges = _profiler(), []
        self.profiler.__enter__()
        self.before = getattr(_threads, 'recording', None)
        _threads.recording = self

    def stop(self):
        self.profiler.__exit__(None, None, None)
        _threads.recording = self.before

    def calls(self):
        """(key, total, own, on the device) for each call and scope; a scope's own time excludes the calls in it."""
        found = [(event.op, event.duration / 1e3, (event.duration - event.inside) / 1e3, event.device / 1e3, event.start, event.end)
                 for event in self.profiler.events]
        for name, begin, end in self.ranges:
            inner = [event for event in self.profiler.events if event.depth == 0 and begin <= event.start and event.end <= end]
            own = end - begin - sum(event.duration for event in inner)
            found.append((name, (end - begin) / 1e3, own / 1e3, sum(event.device for event in inner) / 1e3, begin, end))
        return sorted(found, key=lambda call: call[4])


class profile:
    """Records the ops that this thread calls in a scope, backward included: `with torch.profiler.profile() as prof:`.

    schedule: records the steps that it selects; step() separates them, and on_trace_ready(prof) is called after each stretch.
    activities, record_shapes, profile_memory, with_stack, with_flops and with_modules have no effect: devices that report their times
    are always recorded, and memory is in the trace.
    """

    def __init__(self, *, activities=None, schedule=None, on_trace_ready=None, record_shapes=False, profile_memory=False, with_stack=False,
                 with_flops=False, with_modules=False, experimental_config=None, execution_trace_observer=None, acc_events=False,
                 use_cuda=None, custom_trace_id_callback=None):
        self._schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self._ready, self.step_num = on_trace_ready, 0
        self._recording = self._last = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        """Begins with the first step."""
        self._take(self._schedule(self.step_num))

    def stop(self):
        """Ends the current recording."""
        self._finish()

    def step(self):
        """Begins the next step."""
        saves = self._schedule(self.step_num) is ProfilerAction.RECORD_AND_SAVE
        self.step_num += 1
        if saves:
            self._finish()
        self._take(self._schedule(self.step_num))

    def _take(self, action):
        recording = action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        if recording and self._recording is None:
            self._recording = _Recording()
        elif not recording:
            self._finish()

    def _finish(self):
        """Ends the current recording, if there is one."""
        recording = self._recording
        if recording is None:
            return
        recording.stop()
        self._last, self._recording = recording, None
        if self._ready is not None:
            self._ready(self)

    def _calls(self):
        recorded = self._last or self._recording
        if recorded is None:
            raise RuntimeError('[profile] nothing was recorded: start() it, or enter its scope')
        return recorded.calls()

    def events(self):
        """All calls and scopes in the order of their starts."""
        return EventList(FunctionEvent(key)._add(total, own, device) for key, total, own, device, _, _ in self._calls())

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False):
        """Calls and scopes by name."""
        found = {}
        for key, total, own, device, _, _ in self._calls():
            found.setdefault(key, FunctionEvent(key))._add(total, own, device)
        return EventList(found.values())

    def export_chrome_trace(self, path):
        """Writes a file for chrome://tracing or Perfetto, compressed if its name ends in .gz."""
        recorded = self._last or self._recording
        if recorded is None:
            raise RuntimeError('[export_chrome_trace] nothing was recorded')
        plain = f'{path}.{os.getpid()}.part'
        try:
            recorded.profiler.export_chrome_trace(plain)
            with open(plain, encoding='utf-8') as file:
                trace = json.load(file)
            trace['traceEvents'] += [{'name': name, 'cat': 'user_annotation', 'ph': 'X', 'pid': os.getpid(), 'tid': 1, 'ts': begin / 1e3,
                                      'dur': (end - begin) / 1e3} for name, begin, end in recorded.ranges]
            with open(plain, 'w', encoding='utf-8') as file:
                json.dump(trace, file)
            if str(path).endswith('.gz'):
                with open(plain, 'rb') as source, gzip.open(f'{plain}.gz', 'wb') as packed:
                    shutil.copyfileobj(source, packed)
                os.replace(f'{plain}.gz', plain)
            os.replace(plain, path)
        finally:
            if os.path.exists(plain):
                os.unlink(plain)

    def add_metadata(self, key, value):
        """Accepted without effect: traces have no metadata."""

    add_metadata_json = preset_metadata_json = add_metadata


__getattr__ = absent(__name__, {})
