#!/usr/bin/env python3
"""The build of the wheel compiles what the wheel holds, and no more: who runs `pip install .` waits for it.

usage: wheel_test.py [unittest arguments]
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib
import unittest

from pyproject_metadata import StandardMetadata

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/wheel"))
import backend  # noqa: E402

# The rooms that end in the wheel, some as headers that the extension includes.
HOLDS = {"", "core", "core/include/tenon", "core/cpp/tenon", "libs/amp/include/tenon/amp", "libs/graph", "libs/onnx", "plugins/cpu",
         "plugins/linalg", "plugins/fft", "python", "python/tenon", "sdk/validate", "tools/probe"}


def setup_arguments():
    """What pyproject.toml gives Meson."""
    text = re.search(r"^setup = \[(.*?)\]$", (ROOT / "pyproject.toml").read_text(), re.M | re.S)[1]
    return re.findall(r"'([^']*)'", text)


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="tenon-wheel-")
        cls.addClassCleanup(scratch.cleanup)
        done = subprocess.run(["meson", "setup", scratch.name, ROOT, *setup_arguments()], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            raise AssertionError(done.stdout)
        text = subprocess.run(["meson", "introspect", "--targets", scratch.name], check=True, stdout=subprocess.PIPE).stdout
        cls.targets = [each for each in json.loads(text) if each["build_by_default"]]
        text = subprocess.run(["meson", "introspect", "--install-plan", scratch.name], check=True, stdout=subprocess.PIPE).stdout
        cls.folders = json.loads(text)["install_subdirs"]

    def test_only_what_the_wheel_holds_is_built(self):
        rooms = {str(pathlib.Path(each["defined_in"]).parent.relative_to(ROOT)).replace(".", "") for each in self.targets}
        self.assertEqual(rooms - HOLDS, set())

    def test_all_of_it_is_built(self):
        names = {each["name"].split(".cpython")[0] for each in self.targets}
        self.assertLessEqual({"tenon_cpu", "tenon_graph", "tenon_onnx", "tenon_trace", "tenon_linalg", "tenon_fft", "tenon_validate", "tenon-probe",
                              "_core"}, names)

    def test_the_package_is_whole(self):
        package = ROOT / "python/tenon"
        plan = self.folders[str(package)]
        self.assertEqual((plan["tag"], plan["exclude_dirs"]), ("python-runtime", ["__pycache__"]))
        folders = {path.parent.relative_to(package).as_posix() for path in package.rglob("__init__.py")}
        self.assertLessEqual({"torch", "torch/nn", "torch/nn/functional", "torch/optim", "torch/utils"}, folders)


class Licences(unittest.TestCase):
    def test_those_of_headers_in_third_party_are_in_the_wheel(self):
        known = StandardMetadata.from_pyproject(tomllib.loads((ROOT / "pyproject.toml").read_text()), ROOT)
        files = {path.as_posix() for path in known.license_files}
        for folder in filter(pathlib.Path.is_dir, (ROOT / "third_party").iterdir()):
            self.assertTrue(any(name.startswith(f"third_party/{folder.name}/LICENSE") for name in files), folder.name)


class Compilers(unittest.TestCase):
    def test_the_cache_of_dev_is_used(self):
        environment = {}
        self.assertTrue(backend.use_cache(environment, lambda name: "/usr/bin/" + name))
        self.assertEqual(environment, {"CC": "ccache gcc", "CXX": "ccache g++", "CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1",
                                       "CCACHE_SLOPPINESS": "pch_defines,time_macros"})

    def test_a_choice_stays(self):
        for given in ({"CC": "clang", "CXX": "clang++"}, {"CXX": "clang++"}):
            environment = dict(given)
            self.assertFalse(backend.use_cache(environment, lambda name: "/usr/bin/" + name))
            self.assertEqual(environment, given)

    def test_without_a_cache_nothing_changes(self):
        environment = {}
        self.assertFalse(backend.use_cache(environment, lambda name: None if name == "ccache" else name))
        self.assertEqual(environment, {})


if __name__ == "__main__":
    unittest.main()
