#!/usr/bin/env python3
"""Hosts in C: one that runs saved graphs, and those that bring libraries of their own, another OpenMP runtime and symbols of the same names
as ours.

usage: embed_test.py BUILD_FOLDER [unittest arguments]
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE.parent))
import prefix as prefixes  # noqa: E402

BUILD = pathlib.Path(sys.argv.pop(1))
# Each aborts when it is called: all that a host's own copy of a library could export.
CLASH = r"""
#include <stdio.h>
#include <stdlib.h>
#define CLASH(name) \
  void name(void) { fputs("the host's " #name " was called\n", stderr); abort(); }
"""


def symbols(library):
    """The functions it exports, in C's alphabet."""
    text = subprocess.run(["nm", "-D", "--defined-only", library], check=True, stdout=subprocess.PIPE, text=True).stdout
    found = re.findall(r"^[0-9a-f]+ [TWi] (\w+)(?:@.*)?$", text, re.M)
    return sorted(name for name in set(found) if name not in ("_init", "_fini"))


class Embedding(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.prefix = prefixes.installed(BUILD)
        scratch = tempfile.TemporaryDirectory(prefix="tenon-embed-")
        cls.addClassCleanup(scratch.cleanup)
        cls.scratch = pathlib.Path(scratch.name)
        cls.env = cls.prefix.environment(HOME=str(cls.scratch))

    def build(self, compiler, name, *sources, libraries=("-ltenon", "-lm")):
        out = self.scratch / name
        flags = ["-std=c11", "-O2", f"-I{self.prefix.include}", f"-L{self.prefix.lib}", *libraries, f"-Wl,-rpath,{self.prefix.lib}"]
        done = subprocess.run([*compiler, "-o", out, *sources, *flags], env=self.env, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout)
        return out

    def run_host(self, *command, **more):
        done = subprocess.run([str(c) for c in command], env={**self.env, **more}, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_another_openmp_runtime(self):
        host = self.build(["clang", "-fopenmp"], "openmp_host", HERE / "openmp_host.c")
        for threads in ("1", "4"):
            out = self.run_host(host, OMP_NUM_THREADS=threads, OMP_WAIT_POLICY="passive")
            self.assertEqual(out.splitlines()[-1], "ok", out)

    def test_the_same_openmp_runtime(self):
        host = self.build(["gcc", "-fopenmp", "-Dis_loaded(library)=1", "-Wno-all"], "gomp_host", self.without_check())
        self.assertEqual(self.run_host(host, OMP_NUM_THREADS="4").splitlines()[-1], "ok")

    def without_check(self):
        source = self.scratch / "gomp_host.c"
        text = (HERE / "openmp_host.c").read_text()
        source.write_text(re.sub(r"static int is_loaded\(.*?\n}\n", "", text, flags=re.S))
        return source

    def test_saved_graphs(self):
        libraries = ["-ltenon_graph", "-ltenon", "-pthread"]
        for compiler in ("gcc", "clang"):
            warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
            host = self.build([compiler, *warnings], f"graph_host_{compiler}", HERE / "graph_host.c", libraries=libraries)
            saved, damaged = self.scratch / "saved.safetensors", self.scratch / "damaged.safetensors"
            self.assertEqual(re.sub(r"byte .*", "byte ...", self.run_host(host, saved, damaged)).splitlines(), [
                "threads: 0 wrong",
                "dtype: 1 [graph] input 0 (x) is f32[1], not f64[2]",
                "rank 0: 1 [graph] input 0 (x) is f32[1], not f32[]",
                "rank 3: 1 [graph] input 0 (x) is f32[1], not f32[2, 1, 1]",
                "NULL: 1 [graph] an input is NULL",
                "two inputs: 1 [graph] 2 inputs were given, the graph has 1",
                "no result: 1 [graph] 0 results asked for, the graph has 1",
                "cut anywhere: refused",
                f"cut: 10 [graph.load] {damaged}: byte ...",
                f"version: 10 [graph.load] {damaged}: it is of version 9; this library reads versions up to 2",
                "gone: 3 [graph.load] nowhere: cannot be opened: No such file or directory"])
            example = self.build([compiler, *warnings], f"run_graph_{compiler}", ROOT / "examples/embed_c/graph.c", libraries=libraries)
            self.assertEqual(self.run_host(example, saved), "[3.]\n")

    def test_symbols_of_the_same_names(self):
        """fmt is in libtenon, as a library of its own version in many a host."""
        names = symbols(self.library("libfmt.so"))
        self.assertTrue([n for n in names if "vformat" in n], names)
        clash = self.scratch / "clash.c"
        clash.write_text(CLASH + "".join(f"CLASH({name})\n" for name in names))
        host = self.build(["gcc", "-rdynamic", "-fno-builtin"], "clash_host", ROOT / "examples/embed_c/main.c", clash)
        exported = symbols(host)
        self.assertEqual([n for n in names if n not in exported], [])
        self.assertIn("x @ y", self.run_host(host, "cpu"))
        # An error is where libtenon formats text.
        done = subprocess.run([host, "no-such-device"], env=self.env, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, "^error: .*no-such-device")

    def library(self, name):
        """Where the linker would find it."""
        path = subprocess.run(["gcc", f"-print-file-name={name}"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        self.assertTrue(os.path.isabs(path), f"{name} is not installed")
        return path


if __name__ == "__main__":
    prefixes.needs_plain_build(BUILD)
    for program in ("clang", "gcc", "nm"):
        if shutil.which(program) is None:
            print(f"{program} is not installed")
            sys.exit(77)
    unittest.main(verbosity=2)
