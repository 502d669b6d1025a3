#!/usr/bin/env python3
"""A step of GPT-2 124M, counted on the simulator without computing it: launches and bytes only ever become fewer.

usage: launches_test.py PROBE.PY
"""
import json
import os
import subprocess
import sys
import unittest

PROBE = sys.argv.pop(1)
LAUNCHES, BYTES = 324, 6.4e9  # besides products; lower them with what makes them so


# The gradients of a transformer's layer, in bf16, with attention_packed and add_layer_norm.
LAYER = """
import collections, sys, tenon, tenon.torch as torch
place = {'device': 'gpusim:0', 'dtype': torch.bfloat16}
layer = torch.nn.TransformerEncoderLayer(64, 2, 128, 0.0, batch_first=sys.argv[1] == 'batch', norm_first=sys.argv[2] == 'first', **place)
x = torch.ones(2, 16, 64, **place)
def step():
    layer.zero_grad()
    layer(x).sum().backward()
step()
with tenon.profiler(calls=False) as profile:
    step()
count = collections.Counter(span.op or span.what for span in profile.spans)
print(sum(count.values()), dict(count))
"""
LAYER_LAUNCHES = {('batch', 'first'): 29, ('batch', 'last'): 27, ('steps', 'first'): 31, ('steps', 'last'): 29}


class Counted(unittest.TestCase):
    def test_a_layer_of_a_transformer(self):
        for options, most in LAYER_LAUNCHES.items():
            done = subprocess.run([sys.executable, '-c', LAYER, *options], capture_output=True, text=True, check=False,
                                  env={**os.environ, 'TENON_GPUSIM_DRY': '1'})
            self.assertEqual(done.returncode, 0, done.stderr)
            print(options, done.stdout.strip())
            self.assertLessEqual(int(done.stdout.split()[0]), most, (options, done.stdout))
            for op in ('attention_packed', 'attention_packed_backward', 'add_layer_norm', 'add_layer_norm_backward'):
                self.assertIn(f"'{op}'", done.stdout, options)

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
