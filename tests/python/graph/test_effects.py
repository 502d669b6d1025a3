"""Compiled functions with effects that no run of a recording would repeat run as they are written, and say so once."""
import logging
import sys
import warnings

import pytest

import tenon
from tenon import nn

X = tenon.ones(3)


def said_by(fn, calls=3):
    """What `calls` calls of a compiled function give, and the warnings."""
    run = tenon.compile(fn)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter('always')
        results = [run(X) for _ in range(calls)]
    return [x.tolist() for x in results], [str(one.message) for one in said]


def test_prints_appear_in_each_call(capsys):
    def noisy(x):
        print('called')
        return x + 1
    results, said = said_by(noisy)
    assert results == [[2, 2, 2]] * 3 and capsys.readouterr().out == 'called\n' * 3
    assert len(said) == 1 and 'print is called' in said[0]


def test_prints_that_are_not_reached_do_not_matter(capsys):
    class Quiet(nn.Module):
        verbose = False

        def forward(self, x):
            if self.verbose:
                print('called')
            return x + 1
    module = Quiet()
    run = tenon.compile(module)
    assert run(X).tolist() == [2, 2, 2] and not run._refused
    module.verbose = True
    with pytest.warns(UserWarning, match='print is called'):
        run(X)
    run(X)
    assert capsys.readouterr().out == 'called\n' * 2


def test_log_records_appear_in_each_call(caplog):
    def logged(x):
        logging.getLogger('network').warning('called')
        return x + 1
    results, said = said_by(logged)
    assert results == [[2, 2, 2]] * 3 and [record.getMessage() for record in caplog.records] == ['called'] * 3
    assert len(said) == 1 and 'logged' in said[0]


def test_another_profiler_keeps_watching():
    seen = []
    sys.setprofile(lambda frame, event, argument: seen.append(event))
    try:
        result = tenon.compile(lambda x: x + 1)(X)
    finally:
        sys.setprofile(None)
    assert result.tolist() == [2, 2, 2] and 'call' in seen


def test_methods_are_compiled_for_each_object():
    class Scale(nn.Module):
        def __init__(self, by):
            self.by = nn.Parameter(tenon.tensor(by))

        @tenon.compile
        def forward(self, x):
            return x * self.by
    two, three = Scale(2.0), Scale(3.0)
    with tenon.no_grad():
        for _ in range(2):
            assert two(X).tolist() == [2, 2, 2] and three(X).tolist() == [3, 3, 3]
        two.by.fill_(5.0)
        assert two(X).tolist() == [5, 5, 5]
    assert not Scale.forward._refused
    two(X).sum().backward()
    assert two.by.grad.item() == 3
