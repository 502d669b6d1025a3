"""The examples in the docstrings of the pure-Python packages give the results shown."""
import doctest
import importlib
import pkgutil

import pytest

import tenon

NAMES = ['func', 'io', 'testing', '_summary'] + [
    f'{package}.{module.name}' for package in ('nn', 'optim', 'data')
    for module in pkgutil.iter_modules(importlib.import_module('tenon.' + package).__path__)] + ['nn', 'optim', 'data']


@pytest.mark.parametrize('name', NAMES)
def test_examples(name):
    module = importlib.import_module('tenon.' + name)
    result = doctest.testmod(module, extraglobs={'tenon': tenon})
    assert result.failed == 0


def test_public_names_have_docstrings():
    for package in (tenon.nn, tenon.optim, tenon.data, tenon.func, tenon.testing, tenon.io):
        names = getattr(package, '__all__', [name for name in vars(package) if not name.startswith('_')])
        for name in names:
            thing = getattr(package, name)
            if callable(thing) and getattr(thing, '__module__', '').startswith('tenon'):
                assert thing.__doc__, f'{package.__name__}.{name}'
