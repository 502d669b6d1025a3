"""with tenon.profiler() as p: what ran, for how long, where, and how much memory it held."""
import json
import os

from . import _core


class profiler:
    """Records each op that this thread calls, backward included. Ops that an op is made of count for themselves: `self` times
    do not hold those of the calls inside. Read it when the scope has ended.

    >>> with tenon.profiler() as p:
    ...     y = tenon.ones(3) + 1
    >>> [event.op for event in p.events]
    ['full', 'add']
    """

    def __init__(self):
        self._listener = _core._Profiler()
        self._events = None

    def __enter__(self):
        self._listener.start()
        return self

    def __exit__(self, *_):
        self._listener.stop()
        self._events = None

    @property
    def events(self):
        """Calls in the order of their starts, as Event."""
        if self._events is None:
            self._events = [Event(*entry) for entry in self._listener.events()]
            open_calls = []
            for event in self._events:
                while open_calls and open_calls[-1].end <= event.start:
                    open_calls.pop()
                if open_calls:
                    open_calls[-1].inside += event.duration
                open_calls.append(event)
        return self._events

    def table(self, limit=20):
        """Ops by the time they took themselves, as text."""
        rows = {}
        for event in self.events:
            row = rows.setdefault((event.op, event.provider), [0, 0, 0])
            row[0] += 1
            row[1] += event.duration - event.inside
            row[2] += event.duration
        total = sum(row[1] for row in rows.values()) or 1
        lines = [f'{"op":24} {"by":16} {"calls":>8} {"self ms":>10} {"total ms":>10} {"share":>7}']
        for (op, provider), (calls, own, whole) in sorted(rows.items(), key=lambda item: -item[1][1])[:limit]:
            lines.append(f'{op:24} {provider:16} {calls:8} {own / 1e6:10.3f} {whole / 1e6:10.3f} {100 * own / total:6.1f}%')
        if len(rows) > limit:
            lines.append(f'… and {len(rows) - limit} more')
        return '\n'.join(lines)

    def memory(self):
        """(seconds since the first call, bytes in live tensors) behind each call."""
        first = self.events[0].start if self.events else 0
        return [((event.end - first) / 1e9, event.used) for event in sorted(self.events, key=lambda event: event.end)]

    def export_chrome_trace(self, path):
        """Writes a file for chrome://tracing or Perfetto: calls, and the memory in use."""
        process = os.getpid()
        trace = []
        for event in self.events:
            trace.append({'name': event.op, 'cat': event.provider or 'core', 'ph': 'X', 'pid': process, 'tid': 1,
                          'ts': event.start / 1e3, 'dur': event.duration / 1e3, 'args': {'operands': event.operands}})
            trace.append({'name': 'memory', 'ph': 'C', 'pid': process, 'ts': event.end / 1e3, 'args': {'bytes': event.used}})
        with open(path, 'w', encoding='utf-8') as file:
            json.dump({'traceEvents': trace, 'displayTimeUnit': 'ns'}, file)

    def __str__(self):
        return self.table()


class Event:
    """One call: op, provider, operands, start and end in ns, depth, bytes in use behind it."""
    __slots__ = ('op', 'provider', 'operands', 'start', 'end', 'depth', 'used', 'inside')

    def __init__(self, op, provider, operands, start, end, depth, used):
        self.op, self.provider, self.operands, self.start, self.end = op, provider, operands, start, end
        self.depth, self.used, self.inside = depth, used, 0

    @property
    def duration(self):
        return self.end - self.start

    def __repr__(self):
        return f'<{self.op}({self.operands}) {self.duration} ns by {self.provider}>'
