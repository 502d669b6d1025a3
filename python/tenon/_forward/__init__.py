"""Forward mode: derivatives in a direction, computed beside the values.

`level.py` has the scope in which tensors have tangents, `call.py` the call that a rule sees, and the other files the rules, which give
the tangents of an op's results. For an op without a rule, two backward passes over that op alone compute them.
"""
from . import elementwise, linear, reductions
from .call import RULES, Call
from .functions import of_function
from .level import Level, UnderBatch

# Importing them puts their rules into call.RULES.
FAMILIES = elementwise, linear, reductions

__all__ = ['Call', 'FAMILIES', 'Level', 'RULES', 'UnderBatch', 'of_function']
