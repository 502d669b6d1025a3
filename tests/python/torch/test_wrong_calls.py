"""Each line of wrong_calls.txt is refused, by an error of the kind that PyTorch raises, so that what catches the one catches the other."""
import importlib
import pathlib
import warnings

import numpy as np
import pytest

import tenon
import tenon.torch as ours

LINES = [line for line in (pathlib.Path(__file__).parent / 'wrong_calls.txt').read_text(encoding='utf-8').splitlines() if line[:1] != '#']


def names(t):
    """What the lines name: t is torch, nn torch.nn, F its functions, O optimizers, D data, L linear algebra, FT Fourier transforms, P distributions."""
    importlib.import_module(f'{t.__name__}.nn.utils.parametrize')
    modules = {'nn': 'nn', 'F': 'nn.functional', 'O': 'optim', 'D': 'utils.data', 'L': 'linalg', 'FT': 'fft', 'P': 'distributions'}
    return {'t': t, 'np': np, **{name: importlib.import_module(f'{t.__name__}.{module}') for name, module in modules.items()}}


def refusal(t, line):
    """The error of a line, or None."""
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        try:
            eval(line, names(t))
        except Exception as error:
            return error
    return None


def kind(error):
    """The class of Python's own that an error is first of all."""
    return next(each for each in type(error).__mro__ if each.__module__ == 'builtins')


def test_each_is_refused_with_a_reason():
    errors = {line: refusal(ours, line) for line in LINES}
    assert not [line for line, error in errors.items() if error is None or not str(error) or isinstance(error, tenon.InternalError)]


def test_each_error_has_pytorchs_type(torch, monkeypatch):
    # torch.compile, wherever it ran before in this process, turned the checks of distributions off.
    monkeypatch.setattr(torch.distributions.Distribution, '_validate_args', True)
    others = {}
    for line in LINES:
        theirs, mine = refusal(torch, line), refusal(ours, line)
        if theirs is None or not isinstance(mine, kind(theirs)):
            others[line] = theirs, mine
    assert not others


@pytest.mark.parametrize(('line', 'reason'), [
    ('t.max(t.ones(2, 3), t.ones(4))', 'do not broadcast'), ('t.lerp(t.ones(3), t.ones(2), 0.5)', 'do not broadcast'),
    ('t.repeat_interleave(t.ones(3), t.tensor([1, 2]))', '2 repeats for the 3 entries'), ('t.std(t.ones(3).long(), False)', 'floating'),
    ('t.select(t.ones(2, 3), 0, 5)', 'out of range')])
def test_the_reason_is_not_an_argument_of_a_kind_that_is_taken(line, reason):
    """The calls fail, but no argument is of the wrong kind, though elsewhere its name stands for another one."""
    assert reason in str(refusal(ours, line))
