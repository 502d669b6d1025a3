#!/usr/bin/env python3
"""Calls every public function, class and method of the Python package as nobody should: arguments that fit beside hostile ones.

A call must end, and end in a result or in an error that a caller can do something about. Each function's calls run in a child of its own.

usage: python_calls.py [--only NAME] [--count N] [--seed S] [--seconds T] [--every K]
       python_calls.py --eval 'CALL'
N times as many calls of each with a larger N; with --seconds they go on, from one seed to the next, until the time is up. --eval repeats
one call, which a finding ends with, in this process. The package is found by PYTHONPATH.
"""

import argparse
import contextlib
import itertools
import pathlib
import re
import sys
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import tenon
import tenon.torch
from python_children import add_rounds, limit_memory, run_cases, run_rounds
from python_subjects import subjects
from python_values import world

# Errors that say more of the library than of the call.
DEFECTS = (SystemError, tenon.InternalError, AssertionError, NameError, RecursionError, ZeroDivisionError, BufferError, ReferenceError, MemoryError)
USUAL = (TypeError, ValueError, LookupError, AttributeError, tenon.Error)
SMELLS = re.compile(r'internal|assert|std::|basic_string|vector::|bad_alloc|nanobind|unreachable|should not happen', re.IGNORECASE)


def use(result, depth=0):
    """What a caller would do with a result: show it, run it, differentiate it."""
    if isinstance(result, tenon.Tensor):
        repr(result)
        if result.requires_grad and result.numel() < 2 ** 20:
            result.sum().backward()
    elif isinstance(result, tenon.nn.Module):
        for make in ((2, 3), (1, 3, 8, 8), (0, 3), (2, 3, 4)):
            with contextlib.suppress(*USUAL):
                result(tenon.ones(make))
        repr(result)
    elif isinstance(result, (list, tuple)) and depth < 2:
        for each in result[:4]:
            use(each, depth + 1)
    elif hasattr(type(result), '__next__'):
        list(itertools.islice(result, 3))


def evaluate(text):
    """Runs the statements of a call, and uses what the last one gives."""
    there = world()
    before, _, last = text.rpartition('; ')
    exec(before, there)
    try:
        code = compile(last, '<call>', 'eval')
    except SyntaxError:
        exec(last, there)
        return
    use(eval(code, there))


def is_the_callers(text, error):
    """Whether an error is one of the hostile values' own, or what Python or PyTorch raises for such a call."""
    where, said = traceback.extract_tb(error.__traceback__)[-1].filename, str(error)
    return (where.endswith('python_values.py') or 'not today' in said or 'raised by a callback' in said
            or isinstance(error, AssertionError) and (said.startswith('[') or re.search('testing|assert', text))
            or isinstance(error, NameError) and said.startswith('[')  # PyTorch's for a module that is no submodule
            or isinstance(error, ReferenceError) and 'dead()' in text
            or isinstance(error, BufferError) and 'dlpack' in text.lower()
            or isinstance(error, RecursionError) and re.search('deep|endless', text)
            or isinstance(error, MemoryError) and re.search(r'2 ?\*\* ?\d|Lying', text)  # a list of so many elements
            or isinstance(error, (StopIteration, KeyError, EOFError, NotImplementedError)))


def judge(text, error):
    """What is wrong with an error, or ''."""
    if is_the_callers(text, error):
        return ''
    if isinstance(error, DEFECTS) and not isinstance(error, (TypeError, ValueError, tenon.OutOfMemoryError)):
        return 'ends in a defect'
    if SMELLS.search(str(error)) and not SMELLS.search(text):
        return 'speaks of the inside'
    return '' if str(error) else 'says nothing'


def verdict(text):
    """What is wrong with a call, or ''; it may also kill the process."""
    try:
        evaluate(text)
    except Exception as error:
        problem = judge(text, error)
        where = traceback.extract_tb(error.__traceback__)[-1]
        return problem and f'{problem}: {type(error).__name__}: {str(error)[:160]!r} at {pathlib.Path(where.filename).name}:{where.lineno}'
    return ''


def run(options, seed):
    """(what was called, findings) of all subjects, or of the part of a seed."""
    calls = faults = 0
    part = options.subjects[seed % options.every::options.every]
    for subject in part:
        cases = subject.cases(seed, options.count)
        found = run_cases(cases, verdict)
        for text, problem in found:
            print(f'FOUND {subject.name}: {problem}: --eval {text!r} (--only {subject.name!r} --count {options.count} --seed {seed})', flush=True)
        calls, faults = calls + len(cases), faults + len(found)
        if time.monotonic() > options.end:
            break
    return f'{calls} calls of {len(part)} subjects', faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--only', default='')
    parser.add_argument('--eval', metavar='CALL')
    parser.add_argument('--every', type=int, default=1, metavar='N', help='only every N-th function, another part with each seed')
    add_rounds(parser, 4)
    options = parser.parse_args()
    if options.eval:
        limit_memory()
        evaluate(options.eval)
        return 0
    options.subjects = [each for each in subjects() if options.only in each.name]
    tenon.devices()  # plugins are loaded once, before the children
    return run_rounds(options, run)


if __name__ == '__main__':
    sys.exit(main())
