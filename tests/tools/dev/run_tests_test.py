#!/usr/bin/env python3
"""Which tests run. Those of pytest run twice where PyTorch is: without what compares with it, and that alone, in which a skip is a failure."""

import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools/dev"))
import run_tests

CASES = """
import pytest

def test_alone():
    pass

@pytest.mark.skip(reason="no need")
def test_skipped():
    pass

@pytest.mark.pytorch
def test_compares():
    pass

@pytest.mark.pytorch
@pytest.mark.skip(reason="not there")
def test_cannot_compare():
    pass
"""


class Pytorch(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="tenon-run-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        (self.folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    pytorch\n")

    def outcomes(self, cases):
        (self.folder / "test_cases.py").write_text(cases)
        test = {"name": "python_cases", "suite": ["tenon:pytest"], "protocol": "exitcode", "env": {}, "timeout": 300, "workdir": None,
                "cmd": [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(self.folder)]}
        other = {"name": "core_memory", "suite": ["tenon"]}
        *twice, same = run_tests.beside_pytorch([test, other], sys.executable)
        self.assertIs(same, other)
        return [run_tests.run_one(self.folder, each, None, 1) for each in twice]

    def test_each_case_runs_once_and_a_skip_beside_pytorch_fails(self):
        plain, compared = self.outcomes(CASES)
        self.assertEqual((plain.name, plain.passed, plain.failures), ("python_cases", 1, []))
        self.assertEqual(plain.skips, [("test_cases.test_skipped", "no need")])
        self.assertEqual((compared.name, compared.passed, compared.skips), ("pytorch_cases", 1, []))
        self.assertEqual(compared.failures, ["test_cases.test_cannot_compare (skipped: not there)"])

    def test_a_folder_may_have_nothing_to_compare(self):
        _, compared = self.outcomes("def test_alone():\n    pass\n")
        self.assertEqual((compared.passed, compared.failures, compared.skips), (0, [], []))


class Suites(unittest.TestCase):
    def test_a_suite_is_taken_or_left_out(self):
        tests = [{"name": name, "suite": suites, "protocol": "gtest"}
                 for name, suites in (("core", ["tenon"]), ("pool", ["tenon", "tenon:threads"]), ("vulkan", ["tenon", "tenon:sampled"]))]

        def names(*args, **options):
            return [test["name"] for test in run_tests.select(tests, *args, **options)[0]]
        self.assertEqual(names(None, suite="threads"), ["pool"])
        self.assertEqual(names(None, without="sampled"), ["core", "pool"])
        self.assertEqual(names("vulkan", without="sampled"), ["core", "pool"])
        self.assertEqual(names("core", without="sampled"), ["core"])


class Programs(unittest.TestCase):
    def test_what_is_built_before_the_tests(self):
        targets = [{"id": "a", "name": "core_test", "filename": ["/build/tests/core_test"]},
                   {"id": "b", "name": "other", "filename": ["/build/other"]},
                   {"id": "c", "name": "python_package", "filename": ["/build/python/python_package"]}]  # links modules that are new
        with mock.patch.object(run_tests, "introspect", return_value=targets), \
                mock.patch.object(run_tests.run_ninja, "run", return_value=0) as run:
            run_tests.build_programs(pathlib.Path("/build"), [{"depends": ["a"]}], "2")
        self.assertEqual(run.call_args.args[0][4:], ["python/python_package", "tests/core_test"])


if __name__ == "__main__":
    unittest.main()
