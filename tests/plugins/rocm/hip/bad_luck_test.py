#!/usr/bin/env python3
"""Bad luck with a GPU, over the stand-in for HIP: each is a typed error or a reason, and the host goes on.

usage: bad_luck_test.py TENON [unittest arguments]
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import tenon

TENON, DEVICE = sys.argv.pop(1), 'rocm:0'


class BadLuck(unittest.TestCase):
    def setUp(self):
        self.x = tenon.ones(1000).to(DEVICE)

    def tearDown(self):
        os.environ.pop('TENON_FAKE_HIP', None)
        self.assertEqual((tenon.ones(3) + 1).tolist(), [2, 2, 2])  # the host goes on

    def rows(self, **environment):
        shown = subprocess.run([TENON, 'devices', '--json'], capture_output=True, text=True, check=True, env={**os.environ, **environment})
        return [row for row in json.loads(shown.stdout) if row['plugin'] == 'rocm']

    def test_a_lost_device(self):
        os.environ['TENON_FAKE_HIP'] = 'lost'
        with self.assertRaisesRegex(tenon.DeviceLostError, 'lost to this process'):
            self.x.to('cpu')

    def test_a_full_device(self):
        os.environ['TENON_FAKE_HIP'] = 'full'
        with self.assertRaisesRegex(tenon.OutOfMemoryError, 'rocm:0'):
            tenon.empty(1 << 20, device=DEVICE)
        # It goes on when there is room again.
        del os.environ['TENON_FAKE_HIP']
        self.assertEqual(self.x.to('cpu').tolist(), [1] * 1000)

    def test_a_device_without_kernels(self):
        os.environ['TENON_FAKE_HIP'] = 'other code'
        with self.assertRaisesRegex(tenon.Error, 'compiled for other devices'):
            self.x.to('cpu')

    def test_the_runtime_is_where_the_variable_says(self):
        folder = next(path for path in os.environ['LD_LIBRARY_PATH'].split(':') if list(pathlib.Path(path).glob('libamdhip64.so.*')))
        self.assertEqual(self.rows(LD_LIBRARY_PATH='', TENON_ROCM_HIP=folder)[0]['device'], DEVICE)
        with tempfile.TemporaryDirectory() as empty:
            row = self.rows(TENON_ROCM_HIP=empty)[0]
        self.assertEqual((row['device'], row['status']), ('', 'ok'))
        self.assertRegex(row['reason'], 'no HIP runtime: TENON_ROCM_HIP names .* is not in it')

    def test_no_device_and_an_older_driver(self):
        for what in ('no device', 'old driver'):
            rows = self.rows(TENON_FAKE_HIP=what)
            self.assertEqual([(row['device'], row['status']) for row in rows], [('', 'ok')])
            self.assertNotEqual(rows[0]['reason'], '')


if __name__ == '__main__':
    unittest.main(verbosity=2)
