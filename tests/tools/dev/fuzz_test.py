#!/usr/bin/env python3
"""`./dev fuzz`: its turns, and what it makes of a fuzzer that finds something, finds nothing, or fails."""

import contextlib
import io
import itertools
import os
import pathlib
import signal
import stat
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools/dev"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tests/fuzz"))
import fuzz
import python_children

PROGRAM = """#!/bin/sh
echo "$@" >> {log}
{body}
"""


class Turns(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.log = self.folder / "log"

    def run_turns(self, body, **options):
        program = self.folder / "fuzzer"
        program.write_text(PROGRAM.format(log=self.log, body=body))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        wanted = types.SimpleNamespace(**{"build": self.folder, "seed": 3, "seconds": 2, "jobs": 1, "op": None, **options})
        self.out = io.StringIO()
        with contextlib.redirect_stdout(self.out), contextlib.redirect_stderr(io.StringIO()):
            clock = itertools.count(step=2).__next__  # a turn takes its two seconds
            return fuzz.run_turns([fuzz.Target("it", "for a test", "fuzzer")], wanted, clock)

    def test_seed_and_time_reach_the_program(self):
        self.assertEqual(self.run_turns("true"), [])
        self.assertEqual(self.log.read_text().splitlines(), ["--seed 3 --seconds 2 --jobs 1"])

    def test_each_turn_has_a_seed_of_its_own(self):
        self.run_turns("true", seconds=6)
        self.assertEqual([line.split()[1] for line in self.log.read_text().splitlines()], ["3"])
        self.log.unlink()
        self.run_turns("true", seconds=124)
        self.assertEqual([line.split()[1] for line in self.log.read_text().splitlines()][:2], ["3", "4"])

    def test_findings_are_counted_and_shown(self):
        found = self.run_turns("echo FOUND add: dies; echo '  again: …'; echo FOUND sub: dies; exit 1")
        self.assertEqual(found, ["FOUND add: dies", "FOUND sub: dies"])
        self.assertIn("again", self.out.getvalue())

    def test_a_program_that_fails_without_a_word_is_a_finding(self):
        found = self.run_turns("exit 7")
        self.assertEqual(len(found), 1)
        self.assertIn("status 7", found[0])


class Arguments(unittest.TestCase):
    def refused(self, *words):
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()) as said:
            fuzz.parse(words)
        return said.getvalue()

    def test_unknown_targets_are_named_beside_the_known(self):
        self.assertIn("no target 'opps'; there is ops", self.refused("opps"))

    def test_seconds_and_forever_exclude_each_other(self):
        self.assertIn("--seconds", self.refused("--seconds", "5", "--forever"))
        self.assertIn("--seconds", self.refused("--seconds", "0"))

    def test_an_op_means_the_target_ops(self):
        self.assertEqual(fuzz.parse(["--op", "add"]).targets, ["ops"])


class Bytes(unittest.TestCase):
    def test_plugins_load_though_no_probe_lies_beside_the_program(self):
        with tempfile.TemporaryDirectory() as folder:
            build = pathlib.Path(folder)
            program = build / fuzz.TARGETS["einsum"].program
            program.parent.mkdir(parents=True)
            program.write_text('#!/bin/sh\necho "$TENON_PROBE $TENON_PLUGIN_PATH"\n')
            program.chmod(0o755)
            command = fuzz.TARGETS["einsum"].command(types.SimpleNamespace(build=build), 3, 2)
            said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        self.assertEqual(said, ["off", str(build / "plugins/cpu")])


def judged(case):
    """What the fuzzers of the Python package may meet in a child."""
    if case == "dies":
        os.kill(os.getpid(), signal.SIGSEGV)
    while case == "loops":
        pass
    if case == "leaves":
        os._exit(5)
    if case == "raises":
        raise KeyboardInterrupt
    return "is wrong" if case == "lies" else ""


class Children(unittest.TestCase):
    def test_each_fault_is_found_and_the_cases_behind_it_run(self):
        cases = ["good", "dies", "lies", "loops", "leaves", "good", "raises", "lies"]
        with unittest.mock.patch.object(python_children, "CPU", 0.2):
            found = python_children.run_cases(cases, judged)
        self.assertEqual(found, [("dies", "dies of SIGSEGV"), ("lies", "is wrong"), ("loops", "computes for 0.2 s"), ("leaves", "ends the process with 5"),
                                 ("raises", "ends the process with 1"), ("lies", "is wrong")])

    def test_cases_that_are_good_leave_nothing(self):
        self.assertEqual(python_children.run_cases(["good"] * 3, judged), [])

    def test_what_a_child_writes_stays_in_a_folder_of_its_own(self):
        python_children.run_cases(["x"], lambda case: pathlib.Path("written").write_text(case) and "")
        self.assertFalse(pathlib.Path("written").exists())


if __name__ == "__main__":
    unittest.main()
