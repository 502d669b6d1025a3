#!/usr/bin/env python3
"""Where the time of a build went: seconds by room, and the steps that took longest, from what ninja wrote down.

usage: ./dev build --times [PATTERN]      only steps whose output contains PATTERN

Steps that ran at the same time each count in full, so the sum is near the CPU time, not the time you waited. Steps answered by the
compiler cache count as short as they were. `CCACHE_DISABLE=1 ./dev build` measures the compiler itself.
"""

import argparse
import collections
import pathlib
import sys

LONGEST = 25


def read(log):
    """Seconds by output; for each output the latest step counts."""
    steps = {}
    for line in log.read_text().splitlines():
        if line.startswith("#"):
            continue
        start, end, _, output, _ = line.split("\t")
        steps[output] = (int(end) - int(start)) / 1000
    return steps


def room(output):
    """The folders to which a step belongs: plugins/cpu for plugins/cpu/tenon_cpu.so.p/ops_add.cpp.o."""
    parts = [part for part in pathlib.PurePath(output).parts[:-1] if not part.endswith(".p")]
    return "/".join(parts[:2]) or "."


def report(steps, write=print):
    rooms = collections.Counter()
    for output, seconds in steps.items():
        rooms[room(output)] += seconds
    total = sum(steps.values())
    write(f"{total:8.0f} s in {len(steps)} steps\n")
    for name, seconds in rooms.most_common():
        if seconds >= 1:
            write(f"{seconds:8.0f} s  {100 * seconds / total:3.0f} %  {name}")
    write("\nthe longest:")
    for output, seconds in sorted(steps.items(), key=lambda item: -item[1])[:LONGEST]:
        write(f"{seconds:8.1f} s  {output}")


def main():
    parser = argparse.ArgumentParser(prog="./dev build --times", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pattern", nargs="?", default="", help="part of the outputs' names")
    parser.add_argument("--build", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    log = options.build / ".ninja_log"
    if not log.exists():
        sys.exit(f"error: {options.build} holds no build yet; ./dev build makes one")
    steps = {output: seconds for output, seconds in read(log).items() if options.pattern in output}
    if not steps:
        sys.exit(f"error: no step of the build has '{options.pattern}' in its name")
    report(steps)


if __name__ == "__main__":
    main()
