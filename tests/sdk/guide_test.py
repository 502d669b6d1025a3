#!/usr/bin/env python3
"""Follows docs/sdk/guide.md from an installed prefix: writes its listings, runs its commands, compares what they print.

usage: guide_test.py BUILD_FOLDER [GUIDE.md]

The first words after ``` say what a block is:
  LANGUAGE file=PATH                       the whole file
  LANGUAGE insert=PATH before="LINE"       goes before the line that begins with LINE
  sh run                                   is run; variables that it exports stay
  text output                              what the run before it must print: these lines in this order, others between them;
                                           … stands for anything
Other blocks are for the reader only.
"""

import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

import prefix
import listings  # prefix puts tools/dev on the path


class Mismatch(Exception):
    pass


def check_output(expected, printed):
    rest = printed.splitlines()
    for line in expected.splitlines():
        wanted = re.compile(listings.pattern(line))
        while rest and not wanted.search(" ".join(rest[0].split())):
            rest.pop(0)
        if not rest:
            raise Mismatch(f"expected, in this order:\n{expected}\nprinted:\n{printed}\nmissing: {line}")
        rest.pop(0)


class Walk:
    """A scratch folder, and the variables that commands export."""

    def __init__(self, folder, environment):
        self.folder, self.environment, self.printed = pathlib.Path(folder), environment, ""

    def run(self, script):
        state = self.folder / ".environment"
        done = subprocess.run(["sh", "-euc", f"{script}\nenv -0 > {shlex.quote(str(state))}"], cwd=self.folder, env=self.environment,
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=300)
        self.printed = done.stdout
        if done.returncode:
            raise Mismatch(f"exit status {done.returncode} of:\n{script}\n{done.stdout}")
        self.environment = dict(entry.split("=", 1) for entry in state.read_text().split("\0") if entry)

    def insert(self, name, before, text):
        path = self.folder / name
        lines = path.read_text().splitlines(keepends=True)
        places = [i for i, line in enumerate(lines) if line.startswith(before)]
        if len(places) != 1:
            raise Mismatch(f"{len(places)} lines of {name} begin with {before!r}")
        path.write_text("".join(lines[:places[0]]) + text + "".join(lines[places[0]:]))

    def block(self, language, words, text):
        options = dict(word.split("=", 1) for word in shlex.split(words) if "=" in word)
        if language == "sh" and words.strip() == "run":
            self.run(text)
        elif language == "text" and words.strip() == "output":
            check_output(text, self.printed)
        elif "file" in options:
            path = self.folder / options["file"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        elif "insert" in options:
            self.insert(options["insert"], options["before"], text)
        elif words.strip():
            raise Mismatch(f"what is a block of {language} {words}?")
        else:
            return 0
        return 1


def main():
    build = pathlib.Path(sys.argv[1])
    guide = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else pathlib.Path(__file__).parents[2] / "docs/sdk/guide.md")
    prefix.needs_plain_build(build)
    installed = prefix.installed(build)
    text, count = guide.read_text(), 0
    with tempfile.TemporaryDirectory(prefix="tenon-guide-") as folder:
        walk = Walk(folder, installed.environment(CMAKE_BUILD_PARALLEL_LEVEL="2", OMP_WAIT_POLICY="passive"))
        for found in listings.FENCE.finditer(text):
            try:
                count += walk.block(*found.groups())
            except (Mismatch, subprocess.TimeoutExpired) as problem:
                line = text.count("\n", 0, found.start()) + 1
                sys.exit(f"{guide}:{line}: {problem}")
    if count < 10:
        sys.exit(f"{guide}: only {count} blocks were followed")
    print(f"{count} blocks of {guide.name} followed")


if __name__ == "__main__":
    os.umask(0o022)
    main()
