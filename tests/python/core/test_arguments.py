"""Every function takes its arguments by the table's names and by those of the Array API."""
import inspect
import pathlib
import re
import sys

import pytest

import tenon
import tenon.fft
import tenon.linalg

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / 'tests/python/array_api'))
from test_names import SIGNATURES, standard  # noqa: E402

OPS = tenon._core.ops


def other_names(name):
    """The other names of an argument."""
    return {other for group in tenon._core.synonyms for other in group if name in group} - {name}


def takes(function, name):
    """Whether it knows the name: any error is about something else."""
    try:
        function(**{name: object()})
    except Exception as error:
        return 'has no argument' not in str(error) and 'unexpected keyword' not in str(error)
    return True


def parameters(function):
    if isinstance(function, tenon.Op):
        return [name for name, _, _ in function.parameters]
    return [p.name for p in inspect.signature(function).parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


def test_the_table_has_enough_ops():
    assert len(OPS) > 200 and sum(not isinstance(getattr(tenon, name), tenon.Op) for name in OPS) > 12


@pytest.mark.parametrize('name', sorted(OPS))
def test_an_op_takes_the_names_of_the_table(name):
    function = getattr(tenon, name)
    for parameter, _, _ in OPS[name].parameters:
        assert takes(function, parameter), f'{name}({parameter}=)'


@pytest.mark.parametrize('line', SIGNATURES, ids=lambda line: line[:line.index('(')])
def test_a_function_takes_the_names_of_the_standard(line):
    name, wanted = standard(line)
    for parameter in wanted:
        if parameter.kind is not parameter.POSITIONAL_ONLY and parameter.kind is not parameter.VAR_POSITIONAL:
            assert takes(getattr(tenon, name), parameter.name), f'{name}({parameter.name}=)'


@pytest.mark.parametrize('module', [tenon, tenon.linalg, tenon.fft], ids=lambda module: module.__name__)
def test_each_argument_has_both_names(module):
    names = [standard(line)[0] for line in SIGNATURES] + list(OPS) if module is tenon else module.__all__
    tried = 0
    for name in dict.fromkeys(names):
        function = getattr(module, name)
        if inspect.isclass(function) or (not isinstance(function, tenon.Op) and
                                         inspect.unwrap(function).__code__.co_flags & inspect.CO_VARARGS):
            continue
        own = parameters(function)
        for parameter in own:
            for other in other_names(parameter) - set(own):
                assert takes(function, other), f'{name}({other}=)'
                tried += 1
    assert tried > (500 if module is tenon else 20)


def test_arguments_by_name_equal_those_by_position():
    x = tenon.tensor([[3., 1.], [2., 4.]])
    assert tenon.concat(xs=[x, x], dim=1).shape == tenon.concat([x, x], axis=1).shape == (2, 4)
    assert tenon.sort(x=x, dim=0).tolist() == tenon.sort(x, axis=0).tolist() == [[2, 1], [3, 4]]
    assert tenon.std(x, dims=0, keepdim=True).shape == (1, 2) == x.std(axis=0, keepdims=True).shape
    assert tenon.roll(x, shifts=1, dims=0).tolist() == tenon.roll(x, shift=1, axis=0).tolist() == [[2, 4], [3, 1]]
    assert tenon.full(shape=(2,), value=3).tolist() == tenon.full((2,), fill_value=3).tolist() == [3, 3]
    assert tenon.eye(n=2, m=3).shape == (2, 3) and tenon.arange(start=1, end=3).tolist() == [1, 2]
    assert tenon.linspace(start=0, end=1, num=3).tolist() == [0, 0.5, 1]
    assert tenon.searchsorted(sorted=tenon.tensor([1, 2, 3]), values=tenon.tensor([2]), right=True).tolist() == [2]
    assert [part.shape for part in x.split(1, axis=1)] == [(2, 1)] * 2
    assert tenon.sum(x, **{'axis '.strip(): 0}).tolist() == [5, 5]  # a name that is not interned


@pytest.mark.parametrize('call, text', [
    (lambda x: tenon.sort(x, axe=0), r"\[sort\] has no argument 'axe'; its arguments are x, axis"),
    (lambda x: tenon.sort(x, axis=0, dim=0), r'\[sort\] got argument axis twice'),
    (lambda x: tenon.sort(x, x=x), r'\[sort\] got argument x twice'),
    (lambda x: tenon.searchsorted(values=x), r'\[searchsorted\] argument x1 is missing'),
    (lambda x: tenon.sum(x, axis=0, dims=0), r'\[sum\] got argument dims twice'),
    (lambda x: tenon.sum(x, axe=0), r"\[sum\] has no argument 'axe'")])
def test_other_names_are_refused(call, text):
    with pytest.raises(TypeError, match=text):
        call(tenon.ones(3))


def test_the_docstring_promises_it():
    assert re.search(r"table's names or by those of the\s+Array API", tenon.__doc__)
