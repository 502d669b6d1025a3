"""with tenon.profiler() as p: records what ran, where, for how long, and how much memory it held."""
import json
import os
from collections import namedtuple

from . import _core


Span = namedtuple('Span', 'device op what call start end bytes')
Span.__doc__ = """What a device ran, or a wait of this thread for it: the op whose kernel it is ('' for a copy), the shader, the
family of kernels or the copy, the Event it belongs to (None: a call in place, or no op), start and end in ns, and the bytes that
operands and results of the call hold, told with its first span."""


def _libraries():
    for path in _core._plugins_with_devices():
        if path.endswith('.json'):
            with open(path, encoding='utf-8') as file:
                path = os.path.join(os.path.dirname(path), json.load(file)['library'])
        yield path


class profiler:
    """Records each op that this thread calls, backward included. Ops inside another op are counted separately: `self` times do
    not include calls inside. Read the results after the scope has ended.

    For asynchronous work, host times are those of enqueueing. Backends that report device times (Vulkan, CUDA, ROCm, if loaded when the
    scope begins) add `spans`, when the device ran each call, and `waits`, when this thread waited for a device. The end of the scope
    waits for these devices.

    calls=False leaves the thread's calls unwatched, so that they run exactly as without a profiler: gradients that are written in place
    when nobody watches still are. There are then no `events`, only what devices report.

    >>> with tenon.profiler() as p:
    ...     y = tenon.ones(3) + 1
    >>> [event.op for event in p.events]
    ['full', 'add']
    """

    def __init__(self, calls=True):
        self._calls = calls
        self._listener = _core._Profiler()
        self._found = None  # events, spans and waits, once they have been asked for

    def __enter__(self):
        self._listener.start(list(_libraries()), self._calls)
        return self

    def __exit__(self, *_):
        self._found = None
        self._listener.stop()

    @property
    def events(self):
        """Calls in the order of their starts, as Event."""
        return self._read()[0]

    def _read(self):
        if self._found is None:
            events = [Event(*entry) for entry in self._listener.events()]
            open_calls = []
            for event in events:
                while open_calls and open_calls[-1].end <= event.start:
                    open_calls.pop()
                if open_calls:
                    open_calls[-1].inside += event.duration
                open_calls.append(event)
            self._found = events, *self._read_spans(events)
        return self._found

    def _read_spans(self, events):
        spans, waits = [], []
        for device, op, what, call, start, end, size, waited in self._listener.spans():
            call = events[call] if call >= 0 else None
            span = Span(device, op, what, call, round(start * 1e9), round(end * 1e9), size)
            if waited:
                waits.append(span)
                continue
            spans.append(span)
            if call is not None:
                call.device += span.end - span.start
        return spans, waits

    @property
    def spans(self):
        """The work that devices ran, as Span; times are on the devices' clocks."""
        return self._read()[1]

    @property
    def waits(self):
        """This thread's waits for devices, as Span; times are as in events."""
        return self._read()[2]

    def table(self, limit=20):
        """A table of ops by their own time, measured on the device where possible."""
        rows = {}
        for event in self.events:
            row = rows.setdefault((event.op, event.provider), [0, 0, 0, 0])
            row[0] += 1
            row[1] += event.duration - event.inside
            row[2] += event.duration
            row[3] += event.device
        for span in self.spans:
            if span.call is None:  # no visible call enqueued it: an in-place op, or a copy
                rows.setdefault((span.op or span.what, span.device.split(':')[0]), [0, 0, 0, 0])[3] += span.end - span.start
        by = 3 if self.spans else 1
        total = sum(row[by] for row in rows.values()) or 1
        device = f'{"device ms":>10} ' if self.spans else ''
        lines = [f'{"op":24} {"by":16} {"calls":>8} {"self ms":>10} {"total ms":>10} {device}{"share":>7}']
        for (op, provider), row in sorted(rows.items(), key=lambda item: (-item[1][by], -item[1][1]))[:limit]:
            times = ' '.join(f'{ns / 1e6:10.3f}' for ns in row[1:3 + bool(device)])
            lines.append(f'{op:24} {provider:16} {row[0]:8} {times} {100 * row[by] / total:6.1f}%')
        if len(rows) > limit:
            lines.append(f'… and {len(rows) - limit} more')
        if self.waits:
            waited = sum(span.end - span.start for span in self.waits)
            lines.append(f'waited for a device {len(self.waits)} times, {waited / 1e6:.3f} ms')
        return '\n'.join(lines)

    def memory(self):
        """(seconds since the first call, bytes in live tensors) after each call."""
        first = self.events[0].start if self.events else 0
        return [((event.end - first) / 1e9, event.used) for event in sorted(self.events, key=lambda event: event.end)]

    def export_chrome_trace(self, path):
        """Writes a file for chrome://tracing or Perfetto: calls, the memory in use, and a row for each device that reports times. A
        device has its own clock, so its row is shifted such that no span precedes its call."""
        process = os.getpid()
        trace = []
        for event in self.events:
            trace.append({'name': event.op, 'cat': event.provider or 'core', 'ph': 'X', 'pid': process, 'tid': 1,
                          'ts': event.start / 1e3, 'dur': event.duration / 1e3, 'args': {'operands': event.operands}})
            trace.append({'name': 'memory', 'ph': 'C', 'pid': process, 'ts': event.end / 1e3, 'args': {'bytes': event.used}})
        for row, device in enumerate(sorted({span.device for span in self.spans}), 2):
            spans = [span for span in self.spans if span.device == device]
            shift = max((span.call.start - span.start for span in spans if span.call), default=0)
            trace.append({'name': 'thread_name', 'ph': 'M', 'pid': process, 'tid': row, 'ts': 1, 'args': {'name': device}})
            for span in spans:
                trace.append({'name': span.op or span.what, 'cat': device, 'ph': 'X', 'pid': process, 'tid': row,
                              'ts': (span.start + shift) / 1e3, 'dur': (span.end - span.start) / 1e3,
                              'args': {'what': span.what}})
        with open(path, 'w', encoding='utf-8') as file:
            json.dump({'traceEvents': trace, 'displayTimeUnit': 'ns'}, file)

    def __str__(self):
        return self.table()


class Event:
    """One call: op, provider, operands and results, start and end in ns, depth, bytes in use afterwards, ns on a device that reports them."""
    __slots__ = ('op', 'provider', 'operands', 'results', 'start', 'end', 'depth', 'used', 'inside', 'device')

    def __init__(self, op, provider, operands, start, end, depth, used, results):
        self.op, self.provider, self.operands, self.results, self.start, self.end = op, provider, operands, results, start, end
        self.depth, self.used, self.inside, self.device = depth, used, 0, 0

    @property
    def duration(self):
        return self.end - self.start

    def __repr__(self):
        return f'<{self.op}({self.operands}) {self.duration} ns by {self.provider}>'
