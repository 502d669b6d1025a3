#!/usr/bin/env python3
"""Counts the instructions of small works with Valgrind, beside those that benchmarks/instructions.md holds.

The counts are the same in every run: what a change adds to a call is seen to the last instruction, on a busy machine, too.

examples:
  ./dev bench instructions                  the counts, and how they differ from the table
  ./dev bench instructions --write          writes them into the table
  ./dev bench instructions --check          fails where one is above the table's by more than 2 %, as the test does
  ./dev bench instructions --profile step   which functions take them
"""
import argparse
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from sections import write_section

REPORT = pathlib.Path(__file__).resolve().parent / 'instructions.md'
INTRODUCTION = """# Instructions of small calls

`./dev bench instructions --write` writes this table: instructions of one round as Valgrind's callgrind counts them, the core's and those of
the CPU plugin's kernels. A test fails where a count grows by more than 2 %: mend what grew, or write the table anew and say why.
"""
TITLE = '## GCC 12, x86-64, AVX2'  # what Valgrind's processor has
WORKS = {
    'add': '`a + b`, 16 floats',
    'add_strided': '`a + b`, 8×4, one transposed',
    'add_recorded': '`a + b`, 16 floats, recorded',
    'transpose_view': '`a.transpose(0, 1)`',
    'mul_sum_backward': 'mul + sum + backward, 4 floats',
    'step': 'step of a perceptron 4-8-8-2, batch 2: forward, cross-entropy, backward, SGD',
}
ROUNDS = 200
SLACK = 1.02
SKIPPED = 77


def count(build, work, out):
    """Instructions of one round; the profile is written into a file."""
    command = ['valgrind', '--tool=callgrind', '--collect-atstart=no', '--toggle-collect=measured', f'--callgrind-out-file={out}',
               str(build / 'benchmarks/instructions'), work, str(ROUNDS)]
    done = subprocess.run(command, env={**os.environ, 'TENON_PLUGIN_PATH': str(build / 'plugins/cpu')}, capture_output=True, text=True)
    if done.returncode == -signal.SIGILL:
        print('instructions: the CPU plugin is built for instructions that Valgrind lacks; TENON_TARGETS=simd ./dev build adds others')
        sys.exit(SKIPPED)
    if done.returncode:
        sys.exit(f'instructions: {work} failed: {done.stderr[-800:]}')
    return round(int(re.search(r'^summary: (\d+)', out.read_text(), re.M).group(1)) / ROUNDS)


def known():
    """Counts of the table, by work."""
    text = REPORT.read_text() if REPORT.exists() else ''
    rows = dict(re.findall(r'^\| (.+?) \| ([\d,]+) \|$', text, re.M))
    return {work: int(rows[title].replace(',', '')) for work, title in WORKS.items() if title in rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument('--write', action='store_true')
    parser.add_argument('--check', action='store_true')
    parser.add_argument('--profile', choices=WORKS, metavar='WORK')
    options = parser.parse_args()
    if shutil.which('valgrind') is None:
        sys.exit('instructions: valgrind is missing: apt-get install valgrind')
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / 'callgrind.out'
        if options.profile:
            count(options.build, options.profile, out)
            subprocess.run(['callgrind_annotate', str(out)], check=True)
            return
        counts = {work: count(options.build, work, out) for work in WORKS}
    before, grown = known(), []
    for work, title in WORKS.items():
        ratio = counts[work] / before[work] if work in before else None
        print(f'{counts[work]:9,}  {"new" if ratio is None else f"{ratio - 1:+.1%}":>7}  {title}')
        if ratio is None or ratio > SLACK:
            grown.append(title)
    if options.write:
        rows = [f'| {title} | {counts[work]:,} |' for work, title in WORKS.items()]
        write_section(REPORT, INTRODUCTION, '\n'.join([TITLE, '', '| work | instructions |', '|---|---|', *rows]))
    if options.check and grown:
        sys.exit('instructions: more than benchmarks/instructions.md has, or not in it: ' + '; '.join(grown))


if __name__ == '__main__':
    main()
