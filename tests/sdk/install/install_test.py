#!/usr/bin/env python3
"""An installed prefix: what is in it, that it may be moved, and that programs and plugins build from it alone.

usage: install_test.py BUILD_FOLDER TEMPLATE_SOURCE [unittest arguments]
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
sys.path[:0] = [str(HERE.parent), str(ROOT / "tests")]
import exports  # noqa: E402
import prefix as prefixes  # noqa: E402

BUILD, TEMPLATE = (pathlib.Path(sys.argv.pop(1)) for _ in range(2))
GUIDE = (ROOT / "docs/sdk/install.md").read_text()
SIZE_LIMIT = 3_000_000  # bytes of libtenon, stripped, with all headers


def run(*command, env, cwd=None, code=0):
    """What it printed, errors included."""
    done = subprocess.run([str(c) for c in command], env=env, cwd=cwd, text=True, errors="replace", check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    if done.returncode != code:
        raise AssertionError(f"exit status {done.returncode} of {' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def guide_blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", GUIDE, re.M | re.S)


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.prefix = prefixes.installed(BUILD)
        scratch = tempfile.TemporaryDirectory(prefix="tenon-install-")
        cls.addClassCleanup(scratch.cleanup)
        cls.scratch = pathlib.Path(scratch.name)
        cls.env = cls.prefix.environment(HOME=str(cls.scratch / "home"), PREFIX=str(cls.prefix.root))
        cls.files = sorted(p for p in cls.prefix.root.rglob("*") if p.is_file() and not p.is_symlink())


class Tree(Case):
    def test_has_what_the_guide_promises(self):
        lib = self.prefix.libdir
        for name in ("bin/tenon", "include/tenon/tenon.h", "include/tenon/tenon.hpp", "include/tenon/ops.hpp",
                     "include/tenon/schemas.h", "include/tenon/plugin.h", "include/tenon/plugin.hpp",
                     "include/tenon/nn.hpp", "include/tenon/optim.hpp", "include/tenon/data.hpp", "include/tenon/io.hpp", "include/tenon/text.hpp",
                     "include/tenon/graph.h", "include/tenon/graph.hpp", f"{lib}/libtenon_graph.so.1",
                     "include/tenon/onnx.h", "include/tenon/onnx.hpp", f"{lib}/libtenon_onnx.so.1", f"{lib}/pkgconfig/tenon-onnx.pc",
                     f"{lib}/tenon/graph/tenon_trace.so", f"{lib}/tenon/graph/tenon_trace.tenon.json", f"{lib}/pkgconfig/tenon-graph.pc",
                     f"{lib}/libtenon.so", f"{lib}/libtenon.so.1", f"{lib}/tenon/plugins/cpu/tenon_cpu.so",
                     f"{lib}/tenon/plugins/cpu/tenon_cpu.tenon.json", f"{lib}/cmake/Tenon/TenonConfig.cmake",
                     f"{lib}/tenon/plugins/linalg/tenon_linalg.so", f"{lib}/tenon/plugins/linalg/native/libscipy_openblas.so",
                     f"{lib}/tenon/plugins/linalg/native/LICENSE.openblas.txt", f"{lib}/tenon/plugins/fft/tenon_fft.so",
                     f"{lib}/tenon/plugins/fft/native/LICENSE.pocketfft.txt",
                     f"{lib}/cmake/Tenon/TenonConfigVersion.cmake", f"{lib}/cmake/Tenon/TenonPlugin.cmake",
                     f"{lib}/pkgconfig/tenon.pc", f"{lib}/pkgconfig/tenon-sdk.pc", "share/tenon/plugin.map",
                     "share/tenon/identity_card.py", "share/doc/tenon/LICENSE", "share/doc/tenon/third_party/dlpack/LICENSE",
                     "share/doc/tenon/third_party/pocketfft/LICENSE.md", "share/doc/tenon/docs/ops.md",
                     "share/doc/tenon/docs/sdk/guide.md", "share/doc/tenon/docs/sdk/kernels.md"):
            self.assertTrue((self.prefix.root / name).is_file(), f"{name} is missing")
        junk = [f for f in self.files if f.name in ("meson.build", ".gitkeep") or f.suffix in (".p", ".o", ".cpp")]
        self.assertEqual(junk, [])

    def test_names_no_place_of_the_machine_it_was_built_on(self):
        places = {str(ROOT), str(BUILD), str(prefixes.install.option(BUILD, "dnnl_prefix"))}
        places = [p.encode() for p in places if p.startswith("/")]
        found = [f"{f}: {p.decode()}" for f in self.files if f.name != "libdnnl.so.3"
                 for content in [f.read_bytes()] for p in places if p in content]
        self.assertEqual(found, [])

    def test_run_paths_are_relative(self):
        for path in filter(is_elf, self.files):
            lines = run("readelf", "-d", path, env=self.env)
            for run_path in re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", lines):
                for part in run_path.split(":"):
                    self.assertTrue(part.startswith("$ORIGIN"), f"{path}: run path {run_path}")

    def test_exports_its_c_abi_and_nothing_else(self):
        # exports.main returns what an exit status would be, after printing the faults.
        plugins = sorted([*self.prefix.plugins.glob("*/tenon_*.so"), self.prefix.lib / "tenon/graph/tenon_trace.so"])
        self.assertGreater(len(plugins), 1)
        self.assertEqual(exports.main(str(self.prefix.lib / "libtenon.so.1"), list(map(str, plugins))), 0)
        own = exports.symbols(self.prefix.lib / "libtenon_graph.so.1", "--defined-only")
        self.assertEqual([name for name in own if not name.startswith(("tn_trace_", "tn_program_"))], [])
        own = exports.symbols(self.prefix.lib / "libtenon_onnx.so.1", "--defined-only")
        self.assertEqual([name for name in own if not name.startswith("tn_onnx_")], [])

    def test_is_small_without_plugins(self):
        stripped = self.scratch / "libtenon.so"
        run("strip", "-o", stripped, self.prefix.lib / "libtenon.so.1", env=self.env)
        library = stripped.stat().st_size
        headers = sum(p.stat().st_size for p in self.prefix.include.rglob("*") if p.is_file())
        print(f"libtenon {library} bytes stripped + headers {headers} bytes = {(library + headers) / 1e6:.2f} MB")
        self.assertLessEqual(library + headers, SIZE_LIMIT)

    def test_cards_carry_the_hash_of_what_was_installed(self):
        for card in self.prefix.plugins.rglob("*.tenon.json"):
            before = card.read_text()
            copy = self.scratch / "cards" / card.parent.name
            shutil.copytree(card.parent, copy, ignore=shutil.ignore_patterns("native"))
            run("python3", self.prefix.root / "share/tenon/identity_card.py", "--refresh", copy / card.name, env=self.env)
            self.assertEqual((copy / card.name).read_text(), before)


class Moved(Case):
    """The prefix at another place, with a space in its name, and the first one not to be touched."""

    def test_works_where_it_is_moved_to(self):
        moved = self.prefix.moved_to(self.scratch / "moved to")
        out = run(moved.tenon, "devices", env={**self.env, "LD_DEBUG": "files"})
        self.assertRegex(out, r"\bcpu\b")
        touched = {str(pathlib.Path(p).resolve()) for p in re.findall(r"(?:calling init|file): (/[^\n\[]*(?:tenon|dnnl)[^\n\[]*?\.so[.\d]*)", out)}
        self.assertIn(str(moved.plugins / "cpu/tenon_cpu.so"), touched)
        self.assertEqual([p for p in touched if not p.startswith(str(moved.root))], [])

    def test_opens_the_lapack_that_it_brought_along(self):
        moved = self.prefix.moved_to(self.scratch / "moved with LAPACK")
        trace = self.scratch / "trace"  # of each process that the check starts
        run(moved.tenon, "check", moved.plugins / "linalg/tenon_linalg.so", "--group", "new_ops", "--only", "linalg.inv",
            env={**self.env, "LD_DEBUG": "files", "LD_DEBUG_OUTPUT": str(trace)})
        text = "".join(path.read_text(errors="replace") for path in self.scratch.glob("trace.*"))
        opened = {str(pathlib.Path(p).resolve()) for p in re.findall(r"calling init: (/[^\n\[]*openblas[^\n\[]*?\.so)", text)}
        self.assertEqual(opened, {str(moved.plugins / "linalg/native/libscipy_openblas.so")})

    def test_packages_follow(self):
        moved = self.prefix.moved_to(self.scratch / "elsewhere")
        env = moved.environment(HOME=str(self.scratch))
        flags = normal(run("pkg-config", "--cflags", "--libs", "tenon", "tenon-sdk", "tenon-io", env=env))
        for flag in (f"-I{moved.include}", f"-L{moved.lib}", f"--version-script={moved.root}/share/tenon/plugin.map"):
            self.assertIn(flag, flags)
        self.assertNotIn(str(self.prefix.root), flags)

    def test_a_later_installation_removes_what_is_gone(self):
        moved = self.prefix.moved_to(self.scratch / "again")
        listed = moved.root / "share/tenon/installed.txt"
        stale, foreign = moved.include / "tenon/old/gone.h", moved.include / "tenon/old.h"
        stale.parent.mkdir()
        stale.write_text("")
        foreign.write_text("")
        listed.write_text(listed.read_text() + "include/tenon/old/gone.h\n")
        prefixes.install.install(BUILD, moved.root)
        self.assertFalse(stale.parent.exists(), "a listed file and its empty folder stay")
        self.assertTrue(foreign.exists(), "a file of somebody else went")
        self.assertNotIn("gone.h", listed.read_text())
        self.assertRegex(run(moved.tenon, "devices", env=self.env), r"\bcpu\b")


def normal(flags):
    """Without the lib/pkgconfig/../.. that pkg-config leaves in its paths."""
    return re.sub(r"/[^\s=]*", lambda path: os.path.normpath(path[0]), flags)


class Guide(Case):
    """Every command of the guide, in one folder, in order."""

    C_OUTPUT = r"plugin cpu: \d[\s\S]*device {0}\S*\nx @ y =\n\[+ *7\.?,? +8\.?[\s\S]*dx =\n\[+ *1\.?,? +1\.?,? +4"
    CPP_OUTPUT = r"loss 0\.0000 weight 2\.000 bias -1\.000\n"

    def test_commands(self):
        for name in ("embed_c", "embed_cpp"):
            shutil.copytree(ROOT / "examples" / name, self.scratch / name)
        (self.scratch / "my_plugin").mkdir()
        shutil.copy(TEMPLATE, self.scratch / "my_plugin/tenon_template.c")
        for language, name in (("cmake", "CMakeLists.txt"), ("meson", "meson.build")):
            (listing,) = guide_blocks(language)
            (self.scratch / "my_plugin" / name).write_text(listing)
        commands = guide_blocks("sh")
        self.assertGreaterEqual(len(commands), 7)

        # Only the prefix is named, by CMAKE_PREFIX_PATH and PKG_CONFIG_PATH of the commands themselves.
        env = {k: v for k, v in self.env.items() if k not in ("CMAKE_PREFIX_PATH", "PKG_CONFIG_PATH", "CC", "CXX")}
        env.update(CFLAGS="-Wall -Wextra -Wpedantic -Werror", CXXFLAGS="-Wall -Wextra -Werror")
        out = run("bash", "-euxc", "\n".join(commands), env=env, cwd=self.scratch)

        self.assertEqual(len(re.findall(self.CPP_OUTPUT, out)), 2, out)
        self.assertEqual(len(re.findall(r"dx =\n\[+ *1\.?,? +1\.?,? +4", out)), 4, out)
        self.assertRegex(out, self.C_OUTPUT.format("cpu"))
        self.assertRegex(out, r"device template\S*\nx @ y =\n\[+ *7")
        # By CMake's installation, from Meson's folder, and from the folder of the single line.
        self.assertEqual(len(re.findall(r"^\S+ +0\.1\.0 +template:0 .* ok ", out, re.M)), 3, out)
        for built in (self.scratch / "build").rglob("tenon_template.so"):
            self.assertEqual(exports.main(str(self.prefix.lib / "libtenon.so.1"), [str(built)]), 0)


class Refusals(Case):
    """Wrong input is an answer."""

    def cmake(self, text):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.scratch))
        (folder / "CMakeLists.txt").write_text(f"cmake_minimum_required(VERSION 3.18)\nproject(x LANGUAGES C)\n{text}\n")
        return run("cmake", "-S", folder, "-B", folder / "build", env=self.env, code=1)

    def test_cmake(self):
        major = int(run(self.prefix.tenon, "--version", env=self.env).split()[1].split(".")[0])
        out = self.cmake(f"find_package(Tenon {major + 1})\nfind_package(Tenon REQUIRED COMPONENTS nn cuda)")
        self.assertIn(f"compatible with requested version \"{major + 1}\"", " ".join(out.split()))
        self.assertIn("Tenon has no component 'cuda'", " ".join(out.split()))
        out = self.cmake("find_package(Tenon REQUIRED)\ntenon_add_plugin(mine)")
        self.assertIn("tenon_add_plugin(mine): no source file given", " ".join(out.split()))

    def test_dev_install(self):
        file = self.scratch / "file"
        file.write_text("")
        for words, reason in (([], "needs a PREFIX"), (["here"], f"such as {self.scratch}/here"),
                              ([file / "below"], "Not a directory"), (["/proc/nothing"], "cannot install into /proc/nothing"),
                              (["/"], "the whole system"), (["a", "b"], "unrecognized arguments: b")):
            done = subprocess.run([str(ROOT / "dev"), "install", *map(str, words)], cwd=self.scratch, env=self.env,
                                  text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(reason, done.stdout)

    def test_identity_card(self):
        writer = self.prefix.root / "share/tenon/identity_card.py"
        out = run("python3", writer, "none.so", "--id", "a", "--version", "1", "--out", "x", env=self.env, code=2)
        self.assertIn("no file none.so", out)


if __name__ == "__main__":
    prefixes.needs_plain_build(BUILD)
    unittest.main(verbosity=2)
