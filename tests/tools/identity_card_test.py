#!/usr/bin/env python3
"""Identity cards say what their library says of itself.

usage: identity_card_test.py LIBRARY [unittest arguments]      LIBRARY: the template's plugin
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = os.path.abspath(sys.argv.pop(1))


class Cards(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, *words, library=LIBRARY, code=0):
        done = subprocess.run([sys.executable, ROOT / "tools/identity_card.py", library, "--out", self.folder / "card", *words],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads((self.folder / "card").read_text()) if code == 0 else " ".join(done.stderr.split())

    @unittest.skipIf("ASAN_OPTIONS" in os.environ, "Python cannot open a library built for AddressSanitizer")
    def test_the_library_is_asked(self):
        card = self.write("--needs", "libother.so")
        self.assertEqual((card["id"], card["version"], card["needs"]), ("org.example.template", "0.1.0", ["libother.so"]))
        self.assertEqual(card["abi"]["major"], 1)
        self.assertEqual(card, self.write("--id", "org.example.template", "--version", "0.1.0", "--needs", "libother.so"))

    @unittest.skipIf("ASAN_OPTIONS" in os.environ, "Python cannot open a library built for AddressSanitizer")
    def test_what_is_given_must_agree(self):
        self.assertIn("the library says that its id is org.example.template, not acme", self.write("--id", "acme", code=2))
        self.assertIn("the library says that its version is 0.1.0, not 9", self.write("--version", "9", code=2))
        (self.folder / "source").write_text('{"abi": {"min_host_minor": 7}}')
        self.assertIn("its min_host_minor is 0, not 7", self.write("--card", self.folder / "source", code=2))

    def test_a_library_that_cannot_be_asked(self):
        foreign = self.folder / "foreign.so"
        foreign.write_text("for another CPU")
        self.assertIn("the library cannot be asked here", self.write(library=foreign, code=2))
        card = self.write("--id", "acme", "--version", "2", library=foreign)
        self.assertEqual((card["id"], card["version"], card["abi"]["min_host_minor"]), ("acme", "2", 0))


if __name__ == "__main__":
    unittest.main()
