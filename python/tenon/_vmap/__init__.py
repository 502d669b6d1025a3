"""vmap: a function of one entry runs once, over tensors that stand for all entries of a batch.

`level.py` has the scope in which such tensors are known and gradients through them, `call.py` what a rule is given, and the other
files the rules: for each op what it computes on whole batches. An op without one runs entry by entry, which warns.
"""
from . import backward, call, draws, elementwise, losses, picking, products, recurrent, reductions, views, windows
from .call import moved, op_of
from .functions import by_own_rule, record
from .level import Level, gradient, gradients_of_rows, is_active, leaf, unit_rows

# Their rules are in call.RULES once they are imported.
FAMILIES = backward, draws, elementwise, losses, picking, products, recurrent, reductions, views, windows

__all__ = ['FAMILIES', 'Level', 'by_own_rule', 'call', 'gradient', 'gradients_of_rows', 'is_active', 'leaf', 'moved', 'op_of', 'record', 'unit_rows']
