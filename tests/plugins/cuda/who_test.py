#!/usr/bin/env python3
"""Who computes, over stand-ins for NVIDIA's libraries: everything that the first hour asserts, by the libraries; and attention's gradients
by cuDNN however the gradient that comes in lies in memory.

usage: who_test.py PROBE.PY FOLDER_OF_LIBRARIES [unittest arguments]
"""
import json
import os
import subprocess
import sys
import unittest

PROBE, LIBRARIES = sys.argv.pop(1), sys.argv.pop(1)
DEVICE = 'gpusim:0'
ASK = f"""
import importlib.util, sys
spec = importlib.util.spec_from_file_location('probe', {PROBE!r})
probe = importlib.util.module_from_spec(spec)
sys.modules['probe'] = probe
spec.loader.exec_module(probe)
probe.LIBRARIES['gpusim'] = probe.LIBRARIES['cuda']
sys.argv = ['probe.py', 'who', '--device', {DEVICE!r}, '--rehearse']
probe.main()
"""
GRADIENT = f"""
import sys, tenon as tn
f, results = tn.nn.functional, {{}}
q, k, v = (tn.randn(1, 2, 32, 64).to(tn.bfloat16).to({DEVICE!r}).requires_grad_() for _ in range(3))
for way in ('sum', 'transposed', 'dense'):
    for x in (q, k, v):
        x.grad = None
    y = f.scaled_dot_product_attention(q, k, v, is_causal=True)
    with tn.profiler() as profile:
        if way == 'sum':
            y.sum().backward()
        else:
            ones = tn.ones(1, 2, 64, 32, dtype=tn.bfloat16, device={DEVICE!r}).transpose(2, 3)
            y.backward(ones if way == 'transposed' else ones.contiguous())
    by = {{span.what for span in profile.spans if span.op == 'attention_backward'}}
    results[way] = [x.grad.to('cpu').to(tn.float32).tolist() for x in (q, k, v)]
    assert 'cuDNN' in by and 'attention_backward' not in by, (way, by)
assert results['sum'] == results['transposed'] == results['dense']
"""


def run(program, **environment):
    return subprocess.run([sys.executable, '-c', program], capture_output=True, text=True, check=False,
                          env={**os.environ, 'LD_LIBRARY_PATH': LIBRARIES, 'TENON_CUDA_CUBLASLT_LEAST': '0', 'TENON_CUDA_CUDNN_LEAST': '0', **environment})


class Who(unittest.TestCase):
    def test_libraries_compute_what_they_can(self):
        done = run(ASK)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        rows = json.loads(done.stdout)['table'][1:]
        self.assertEqual(len(rows), 24)
        self.assertEqual({row[-1] for row in rows}, {'ok'})

    def test_a_library_that_does_not_is_told(self):
        done = run(ASK, TENON_CUDA_CUDNN='0')
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        wrong = {row[0] for row in json.loads(done.stdout)['table'][1:] if row[-1] == 'WRONG'}
        self.assertEqual(wrong, {'conv', 'conv, gradients', 'attention', 'attention, gradients'})

    def test_attentions_gradients_however_theirs_lie(self):
        done = run(GRADIENT)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == '__main__':
    unittest.main(verbosity=2)
