"""The README's program in Python does what it shows."""
import pathlib
import re

import pytest

import tenon

README = pathlib.Path(__file__).resolve().parents[3] / 'README.md'


@pytest.mark.skipif(not pathlib.Path('/usr/share/datasets/fashion-mnist').is_dir(),
                    reason='Fashion-MNIST is not installed (dataset-fashion-mnist)')
def test_the_program_of_the_readme_trains(capsys):
    program = re.search(r'^```python\n(.*?)^```', README.read_text(), re.M | re.S)
    assert program and len(program[1].splitlines()) <= 16
    tenon.manual_seed(0)
    exec(program[1], {})
    words = capsys.readouterr().out.split()
    assert words[0] == 'loss' and float(words[1]) < 1
