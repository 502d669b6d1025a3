#!/usr/bin/env python3
"""./dev by its words alone: help is help for every verb, and a wrong verb says so. Nothing is set up, built or removed."""

import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]


class Dev(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        shutil.copy(ROOT / "dev", self.root)
        (self.root / "build").mkdir()

    def run_dev(self, *arguments):
        return subprocess.run([self.root / "dev", *arguments], capture_output=True, text=True, timeout=60)

    def test_usage_names_every_verb(self):
        usage = self.run_dev("--help").stdout
        for verb in re.findall(r"^verb_(\w+)\(\)", (ROOT / "dev").read_text(), re.MULTILINE):
            self.assertRegex(usage, rf"(?m)^  {verb}\b")

    def test_help_of_a_verb_does_nothing(self):
        for verb in "build", "clean", "demo", "docs", "format", "sanitize", "wheel":
            for word in "-h", "--help":
                done = self.run_dev(verb, word)
                self.assertEqual((done.returncode, done.stdout[:12]), (0, "usage: ./dev"), (verb, word))
        self.assertEqual(sorted(path.name for path in self.root.iterdir()), ["build", "dev"])

    def test_a_wrong_verb(self):
        done = self.run_dev("biuld")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no verb 'biuld'", done.stderr)


if __name__ == "__main__":
    unittest.main()
