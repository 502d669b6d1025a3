#!/usr/bin/env python3
"""The report of ./dev coverage, over a program that is compiled and run here."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools/dev"))
import coverage

SOURCE = """
int half(int n) {
  if (n % 2 == 0) return n / 2;
  return -1;
}
int never() { return 3; }
int main(int argc, char**) { return half(argc + 1) == 1 ? 0 : never(); }
"""


class Report(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="tenon-coverage-")
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name).resolve()
        self.build = self.root / "build"
        for name in ("core/memory", "tests", "build"):
            (self.root / name).mkdir(parents=True)
        (self.root / "core/memory/half.cpp").write_text(SOURCE)
        subprocess.run(["g++", "--coverage", "-O0", "../core/memory/half.cpp", "-o", "half"], cwd=self.build, check=True)
        subprocess.run(["./half"], cwd=self.build, check=True)

    def report(self):
        return coverage.report(self.root, self.build, self.root / "out", ("core",))

    def test_lines_and_branches_of_a_room(self):
        text = self.report()
        room, total = text.splitlines()[1:]
        # Of five lines `return -1` and never() are not reached; of each of two branches one way was taken.
        self.assertEqual(room.split(), ["core/memory", "60.0%", "3", "of", "5", "50.0%", "2", "of", "4"])
        self.assertEqual(total.split()[1:], room.split()[1:])
        self.assertEqual((self.root / "out/summary.txt").read_text(), text + "\n")
        self.assertIn("half.cpp", "".join(p.read_text() for p in (self.root / "out").glob("*.html")))

    def test_what_earlier_runs_counted_is_forgotten(self):
        coverage.forget(self.build)
        self.assertIn(" 0.0%       0 of 5", self.report())

    def test_rooms(self):
        for file, room in (("core/status.cpp", "core"), ("ops/unary.cpp", "ops"), ("plugins/cpu/ops/unary.cpp", "plugins/cpu")):
            self.assertEqual(coverage.room_of(file), room)


if __name__ == "__main__":
    unittest.main()
