"""A table of measurements."""
from .measurement import UNITS, Measurement, select_unit, trim_sigfig


class Compare:
    """A table with a row for each statement or sub_label and number of threads, and a column for each description."""

    def __init__(self, results):
        self._results, self._trim = [], False
        self.extend_results(results)

    def extend_results(self, results):
        """Adds measurements."""
        for each in results:
            if not isinstance(each, Measurement):
                raise ValueError(f'[Compare] needs a Measurement, not {type(each).__name__}')
        self._results.extend(results)

    def trim_significant_figures(self):
        """Rounds times to the digits that their spread supports."""
        self._trim = True

    def colorize(self, rowwise=False):
        """Accepted without effect."""

    def highlight_warnings(self):
        """Accepted without effect."""

    def print(self):
        """Prints the table."""
        print(str(self))

    def __str__(self):
        results = Measurement.merge(self._results)
        labels = list(dict.fromkeys(each.label for each in results))
        return '\n'.join(self._table([each for each in results if each.label == label]) for label in labels)

    def _table(self, results):
        unit, length = select_unit(min(each.median for each in results))
        columns = list(dict.fromkeys(each.description or '' for each in results))
        heads = [['', *columns]]
        rows = []
        for threads in sorted({each.num_threads for each in results}):
            rows.append(f'{threads} threads: ')
            same = [each for each in results if each.num_threads == threads]
            for name in dict.fromkeys(each.as_row_name for each in same):
                times = {each.description or '': each for each in same if each.as_row_name == name}
                rows.append([name, *(self._time(times.get(column), length) for column in columns)])
        cells = heads + [row for row in rows if isinstance(row, list)]
        widths = [max(len(row[i]) for row in cells) + 2 for i in range(len(columns) + 1)]

        def line(row):
            return '  |'.join(cell.rjust(width) if i else cell.ljust(width + 4).rjust(width + 6) for i, (cell, width) in enumerate(zip(row, widths)))
        whole = len(line(heads[0]))
        title = results[0].label or ''
        lines = [f"[{(' ' + title + ' ' if title else '').center(whole - 2, '-')}]", line(heads[0])]
        lines += [row.ljust(whole, '-') if isinstance(row, str) else line(row) for row in rows]
        return '\n'.join([*lines, '', f'Times are in {UNITS[unit]}s ({unit}).', ''])

    def _time(self, found, length):
        if found is None:
            return ''
        value = found.median / length
        return f'{trim_sigfig(value, found.significant_figures) if self._trim else value:.1f}'

