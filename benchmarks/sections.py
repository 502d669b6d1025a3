"""Reports of several machines in one file: an introduction, and a section under each device's name. What their programs share."""
import argparse
import sys
import time


ENGINES = 0.06  # seconds of rest() where onnxruntime takes part, whose threads look for work for 35 ms


def rest(seconds=0.02):
    """Between the calls of two libraries: OpenMP's threads look for work for up to 10 ms after PyTorch's, on the cores of the other."""
    time.sleep(seconds)


def write_section(path, introduction, section):
    """Puts a section, which begins with '## NAME', in place of the one of that name, or behind the others."""
    title = section.splitlines()[0]
    old = path.read_text() if path.exists() else introduction
    head, *parts = old.split('\n## ')
    others = [f'## {part}'.rstrip('\n') for part in parts if f'## {part}'.splitlines()[0] != title]
    path.write_text('\n\n'.join([head.rstrip('\n'), *others, section.rstrip('\n')]) + '\n')
    print(f'written to {path.name}', file=sys.stderr)


def begin(title, remark, head):
    """Prints and returns the first lines of a section: its title, what holds for all of it, the head of a table."""
    lines = [f'## {title}', '', remark, '', f'| {" | ".join(head)} |', '|' + '---|' * len(head)]
    print('\n'.join(lines))
    return lines


def command_line(doc, report, rounds, rows='rows'):
    """A parser with what all these programs take; `report` is the file that --write is about."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--only', default='', help=f'{rows} whose name contains it')
    parser.add_argument('--rounds', type=int, default=rounds)
    parser.add_argument('--write', action='store_true', help=f'into benchmarks/{report}, in place of the section of that name')
    return parser


def run_report(parser, options, rows, report, path, introduction, what='a row', separator='; '):
    """Runs report(options, the rows that --only chooses); its section goes into the file where --write says so."""
    section = report(options, chosen(parser, options, rows, what, separator))
    if options.write:
        write_section(path, introduction, section)


def chosen(parser, options, rows, what, separator='; '):
    """The rows whose name contains --only. `what` such a name belongs to, for the error."""
    found = [row for row in rows if options.only in row[0]]
    if options.rounds < 1 or not found:
        parser.error(f'--rounds must be 1 or more, --only part of the name of {what}: ' + separator.join(row[0] for row in rows))
    if options.write and options.only:
        parser.error('--write records the whole table: leave --only out')
    return found
