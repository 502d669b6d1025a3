#!/usr/bin/env python3
"""The plugin under other environments: no driver, wrong settings, a damaged pipeline cache. Each in a process of its own."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TENON = sys.argv.pop(1)


def run(*args, **env):
    return subprocess.run([TENON, *args], capture_output=True, text=True, env={**os.environ, **env}, timeout=300)


class Process(unittest.TestCase):
    def test_without_a_driver_there_are_no_devices_and_a_reason(self):
        with tempfile.TemporaryDirectory() as empty:
            done = run("devices", VK_ICD_FILENAMES=str(pathlib.Path(empty) / "none.json"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("driver", done.stdout)
        self.assertNotIn("vulkan:0", done.stdout)

    def test_a_wrong_setting_is_named(self):
        for name, value in {"TENON_VULKAN_DESCRIPTORS": "yes", "TENON_VULKAN_TIMEOUT": "-1", "TENON_VULKAN_FAULT": "fire",
                            "TENON_VULKAN_VALIDATION": "all", "TENON_VULKAN_STREAMS": "3", "TENON_VULKAN_COOPERATIVE": "1",
                            "TENON_VULKAN_SUBGROUPS": "no"}.items():
            done = run("devices", **{name: value})
            self.assertIn(name, done.stdout + done.stderr, name)

    def test_the_pipeline_cache_survives_damage(self):
        with tempfile.TemporaryDirectory() as folder:
            check = ("check", "vulkan", "--group", "values", "--only", "add", "--case", "add/(2,3,4)(2,3,4)/f32/contiguous")
            self.assertEqual(run(*check, TENON_VULKAN_CACHE=folder).returncode, 0)
            files = list(pathlib.Path(folder).glob("*.pipelines"))
            self.assertEqual(len(files), 1)
            whole = files[0].read_bytes()
            for damaged in (b"", whole[:10], whole[:-1], whole[:40] + b"x" + whole[41:]):
                files[0].write_bytes(damaged)
                done = run(*check, TENON_VULKAN_CACHE=folder)
                self.assertEqual(done.returncode, 0, done.stdout)
            self.assertEqual([f.name for f in pathlib.Path(folder).iterdir()], [files[0].name])

    def test_a_folder_that_cannot_be_written_is_no_error(self):
        done = run("check", "vulkan", "--group", "values", "--only", "neg", TENON_VULKAN_CACHE="/proc/none")
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
