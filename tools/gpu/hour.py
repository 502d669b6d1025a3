#!/usr/bin/env python3
"""The first hour on a machine with a GPU: versions and libraries, correctness, speed, Vulkan; writes the results to a JSON file and a
page.

  python3 tools/gpu/hour.py --device cuda:0                 everything; a second call does what is left, then what failed
  python3 tools/gpu/hour.py --device rocm:0 --stages A,B    some of it
  python3 tools/gpu/hour.py --device cuda:0 --seconds 540   what fits into so long; the rest by the next call
  python3 tools/gpu/hour.py --device gpusim:0 --rehearse    every step on small operands, as the test does

It runs from a bundle (./dev bundle) or from a source tree that is built (--build). Each step is a separate process with its own limit;
whatever it does, the next one runs. Results are in --out: hour.json, report.md, logs/.
"""
import argparse
import json
import os
import pathlib
import platform
import signal
import subprocess
import sys
import time

import report
import steps

HERE = pathlib.Path(__file__).resolve().parent
TAIL = 4000  # characters of a step's output in the JSON file; logs/ has all of it


class Tree:
    """Where programs and the package are: in a bundle, or in a source tree with build/."""

    def __init__(self, build=None):
        root = HERE.parents[1]
        is_bundle = build is None and (root / 'bin/tenon').exists()
        built = root if is_bundle else build or root / 'build'
        self.tools = built / ('bin' if is_bundle else 'tools')
        self.package = built / 'python'
        self.benchmarks = root / 'benchmarks'

    def environment(self):
        paths = [str(self.package), os.environ.get('PYTHONPATH', '')]
        # Programs look for vendors' libraries beside the Python on the path, which is to be this one.
        programs = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get('PATH', '')])
        return {**os.environ, 'PATH': programs, 'PYTHONPATH': os.pathsep.join(filter(None, paths)), 'PYTHONDONTWRITEBYTECODE': '1',
                'PYTHONUNBUFFERED': '1'}


def run_limited(command, environment, limit, log):
    """(exit status, seconds); the status is None if the limit came first. Processes started by the command end with it, or with this one."""
    start = time.monotonic()
    with open(log, 'w', encoding='utf-8', errors='replace') as out:
        try:
            process = subprocess.Popen(command, env=environment, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                       start_new_session=True)
        except OSError as problem:
            out.write(f'cannot start {command[0]}: {problem}\n')
            return 127, time.monotonic() - start
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
    return status, time.monotonic() - start


class Record:
    """The results of the steps so far, in a file that is complete at any time."""

    def __init__(self, folder, device):
        self.path = folder / 'hour.json'
        self.data = {'device': device, 'machine': f'{platform.system()} {platform.machine()}, {" ".join(platform.libc_ver())}', 'python': platform.python_version(), 'steps': {}}
        if self.path.exists():
            kept = json.loads(self.path.read_text())
            if kept['device'] != device:
                sys.exit(f'error: {self.path} is about {kept["device"]}, not {device}: give another --out')
            self.data = kept

    def state(self, name):
        return self.data['steps'].get(name, {}).get('state')

    def begin(self, step):
        """Noted first, so that a step that ends the machine is not the first of the next call again."""
        self.put(step.name, {'stage': step.stage, 'about': step.about, 'state': 'cut off', 'status': None, 'seconds': 0, 'tail': ''})

    def put(self, name, outcome):
        self.data['steps'][name] = outcome
        partial = self.path.with_suffix('.partial')
        partial.write_text(json.dumps(self.data, indent=1, ensure_ascii=False))
        os.replace(partial, self.path)


def outcome_of(step, status, seconds, log):
    text = log.read_text(errors='replace')
    state = 'ok' if status == 0 else 'too long' if status is None else 'absent' if status == steps.ABSENT else 'failed'
    found = {'stage': step.stage, 'about': step.about, 'state': state, 'status': status, 'seconds': round(seconds, 1), 'tail': text[-TAIL:]}
    if step.read is not None:  # what failed often says in its output what did
        try:
            found['result'] = step.read(text)
        except (ValueError, KeyError, IndexError, TypeError, AttributeError) as problem:
            if state == 'ok':
                found.update(state='failed', tail=f'its output cannot be read: {problem!r}\n{text[-TAIL:]}')
    return found


def in_order(chosen, record):
    """The machine first, each time, as it may be another one. Then steps that were not tried yet, before those that failed."""
    left = [step for step in chosen if record.state(step.name) not in ('ok', 'absent') or step.name == 'machine']
    return sorted(left, key=lambda step: 0 if step.name == 'machine' else 1 if record.state(step.name) is None else 2)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--device', default='cuda:0', help='cuda:0, rocm:0, vulkan:0, gpusim:0')
    parser.add_argument('--build', type=pathlib.Path, help='of a source tree (default: build/ beside tools/)')
    parser.add_argument('--out', type=pathlib.Path, default=pathlib.Path('hour'), help='a folder')
    parser.add_argument('--stages', default='A,B,C,D', help='which of them, with commas between')
    parser.add_argument('--only', help='steps whose name contains it')
    parser.add_argument('--seconds', type=float, default=float('inf'), help='no step begins that might last longer than what is left of them')
    parser.add_argument('--again', action='store_true', help='steps that were done, too')
    parser.add_argument('--rehearse', action='store_true', help='small operands and few cases: shows that the steps work')
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / 'logs').mkdir(exist_ok=True)
    record, tree, begin = Record(options.out, options.device), Tree(options.build), time.monotonic()
    record.data['rehearsal'] = options.rehearse
    stages = options.stages.split(',')
    chosen = [s for s in steps.all_steps(tree, options.device, options.rehearse)
              if s.stage in stages and (options.only is None or options.only in s.name)]
    if not chosen:
        parser.error(f'no step matches --stages {options.stages} --only {options.only}')
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # ends the step in progress, too
    for step in chosen if options.again else in_order(chosen, record):
        if time.monotonic() - begin + step.limit > options.seconds:
            print(f'{step.name}: left for the next call', flush=True)
            continue
        log = options.out / 'logs' / f'{step.name}.txt'
        record.begin(step)
        status, seconds = run_limited(step.command, {**tree.environment(), **step.environment}, step.limit, log)
        outcome = outcome_of(step, status, seconds, log)
        record.put(step.name, outcome)
        record.put(step.name, {**outcome, 'card': report.name_of(record.data)})  # which the first step tells
        print(f'{step.name}: {record.data["steps"][step.name]["state"]}, {seconds:.1f} s', flush=True)
        (options.out / 'report.md').write_text(report.page(record.data))
        if step.name == 'machine' and not record.data['steps']['machine'].get('result', {}).get('present', True):
            print(f'there is no {options.device} here: the other steps are left')
            break
    failed = [s.name for s in chosen if record.state(s.name) not in (None, 'ok', 'absent')]
    (options.out / 'report.md').write_text(report.page(record.data))
    print(f'{options.out}/report.md; failed: {", ".join(failed) or "nothing"}')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
