#!/usr/bin/env python3
"""Runs the short versions of the Python examples and prints a table of what each reached beside its aim.

examples:
  ./dev examples                          all of them, on the CPU
  ./dev examples char_gpt vae             these
  ./dev examples --device vulkan:0 --steps 3   a few steps elsewhere
  ./dev examples --write                  the table into docs/examples.md

The exit status is 1 if an example failed or did not reach its figure.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER, PAGE = ROOT / "examples/python", ROOT / "docs/examples.md"
BEGIN, END = "<!-- short runs: ./dev examples --write -->\n", "<!-- end of the short runs -->\n"
FIGURE = re.compile(r"^figure: (.*?):? (\S+)(?: [a-z ]+)? \((at (?:most|least) \S+)[^:]*: (reached|not reached)\)$", re.M)


def names():
    """The examples that have a figure: those that share the options of common.py."""
    return sorted(path.stem for path in FOLDER.glob("*.py") if "common.figure(" in path.read_text())


def run(name, options, output):
    """Runs one example; returns its lines of the table, and whether all is well."""
    command = [sys.executable, FOLDER / f"{name}.py", "--short", "--seed", options.seed, "--device", options.device, "--output", output]
    if options.steps and "'--steps'" in (FOLDER / f"{name}.py").read_text():  # examples that train
        command += ["--steps", options.steps]
    begin = time.perf_counter()
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    seconds = time.perf_counter() - begin
    found = FIGURE.findall(done.stdout)
    if "pip install" in done.stderr or "apt-get install" in done.stderr:
        return [f"| `{name}` | not run: {done.stderr.strip().splitlines()[-1]} | | | |"], True
    if done.returncode or not found:
        print(done.stdout[-2000:] + done.stderr[-2000:], file=sys.stderr)
        return [f"| {name} | failed, see above | | {seconds:.0f} |"], False
    rows = [f"| `{name}` | {what} | {value} | {aim} | {seconds:.0f} |" for what, value, aim, _ in found]
    return rows, all(verdict == "reached" for *_, verdict in found)


def main():
    parser = argparse.ArgumentParser(prog="./dev examples", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="which examples; default: all")
    parser.add_argument("--device", default="cpu:0")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, help="stop training after STEPS steps; the figures are then not reached")
    parser.add_argument("--write", action="store_true", help="put the table into docs/examples.md")
    parser.add_argument("--build", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    unknown = set(options.names) - set(names())
    if unknown:
        parser.error(f"no example '{min(unknown)}'; there is {', '.join(names())}")
    if options.write and (options.names or options.steps):
        parser.error("--write is for all examples and whole runs")
    os.environ["PYTHONPATH"] = str(options.build / "python")
    lines = ["| example | figure | reached | aim | s |", "|---|---|---:|---|---:|"]
    print("\n".join(lines), flush=True)
    fine = True
    for name in options.names or names():
        with tempfile.TemporaryDirectory() as folder:
            rows, good = run(name, options, folder)
        print("\n".join(rows), flush=True)
        lines += rows
        fine &= good
    if options.write:
        text = PAGE.read_text()
        before, rest = text.split(BEGIN)
        PAGE.write_text(before + BEGIN + "\n" + "\n".join(lines) + "\n\n" + END + rest.split(END)[1])
    return 0 if fine or options.steps else 1


if __name__ == "__main__":
    sys.exit(main())
