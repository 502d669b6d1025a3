#!/usr/bin/env python3
"""`tenon devices` names a vendor's library with its path, or says why it is not used; other libraries have no part in it.

usage: devices_test.py TENON LIBRARY PLUGIN VARIABLE
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TENON, LIBRARY, PLUGIN, VARIABLE = (sys.argv.pop(1) for _ in range(4))
NAME = VARIABLE.split("_")[-1].lower()


def shown(*words, **environment):
    inherited = {key: value for key, value in os.environ.items() if key not in ("LD_LIBRARY_PATH", VARIABLE)}
    done = subprocess.run([TENON, "devices", *words], capture_output=True, text=True, check=True, env={**inherited, **environment})
    return done.stdout, done.stderr


def library(**environment):
    rows = [row for row in json.loads(shown("--json", **environment)[0]) if row["device"] == "gpusim:0"]
    return next(one for one in rows[0]["libraries"] if one["name"].lower() == NAME)


class Devices(unittest.TestCase):
    def test_where_it_is(self):
        found = library(LD_LIBRARY_PATH=os.path.dirname(LIBRARY))
        self.assertEqual((found["path"], found["reason"]), (os.path.realpath(LIBRARY), ""))
        out, _ = shown(LD_LIBRARY_PATH=os.path.dirname(LIBRARY))
        self.assertIn(f"{found['name']}: {os.path.realpath(LIBRARY)}", out)
        self.assertEqual(out.count(os.path.realpath(LIBRARY)), 1)  # once for both devices

    def test_by_the_variable(self):
        self.assertEqual(library(**{VARIABLE: os.path.abspath(LIBRARY)})["reason"], "")

    def test_forbidden(self):
        self.assertEqual(library(**{VARIABLE: "0"})["reason"], f"{VARIABLE} is 0")

    def test_bad_luck_is_a_warning_and_the_list_goes_on(self):
        with tempfile.TemporaryDirectory() as folder:
            damaged = pathlib.Path(folder) / "damaged.so"
            damaged.write_text("no library")
            for path, reason in ((damaged, "damaged.so"), (pathlib.Path(folder) / "none.so", "none.so"),
                                 (pathlib.Path(PLUGIN).absolute(), "the library has no")):
                self.assertIn(reason, library(**{VARIABLE: str(path)})["reason"])
                _, told = shown(**{VARIABLE: str(path), "TENON_LOG": "info"})
                self.assertEqual(sum(reason in line for line in told.splitlines()), 1, told)


if __name__ == "__main__":
    unittest.main(verbosity=2)
