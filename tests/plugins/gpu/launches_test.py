#!/usr/bin/env python3
"""A step of GPT-2 124M, counted on the simulator without computing it: launches and bytes only ever become fewer.

usage: launches_test.py PROBE.PY
"""
import json
import subprocess
import sys
import unittest

PROBE = sys.argv.pop(1)
LAUNCHES, BYTES = 324, 6.4e9  # besides products; lower them with what makes them so


class Counted(unittest.TestCase):
    def test_a_step_of_gpt2(self):
        done = subprocess.run([sys.executable, PROBE, 'launches', '--device', 'gpusim:0'], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        print(found['brief'])
        self.assertLessEqual(found['launches'], LAUNCHES, done.stdout)
        self.assertLessEqual(found['bytes'], BYTES, done.stdout)
        # The whole step, Adam's included, and one launch that counts.
        self.assertEqual(found['nodes'], found['launches'] + 1)
        # Two bytes a parameter and place at least: nothing was left out.
        self.assertGreater(found['bytes_of_products'], 5e9)
        rows = {row[0]: row[1] for row in found['table'][1:]}
        self.assertEqual((rows['softmax_cross_entropy'], rows['softmax_cross_entropy_backward'], rows['attention_packed']), (1, 1, 12))
        self.assertNotIn('log_softmax', rows)


if __name__ == '__main__':
    unittest.main()
