#!/usr/bin/env python3
"""Runs ninja and shows its progress and the time left: on a terminal in its own line, otherwise in a line every ten seconds.

usage: run_ninja.py NINJA_ARGUMENTS...
"""

import os
import re
import subprocess
import sys
import time

# %W: the time left, as ninja estimates it from finished steps and earlier builds.
STATUS = "[%f/%t, %W left] "
STEP = re.compile(r"^\[(\d+)/(\d+), [^]]*\] ")
CHATTER = ("ninja: Entering directory", "ninja: no work to do.")
EVERY = 10.0  # seconds


class Progress:
    """Passes on ninja's lines: steps only now and then, and all others: warnings, errors and the commands that failed."""

    def __init__(self, write, clock=time.monotonic, every=EVERY):
        self.write, self.clock, self.every = write, clock, every
        self.next = clock() + every  # shorter builds print nothing

    def line(self, text):
        if STEP.match(text):
            if self.clock() < self.next:
                return
            self.next = self.clock() + self.every
        elif text.startswith(CHATTER):
            return
        self.write(text)


def run(arguments, out=None):
    """Runs ninja and returns its exit status."""
    out = out or sys.stdout
    command = ["ninja", *map(str, arguments)]
    try:
        if out.isatty() and os.environ.get("TERM", "dumb") != "dumb":
            return subprocess.run(command, check=False, env={"NINJA_STATUS": STATUS, **os.environ}).returncode
        progress = Progress(lambda text: print(text, end="", file=out, flush=True))
        # Sets our own status format, whatever the user's environment says.
        with subprocess.Popen(command, text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={**os.environ, "NINJA_STATUS": STATUS}) as child:
            for text in child.stdout:
                progress.line(text)
        return child.returncode
    except FileNotFoundError:
        sys.exit("error: ninja is not on the PATH; ./dev installs it into .venv")


if __name__ == "__main__":
    try:
        sys.exit(run(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
