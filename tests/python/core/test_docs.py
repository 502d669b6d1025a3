"""Docstrings and stubs are generated from the op table and exist for every op, and their examples are correct."""
import ast
import doctest
import inspect
import pathlib
import re
import sys

import pytest

import tenon
from tenon import _core
from tenon._op_docs import DOCS

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / 'tools'))
import generate_ops  # noqa: E402
import generate_python  # noqa: E402


# Functions of the Array API, shown with its names of arguments.
STANDARD = 'all any argmax argmin count_nonzero flip max mean min prod squeeze stack sum'.split()


def test_every_op_has_its_text_and_signature():
    assert set(DOCS) == set(_core.ops)
    for name, op in _core.ops.items():
        assert op.__doc__.splitlines()[0] == op.schema == DOCS[name].splitlines()[0]
        assert [line.split(':')[0] for line in op.__doc__.splitlines()[4:7]] == ['Shapes', 'Dtypes', 'Gradient']
        names = {'dim': 'axis', 'dims': 'axis', 'keepdim': 'keepdims'} if name in STANDARD else {}
        assert list(inspect.signature(op).parameters) == [names.get(p, p) for p, _, _ in op.parameters]


class Numbers(doctest.OutputChecker):
    """Compares numbers to a few digits: the last one depends on the processor's instructions."""
    NUMBER = re.compile(r'-?\d+\.\d*(?:e[-+]\d+)?')

    def check_output(self, want, got, flags):
        numbers = [[float(text) for text in self.NUMBER.findall(part)] for part in (want, got)]
        words = [self.NUMBER.sub('#', part).split() for part in (want, got)]
        return words[0] == words[1] and numbers[0] == pytest.approx(numbers[1], rel=1e-5, abs=1e-6)


@pytest.mark.parametrize('name', DOCS)
def test_the_examples_output_is_correct(name):
    example = doctest.DocTestParser().get_doctest(DOCS[name], {'tenon': tenon}, name, None, 0)
    assert example.examples
    report = []
    failed, _ = doctest.DocTestRunner(Numbers(), verbose=False).run(example, out=report.append)
    assert failed == 0, ''.join(report)


def test_stubs_are_those_of_the_table(tmp_path):
    ops = generate_ops.parse_ops([ROOT / 'ops'])
    generate_python.write_stubs(ops, tmp_path / '_ops.pyi')
    generate_python.write_facts(ops, tmp_path / '_op_facts.py')
    for name in ('_ops.pyi', '_op_facts.py'):
        assert (tmp_path / name).read_text() == (ROOT / 'python/tenon' / name).read_text(), 'run ./dev docs'


def stubbed(body):
    """The names that a stub, or a class of it, declares."""
    return {entry.target.id if isinstance(entry, ast.AnnAssign) else entry.name for entry in body
            if isinstance(entry, (ast.AnnAssign, ast.ClassDef, ast.FunctionDef))}


def test_the_stub_names_exactly_what_exists():
    tree = ast.parse((ROOT / 'python/tenon/_core.pyi').read_text())
    generated = ast.parse((ROOT / 'python/tenon/_ops.pyi').read_text())
    methods = next(e for e in generated.body if isinstance(e, ast.ClassDef) and e.name == '_Methods')
    names = {name for name in vars(_core) if not name.startswith('__')} - {'_best_device_reason'}
    assert names - stubbed(tree.body) == set()
    for entry in (e for e in tree.body if isinstance(e, ast.ClassDef) and hasattr(_core, e.name)):
        kind, declared = getattr(_core, entry.name), stubbed(entry.body) | (stubbed(methods.body) if entry.name == 'Tensor' else set())
        assert {name for name in declared if not hasattr(kind, name)} == set(), entry.name
        assert {name for name in vars(kind) if not name.startswith('_') and hasattr(kind, name)} - declared == set(), entry.name
