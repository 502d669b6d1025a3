"""Forward mode: derivatives in a direction, computed beside the values.

`level.py` has the scope in which tensors have tangents, `call.py` what a rule is given, and the other files the rules: for each op
the tangents of its results. An op without one gets them by two backward passes over that op alone.
"""
from . import elementwise, linear, reductions
from .call import RULES, Call
from .functions import of_function
from .level import Level, UnderBatch

# Their rules are in call.RULES once they are imported.
FAMILIES = elementwise, linear, reductions

__all__ = ['Call', 'FAMILIES', 'Level', 'RULES', 'UnderBatch', 'of_function']
