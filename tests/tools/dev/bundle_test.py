#!/usr/bin/env python3
"""A bundle of what is built, in a root without a compiler, headers or the build tree: programs, plugins and Python run there.

usage: bundle_test.py BUILD_FOLDER|ARCHIVE [unittest arguments]      an archive: what ./dev bundle has made
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tools/dev"), str(ROOT / "tests/sdk")]
import bundle  # noqa: E402
import prefix as prefixes  # noqa: E402

BUILD = pathlib.Path(sys.argv.pop(1))
PYTHON = pathlib.Path("/usr/bin/python3").resolve()  # of the system: its files lie in two places
# Mounts what programs want of a kernel, and goes in.
ENTER = """mount -t proc proc "$0/proc" && touch "$0/dev/null" && mount --bind /dev/null "$0/dev/null" && root=$0 && exec chroot "$root" "$@" """


def libraries_of(*paths):
    text = "".join(bundle.run("ldd", path) for path in paths)
    return {pathlib.Path(found) for found in re.findall(r"(/\S+) \(0x", text)}


def make_root(root):
    """glibc, libstdc++, zlib and a Python with its standard library: what the README of a bundle asks for."""
    standard = pathlib.Path(f"/usr/lib/{PYTHON.name}")
    have = libraries_of(PYTHON, *standard.glob("lib-dynload/*.so"), pathlib.Path("/usr/bin/ldd").parent / "env")
    have |= {bundle.system_library(name) for name in (
        "libstdc++.so.6", "libz.so.1", "libgcc_s.so.1", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libutil.so.1")}
    for path in have:
        for name in {path, path.parent / bundle.soname(path)}:
            target = root / str(name).lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
    (root / "usr/bin").mkdir(parents=True, exist_ok=True)
    shutil.copy(PYTHON, root / "usr/bin/python3")
    shutil.copytree(standard, root / str(standard).lstrip("/"), ignore=shutil.ignore_patterns("__pycache__", "test", "config-3*", "ensurepip"))
    for name in ("proc", "dev", "tmp"):
        (root / name).mkdir()


class Bundle(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="tenon-bundle-")
        cls.addClassCleanup(scratch.cleanup)
        cls.root = pathlib.Path(scratch.name)
        make_root(cls.root)
        cls.bundle = cls.root / "opt/a bundle"
        if BUILD.is_dir():
            cls.bundle.mkdir(parents=True)
            bundle.assemble(BUILD, [], cls.bundle)
        else:
            (cls.root / "opt").mkdir()
            bundle.run("tar", "xf", BUILD, "-C", cls.root / "opt")
            (cls.root / "opt" / BUILD.name.removesuffix(".tar.xz")).rename(cls.bundle)
        if cls.enter("/usr/bin/python3", "-c", "pass").returncode:
            raise unittest.SkipTest("no namespaces here: " + cls.enter("/usr/bin/python3", "-c", "pass").stdout)

    @classmethod
    def enter(cls, *command, **environment):
        own = ["--map-root-user"] if os.geteuid() else []
        return subprocess.run(["unshare", *own, "--mount", "--pid", "--fork", "sh", "-c", ENTER, str(cls.root), *map(str, command)],
                              env={"HOME": "/tmp", "PATH": "/usr/sbin:/usr/bin:/bin", **environment}, text=True, errors="replace", check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run_inside(self, *command, **environment):
        done = self.enter(*command, **environment)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def inside(self, name):
        return "/" + str((self.bundle / name).relative_to(self.root))

    def test_every_library_is_found_in_it_or_belongs_to_the_system(self):
        have = {path.name for path in self.bundle.rglob("*.so*")}
        missing = {(path.name, name) for path in bundle.binaries(self.bundle) for name in bundle.needed(path)
                   if name not in have and not bundle.OF_THE_SYSTEM.match(name)}
        self.assertEqual(missing, set())

    def test_nothing_of_the_build_is_named(self):
        named = {path.name for path in self.bundle.rglob("*") if path.is_file() and path.name != "libdnnl.so.3"
                 for content in [path.read_bytes()] if str(BUILD).encode() in content or str(ROOT).encode() + b"/" in content}
        self.assertEqual(named, set())

    def test_programs_and_plugins(self):
        out = self.run_inside(self.inside("bin/tenon"), "devices")
        self.assertRegex(out, r"(?m)^cpu .* ok +\d+ kernels")
        for folder in (self.bundle / "lib/tenon/plugins").iterdir():
            self.assertIn(f"{folder.name}: ", out)
        self.assertNotIn("refused", out)

    def test_the_conformance_suite(self):
        self.run_inside(self.inside("bin/tenon-check"), "cpu", "--group", "values", "--only", "matmul")

    def test_python(self):
        code = "import tenon; x = tenon.ones(2, 3); print((x @ x.T).tolist(), (tenon.linalg.inv(tenon.eye(2)) + 0).tolist())"
        out = self.run_inside("/usr/bin/python3", "-c", code, PYTHONPATH=self.inside("python"))
        self.assertIn("[[3.0, 3.0], [3.0, 3.0]] [[1.0, 0.0], [0.0, 1.0]]", out)

    def test_nothing_for_compilers(self):
        self.assertEqual([p for p in self.bundle.rglob("*") if p.suffix in (".h", ".hpp", ".a", ".o", ".pc", ".cmake")], [])


class Archive(unittest.TestCase):
    def test_is_whole_and_of_nobody(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "tenon-1/bin").mkdir(parents=True)
            (folder / "tenon-1/bin/tenon").write_text("x")
            self.assertGreater(bundle.pack(folder / "tenon-1", folder / "dist/tenon-1.tar.xz"), 0)
            listed = bundle.run("tar", "tvf", folder / "dist/tenon-1.tar.xz")
            self.assertIn("root/root", listed)
            self.assertIn("tenon-1/bin/tenon", listed)
            self.assertEqual([p.name for p in (folder / "dist").iterdir()], ["tenon-1.tar.xz"])

    def test_arguments(self):
        self.assertEqual(bundle.parse(["--archs", "80,90"]).archs, "80,90")
        for words in (["--archs", "sm_80"], ["--python", "/none/python"]):
            with self.assertRaises(SystemExit):
                bundle.parse(words)


if __name__ == "__main__":
    if BUILD.is_dir():
        prefixes.needs_plain_build(BUILD)
    unittest.main(verbosity=2)
