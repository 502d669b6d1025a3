#!/usr/bin/env python3
"""Rows that are added up by subgroups, as on a GPU (TENON_VULKAN_SPREAD=1): the same numbers, from rows of a lane to rows of a workgroup.

usage: subgroup_test.py 1|0      0: TENON_VULKAN_SUBGROUPS=0, which goes without them
"""
import os
import sys
import unittest

os.environ['TENON_VULKAN_SPREAD'] = '1'
os.environ['TENON_VULKAN_SUBGROUPS'] = MODE = sys.argv.pop()
import tenon  # the plugin reads the environment when it starts

DEVICE = 'vulkan:0'
F = tenon.nn.functional


class Rows(unittest.TestCase):
    def compare(self, f, shader, x):
        """A function of rows and its gradient, beside double precision; returns what ran."""
        there, here = x.to(DEVICE).requires_grad_(), x.to(tenon.float64).clone().requires_grad_()
        wanted = f(here)
        g = tenon.randn(*wanted.shape).to(x.dtype)
        wanted.backward(g.to(tenon.float64))
        with tenon.profiler() as profile:
            got = f(there)
            got.backward(g.to(DEVICE))
        for mine, right in ((got.detach(), wanted.detach()), (there.grad, here.grad)):
            mine = mine.to('cpu').to(tenon.float64)
            limit = {tenon.float64: 1e-12, tenon.float32: 1e-5, tenon.bfloat16: 2e-2}[x.dtype]
            self.assertLess(float((mine - right).abs().max()), limit * max(1.0, float(right.abs().max())))
        ran = {span.what for span in profile.spans}
        self.assertEqual(shader + '_subgroup' in ran, MODE == '1', ran)
        self.assertEqual(shader in ran, MODE == '0', ran)

    def test_lengths_of_rows(self):
        tenon.manual_seed(3)
        for n, dtype in ((1, tenon.float32), (31, tenon.float32), (257, tenon.float32), (257, tenon.bfloat16), (257, tenon.float64), (5001, tenon.float32)):
            x = tenon.randn(65, n).to(dtype)
            with self.subTest(n=n, dtype=str(dtype)):
                self.compare(lambda x: F.softmax(x, -1), 'softmax', x)
                if n == 257:
                    self.compare(lambda x, n=n: F.layer_norm(x, (n,)), 'norm_rows', x)

    def test_what_is_no_number(self):
        x = tenon.randn(5, 300)
        x[0, 7], x[1], x[2, 9], x[3, 11] = float('nan'), float('-inf'), float('inf'), float('-inf')
        got, wanted = F.softmax(x.to(DEVICE), -1).to('cpu'), F.softmax(x, -1)
        self.assertTrue(bool(((got - wanted).abs() < 1e-6).logical_or(got.isnan().logical_and(wanted.isnan())).all()))


if __name__ == '__main__':
    unittest.main(verbosity=2)
