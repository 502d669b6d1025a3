"""The table has every differentiable op, even if there is no PyTorch to compare with."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from table import ELSEWHERE, TABLE

ROOT = pathlib.Path(__file__).resolve().parents[3]


def test_every_differentiable_op_is_compared():
    lines = (ROOT / 'docs/ops.md').read_text().splitlines()
    ops = {re.match(r'\| `(\w+)\(', line)[1] for line in lines if line.endswith(('| yes |', '| through |', '| *through* |'))}
    assert len(ops) > 100
    named = set(TABLE) | {name for names in ELSEWHERE for name in names.split()}
    assert named - ops == set()
    assert {op for op in ops if op.partition('_backward')[0] not in named} == set()
