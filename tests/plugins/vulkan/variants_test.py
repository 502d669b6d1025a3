#!/usr/bin/env python3
"""The conformance suite over other ways to run the same kernels: bound buffers with their bounds checked, calls that take turns on
two streams, and under the Khronos validation layer, whose messages are errors. Here a few ops of each family; the whole suite is
run by hand (plugins/vulkan/README.md).

usage: variants_test.py TENON VARIANT"""
import os
import subprocess
import sys
import unittest

VARIANT = sys.argv.pop()
TENON = sys.argv.pop()

# Synchronisation is checked of bound buffers only: the layer cannot see what is done with an address.
ENVIRONMENT = {
    "bound": {"TENON_VULKAN_DESCRIPTORS": "1", "TENON_VULKAN_ROBUST": "1"},
    "streams": {"TENON_VULKAN_STREAMS": "2"},
    "core": {"TENON_VULKAN_VALIDATION": "core"},
    "sync": {"TENON_VULKAN_VALIDATION": "sync", "TENON_VULKAN_DESCRIPTORS": "1"},
    "gpu": {"TENON_VULKAN_VALIDATION": "gpu"},
}[VARIANT]
VALUES = ["where", "attention_packed", "sum", "layer_norm_backward", "batch_norm", "max_pool", "scatter_add"]
GRADIENTS = ["softmax", "gather"]
GROUPS = ["memory", "streams"]
if VARIANT == "gpu":  # the layer rewrites every shader, which takes seconds for large ones
    VALUES = ["scatter_add"]
    GRADIENTS = ["gather", "add"]


class Variant(unittest.TestCase):
    def check(self, *args):
        done = subprocess.run([TENON, "check", "vulkan", *args], capture_output=True, text=True, env={**os.environ, **ENVIRONMENT},
                              timeout=600)
        self.assertEqual(done.returncode, 0, f"{args} {ENVIRONMENT}\n{done.stdout}{done.stderr}")
        self.assertNotIn("[vulkan] validation:", done.stdout + done.stderr)
        self.assertNotIn("passed: 0 cases", done.stdout, args)

    def test_groups(self):
        for group in GROUPS:
            self.check("--group", group)

    def test_values(self):
        for op in VALUES:
            self.check("--group", "values", "--only", op)

    def test_gradients(self):
        for op in GRADIENTS:
            self.check("--group", "gradients", "--only", op)


if __name__ == "__main__":
    unittest.main(verbosity=2)
