#!/usr/bin/env python3
"""`tenon new-plugin`: what it writes builds, passes its own test and the suite unedited, and its first kernel wins.

usage: new_plugin_test.py BUILD_FOLDER [unittest arguments]
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "sdk"))
import prefix

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else None


def run(*words, cwd=None, env=None):
    done = subprocess.run([str(w) for w in words], cwd=cwd, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, timeout=300)
    return done.returncode, done.stdout


class Base(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.prefix = prefix.installed(BUILD)
        cls.scratch = tempfile.TemporaryDirectory(prefix="tenon-new-")
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.environment = cls.prefix.environment()

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def tenon(self, *words, **variables):
        return run(self.prefix.tenon, *words, cwd=self.folder, env={**self.environment, **variables})

    def ok(self, outcome):
        self.assertEqual(outcome[0], 0, outcome[1])
        return outcome[1]


class Projects(Base):
    """One project a language, built once."""

    def make(self, language, name, *more):
        printed = self.ok(self.tenon("new-plugin", name, "--language", language, *more))
        project = self.folder / name
        for line in printed.split("\n\n")[0].splitlines():
            self.assertTrue((self.folder / line).is_file(), line)
        text = "".join(p.read_text() for p in project.rglob("*") if p.is_file() and p.name not in ("abi.rs", "tenon.rs"))
        self.assertNotRegex(text, r"(?i)template|@[A-Z]+@", "a name of the pattern was left in")
        self.assertTrue(os.access(project / "ci.sh", os.X_OK))
        for needed in (f"tenon_{name}.tenon.json", "README.md", ".gitignore", "tests/test_device.c"):
            self.assertTrue((project / needed).is_file(), needed)
        return project

    def build(self, project):
        if (project / "Makefile").exists():
            return run("make", "-s", "all", cwd=project, env={**self.environment, "TENON_PREFIX": str(self.prefix.root)})
        if not (project / "build").exists():
            self.ok(run("cmake", "-S", ".", "-B", "build", cwd=project, env=self.environment))
        return run("cmake", "--build", "build", cwd=project, env=self.environment)

    def try_out(self, language, name, source, plugin_id):
        project = self.make(language, name, "--id", plugin_id)
        self.assertNotIn("warning", self.ok(self.build(project)))
        library = project / f"build/tenon_{name}.so"
        card = json.loads((project / f"build/tenon_{name}.tenon.json").read_text())
        self.assertEqual((card["id"], card["library"]), (plugin_id, library.name))

        # What ci.sh runs: the project's test, then the conformance suite, whose whole takes minutes here.
        printed = self.ok(run(project / "ci.sh", "--sample", f"16:{language}", cwd=project,
                              env={**self.environment, "TENON_PREFIX": str(self.prefix.root)}))
        self.assertRegex(printed, "passed")

        path = {"TENON_PLUGIN_PATH": str(project / "build")}
        rows = json.loads(self.ok(self.tenon("devices", "--json", **path)))
        self.assertEqual([(r["plugin"], r["status"]) for r in rows if r["device"] == f"{name}:0"], [(plugin_id, "ok")])
        before = self.ok(self.tenon("explain", "relu", "--device", name, **path))
        self.assertIn("the host's kernel runs", before)

        file = project / source
        marked = re.sub(r"//\+ ", "", file.read_text())
        added = sum(line.lstrip().startswith("//+") for line in file.read_text().splitlines())
        self.assertLessEqual(added, 10)
        file.write_text(marked)
        self.assertNotIn("warning", self.ok(self.build(project)))
        after = self.ok(self.tenon("explain", "relu", "--device", name, **path))
        self.assertIn(f"1. kernel of plugin '{plugin_id}'", after)
        self.ok(run(project / "build/test_device", library, env=self.environment))

    def test_c(self):
        self.try_out("c", "npu", "tenon_npu.c", "com.acme.npu")
        lines = (self.folder / "npu/tenon_npu.c").read_text().count("\n")
        self.assertLessEqual(lines, 120)

    def test_cpp(self):
        self.try_out("cpp", "my_npu2", "tenon_my_npu2.cpp", "org.acme.my-npu2")


    def test_rust(self):
        # Debian's first: a rustup without its home directory has no compiler.
        rustc = "/usr/bin/rustc" if os.access("/usr/bin/rustc", os.X_OK) else shutil.which("rustc")
        if rustc is None or run(rustc, "--version", env=self.environment)[0] != 0:
            self.skipTest("no rustc that works: apt-get install rustc")
        self.environment = {**self.environment, "RUSTC": rustc}
        self.try_out("rust", "rusty", "src/lib.rs", "org.acme.rusty")


class Builds(Base):
    """The projects by each compiler, with CMake and with the guide's file for Meson."""

    COMPILERS = {"gcc": "g++", "clang": "clang++"}
    MESON = re.search(r"^```meson\n(.*?)^```$", (ROOT / "docs/sdk/install.md").read_text(), re.M | re.S)[1]

    def setUp(self):
        for program in ("meson", *self.COMPILERS):
            if shutil.which(program) is None:
                self.skipTest(f"{program} is not installed")

    def works(self, name, folder):
        rows = json.loads(self.ok(self.tenon("devices", "--json", TENON_PLUGIN_PATH=str(folder))))
        self.assertEqual([r["status"] for r in rows if r["device"] == f"{name}:0"], ["ok"], folder)
        self.assertIn("0 failed", self.ok(self.tenon("check", folder / f"tenon_{name}.so", "--only", "relu")))

    def build_all(self, language, name):
        self.ok(self.tenon("new-plugin", name, "--language", language))
        project = self.folder / name
        listing = self.MESON.replace("tenon_template.c'", f"tenon_template.{language}'").replace("tenon_template", f"tenon_{name}")
        if language == "cpp":
            listing = listing.replace("'c', version", "'cpp', version").replace("c_std=c11", "cpp_std=c++20")
        (project / "meson.build").write_text(listing)
        for c, cxx in self.COMPILERS.items():
            environment = {**self.environment, "CC": c, "CXX": cxx}
            for builder, words in (("cmake", ("-S", project, "-B")), ("meson", ("setup", "--werror", "-Dwarning_level=2"))):
                folder = self.folder / f"{name}-{builder}-{c}"
                source = () if builder == "cmake" else (project,)
                self.ok(run(builder, *words, folder, *source, env=environment))
                build = ("cmake", "--build", folder) if builder == "cmake" else ("meson", "compile", "-C", folder)
                self.assertNotIn("warning:", self.ok(run(*build, env=environment)))
                self.works(name, folder)
        return project

    def test_c(self):
        project = self.build_all("c", "many")
        bare = self.folder / "bare"
        bare.mkdir()
        library = bare / "tenon_many.so"
        for compiler in self.COMPILERS.values():  # the C headers ask for no exceptions and no type information
            self.ok(run(compiler, "-x", "c++", "-std=c++20", "-fno-exceptions", "-fno-rtti", "-fPIC", "-shared", "-fvisibility=hidden",
                        f"-I{self.prefix.include}", "-o", library, project / "tenon_many.c", env=self.environment))
            self.ok(run(self.prefix.root / "share/tenon/identity_card.py", library, "--out", bare / "tenon_many.tenon.json",
                        env=self.environment))
            self.works("many", bare)

    def test_cpp(self):
        source = self.build_all("cpp", "plenty") / "tenon_plenty.cpp"
        for compiler in self.COMPILERS.values():
            flags = ("-std=c++20", f"-I{self.prefix.include}", "-fsyntax-only")
            self.ok(run(compiler, *flags, "-fno-rtti", source, env=self.environment))
            code, said = run(compiler, *flags, "-fno-exceptions", source, env=self.environment)
            self.assertNotEqual(code, 0)
            self.assertIn("tenon/plugin.hpp needs exceptions", said)


class Refusals(Base):
    def refuse(self, text, *words):
        code, printed = self.tenon("new-plugin", *words)
        self.assertEqual(code, 2, printed)
        self.assertIn(text, printed)

    def test_names(self):
        self.refuse("new-plugin needs a name, as in: tenon new-plugin acme")
        for name in ("9lives", "Big", "a-b", "a b", "a/b", "../up", "é", "", "x" * 41, "a\nb"):
            self.refuse("is not a valid plugin name", name)
        for name in ("cpu", "core", "auto", "tenon"):
            self.refuse(f"the name '{name}' is reserved", name)
        self.refuse("too many arguments", "one", "two")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_ids(self):
        for name in ("acme", "Com.acme", ".acme", "com..acme", "com.acme.", "com.ac me", "com.9acme"):
            self.refuse("reverse DNS in lower case is expected", "acme", "--id", name)

    def test_languages(self):
        self.refuse("unknown language 'cppp'; did you mean 'cpp'? (c, cpp or rust)", "acme", "--language", "cppp")

    def test_nothing_is_overwritten(self):
        (self.folder / "full").mkdir()
        (self.folder / "full/notes.txt").write_text("mine")
        self.refuse("full is not empty, and nothing is overwritten; choose another with --directory DIR", "acme", "--directory", "full")
        self.refuse("exists and is no directory", "acme", "--directory", "full/notes.txt")
        self.refuse("--directory is empty", "acme", "--directory", "")
        os.symlink("nowhere", self.folder / "full/dangling")
        self.refuse("exists and is no directory", "acme", "--directory", "full/dangling")
        self.assertEqual((self.folder / "full/notes.txt").read_text(), "mine")
        self.assertFalse((self.folder / "acme").exists())
        shutil.rmtree(self.folder / "full")

    def test_an_empty_directory_will_do(self):
        (self.folder / "empty").mkdir()
        self.ok(self.tenon("new-plugin", "acme", "--directory", "empty"))
        self.assertTrue((self.folder / "empty/tenon_acme.c").is_file())
        self.assertIn('"id": "org.example.acme"', (self.folder / "empty/tenon_acme.tenon.json").read_text())
        self.refuse("is not empty", "acme", "--directory", "empty")
        shutil.rmtree(self.folder / "empty")

    def test_a_directory_that_cannot_be_written(self):
        code, printed = self.tenon("new-plugin", "acme", "--directory", "/proc/acme")
        self.assertEqual(code, 1)
        self.assertIn("/proc/acme", printed)


if __name__ == "__main__":
    if BUILD is None:
        sys.exit(__doc__)
    prefix.needs_plain_build(BUILD)
    unittest.main()
