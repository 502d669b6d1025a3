"""Signatures and docstrings of ops, made on demand for help(), inspect and editors."""
import inspect


# Ops that are functions of the Array API show their parameters by its names. Calls may also use the table's names.
_STANDARD = frozenset('all any argmax argmin count_nonzero flip max mean min prod squeeze stack sum'.split())
_NAMES = {'dim': 'axis', 'dims': 'axis', 'keepdim': 'keepdims'}


def signature(op):
    """The result of inspect.signature(op)."""
    names = _NAMES if op.__name__ in _STANDARD else {}
    kind, empty = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
    parameters, default = [], None
    for name, annotation, text in reversed(op.parameters):
        # Parameters before one without a default cannot have defaults either.
        default = empty if default is empty else _default(annotation, text)
        parameters.append(inspect.Parameter(names.get(name) or name, kind, annotation=annotation, default=default))
    return inspect.Signature(parameters[::-1])


def _default(annotation, text):
    if text is None:
        return None if annotation.endswith('?') else inspect.Parameter.empty
    import json
    return None if text == 'none' else json.loads(text)


def docstring(op):
    """The text that help() prints; for ops of plugins just the schema."""
    from ._op_docs import DOCS
    return DOCS.get(op.schema.split('(')[0], op.schema)
