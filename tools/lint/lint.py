#!/usr/bin/env python3
"""Runs all static checks: doors, Python (ruff, types), generated pages, headers of other projects, clang-format, clang-tidy.

clang-tidy runs on the sources that differ from main; with --all on every source, with --newest on those of the newest commits. A
source that passed is remembered by the hash of its text and headers (build/lint-cache) and skipped until one of them changes.
"""

import argparse
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import tidy
from tidy import ROOT, tracked


def passes(*command):
    return subprocess.run([str(word) for word in command], cwd=ROOT).returncode == 0


def check_doors():
    return passes(sys.executable, ROOT / "tools/lint/doors.py")


def check_python():
    return passes("ruff", "check", "--quiet", "--no-cache", "--output-format=concise", ".")


def check_types():
    """Checks the types of the package and its stubs, as configured in pyproject.toml."""
    return passes("basedpyright", "--project", ROOT)


def check_docs():
    """Generated pages must match their sources."""
    pages = {"docs/ops.md": ["tools/generate_ops.py", "ops", "--docs"],
             "docs/sdk/reference.md": ["tools/generate_reference.py"]}
    fine = True
    for page, command in pages.items():
        with tempfile.TemporaryDirectory() as folder:
            fresh = pathlib.Path(folder) / "page.md"
            subprocess.run([sys.executable, *command, str(fresh)], cwd=ROOT, check=True)
            if fresh.read_text() != (ROOT / page).read_text():
                print(f"{page} does not match its sources: run ./dev docs")
                fine = False
    return fine


def check_third_party(folder=ROOT / "third_party"):
    """Every file of another project must be the one in the table of README.md, and every folder must have its licence."""
    rows = dict(re.findall(r"^\| `([^`]+)` \|.*\| `([0-9a-f]{64})` \|$", (folder / "README.md").read_text(), re.M))
    files = {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.glob("*/**/*") if p.is_file()}
    faults = [f"{name} has no row in third_party/README.md" for name in files.keys() - rows.keys()]
    faults += [f"{name} is missing" for name in rows.keys() - files.keys()]
    faults += [f"{name} is not upstream's: its sha256 is {files[name]}" for name in rows.keys() & files.keys() if rows[name] != files[name]]
    faults += [f"{p.name}/ has no LICENSE" for p in folder.iterdir() if p.is_dir() and not any(p.glob("LICENSE*"))]
    for fault in sorted(faults):
        print(f"third_party/{fault}")
    return not faults


def check_format():
    names = tracked("*.c", "*.h", "*.cpp", "*.hpp")
    if not names:
        return True
    done = subprocess.run(["clang-format", "--dry-run", "-Werror", "--style=file", *names], cwd=ROOT,
                          stderr=subprocess.PIPE, text=True)
    for line in done.stderr.splitlines():
        if "error:" in line:
            print(line)
    if done.returncode:
        print("run ./dev format to correct these")
    return done.returncode == 0


def generate(build):
    """Generates the headers that sources include, before any tool parses them."""
    rules = subprocess.run(["ninja", "-C", str(build), "-t", "targets", "all"], check=True,
                           stdout=subprocess.PIPE, text=True).stdout
    made = [line.split(":")[0] for line in rules.splitlines() if line.endswith(": CUSTOM_COMMAND")]
    headers = [name for name in made if name.endswith((".h", ".hpp", ".inc"))]
    if headers:
        subprocess.run(["ninja", "-C", str(build), "--quiet", *headers], check=True)


def main():
    parser = argparse.ArgumentParser(prog="./dev lint", description=__doc__)
    parser.add_argument("--all", action="store_true", help="run clang-tidy on every source")
    parser.add_argument("--newest", type=float, metavar="SECONDS",
                        help="clang-tidy on the sources of the newest commits, the latest first, until so much time has passed")
    parser.add_argument("--fast", action="store_true", help="leave out clang-tidy and the check of types")
    parser.add_argument("--build", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help=argparse.SUPPRESS)
    options = parser.parse_args()

    results = {"doors": check_doors(), "python": check_python(), "docs": check_docs(), "third_party": check_third_party(),
               "format": check_format()}
    if not options.fast:
        results["types"] = check_types()
        generate(options.build)
        results["clang-tidy"] = tidy.check(options.build.resolve(), options.jobs, options.all, options.newest)
    bad = [name for name, fine in results.items() if not fine]
    print("lint: " + (", ".join(bad) + " failed" if bad else "clean"))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
