#!/usr/bin/env python3
"""What a long build shows where there is no terminal."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools/dev"))
import run_ninja

BUILD = """
rule say
  command = echo $what; exit $code
  description = Saying $out
build one: say
  what = hello
  code = 0
build two: say one
  what = complaint of the compiler
  code = 1
"""


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


class Progress(unittest.TestCase):
    def setUp(self):
        self.seen, self.clock = [], Clock()
        self.progress = run_ninja.Progress(self.seen.append, self.clock, every=10)

    def at(self, seconds, line):
        self.clock.now = seconds
        self.progress.line(line)

    def test_steps_are_shown_now_and_then(self):
        for second in range(35):
            self.at(second, f"[{second}/99, 01:30 left] Compiling {second}\n")
        self.assertEqual(self.seen, [f"[{n}/99, 01:30 left] Compiling {n}\n" for n in (10, 20, 30)])

    def test_a_short_build_says_nothing(self):
        self.at(0, "ninja: Entering directory `build'\n")
        self.at(9, "[2/2, 00:00 left] Linking\n")
        self.at(9, "ninja: no work to do.\n")
        self.assertEqual(self.seen, [])

    def test_warnings_and_errors_are_shown_at_once(self):
        for line in ("a.cpp:3:4: warning: unused\n", "FAILED: a.o\n", "ninja: build stopped: subcommand failed.\n"):
            self.at(1, line)
            self.assertEqual(self.seen.pop(), line)


class Ninja(unittest.TestCase):
    def run_ninja(self, *targets):
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as out:
            pathlib.Path(folder, "build.ninja").write_text(BUILD)
            status = run_ninja.run(["-C", folder, *targets], out)
            out.seek(0)
            return status, out.read()

    def test_its_status_and_the_output_of_what_failed(self):
        self.assertEqual(self.run_ninja("one"), (0, "hello\n"))
        status, out = self.run_ninja("two")
        self.assertNotEqual(status, 0)
        self.assertIn("complaint of the compiler", out)
        self.assertIn("FAILED: ", out)
        self.assertNotIn("Saying one", out)

    def test_an_unknown_target(self):
        status, out = self.run_ninja("three")
        self.assertNotEqual(status, 0)
        self.assertIn("three", out)


if __name__ == "__main__":
    unittest.main()
