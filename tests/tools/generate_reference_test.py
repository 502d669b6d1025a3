#!/usr/bin/env python3
"""docs/sdk/reference.md holds every public name of the headers, with what its comment says, and nothing of a body."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Reference(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "reference.md"
            subprocess.run([sys.executable, str(ROOT / "tools/generate_reference.py"), str(out)], check=True)
            cls.text = out.read_text()

    def headers(self, folder, pattern):
        found = {path.name: path.read_text() for path in sorted((ROOT / folder).glob(pattern))}
        self.assertTrue(found)
        return found

    def test_asking_for_help_writes_no_file(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, str(ROOT / "tools/generate_reference.py"), "--help"], cwd=folder, text=True,
                                  capture_output=True, check=True)
            self.assertIn("usage:", done.stdout)
            self.assertEqual(list(pathlib.Path(folder).iterdir()), [])

    def test_every_function_struct_and_constant_of_the_c_headers(self):
        for name, text in self.headers("core/include/tenon", "*.h").items():
            if name == "tenon.h":
                continue  # includes the others
            names = re.findall(r"^TN_API [^(]*?(\w+)\(", text, re.M) + re.findall(r"^} (tn_\w+);", text, re.M) + \
                re.findall(r"^#define (TN_\w+) +\S", text, re.M)
            for each in names:
                if each not in ("TN_EXTERN_C_BEGIN", "TN_EXTERN_C_END", "TN_API"):
                    self.assertRegex(self.text, rf"\b{each}\b", f"{name} declares {each}")

    def test_every_header_has_its_section(self):
        for folder, pattern in (("core/include/tenon", "*.h"), ("sdk/include/tenon", "*.h*")):
            for name in self.headers(folder, pattern):
                if name != "tenon.h":
                    self.assertIn(f"### `tenon/{name}`", self.text)

    def test_comments_come_with_their_declarations(self):
        self.assertIn("Wraps host memory without a copy. `strides` count elements; NULL for row-major.", self.text)
        self.assertIn("  tn_status* (*allocate)(void* self, uint32_t index, uint64_t bytes, void** buffer, void** address);",
                      self.text)

    def test_cpp_has_no_bodies_and_nothing_private(self):
        self.assertIn("  void device_type(const tn_device_type& type);", self.text)
        self.assertIn("Handle call(std::string_view name, const Args&... args);", self.text)
        for gone in ("check(host_", "tensor_ = nullptr", "private:", "std:;"):
            self.assertNotIn(gone, self.text)


if __name__ == "__main__":
    unittest.main()
