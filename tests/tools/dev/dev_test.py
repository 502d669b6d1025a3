#!/usr/bin/env python3
"""./dev by its words alone: help is help for every verb, and a wrong verb says so. Nothing is set up, built or removed."""

import json
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

    def test_help_of_what_a_script_does_needs_no_build(self):
        scripts = re.findall(r"help_of (\S+\.py)", (ROOT / "dev").read_text())
        for folder in {pathlib.Path(script).parent for script in scripts}:
            shutil.copytree(ROOT / folder, self.root / folder, ignore=shutil.ignore_patterns("__pycache__"))
        before = set(self.root.iterdir())
        for verb in "bench", "bundle", "coverage", "examples", "fuzz", "lint", "test":
            done = self.run_dev(verb, "--help")
            self.assertEqual((done.returncode, done.stdout[:6]), (0, "usage:"), (verb, done.stderr))
        self.assertEqual(set(self.root.iterdir()), before)

    def test_a_wrong_verb(self):
        done = self.run_dev("biuld")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no verb 'biuld'", done.stderr)

    def test_the_development_container_takes_the_lists_of_packages(self):
        folder = ROOT / ".devcontainer"
        text = "".join(line for line in (folder / "devcontainer.json").read_text().splitlines(True) if not line.startswith("//"))
        build = json.loads(text)["build"]
        recipe = (folder / build["dockerfile"]).read_text()
        copied = set((folder / build["context"]).resolve().glob(re.search(r"^COPY (\S+) /tmp/setup/$", recipe, re.M)[1]))
        lists = {ROOT / "tools/setup" / name for name in ("debian-packages.txt", "debian-packages-full.txt")}
        self.assertEqual(copied, lists)
        listed = {word for path in lists for line in path.read_text().splitlines() if not line.startswith("#") for word in line.split()}
        self.assertIn("$(grep -hv '^#' /tmp/setup/*.txt)", recipe)
        self.assertEqual(listed & set(re.sub(r"(?m)^#.*", "", recipe).split()), set())  # no second copy


if __name__ == "__main__":
    unittest.main()
