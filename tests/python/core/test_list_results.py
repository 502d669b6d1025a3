"""Ops of plugins whose results are lists return tuples. Runs in a separate process, because a plugin's ops stay for good."""
import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys
import tenon
tenon.load_plugin(sys.argv[1])
parts = tenon.op('acme.parts')
x = tenon.reshape(tenon.arange(0, 10, 1, dtype=tenon.float32), [5, 2]).requires_grad_()
found = parts(x, 2)
assert isinstance(found, tuple) and [p.tolist() for p in found] == [[[0, 1], [2, 3]], [[4, 5], [6, 7]], [[8, 9]]], found
assert len(parts(x, size=1)) == 5 and parts(tenon.zeros((0, 2)), 1) == ()
found[1].sum().backward()
assert x.grad.tolist() == [[0, 0], [0, 0], [1, 1], [1, 1], [0, 0]]
for wrong, error in ((lambda: parts(x, 0), 'size is at least 1'), (lambda: parts(x, 2, out=x), 'takes no out')):
    try:
        wrong()
    except (ValueError, TypeError) as caught:
        assert error in str(caught), caught
    else:
        raise AssertionError(error)
"""


def test_a_list_is_a_tuple():
    plugin = os.environ.get('TENON_PARTS_PLUGIN')
    if plugin is None:
        pytest.skip('TENON_PARTS_PLUGIN is not set: ./dev test builds the example plugin and sets it')
    done = subprocess.run([sys.executable, '-c', PROGRAM, plugin], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
