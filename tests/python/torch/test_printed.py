"""Each script of printed/ prints the same with PyTorch and, its import lines changed, with tenon.torch: text exactly, numbers nearly."""
import contextlib
import io
import pathlib
import re
import warnings

import pytest

SCRIPTS = pathlib.Path(__file__).parent / 'printed'
NUMBER = re.compile(r'[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:e[-+]?\d+)?|\bnan\b|[-+]?\binf\b')


def printed(path, package):
    """The lines that a script prints; of its text only the import lines are other ones."""
    text = path.read_text(encoding='utf-8')
    if package != 'torch':
        text = re.sub(r'^(\s*)import torch$', rf'\1import {package} as torch', text, flags=re.M)
        text = re.sub(r'^(\s*)(import torch\.|from torch(?:\.| import))', lambda found: found[1] + found[2].replace('torch', package), text, flags=re.M)
        assert not re.search(r'^\s*(import|from) torch\b', text, re.M)
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter('ignore')
        exec(compile(text, path.name, 'exec'), {'__name__': 'script'})
    return out.getvalue().splitlines()


def agree(mine, theirs):
    """Whether two lines are the same but for the last digits of numbers, and for the blanks that align them."""
    if re.sub(r'\s', '', NUMBER.sub('#', mine)) != re.sub(r'\s', '', NUMBER.sub('#', theirs)):
        return False
    pairs = zip(NUMBER.findall(mine), NUMBER.findall(theirs))
    return all(a == b or (set(a + b) & set('.e') and float(a) == pytest.approx(float(b), rel=1e-4, abs=1e-4, nan_ok=True)) for a, b in pairs)


@pytest.mark.parametrize('name', sorted(path.stem for path in SCRIPTS.glob('*.py')))
def test_a_script_prints_the_same_as_in_pytorch(torch, name):
    torch.distributions.Distribution.set_default_validate_args(True)  # torch.compile switches it off for the process
    theirs, mine = (printed(SCRIPTS / f'{name}.py', package) for package in ('torch', 'tenon.torch'))
    assert len(mine) == len(theirs) > 5
    assert not [(ours, other) for ours, other in zip(mine, theirs) if not agree(ours, other)]
