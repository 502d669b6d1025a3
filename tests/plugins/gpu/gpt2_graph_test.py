#!/usr/bin/env python3
"""A captured training step of GPT-2 loses as much as one that is dispatched op by op.

usage: gpt2_graph_test.py GPT2.PY DEVICE
"""
import re
import subprocess
import sys

SCRIPT, DEVICE = sys.argv[1:]


def losses(*options):
    done = subprocess.run([sys.executable, SCRIPT, '--only', 'tenon', '--device', DEVICE, '--steps', '4', '--batch', '1', *options],
                          capture_output=True, text=True, check=False)
    print(done.stdout, done.stderr)
    return re.findall(r'(\d+\.\d+) → (\d+\.\d+)', done.stdout)


def main():
    dispatched, captured = losses(), losses('--graph')
    return 0 if len(dispatched) == 1 and dispatched == captured and dispatched[0][1] < dispatched[0][0] else 1


if __name__ == '__main__':
    sys.exit(main())
