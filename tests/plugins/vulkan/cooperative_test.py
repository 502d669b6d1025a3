#!/usr/bin/env python3
"""Products of f16 on matrix units, which no machine of the tests has: their shader on lanes (TENON_VULKAN_COOPERATIVE=emulated), where all
but the units is the same; and a device whose units give wrong sums (=wrong), which must go without them.

usage: cooperative_test.py emulated|wrong"""
import os
import sys
import unittest

os.environ["TENON_VULKAN_COOPERATIVE"] = MODE = sys.argv.pop()
import tenon  # the plugin reads the environment when it starts

DEVICE = "vulkan:0"
SHADER = "cooperative_emulated"


class Products(unittest.TestCase):
    def compare(self, f, *operands):
        there = [x.to(DEVICE) for x in operands]
        with tenon.profiler() as p:
            result = f(*there)
        wanted = f(*(x.to(tenon.float64) for x in operands))
        got = result.to("cpu").to(tenon.float64)
        error = float(((got - wanted).abs() / (wanted.abs() + operands[0].shape[-1] ** 0.5)).max())
        self.assertLess(error, 1e-3)
        self.assertEqual(got.shape, wanted.shape)
        return [span.what for span in p.spans if span.call is not None and span.what != "copy in"]

    def uses_units(self, ran):
        self.assertEqual(SHADER in ran, MODE == "emulated", ran)
        if MODE == "wrong":
            self.assertIn("matmul", ran)

    @classmethod
    def setUpClass(cls):
        tenon.manual_seed(11)
        x = tenon.ones(64, 64, dtype=tenon.float16).to(DEVICE)
        x @ x  # the trial of the units

    def test_every_layout_and_edge(self):
        for m, n, k in ((150, 140, 72), (129, 65, 67), (64, 256, 128)):
            for a_by_k in (True, False):
                for b_by_k in (True, False):
                    a = tenon.randn(*((m, k) if a_by_k else (k, m))).to(tenon.float16)
                    b = tenon.randn(*((n, k) if b_by_k else (k, n))).to(tenon.float16)
                    self.uses_units(self.compare(lambda a, b: (a if a_by_k else a.mT) @ (b.mT if b_by_k else b), a, b))

    def test_batches_and_split_sums(self):
        a, b = tenon.randn(3, 64, 80).to(tenon.float16), tenon.randn(3, 80, 96).to(tenon.float16)
        self.uses_units(self.compare(lambda a, b: a @ b, a, b))
        a, b = tenon.randn(100, 1030).to(tenon.float16), tenon.randn(1030, 70).to(tenon.float16)
        ran = self.compare(lambda a, b: a @ b, a, b)
        self.uses_units(ran)
        self.assertIn("product_sum", ran)

    def test_bias_and_activation(self):
        x, weight, bias = (tenon.randn(*shape).to(tenon.float16) for shape in ((70, 64), (90, 64), (90,)))
        self.uses_units(self.compare(lambda x, w, b: tenon.linear(x, w, b, activation="relu"), x, weight, bias))

    def test_others_go_without(self):
        small = tenon.randn(8, 64).to(tenon.float16), tenon.randn(64, 64).to(tenon.float16)
        single = tenon.randn(64, 64), tenon.randn(64, 64)
        for a, b in (small, single):
            self.assertNotIn(SHADER, self.compare(lambda a, b: a @ b, a, b))


if __name__ == "__main__":
    unittest.main(verbosity=2)
