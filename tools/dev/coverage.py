#!/usr/bin/env python3
"""Runs tests in a build for gcov and shows which lines and branches they reach, room by room.

examples:
  ./dev coverage                     all tests
  ./dev coverage core_memory ops_    only these; NAME as in ./dev test

The summary is printed and written to build-coverage/coverage/summary.txt; index.html beside it shows every line.
"""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROOMS = ("core", "libs", "ops", "plugins", "python", "sdk", "tools")
KINDS = ("line", "branch")


def forget(build):
    """Deletes what earlier runs counted."""
    for counts in build.rglob("*.gcda"):
        counts.unlink()


def run_tests(build, jobs, names):
    """Runs the tests; returns whether all passed."""
    command = [sys.executable, str(ROOT / "tools/dev/run_tests.py"), "--build", str(build), "--jobs", str(jobs), "--slow", "5"]
    statuses = [subprocess.run([*command, *name], check=False).returncode for name in ([[name] for name in names] or [[]])]
    return not any(statuses)


def room_of(file):
    """core/memory/copy.cpp belongs to core/memory, plugins/cpu/ops/unary.cpp to plugins/cpu."""
    return "/".join(pathlib.PurePath(file).parent.parts[:2])


def summary(files):
    """The table of rooms, made from gcovr's results for each file."""
    rooms = collections.defaultdict(collections.Counter)
    for file in files:
        for room in (room_of(file["filename"]), "all"):
            for kind in KINDS:
                rooms[room][kind] += file[f"{kind}_covered"]
                rooms[room][kind + "s"] += file[f"{kind}_total"]
    lines = [f"{'room':24} {'lines':>8} {'':>16} {'branches':>8}"]
    for room, count in sorted(rooms.items(), key=lambda item: (item[0] == "all", item[0])):
        shares = [f"{100 * count[kind] / max(count[kind + 's'], 1):7.1f}% {count[kind]:>7} of {count[kind + 's']:<6}" for kind in KINDS]
        lines.append(f"{room:24} {' '.join(shares)}".rstrip())
    return "\n".join(lines)


def report(root, build, out, rooms, jobs=1):
    """Writes summary.txt and index.html into `out`; returns the summary."""
    out.mkdir(parents=True, exist_ok=True)
    found = out / "summary.json"
    # Nearly every call has a compiler-made branch for exceptions; those do not count.
    subprocess.run([sys.executable, "-m", "gcovr", "--root", str(root), "--object-directory", str(build), "-j", str(jobs),
                    *[word for room in rooms for word in ("--filter", f"{room}/")], "--exclude-throw-branches",
                    "--merge-mode-functions", "merge-use-line-0", "--json-summary", str(found), "--html-nested", str(out / "index.html"),
                    "--html-title", "Tenon", str(build)], cwd=root, check=True)
    text = summary(json.loads(found.read_text())["files"])
    (out / "summary.txt").write_text(text + "\n")
    return text


def main():
    parser = argparse.ArgumentParser(prog="./dev coverage", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--build", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help=argparse.SUPPRESS)
    options = parser.parse_args()
    build = options.build.resolve()
    forget(build)
    passed = run_tests(build, options.jobs, options.names)
    if not any(build.rglob("*.gcda")):
        sys.exit("error: no test ran (see above)")
    print(report(ROOT, build, build / "coverage", ROOMS, options.jobs))
    print(f"{build / 'coverage/index.html'} shows every line" + ("" if passed else "; tests failed, see above"))
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
